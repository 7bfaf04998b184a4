"""The stage: what it asks, what it remembers, what it writes."""

import io
import random
import shutil
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from PIL import Image

from stages.contracts.letters import LETTERS, letters_path
from stages.contracts.likelihood import LIKELIHOOD, likelihood_path
from stages.contracts.pins import read_pin
from stages.contracts.text import TEXT, text_path
from stages.extract.engines import transformers as engine
from stages.runtime.errors import UserError
from tests.extract.project import DATASET, MODEL, Project, letters_table, picture, prompt, quiz

REALDATA = Path(__file__).parents[3] / "shared" / "reference" / "realdata"


def passes(run: Any) -> int:
    """Forward passes of a run; 0 where it did not even load the model."""
    return int(run.notes.get("engine", {}).get("forward_passes", 0))


def test_answers_stand_in_the_order_of_the_prompts(project: Project) -> None:
    prompts, images = quiz(11)
    prompts.insert(4, prompt("open/original", "what is here", [images[0]], ask="text"))
    project.ask(prompts, images)
    run = project.extract()
    rows = project.letters()
    assert [row["prompt"] for row in rows] == [p["id"] for p in prompts if p["ask"] == "letters"]
    assert run.notes["answers"] == {"known": 0, "asked": 11}
    assert {row["engine"] for row in rows} == {f"transformers/{engine.REVISION}"} and rows[0][
        "device"
    ] == "cpu"
    assert all(len(row["logits"]) == 4 and row["entropy"] > 0 and 0 < row["letter_mass"] < 1 for row in rows)
    decoded = np.asarray(Image.open(io.BytesIO(images[0])))
    height, width, _ = decoded.shape
    assert rows[0]["pixels"] == sha256(f"RGB {width} {height}\n".encode() + decoded.tobytes()).hexdigest()
    assert LETTERS.read(letters_path(MODEL, DATASET)).num_rows == 11
    assert LIKELIHOOD.read(likelihood_path(MODEL, DATASET)).num_rows == 0
    assert TEXT.read(text_path(MODEL, DATASET)).num_rows == 0


def test_two_runs_give_the_same_bytes(project: Project) -> None:
    prompts, images = quiz(10)
    project.ask(prompts, images)
    assert passes(project.extract()) > 0
    first = project.letters_bytes()
    assert passes(project.extract()) == 0
    assert project.letters_bytes() == first
    shutil.rmtree(".vouch")
    assert passes(project.extract()) > 0
    assert project.letters_bytes() == first


def test_more_or_reordered_prompts_change_no_bits_and_repeat_no_work(project: Project) -> None:
    prompts, images = quiz(14)
    project.ask(prompts[:9], images)
    project.extract()
    before = letters_table(project.letters())
    random.Random(3).shuffle(prompts)
    project.ask(prompts, images)
    run = project.extract()
    assert run.notes["answers"] == {"known": 9, "asked": 5}
    cached = project.letters()
    assert before.items() <= letters_table(cached).items()
    shutil.rmtree(".vouch")
    project.extract()
    assert project.letters() == cached


def test_same_content_in_another_dataset_is_known(project: Project) -> None:
    prompts, images = quiz(6)
    project.ask(prompts, images)
    project.extract()
    project.ask([{**row, "id": f"x/{row['id']}"} for row in prompts[:4]], images, "other")
    run = project.extract("other")
    assert run.notes["answers"] == {"known": 4, "asked": 0} and "engine" not in run.notes
    assert [row["logits"] for row in project.letters("other")] == [
        row["logits"] for row in project.letters()[:4]
    ]


def test_a_prompt_that_stands_twice_is_asked_once(project: Project) -> None:
    prompts, images = quiz(2)
    project.ask([*prompts, {**prompts[0], "id": "again/original"}], images)
    assert project.extract().notes["answers"]["asked"] == 2
    rows = project.letters()
    assert rows[2]["logits"] == rows[0]["logits"] and rows[2]["prompt"] == "again/original"


