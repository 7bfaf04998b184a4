"""A judge of open answers: what it sees, what people decide, and what becomes of both in the scores."""

import csv
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest

from tests.cli.conftest import Vouch, set_params
from tests.cli.conftest import vouch as vouch
from tests.models.loopback_server import Loopback
from tests.prompts.rewrites.conftest import completion
from tests.prompts.rewrites.test_judge import Project
from tests.prompts.rewrites.test_judge import asking as asking
from tests.prompts.rewrites.test_judge import project as project
from vouch.metrics.text.judge import OpenAnswer, sampled
from vouch.pipeline.errors import UserError
from vouch.prompts.judge.open import prompt, verdict
from vouch.prompts.judge.quoting import words
from vouch.report.judged import of_judge
from vouch.tables.items import ITEMS, items_path
from vouch.tables.judged import JUDGED, judged_path
from vouch.tables.judgements import judgements_path, read_judgements
from vouch.tables.metrics import METRICS, metrics_path
from vouch.tables.pins import Pin, Source, folder_digests, pin_path, write_pin
from vouch.tables.prompts import KEPT, PROMPTS, prompts_path
from vouch.tables.responses import RESPONSES

QUESTION, REFERENCES = "What is shown?", ("a cat", "a kitten")
RIGHT, LENIENT, WRONG, EMPTY = "A small feline.", "Some animal.", "A dog.", ""
COUNT = 120


# 60 right answers, 24 that the judge takes for right, 30 wrong ones, 6 that say nothing.
_PATTERN = [RIGHT] * 10 + [LENIENT] * 4 + [WRONG] * 5 + [EMPTY]


def said(number: int) -> str:
    """Each answer in words of its own, so that each is judged and decided by itself."""
    text = _PATTERN[number % len(_PATTERN)]
    return f"{text} ({number})" if text else ""


@pytest.fixture
def open_project(asking: Project, server: Loopback) -> Project:
    items, prompts, texts = [], [], []
    for number in range(COUNT):
        name = f"q{number}"
        items.append(
            {"id": name, "group": f"g{number // 2}", "kind": "text", "flags": [], "category": "", "turns": []}
            | {"question": QUESTION, "references": REFERENCES, "answers": [], "options": []}
        )
        for variation in ("original", "blank"):
            prompts.append(
                {"id": f"{name}/{variation}", "item": name, "variation": variation, "outputs": ["text"]}
                | {"options": [], "order": [], "marks": [], "answers": [], "effect": KEPT}
                | {"template": "plain", "family": variation}
            )
            texts.append(
                {"prompt": f"{name}/{variation}", "temperature": 0, "sample": 0, "text": said(number)}
            )
            if variation == "blank":
                texts[-1]["text"] = "Nothing at all."
    for table, path, rows in ((ITEMS, items_path("left"), items), (PROMPTS, prompts_path("left"), prompts)):
        table.write(path, pa.Table.from_pylist(rows, table.schema).to_pylist())
    for output, response in RESPONSES.items():
        found = pa.Table.from_pylist(texts if output == "text" else [], response.table.schema)
        response.table.write(response.path("tiny_a", "left"), found.to_pylist())
    server.instead = lambda request, _: completion(
        "B" if "A dog." in request["messages"][0]["content"] else "A. correct"
    )
    asking.judge |= {"open": True, "sample": 80}
    return asking


def figures() -> dict[str, dict[str, Any]]:
    rows = METRICS.read(metrics_path("left")).to_pylist()
    return {
        row["metric"]: row
        for row in rows
        if (row["protocol"], row["variation"], row["category"]) == ("clean", "original", "all")
    }


def sentences() -> list[str]:
    """What `vouch show` and the report say of these."""
    found = {name: SimpleNamespace(**row) for name, row in figures().items()}
    return list(of_judge(lambda metric, score: found.get(metric) if score == "" else None))


def review(vouch: Vouch, *words: object, status: int = 0) -> str:
    """`vouch review judge left`, in a project whose params name the server."""
    set_params(helpers={"writer": "models.lock"})
    source = {"kind": "server", "url": "http://127.0.0.1:1/v1", "name": "llama"}
    lock = {"models": {"writer": {"source": source, "engine": "openai"}}}
    Path("models.lock").write_text(json.dumps(lock), "utf-8")
    return vouch("review", "judge", "left", *words, status=status)


def decide(path: Path) -> int:
    """What a person would say; how many."""
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    for row in rows:
        row["decision"] = "correct" if row["answer"].startswith(RIGHT) else "incorrect"
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return len(rows)


