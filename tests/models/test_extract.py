"""The stage: what it asks, what it remembers, what it writes."""

import io
import random
import shutil
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from PIL import Image

from tests.models.project import DATASET, MODEL, Project, image, letters_table, prompt, quiz
from tests.refusals import refused
from vouch.images import opening
from vouch.models.config import ExtractConfig
from vouch.models.engine import ENGINES
from vouch.models.requests import Session
from vouch.pipeline.processor import TORCH, computed_on, fixed
from vouch.tables.answered import RESPONSES, pin_path, read_pin
from vouch.tables.asked import LETTERS, LIKELIHOOD, OUTPUTS, TEXT, WORDING

REALDATA = Path(__file__).parents[3] / "shared" / "reference" / "realdata"


def counts(run: Any) -> tuple[int, int]:
    """Answers known and asked."""
    answers = run.measured["answers"]
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
    assert run.measured["engine"].items() >= {"device": computed_on("cpu"), "mode": "trie", "rows": 4}.items()
    assert run.measured["engine"]["passes"]["trie"] > 0
    revision = f"transformers/{ENGINES['transformers'].revision}.{opening.REVISION}"
    for output in OUTPUTS:
        assert RESPONSES[output].table.read(RESPONSES[output].path(MODEL, DATASET)).num_rows == len(
            project.rows(output)
        )
        assert {(row["engine"], row["device"], row["problem"]) for row in project.rows(output)} == {
            (revision, computed_on("cpu"), None)
        }
    decoded = np.asarray(Image.open(io.BytesIO(images[0])))
    height, width, _ = decoded.shape
    digest = sha256(f"RGB {width} {height}\n".encode() + decoded.tobytes()).hexdigest()
    assert all(project.rows(output)[0]["pixels"] == digest for output in (LETTERS, LIKELIHOOD))