def test_only_a_raised_revision_repeats_work(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    prompts, images = quiz(5)
    project.ask(prompts, images)
    project.extract()
    first = letters_table(project.letters())
    monkeypatch.setattr(engine, "REVISION", engine.REVISION + 1)
    assert project.extract().notes["answers"]["asked"] == 5
    assert letters_table(project.letters()) == first
    assert project.letters()[0]["engine"] == f"transformers/{engine.REVISION}"


def test_an_edited_comment_repeats_no_work(project: Project) -> None:
    prompts, images = quiz(5)
    project.ask(prompts, images)
    project.extract()
    copied = project.path / "edited"
    shutil.copytree(
        Path(__file__).parents[2] / "stages", copied, ignore=shutil.ignore_patterns("__pycache__")
    )
    for file in (copied / "extract").rglob("*.py"):
        file.write_text(file.read_text("utf-8") + "# an afterthought\n", "utf-8")
    (project.path / "stages").unlink()
    copied.rename(project.path / "stages")
    before = project.letters_bytes()
    letters_path(MODEL, DATASET).unlink()
    process = project.start("extract", MODEL, DATASET)
    _, error = process.communicate(timeout=120)
    assert process.returncode == 0, error
    assert project.letters_bytes() == before and len(project.shards()) == 1
    assert '"asked": 0' in (project.path / f"data/runs/extract-{MODEL}-{DATASET}.json").read_text("utf-8")


@pytest.mark.parametrize("setting", ["batch", "bucket", "threads"])
def test_settings_that_move_bits_are_part_of_the_key(project: Project, setting: str) -> None:
    prompts, images = quiz(3)
    project.ask(prompts, images)
    project.extract()
    project.params["extract"][setting] += 1
    assert project.extract().notes["answers"]["asked"] == 3
    project.params["extract"][setting] -= 1
    project.params["extract"]["device"] = "auto"
    assert project.extract().notes["answers"]["asked"] == 0


def test_moving_the_model_folder_repeats_no_work(project: Project, tmp_path: Path) -> None:
    prompts, images = quiz(3)
    project.ask(prompts, images)
    project.extract()
    moved = shutil.copytree(project.model, tmp_path / "moved")
    project.entry["source"]["path"] = str(moved)
    project.pin()
    assert project.extract().notes["answers"]["asked"] == 0


def test_damaged_shard_is_noted_and_asked_again(project: Project) -> None:
    prompts, images = quiz(6)
    project.ask(prompts[:4], images)
    project.extract()
    project.ask(prompts, images)
    project.extract()
    whole = project.letters_bytes()
    shard = min(project.shards(), key=lambda path: pq.read_metadata(path).num_rows)
    shard.write_bytes(shard.read_bytes()[:-9])
    run = project.extract()
    assert run.notes["answers"] == {"known": 4, "asked": 2} and run.notes["damaged_shards"] == [shard.name]
    assert project.letters_bytes() == whole


def test_finished_answers_survive_a_failing_prompt(project: Project) -> None:
    prompts, images = quiz(12)
    project.ask([*prompts, prompt("bad/original", "what " * 300, [images[0]])], images)
    with pytest.raises(UserError, match=r"prompt bad/original: its 3.. tokens"):
        project.extract()
    assert not letters_path(MODEL, DATASET).exists()
    project.ask(prompts, images)
    assert project.extract().notes["answers"]["known"] > 0


def test_bad_inputs_are_one_line(project: Project) -> None:
    prompts, images = quiz(1)
    for bad, message in [
        (prompt("p", "what", [b"gone"]), "no image"),
        (prompt("p", "what", [b"not a picture"]), "cannot be decoded"),
        (prompt("p", "what", [images[0]], marks=""), "asks for letters but has no marks"),
        (prompt("p", "what", [images[0]], marks="AÄ"), "no distinct single token"),
    ]:
        project.ask([*prompts, bad], [*images, b"not a picture"])
        with pytest.raises(UserError, match=message) as caught:
            project.extract()
        assert "prompt p" in str(caught.value) and "\n" not in str(caught.value)
    Path("data/models/tiny.json").write_text("{}", "utf-8")
    with pytest.raises(UserError, match="not a pin"):
        project.extract()
    with pytest.raises(UserError, match="no such file"):
        read_pin(Path("data/models/absent.json"))


def test_damaged_prompts_are_one_line(project: Project) -> None:
    prompts, images = quiz(40)
    project.ask(prompts, images)
    path = Path("data/prompts/quiz.parquet")
    column = pq.read_metadata(path).row_group(0).column(5)
    assert column.path_in_schema == "text"
    data = bytearray(path.read_bytes())
    data[column.data_page_offset + column.total_compressed_size // 2] ^= 1
    path.write_bytes(data)
    with pytest.raises(UserError, match=r"data/prompts/quiz\.parquet: damaged"):
        project.extract()


def test_tampered_weights_are_refused_before_anything_is_asked(project: Project, tmp_path: Path) -> None:
    prompts, images = quiz(2)
    project.ask(prompts, images)
    copy = Path(shutil.copytree(project.model, tmp_path / "copy"))
    project.entry["source"]["path"] = str(copy)
    project.pin()
    data = bytearray((copy / "model.safetensors").read_bytes())
    data[-1] ^= 1
    (copy / "model.safetensors").write_bytes(data)
    with pytest.raises(UserError, match=r"model\.safetensors: not as pinned"):
        project.extract()


def test_no_letters_to_ask(project: Project) -> None:
    project.ask([prompt("p", "what", [picture(1)], ask="text")], [picture(1)])
    assert project.extract().notes["answers"] == {"known": 0, "asked": 0}
    assert project.letters() == []


@pytest.mark.skipif(not REALDATA.is_dir(), reason="the reference photographs are not there")
def test_real_photographs(project: Project) -> None:
    files = sorted(path for path in REALDATA.rglob("*") if path.suffix in (".png", ".jpg"))[::3]
    images = [path.read_bytes() for path in files]
    project.ask(
        [prompt(f"{n}/original", "what is shown here ?", [data]) for n, data in enumerate(images)], images
    )
    project.extract()
    rows = project.letters()
    assert (
        len({tuple(row["logits"]) for row in rows})
        == len({row["pixels"] for row in rows})
        == len(set(images))
    )