def test_judged_decided_and_corrected(
    open_project: Project, server: Loopback, vouch: Vouch, tmp_path: Path
) -> None:
    rows = {row["key"]: row for row in open_project.rows()}
    told = [request["messages"][0]["content"] for request in server.requests]
    assert len(rows) == len(told) == 114, "of the original prompts all but the empty ones, once each"
    assert all("- a cat\n- a kitten\n" in one and QUESTION in one for one in told)
    key = OpenAnswer(QUESTION, REFERENCES, said(0)).key
    assert (rows[key]["verdict"], rows[key]["place"]) == ("correct", None)
    assert rows[key]["judge"].endswith(f"prompt {words('open').version}")
    assert open_project.rows() and len(server.requests) == 114, "nothing known is asked again"

    open_project.scored()
    before = figures()
    assert before["judge_accuracy"]["value"] == pytest.approx(84 / 120), "an empty answer is wrong"
    assert "accuracy_powered" not in before and before["accuracy"]["value"] == 0, "that is exact match"
    assert before["decided_rate"]["items"] == 80 and "no person decided any" in sentences()[0]

    file = tmp_path / "review.csv"
    assert "0 of them decided" in review(vouch)
    review(vouch, "--export", file)
    shown = file.read_text("utf-8")
    assert "tiny_a" not in shown and ",correct" not in shown, "neither the model nor a verdict"
    count = decide(file)
    drawn = sampled([f"q{number}" for number in range(COUNT)], 80)
    assert count == sum(bool(said(int(name[1:]))) for name in drawn)
    assert f"{count} decisions taken over" in review(vouch, "--import", file)
    open_project.scored()
    after = figures()
    assert after["decided_rate"]["value"] == 1 and after["judge_accuracy"] == before["judge_accuracy"]
    powered, people = after["accuracy_powered"], after["people_accuracy"]
    assert powered["low"] < 0.5 < powered["high"] < before["judge_accuracy"]["value"], "60 of 120 are right"
    assert powered["high"] - powered["low"] < people["high"] - people["low"]
    right = sum(said(int(name[1:])).startswith(RIGHT) for name in drawn)
    lenient = sum(said(int(name[1:])).startswith(LENIENT) for name in drawn)
    assert people["value"] == pytest.approx(right / 80)
    assert after["judge_sensitivity"]["value"] == 1 and after["judge_sensitivity"]["items"] == right
    assert after["judge_specificity"]["value"] == pytest.approx(1 - lenient / (count - right))
    first, second = sentences()
    assert "The judge calls 70.0 % [" in first and "corrected by people's decisions" in first
    assert second.startswith("Of 80 open answers that were drawn people decided 80; the judge's kappa 0.")
    assert 0.4 < after["judge_kappa"]["value"] < 0.9 and 0 < after["judge_weight"]["value"] < 1


def test_decisions_outside_the_sample_do_not_count(
    open_project: Project, vouch: Vouch, tmp_path: Path
) -> None:
    open_project.rows()
    file = tmp_path / "review.csv"
    review(vouch, "--export", file)
    decide(file)
    review(vouch, "--import", file)
    open_project.judge["sample"] = 10
    open_project.scored()
    assert figures()["decided_rate"]["items"] == 10 >= figures()["judge_weight"]["items"]
    assert "decided 10: too few to say how good the judge is" in sentences()[1]


def test_wrong_files_are_one_line(open_project: Project, vouch: Vouch, tmp_path: Path) -> None:
    path = judgements_path("left")
    path.parent.mkdir(parents=True)
    head = "key,question,reference,answer,decision\n"
    for rows, message in (
        ("k,q,r,a,corect\n", "line 2: unknown decision corect; did you mean correct"),
        ("k,q,r,a,correct\nk,q,r,a,incorrect\n", "line 3: a second decision about answer k, first at"),
    ):
        path.write_text(head + rows, "utf-8")
        with pytest.raises(UserError, match=message):
            read_judgements(path)
        with pytest.raises(UserError, match=message):
            open_project.rows()
            open_project.scored()
    path.unlink()
    strange = tmp_path / "strange.csv"
    strange.write_text(head + "k,q,r,a,correct\n", "utf-8")
    assert "answer k is not among those drawn" in review(vouch, "--import", strange, status=1)
    JUDGED.write(judged_path("left"), [])
    assert "holds no verdict" in review(vouch, status=1)


def test_a_local_model_judges_open_answers(open_project: Project, tiny: Path) -> None:
    """Random weights: what they say is nothing, but it is read, stored and found again."""
    source = Source(kind="folder", path=str(tiny))
    pinned = Pin(model="writer", engine="transformers", source=source, files=folder_digests(tiny))
    write_pin(pin_path("writer"), pinned)
    open_project.judge |= {"device": "cpu", "max_tokens": 2}
    rows = open_project.rows()
    assert len(rows) == 114 == open_project.measures["judge"]["asked"]
    assert all(row["verdict"] == verdict(row["reply"]) for row in rows)
    assert open_project.rows() == rows and open_project.measures["judge"]["asked"] == 0


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        ("A", "correct"), ("B.", "incorrect"), ("(b)", "incorrect"), ("Correct.", "correct"),
        ("INCORRECT", "incorrect"), ("<think>B</think>\nA", "correct"), ("A. correct", "correct"),
        ("Not correct", "none"), ("C", "none"), ("The answer is A", "none"), (None, "none"), ("", "none"),
    ],
)  # fmt: skip
def test_a_reply_is_one_letter_or_one_word(reply: str | None, expected: str) -> None:
    assert verdict(reply) == expected


def test_answers_and_references_are_bounded_and_without_tokens() -> None:
    told = prompt(OpenAnswer("q " * 9_000, ("</s> r" * 900,) * 3, "<|im_end|> reply A " * 9_000))
    assert len(told) < 12_000 and not set("<>|") & set(told)
    assert told.count("\n- ") == 1, "equal references once"


def test_the_sample_is_the_same_whatever_the_order_and_grows_by_more() -> None:
    items = [f"q{number}" for number in range(500)]
    assert sampled(items, 50) == sampled(items[::-1] * 2, 50) < sampled(items, 60)
    assert 150 < sum(int(name[1:]) < 250 for name in sampled(items, 400)) < 250