@pytest.mark.skipif(not fixed(), reason="no AVX2 here")
def test_answers_of_free_kernels_are_asked_again_when_reproducible(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    def extract(reproducible: str) -> tuple[tuple[int, int], set[str]]:
        for name, value in TORCH.items():
            monkeypatch.setenv(name, value)
        project.params["extract"]["reproducible"] = reproducible
        return counts(project.extract()), {row["device"] for row in project.letters()}

    project.ask(*quiz(3))
    assert extract("off") == ((0, 3), {"cpu"})
    assert extract("auto") == ((0, 3), {"cpu-x86-64-v3"})
    shutil.rmtree(".vouch")
    assert extract("auto")[0] == (0, 3)
    assert extract("off") == ((3, 0), {"cpu-x86-64-v3"})  # they need not be asked again to be faster
    config = ExtractConfig.model_validate(project.params["extract"] | {"reproducible": "auto"})
    pin = read_pin(pin_path(MODEL))
    assert [
        Session(pin, config.model_copy(update={"device": on})).excluded_devices
        for on in ("cpu", "cuda", "split")
    ] == [("cpu",), (), ()]


def test_a_variation_added_later_gives_the_bytes_of_a_run_that_had_it(quick: Project) -> None:
    prompts, images = quiz(7, outputs=OUTPUTS, variations=("original", "other"))
    quick.ask([row for row in prompts if row["variation"] == "original"], images)
    assert counts(quick.extract()) == (0, 21)
    quick.ask(prompts, images)
    assert counts(quick.extract()) == (21, 21)
    grown = quick.bytes()
    shutil.rmtree(".vouch")
    assert counts(quick.extract()) == (0, 42)
    assert quick.bytes() == grown


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


def test_a_model_with_a_cap_of_its_own(quick: Project) -> None:
    prompts, images = quiz(2, outputs=(TEXT,))
    quick.ask(prompts, images)
    long = quick.params["extract"]["max_tokens"]
    quick.extract()
    assert max(len(row["logprobs"]) for row in quick.rows(TEXT)) == long
    quick.params["extract"]["max_tokens_of"] = {MODEL: 2, "other": long}
    quick.extract()
    assert {len(row["logprobs"]) for row in quick.rows(TEXT)} == {2}


def test_a_beam_search_asks_only_texts_again(project: Project) -> None:
    project.ask(*quiz(2, outputs=(LETTERS, TEXT)))
    assert counts(project.extract()) == (0, 4)
    greedy = project.bytes()
    project.params["extract"]["beam_search"] = {MODEL: {"beams": 3}}
    assert counts(project.extract()) == (2, 2)
    best = {row["prompt"]: sum(row["logprobs"]) / len(row["logprobs"]) for row in project.rows(TEXT)}
    project.params["extract"]["beam_search"] = {"other": {"beams": 3}}
    assert counts(project.extract()) == (4, 0) and project.bytes() == greedy, "keys of greedy texts stay"
    assert all(
        best[row["prompt"]] >= sum(row["logprobs"]) / len(row["logprobs"]) for row in project.rows(TEXT)
    )


def test_a_model_that_is_asked_other_datasets_has_no_rows(quick: Project) -> None:
    quick.ask(*quiz(2))
    quick.params["extract"]["datasets_of"] = {MODEL: ["other"], "other": ["quiz"]}
    assert counts(quick.extract()) == (0, 0)
    assert [quick.rows(output) for output in OUTPUTS] == [[], [], []]
    quick.params["extract"]["datasets_of"] = {MODEL: ["other", "quiz"]}
    assert counts(quick.extract()) == (0, 2)


def test_a_models_own_prompt_is_asked_of_it_and_nothing_of_others(quick: Project) -> None:
    prompts, images = quiz(4, outputs=(LETTERS, TEXT))
    mine = [row | {"text": f"Question: {row['text']}"} for row in prompts]
    quick.ask(prompts, images)
    assert counts(quick.extract()) == (0, 8)
    of_all = quick.bytes()
    for model, answers in (("another", (8, 0)), (MODEL, (0, 8))):
        own = [{"models": [model]} | {column: row.get(column) for column in WORDING} for row in mine]
        quick.ask([row | {"model_prompts": [one]} for row, one in zip(prompts, own, strict=True)], images)
        assert counts(quick.extract()) == answers and (quick.bytes() == of_all) == (model != MODEL)
    quick.ask(mine, images, "other")
    assert counts(quick.extract("other")) == (8, 0) and quick.bytes("other") == quick.bytes()


def test_new_temperatures_and_more_samples_ask_only_for_themselves(quick: Project) -> None:
    prompts, images = quiz(5, outputs=(LETTERS, TEXT))
    quick.ask(prompts, images)
    assert counts(quick.extract()) == (0, 10)
    greedy = quick.bytes()
    texts = quick.rows(TEXT)
    for sampling, known, asked in [
        ([{"temperature": 0.7, "samples": 2}], 10, 10),
        ([{"temperature": 0.7, "samples": 3}], 20, 5),
        ([{"temperature": 1.5, "samples": 1}, {"temperature": 0.7, "samples": 3}], 25, 5),
    ]:
        quick.params["extract"]["sampling"] = sampling
        assert counts(quick.extract()) == (known, asked)
        assert quick.bytes()[LETTERS] == greedy[LETTERS]
        assert [row for row in quick.rows(TEXT) if row["sample"] == 0] == texts
    at_once = quick.bytes()
    assert len({row["text"] for row in quick.rows(TEXT) if row["prompt"] == "q0/original"}) > 1
    shutil.rmtree(".vouch")
    quick.extract()
    assert quick.bytes() == at_once


def test_what_is_sampled_is_limited_to_cells_and_variations(quick: Project) -> None:
    prompts, images = quiz(3, outputs=(TEXT,))
    prompts += [row | {"id": row["item"] + "/blank", "variation": "blank"} for row in prompts]
    prompts = [row | {"text": f"{row['text']} {row['variation']}"} for row in prompts]
    quick.ask(prompts, images)
    drawn = {"temperature": 0.7, "samples": 2}
    for limit, known, asked in [
        ({"models": ["other"]}, 0, 6),
        ({"datasets": ["other"], "models": [MODEL]}, 6, 0),
        ({"variations": ["blank"], "datasets": [DATASET], "models": [MODEL]}, 6, 6),
        ({"variations": ["blank", "original"]}, 12, 6),
        ({}, 18, 0),
        ({"variations": ["blank"]}, 12, 0),
    ]:
        quick.params["extract"]["sampling"] = [drawn | limit]
        assert counts(quick.extract()) == (known, asked)
    sampled = [row["prompt"] for row in quick.rows(TEXT) if row["sample"]]
    assert set(sampled) == {f"q{n}/blank" for n in range(3)} and len(sampled) == 6


def test_a_pack_half_known_gives_the_same_bits(project: Project) -> None:
    prompts, images = quiz(30, images=1, outputs=(LETTERS, LIKELIHOOD))
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


def test_only_a_raised_revision_repeats_work(quick: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    prompts, images = quiz(5)
    quick.ask(prompts, images)
    quick.extract()
    first = letters_table(quick.letters())
    kind = replace(ENGINES["transformers"], revision=ENGINES["transformers"].revision + 1)
    monkeypatch.setitem(ENGINES, "transformers", kind)
    assert counts(quick.extract()) == (0, 5)
    assert letters_table(quick.letters()) == first
    monkeypatch.setattr(opening, "REVISION", opening.REVISION + 1)
    assert counts(quick.extract()) == (0, 5)
    assert quick.letters()[0]["engine"] == f"transformers/{kind.revision}.{opening.REVISION}"


def test_settings_that_move_bits_are_part_of_the_key(quick: Project) -> None:
    prompts, images = quiz(3)
    quick.ask(prompts, images)
    quick.extract()
    for setting in ("batch", "bucket", "threads"):
        quick.params["extract"][setting] += 1
        assert counts(quick.extract()) == (0, 3)
        quick.params["extract"][setting] -= 1
    quick.params["extract"] |= {"device": "auto", "workers": 3}
    assert counts(quick.extract()) == (3, 0)


def test_damaged_shard_is_noted_and_asked_again(quick: Project) -> None:
    prompts, images = quiz(6)
    quick.ask(prompts[:4], images)
    quick.extract()
    quick.ask(prompts, images)
    quick.extract()
    whole = quick.bytes()
    shard = min(quick.shards(), key=lambda path: pq.read_metadata(path).num_rows)
    shard.write_bytes(shard.read_bytes()[:-9])
    run = quick.extract()
    assert counts(run) == (4, 2) and run.measured["damaged_shards"] == [shard.name]
    assert quick.bytes() == whole


def test_flagged_rows_beside_answers(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    prompts, images = quiz(4, outputs=OUTPUTS)
    bad = [
        prompt("long/original", "what " * 300, [images[0]], outputs=OUTPUTS),
        prompt("damaged/original", "what", [b"not an image"], outputs=OUTPUTS),
        prompt("unmarked/original", "what", [images[0]], labels="", outputs=[LETTERS]),
        prompt("odd/original", "what", [images[0]], labels="AÄ", outputs=[LETTERS]),
    ]
    project.ask([*bad[:2], *prompts, *bad[2:]], [*images, b"not an image"])
    project.extract()
    (line,) = [line for line in capsys.readouterr().err.splitlines() if "without an answer" in line]
    assert line.startswith(
        "tiny quiz: prompts without an answer: letters 4 of 8, likelihood 2 of 6, text 2 of 6; "
    )
    assert "prompt long/original: its 3" in line
    refused = {
        output: {row["prompt"]: row["problem"] for row in project.rows(output) if row["problem"] is not None}
        for output in OUTPUTS
    }
    names = ["long/original", "damaged/original"]
    assert {output: list(found) for output, found in refused.items()} == {
        LETTERS: [*names, "unmarked/original", "odd/original"],
        LIKELIHOOD: names,
        TEXT: names,
    }
    for output in OUTPUTS:
        assert "cannot be decoded" in refused[output]["damaged/original"]
    assert refused[LETTERS]["unmarked/original"] == "asks for letters but has no labels"
    assert "no distinct single token" in refused[LETTERS]["odd/original"]
    assert [row["logits"] for row in project.letters()[:2]] == [None, None]
    assert len([row for row in project.rows(LIKELIHOOD) if row["nll"] is None]) == 8
    before = project.bytes()
    assert project.extract().measured["answers"]["asked"] == 0, "a lasting refusal is remembered"
    assert project.bytes() == before
    project.ask(prompts, images)
    assert project.extract().measured["answers"]["asked"] == 0, "the others were kept"


def test_bad_inputs_are_one_line(quick: Project) -> None:
    prompts, images = quiz(1)
    quick.ask([*prompts, prompt("p/original", "what", [b"gone"])], images)
    with refused(r"data/images/quiz\.parquet: no image"):
        quick.extract()
    Path("data/models/tiny.json").write_text("{}", "utf-8")
    with refused("not a pin"):
        quick.extract()
    with refused("no such file"):
        read_pin(Path("data/models/absent.json"))


def test_nothing_to_ask(quick: Project) -> None:
    quick.ask([prompt("p/original", "what", [image(1)], outputs=())], [image(1)])
    assert counts(quick.extract()) == (0, 0)
    assert [quick.rows(output) for output in OUTPUTS] == [[], [], []]


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
