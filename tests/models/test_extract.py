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

from tests.models.plain import Plain
from tests.models.project import DATASET, MODEL, Project, letters_table, picture, prompt, quiz
from vouch.images import pictures
from vouch.models.engines import transformers as engine
from vouch.pipeline.errors import UserError
from vouch.tables.pins import read_pin
from vouch.tables.prompts import LETTERS, LIKELIHOOD, OUTPUTS, TEXT
from vouch.tables.text import RESPONSES

REALDATA = Path(__file__).parents[3] / "shared" / "reference" / "realdata"


def counts(run: Any) -> tuple[int, int]:
    """Answers known and asked."""
    answers = run.notes["answers"]
    return answers["known"], answers["asked"]


def mixed(count: int, *variations: str) -> tuple[list[dict[str, Any]], list[bytes]]:
    """Prompts that ask for everything, and some that ask for less."""
    prompts, images = quiz(count, outputs=OUTPUTS, variations=variations or ("original",))
    for index, row in enumerate(prompts):
        row["outputs"] = [(LETTERS, LIKELIHOOD, TEXT), (TEXT,), (LIKELIHOOD, LETTERS), ()][index % 4]
    return prompts, images


def test_three_tables_in_the_order_of_the_prompts(project: Project) -> None:
    project.params["extract"]["sampling"] = [{"temperature": 0.7, "samples": 2}]
    prompts, images = mixed(11)
    project.ask(prompts, images)
    run = project.extract()
    asking = {output: [row["id"] for row in prompts if output in row["outputs"]] for output in OUTPUTS}
    assert [row["prompt"] for row in project.rows(LETTERS)] == asking[LETTERS]
    assert [(row["prompt"], row["option"]) for row in project.rows(LIKELIHOOD)] == [
        (name, option) for name in asking[LIKELIHOOD] for option in range(4)
    ]
    samples = [(0.0, 0), (pytest.approx(0.7), 1), (pytest.approx(0.7), 2)]
    assert [(row["prompt"], row["temperature"], row["sample"]) for row in project.rows(TEXT)] == [
        (name, *sample) for name in asking[TEXT] for sample in samples
    ]
    assert counts(run) == (0, len(asking[LETTERS]) + len(asking[LIKELIHOOD]) + 3 * len(asking[TEXT]))
    assert run.notes["engine"].items() >= {"device": "cpu", "mode": "trie", "rows": 4}.items()
    assert run.notes["engine"]["passes"]["trie"] > 0
    revision = f"transformers/{engine.REVISION}.{pictures.REVISION}"
    for output in OUTPUTS:
        assert RESPONSES[output].table.read(RESPONSES[output].path(MODEL, DATASET)).num_rows == len(
            project.rows(output)
        )
        assert {(row["engine"], row["device"], row["problem"]) for row in project.rows(output)} == {
            (revision, "cpu", None)
        }
    decoded = np.asarray(Image.open(io.BytesIO(images[0])))
    height, width, _ = decoded.shape
    digest = sha256(f"RGB {width} {height}\n".encode() + decoded.tobytes()).hexdigest()
    assert all(project.rows(output)[0]["pixels"] == digest for output in (LETTERS, LIKELIHOOD))


def test_answers_are_those_of_a_plain_forward(project: Project) -> None:
    prompts, images = mixed(9)
    project.ask(prompts, images)
    project.extract()
    plain = Plain(project.model)
    of = {row["id"]: row for row in prompts}
    data = {sha256(image).hexdigest(): image for image in images}

    def asked(row: dict[str, Any]) -> tuple[str, Image.Image]:
        found = of[row["prompt"]]
        return found["text"], pictures.decode(data[found["pictures"][0]["images"][0]])

    for row in project.rows(LETTERS):
        assert row["logits"] == pytest.approx(plain.letters(*asked(row), "ABCD"), abs=2e-5)
    for row in project.rows(LIKELIHOOD):
        option = of[row["prompt"]]["options"][row["option"]]
        nll, tokens = plain.likelihood(*asked(row), option)
        assert row["nll"] == pytest.approx(nll, abs=1e-4)
        assert (row["tokens"], row["bytes"]) == (tokens, len(option))
    for row in project.rows(TEXT):
        assert row["text"] == plain.text(*asked(row), 4)


