"""Kinds of prompts through the stages: conversations, samples up to the rankings, and variations."""

import io
import math
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from tests.models.encoders.models import pin, save_bert
from tests.models.engines import Plain
from tests.models.project import DATASET, Project, image, prompt, quiz
from tests.prompts.rows import item_rows
from vouch.images.opening import decode
from vouch.metrics.comparison.ranking import tasks, with_similarity
from vouch.models.config import ExtractConfig
from vouch.prompts.combination import load_variation
from vouch.prompts.draft import Item
from vouch.prompts.template import Template
from vouch.tables import SAMPLES, SIMILARITIES
from vouch.tables.answered import pin_path, write_pin
from vouch.tables.asked import ITEMS, LETTERS, LIKELIHOOD, OUTPUTS, TEXT, items_path
from vouch.tables.embedded import TEXT_SIMILARITY, TEXT_SIMILARITY_PATH
from vouch.tables.results import LABEL_FREE, METRICS, label_free_path, metrics_path

NOISE = image(1)


def texts(project: Project) -> dict[str, Any]:
    return {row["prompt"]: row["text"] for row in project.rows(TEXT)}


def test_three_turns_in_one_run(project: Project) -> None:
    first, second = "what is shown", "{answer 1} the dog"
    turns = [(first, "{answer 1}")]
    rows = [
        prompt("q/talk/1", first, [NOISE], outputs=[TEXT]),
        prompt("q/talk/2", second, [NOISE], outputs=[TEXT], turns=turns, earlier=[["q/talk/1"]]),
        prompt(
            "q/talk/3",
            "which of {answer 2}",
            [NOISE],
            outputs=OUTPUTS,
            turns=[*turns, (second, "{answer 2}")],
            earlier=[["q/talk/1"], ["q/talk/2"]],
        ),
    ]
    project.ask(rows, [NOISE])
    run = project.extract()
    assert run.measured["answers"] == {"known": 0, "asked": 5}
    said = texts(project)

    plain, shown = Plain(project.model), decode(NOISE)
    one = plain.text(first, shown, 4)
    two = plain.text(f"{one} the dog", shown, 4, [(first, one)])
    history = [(first, one), (f"{one} the dog", two)]
    assert [said[row["id"]] for row in rows] == [one, two, plain.text(f"which of {two}", shown, 4, history)]
    (letters,) = project.rows(LETTERS)
    assert letters["logits"] == pytest.approx(
        plain.letters(f"which of {two}", shown, "ABCD", history), abs=2e-5
    )
    assert len(project.rows(LIKELIHOOD)) == 4
    before = project.bytes()
    assert project.extract().measured["answers"] == {"known": 5, "asked": 0}
    assert project.bytes() == before


def test_a_refused_answer_refuses_what_repeats_it(
    project: Project, capfd: pytest.CaptureFixture[str]
) -> None:
    def sequel(name: str, of: str) -> dict[str, Any]:
        return prompt(name, "{answer 1} what", [NOISE], outputs=[LETTERS, TEXT], earlier=[[of]])

    rows = [
        prompt("q/a", "what " * 300, [NOISE], outputs=[TEXT]),
        sequel("q/b", "q/a"),
        sequel("q/c", "q/b"),
        prompt("r/a", "what", [NOISE], outputs=[TEXT]),
        sequel("r/b", "r/a"),
    ]
    project.ask(rows, [NOISE])
    for asked in (4, 0):
        run = project.extract()
        assert run.measured["answers"]["asked"] == asked
        assert run.notes["unanswered"] == {LETTERS: 2, TEXT: 3}
        error = capfd.readouterr().err
        assert error.count("\n") == 1 and "letters 2 of 3, text 3 of 5" in error
    problems = {row["prompt"]: row["problem"] for row in project.rows(TEXT)}
    assert problems["q/a"].startswith("its 3") and problems["r/a"] is problems["r/b"] is None
    assert problems["q/b"] == "repeats the answer to prompt q/a, which has none"
    assert problems["q/c"] == "repeats the answer to prompt q/b, which has none"
    assert {row["prompt"]: row["problem"] is None for row in project.letters()} == {
        "q/b": False,
        "q/c": False,
        "r/b": True,
    }


SAMPLED, HOT = "t0.2", "t5"


def ask(project: Project) -> None:
    prompts, images = quiz(12, outputs=[TEXT])
    for name, own in ((DATASET, prompts), ("other", [])):
        project.ask(own, images, name)
        every = {"kind": "choice", "answers": [0], "category": ""}
        rows = [{"id": row["item"], "group": row["item"]} | every for row in own]
        ITEMS.write(items_path(name), rows)
        project.extract(name)