def test_a_variation_added_later_gives_the_bytes_of_a_run_that_had_it(project: Project) -> None:
    prompts, images = quiz(7, outputs=OUTPUTS, variations=("original", "other"))
    project.ask([row for row in prompts if row["variation"] == "original"], images)
    assert counts(project.extract()) == (0, 21)
    project.ask(prompts, images)
    assert counts(project.extract()) == (21, 21)
    grown = project.bytes()
    shutil.rmtree(".vouch")
    assert counts(project.extract()) == (0, 42)
    assert project.bytes() == grown


def test_two_runs_give_the_same_bytes(project: Project) -> None:
    prompts, images = mixed(10)
    project.ask(prompts, images)
    project.extract()
    first = project.bytes()
    assert "engine" not in project.extract().notes, "nothing to ask loads no model"
    assert project.bytes() == first


def test_reordered_items_repeat_no_work_and_change_no_bits(project: Project) -> None:
    prompts, images = quiz(12, outputs=OUTPUTS)
    project.ask(prompts, images)
    project.extract()
    before = {output: {row["prompt"]: row for row in project.rows(output)} for output in OUTPUTS}
    random.Random(3).shuffle(prompts)
    project.ask(prompts, images)
    assert counts(project.extract()) == (36, 0)
    assert {output: {row["prompt"]: row for row in project.rows(output)} for output in OUTPUTS} == before
    assert [row["prompt"] for row in project.letters()] == [row["id"] for row in prompts]
    cached = project.bytes()
    shutil.rmtree(".vouch")
    project.extract()
    assert project.bytes() == cached


def test_new_temperatures_and_more_samples_ask_only_for_themselves(project: Project) -> None:
    prompts, images = quiz(5, outputs=(LETTERS, TEXT))
    project.ask(prompts, images)
    assert counts(project.extract()) == (0, 10)
    greedy = project.bytes()
    texts = project.rows(TEXT)
    for sampling, known, asked in [
        ([{"temperature": 0.7, "samples": 2}], 10, 10),
        ([{"temperature": 0.7, "samples": 3}], 20, 5),
        ([{"temperature": 1.5, "samples": 1}, {"temperature": 0.7, "samples": 3}], 25, 5),
    ]:
        project.params["extract"]["sampling"] = sampling
        assert counts(project.extract()) == (known, asked)
        assert project.bytes()[LETTERS] == greedy[LETTERS]
        assert [row for row in project.rows(TEXT) if row["sample"] == 0] == texts
    at_once = project.bytes()
    assert len({row["text"] for row in project.rows(TEXT) if row["prompt"] == "q0/original"}) > 1
    shutil.rmtree(".vouch")
    project.extract()
    assert project.bytes() == at_once


def test_a_pack_half_known_gives_the_same_bits(project: Project) -> None:
    prompts, images = quiz(30, pictures=1, outputs=(LETTERS, LIKELIHOOD))
    for number, row in enumerate(prompts):
        row |= {"item": "q", "id": f"q/original/{number}"}
    project.ask(prompts, images)
    project.extract()
    whole = project.bytes()
    for shard in project.shards():
        table = pq.read_table(shard)
        sink = io.BytesIO()
        pq.write_table(
            table.take(list(range(0, len(table), 2))), sink, compression="zstd", store_schema=False
        )
        shard.unlink()
        shard.with_name(f"{sha256(sink.getvalue()).hexdigest()}.parquet").write_bytes(sink.getvalue())
    assert counts(project.extract()) == (30, 30)
    assert project.bytes() == whole


def test_same_content_in_another_dataset_is_known(project: Project) -> None:
    prompts, images = quiz(6)
    project.ask(prompts, images)
    project.extract()
    project.ask([{**row, "id": f"x/{row['id']}"} for row in prompts[:4]], images, "other")
    run = project.extract("other")
    assert counts(run) == (4, 0) and "engine" not in run.notes
    assert [row["logits"] for row in project.letters("other")] == [
        row["logits"] for row in project.letters()[:4]
    ]


def test_only_a_raised_revision_repeats_work(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    prompts, images = quiz(5)
    project.ask(prompts, images)
    project.extract()
    first = letters_table(project.letters())
    monkeypatch.setattr(engine, "REVISION", engine.REVISION + 1)
    assert counts(project.extract()) == (0, 5)
    assert letters_table(project.letters()) == first
    monkeypatch.setattr(pictures, "REVISION", pictures.REVISION + 1)
    assert counts(project.extract()) == (0, 5)
    assert project.letters()[0]["engine"] == f"transformers/{engine.REVISION}.{pictures.REVISION}"


def test_an_edited_comment_repeats_no_work(project: Project) -> None:
    prompts, images = quiz(5, outputs=OUTPUTS)
    project.ask(prompts, images)
    project.extract()
    copied = project.path / "edited"
    shutil.copytree(Path(__file__).parents[2] / "vouch", copied, ignore=shutil.ignore_patterns("__pycache__"))
    for file in (copied / "models").rglob("*.py"):
        file.write_text(file.read_text("utf-8") + "# an afterthought\n", "utf-8")
    (project.path / "vouch").unlink()
    copied.rename(project.path / "vouch")
    before = project.bytes()
    shutil.rmtree("data/responses")
    process = project.start("extract", MODEL, DATASET)
    _, error = process.communicate(timeout=120)
    assert process.returncode == 0, error
    assert project.bytes() == before and len(project.shards()) == 3
    assert '"asked": 0' in (project.path / f".vouch/runs/extract-{MODEL}-{DATASET}.json").read_text("utf-8")


@pytest.mark.parametrize("setting", ["batch", "bucket", "threads"])
def test_settings_that_move_bits_are_part_of_the_key(project: Project, setting: str) -> None:
    prompts, images = quiz(3)
    project.ask(prompts, images)
    project.extract()
    project.params["extract"][setting] += 1
    assert counts(project.extract()) == (0, 3)
    project.params["extract"][setting] -= 1
    project.params["extract"] |= {"device": "auto", "workers": 3}
    assert counts(project.extract()) == (3, 0)


def test_moving_the_model_folder_repeats_no_work(project: Project, tmp_path: Path) -> None:
    prompts, images = quiz(3)
    project.ask(prompts, images)
    project.extract()
    moved = shutil.copytree(project.model, tmp_path / "moved")
    project.entry["source"]["path"] = str(moved)
    project.pin()
    assert counts(project.extract()) == (3, 0)


def test_damaged_shard_is_noted_and_asked_again(project: Project) -> None:
    prompts, images = quiz(6)
    project.ask(prompts[:4], images)
    project.extract()
    project.ask(prompts, images)
    project.extract()
    whole = project.bytes()
    shard = min(project.shards(), key=lambda path: pq.read_metadata(path).num_rows)
    shard.write_bytes(shard.read_bytes()[:-9])
    run = project.extract()
    assert counts(run) == (4, 2) and run.notes["damaged_shards"] == [shard.name]
    assert project.bytes() == whole


def test_bad_inputs_are_one_line(project: Project) -> None:
    prompts, images = quiz(1)
    project.ask([*prompts, prompt("p/original", "what", [b"gone"])], images)
    with pytest.raises(UserError, match=r"data/images/quiz\.parquet: no image"):
        project.extract()
    Path("data/models/tiny.json").write_text("{}", "utf-8")
    with pytest.raises(UserError, match="not a pin"):
        project.extract()
    with pytest.raises(UserError, match="no such file"):
        read_pin(Path("data/models/absent.json"))


def test_damaged_prompts_are_one_line(project: Project) -> None:
    prompts, images = quiz(40)
    project.ask(prompts, images)
    path = Path("data/prompts/quiz.parquet")
    group = pq.read_metadata(path).row_group(0)
    column = next(
        group.column(index)
        for index in range(group.num_columns)
        if group.column(index).path_in_schema == "text"
    )
    data = bytearray(path.read_bytes())
    start = column.dictionary_page_offset or column.data_page_offset
    data[start + column.total_compressed_size // 2] ^= 1
    path.write_bytes(data)
    with pytest.raises(UserError, match=r"^data/prompts/quiz\.parquet: damaged [^\n]*; delete it"):
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


def test_nothing_to_ask(project: Project) -> None:
    project.ask([prompt("p/original", "what", [picture(1)], outputs=())], [picture(1)])
    assert counts(project.extract()) == (0, 0)
    assert [project.rows(output) for output in OUTPUTS] == [[], [], []]


@pytest.mark.skipif(not REALDATA.is_dir(), reason="the reference photographs are not there")
def test_real_photographs(project: Project) -> None:
    files = sorted(path for path in REALDATA.rglob("*") if path.suffix in (".png", ".jpg"))[::9]
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