def test_samples_become_metrics_signals_and_rankers(project: Project, tmp_path: Path) -> None:
    """Samples of one and the same prompt are the control of instability: the hotter, the more it varies."""
    project.params["extract"]["sampling"] = [
        {"temperature": 0.2, "samples": 3},
        {"temperature": 5, "samples": 3},
    ]
    write_pin(pin_path("bert"), pin("bert", save_bert(tmp_path / "bert")))
    ask(project)
    project.stage("score", DATASET)
    found = {
        (row["score"], row["metric"]): row
        for row in METRICS.read(metrics_path(DATASET)).to_pylist()
        if row["protocol"] == "clean" and row["category"] == "all"
    }
    calm, wild = (found[score, "instability"]["value"] for score in (SAMPLED, HOT))
    assert 0 <= calm < wild <= math.log(3)
    assert found[SAMPLED, "agreement"]["value"] > found[HOT, "agreement"]["value"]
    assert found[SAMPLED, "instability"]["items"] == 12

    project.params["embed"]["texts"] = {"encoder": "data/models/bert.json", "device": "cpu"}
    project.stage("embed")
    similarity = TEXT_SIMILARITY.read(TEXT_SIMILARITY_PATH)
    assert similarity.num_rows == 24
    (own,) = tasks(with_similarity(LABEL_FREE.read(label_free_path(DATASET)), similarity))
    greedy, *sampled = own
    assert [task.score for task in own] == ["", SAMPLED, HOT]
    assert not set(greedy.label_free) & {*SAMPLES, *SIMILARITIES}
    for task in sampled:
        assert not any(np.isnan(task.label_free[name]).any() for name in (*SAMPLES, *SIMILARITIES))
    calm, wild = (task.label_free["semantic_entropy"] for task in sampled)
    assert 0 <= calm.mean() < wild.mean() <= math.log(3), "cooler samples agree more"
    means = [[task.label_free[name].mean() for task in sampled] for name in (*SAMPLES, *SIMILARITIES)]
    assert all(first > second for first, second in means), "cooler samples are more like the greedy text"


def test_entries_of_one_temperature_draw_of_different_prompts() -> None:
    one = {"temperature": 1, "samples": 2}
    apart = [one | {"datasets": ["a"], "models": ["m"]}, one | {"datasets": ["b"]}]
    assert [len(ExtractConfig.model_validate({"sampling": apart}).sampled("m", name)) for name in "ab"] == [
        1,
        1,
    ]
    for meeting in ({}, {"datasets": ["b", "a"]}, {"models": ["m"]}, {"variations": ["original"]}):
        with pytest.raises(ValueError, match="the same prompts twice at temperature 1; let one entry"):
            ExtractConfig.model_validate({"sampling": [apart[0], one | meeting]})


STYLE = Template(
    body="{hint}{question}\n{options}",
    hint="{hint}\n",
    option="{label} {text}",
    images="joined",
    outputs=(LETTERS, LIKELIHOOD, TEXT),
)
IMAGES = [image(seed, (24, 24)) for seed in range(3)]
LEFT, RIGHT, OTHER = (sha256(data).hexdigest() for data in IMAGES)
PAIR = Item(
    "q", "g", "which dog", None, ("left", "right"), (0,), (LEFT, RIGHT), "choice", exchange=(None, OTHER)
)


def prompts(template: Template, *items: Item, variations: tuple[str, ...]) -> list[dict[str, Any]]:
    before: dict[str, Any] = {}
    loaded = [load_variation(name) for name in variations]
    return [row for item in items for row in item_rows(item, loaded, template, "own", 3, before)]


def expected(variation: str) -> Image.Image | None:
    """The image of a variation, by arrays."""
    left, right, other = (np.asarray(Image.open(io.BytesIO(data)).convert("RGB")) for data in IMAGES)
    sides = {
        "original": (left, right),
        "circular": (left, right),
        "image_only": (left, right),
        "vs_s": (right, left),
        "vs_e": (left, other),
        "option_order+vr_r": (np.rot90(left, -1), np.rot90(right, -1)),
        "blank+circular": (np.full_like(left, 128),) * 2,
    }
    return Image.fromarray(np.concatenate(sides[variation], axis=1)) if variation in sides else None


def test_a_pair_in_every_variation(project: Project) -> None:
    names = ("original", "circular", "image_only", "vs_s", "vs_e", "option_order+vr_r", "blank+circular")
    rows = prompts(STYLE, PAIR, variations=(*names, "text_only"))
    project.ask(rows, IMAGES)
    asked = project.extract().measured["answers"]
    assert asked == {"known": 0, "asked": 27}, "ten prompts, of which circular/1 is the original once more"
    plain, of = Plain(project.model), {row["id"]: row for row in rows}
    letters, likelihood, text = (project.rows(output) for output in (LETTERS, LIKELIHOOD, TEXT))
    assert len(letters) == len(text) == len(rows) == 10 and len(likelihood) == 20
    for row in letters:
        asked = of[row["prompt"]]
        shown = expected(asked["variation"])
        assert row["problem"] is None and (row["pixels"] == "") == (asked["variation"] == "text_only")
        assert row["logits"] == pytest.approx(plain.letters(asked["text"], shown, "AB"), abs=2e-5), row[
            "prompt"
        ]
    for row in likelihood:
        asked = of[row["prompt"]]
        shown = expected(asked["variation"])
        nll = plain.nll(asked["text"], shown, asked["options"][row["option"]])
        assert row["nll"] == pytest.approx(nll, abs=1e-4)
    for row in text:
        asked = of[row["prompt"]]
        assert row["text"] == plain.text(asked["text"], expected(asked["variation"]), 3)
    said = {row["prompt"]: row["logits"] for row in letters}
    assert said["q/vs_s"] != said["q/original"] == said["q/circular/1"] != said["q/text_only"]
