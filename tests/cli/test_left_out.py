"""Models without a rank, from their answers through score and compare to what people read."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from stages import compare, score
from tests.cli.conftest import Vouch, flat, lay_out
from tests.cli.scored import ESCAPE, LABELS, build, stage
from tests.report.project import SCORING, parts
from vouch.cli.leaderboard import left_out as lines_of
from vouch.metrics.text.judge import key
from vouch.metrics.text.reader.options import Choices
from vouch.metrics.unranked import outputs_of
from vouch.models.unsupported import NO_LOGPROBS
from vouch.pipeline.yaml12 import load as load_yaml
from vouch.report.caveats import ASKED, NOTE, REMEDY, left_out, never_asked
from vouch.report.config import ReportConfig
from vouch.report.evidence import Evidence
from vouch.report.leaders import leaders
from vouch.report.loading import load
from vouch.report.pages.models import RESULTS_SECTION
from vouch.report.pages.models_detail import GENERATED_SECTION
from vouch.report.pages.robustness import LETTERS_SECTION
from vouch.report.pages.verdict import VERDICT_SECTION
from vouch.report.site import site
from vouch.report.table_files import metrics_json
from vouch.tables.answered import JUDGED, judged_path, letters_path
from vouch.tables.answered import LETTERS as ANSWERS
from vouch.tables.asked import ITEMS, LETTERS, items_path
from vouch.tables.asked import TEXT as WORDS
from vouch.tables.results import (
    DIFFERENCES,
    DIFFERENCES_PATH,
    LABEL_FREE,
    LEADERBOARD,
    LEADERBOARD_PATH,
    RANKED,
    RANKED_PATH,
    label_free_path,
)

# tiny_a is correct most often. Three of four of its prompts have little mass on letters, one has no known mass.
MASS = {"tiny_a": [0.03, 0.02, 0.04, 0.9, None], "tiny_b": [0.99, 0.2, 0.97]}
UNREAD = {"tiny_a": 8, "tiny_b": 3}  # of 64 texts


def made(
    folder: Path, mass: Mapping[str, Sequence[Any]] | None = None, unread: Mapping[str, int] | None = None
) -> Path:
    """A project that is scored and compared."""
    lay_out(folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        build(folder, mass, unread)
    return folder


@pytest.fixture(scope="module")
def chatty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project in which tiny_a does not answer by letters."""
    return made(tmp_path_factory.mktemp("chatty"), MASS)


@pytest.fixture(scope="module")
def letterless(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project in which tiny_a has not a single letter on left."""
    folder = made(tmp_path_factory.mktemp("letterless"))
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        path = letters_path("tiny_a", "left")
        nothing = {"logits": None, "letter_mass": None, "problem": NO_LOGPROBS}
        ANSWERS.write(path, [row | nothing for row in ANSWERS.read(path).to_pylist()])
        stage(score.main, "score", "left")
        stage(compare.main, "compare")
    return folder


@pytest.fixture(scope="module")
def mumbling(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project in which 8 of 64 texts of tiny_a and 3 of tiny_b say nothing."""
    return made(tmp_path_factory.mktemp("mumbling"), unread=UNREAD)


def read() -> Evidence:
    return load(Path("data").rglob("*.parquet"), SCORING)


def ranks(dataset: str) -> dict[str, int | None]:
    """By model, over all categories."""
    rows = LEADERBOARD.read(LEADERBOARD_PATH).to_pylist()
    wanted = ("accuracy", dataset, "all")
    return {
        row["model"]: row["rank"]
        for row in rows
        if (row["metric"], row["dataset"], row["category"]) == wanted
    }


def results_on(evidence: Evidence, dataset: str) -> Any:
    """The part of the report's results about a dataset."""
    return next(part for part in parts(RESULTS_SECTION.build(evidence)) if part.title == dataset)


def line_of(shown: list[str], dataset: str, model: str) -> str:
    """The line of a model below that of a dataset."""
    title = next(number for number, line in enumerate(shown) if line.startswith(f"{dataset}, "))
    return next(line for line in shown[title:] if line.startswith(f" {model} "))


def test_letters_that_nobody_said_have_no_rank(
    chatty: Path, monkeypatch: pytest.MonkeyPatch, vouch: Vouch
) -> None:
    monkeypatch.chdir(chatty)
    monkeypatch.setenv("COLUMNS", "400")
    shown = vouch("show").splitlines()
    assert "Low letter mass" in shown[0] and f"left: tiny_a {NOTE[LETTERS]}. {REMEDY[LETTERS]}" in shown
    of_model = line_of(shown, "left", "tiny_a")
    assert "0.750 [" in of_model
    assert ranks("left") == {"tiny_a": None, "tiny_b": 1}
    assert sorted(ranks("right").values()) == [1, 2], "by text it is compared"
    tested = DIFFERENCES.read(DIFFERENCES_PATH).to_pylist()
    assert {(row["dataset"], row["output"]) for row in tested} == {("right", "text")}
    ranked = {(row["dataset"], row["model"]) for row in RANKED.read(RANKED_PATH).to_pylist()}
    assert ("left", "tiny_a") not in ranked
    assert "tiny_a" in LABEL_FREE.read(label_free_path("left"))["model"].to_pylist(), "its scores stay"
    text = vouch("compare", "tiny_a", "tiny_b", "--dataset", "left")
    assert "is better" not in text and f"left: tiny_a {NOTE[LETTERS]}" in text
    card, other = vouch("publish", "card", "tiny_a"), vouch("publish", "card", "tiny_b")
    assert "In 75.0 [" in card and f"It {NOTE[LETTERS]}." in card
    assert "begins with no option letter" in other and NOTE[LETTERS] not in other


def test_nobody_is_told_to_ask_for_texts_that_were_asked() -> None:
    base = {"model": "m", "dataset": "d", "variation": "original", "protocol": "clean", "category": "all"}
    low = base | {"output": LETTERS, "metric": "low_mass_rate", "score": "", "value": 1.0}
    texts = base | {"output": WORDS, "metric": "accuracy", "score": "", "value": 0.5}
    assert flat(lines_of([low])) == f"d: m {NOTE[LETTERS]}. {REMEDY[LETTERS]}"
    assert flat(lines_of([low, texts])) == f"d: m {NOTE[LETTERS]}. {ASKED}"


def test_a_model_without_any_rows_on_a_dataset_is_named() -> None:
    """As released answers to one of two datasets; in files of none, only params.yaml names the model."""
    base = {"variation": "original", "protocol": "clean", "category": "all", "output": WORDS, "score": ""}
    base |= {"metric": "accuracy", "value": 0.5}
    rows = [base | {"model": m, "dataset": d} for m, d in (("a", "left"), ("a", "right"), ("b", "left"))]
    assert flat(lines_of(rows, rows)).startswith("b has no answers to right: its files")
    assert not lines_of(rows) and not lines_of(rows[:2], rows[:2])
    places = {row["dataset"]: [(row["model"], row["dataset"], WORDS)] for row in rows[:2]}
    assert never_asked(places, {}, ["a", "c"])[0].startswith("c has no answers to left and right:")
    assert never_asked(places, {"c": ["right"]}, ["c"])[0].startswith("c has no answers to right:")


def test_a_model_without_answers_is_named_with_the_reason(
    letterless: Path, monkeypatch: pytest.MonkeyPatch, vouch: Vouch
) -> None:
    monkeypatch.chdir(letterless)
    told = f"tiny_a has no letters on left: {NO_LOGPROBS}."
    advice = f"tiny_a has no answers to left at all. {REMEDY[LETTERS]}"
    shown = vouch("show")
    assert told in flat(shown) and advice in flat(shown)
    assert not any("n.a." in line for line in shown.splitlines()[:5])
    evidence = read()
    assert evidence.problems == {("tiny_a", "left", LETTERS): NO_LOGPROBS}
    assert evidence.candidates("left") == ("tiny_b",) and "tiny_a" in evidence.candidates("right")
    assert left_out(evidence, ["left", "right"]) == [told, advice]
    assert left_out(evidence, ["right"]) == []
    assert VERDICT_SECTION.build(evidence).warnings == [told, advice]
    assert "tiny_a" in VERDICT_SECTION.build(evidence).headline, "it is best on right"
    assert len(site(ReportConfig(title="t"), evidence, {})) > 5
    assert "tiny_a" in vouch("compare", "tiny_a", "tiny_b")


def test_the_main_request_type_is_the_first_that_compares_two_models() -> None:
    every = [(model, "kites", output) for model in "abcde" for output in (WORDS, LETTERS)]
    letters = [place for place in every if place[2] == LETTERS]
    for unanswered, outputs in (
        ([], (LETTERS, WORDS)),
        (letters[:1], (LETTERS, WORDS)),  # one server without letters moves no headline
        (letters[:3], (LETTERS, WORDS)),
        (letters[:4], (WORDS, LETTERS)),  # one model alone has letters: nothing to compare
        (letters, (WORDS,)),
        (every[1:], (WORDS,)),
        (every[2:], (LETTERS, WORDS)),
        (every, (LETTERS, WORDS)),  # something must be said of it
    ):
        assert outputs_of(every, unanswered) == {"kites": outputs}
    assert outputs_of([]) == {}


def test_the_report_trusts_the_other_model(chatty: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(chatty)
    evidence = read()
    assert evidence.models("left") == ("tiny_a", "tiny_b")  # by accuracy
    assert evidence.candidates("left") == ("tiny_b",) and not leaders(evidence, "left"), "it guesses"
    view = VERDICT_SECTION.build(evidence)
    assert view.headline == "tiny_a is best on right." and view.dataset == "right"
    assert "Elsewhere: no model" in view.others and view.others.endswith(" on left.")
    assert "ranks and comparisons: tiny_a (75\u202f%) on left. " in view.warnings[0]
    assert REMEDY[LETTERS] in view.warnings[0]
    assert not any("tiny_a" in cell.text for cell in dict(zip("lr", view.grid.rows, strict=True))["l"])
    left = results_on(evidence, "left")
    first, last = left.grids[0].rows
    assert (first[0].text, last[0].text, last[0].note) == ("tiny_b", "tiny_a", NOTE[LETTERS])
    assert left.grids[0].columns[-1].label == "Low letter mass %" and last[-1].text == "75.0"
    assert any(REMEDY[LETTERS] in sentence for sentence in left.sentences)
    (table,) = parts(LETTERS_SECTION.build(evidence))[0].grids
    assert [column.label for column in table.columns][-2:] == ["Letter mass %", "Low letter mass %"]
    assert metrics_json(evidence)["left"]["tiny_a"]["low_mass_rate"] == 0.75


def test_where_nobody_answers_by_letters_there_is_no_verdict(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(made(tmp_path, {"tiny_a": [0.1], "tiny_b": [0.2]}))
    evidence = read()
    assert evidence.candidates("left") == ()
    only = evidence.leaderboard[evidence.leaderboard["dataset"] == "left"]
    view = VERDICT_SECTION.build(replace(evidence, leaderboard=only))
    assert view.headline == "No model answers with letters on left." and [c.answer for c in view.cards] == [
        "None"
    ]
    RESULTS_SECTION.build(evidence), LETTERS_SECTION.build(evidence)
    alone = replace(evidence, leaderboard=only[only["model"] == "tiny_a"])
    assert VERDICT_SECTION.build(alone).headline == "tiny_a does not answer with letters on left."


def test_unknown_mass_and_texts_that_are_read_are_told_without_a_warning(
    scored: Path, monkeypatch: pytest.MonkeyPatch, vouch: Vouch
) -> None:
    monkeypatch.chdir(scored)
    evidence, shown = read(), vouch("show", "--wide")
    assert evidence.candidates("left") == evidence.models("left")
    assert not any("mass" in text for text in (shown, vouch("publish", "card", "tiny_a")))
    assert not any("mass" in column.label for column in results_on(evidence, "left").grids[0].columns)
    assert "Several" in shown and "all of these are wrong" not in shown and NOTE[WORDS] not in shown


def test_what_was_not_read_is_shown_with_its_bounds_and_has_no_rank(
    mumbling: Path, monkeypatch: pytest.MonkeyPatch, vouch: Vouch
) -> None:
    monkeypatch.chdir(mumbling)
    monkeypatch.setenv("COLUMNS", "400")
    shown = vouch("show").splitlines()
    assert shown[0].split("Accuracy")[1].split()[:3] == ["Unparsed", "Refused", "Several"]
    of_model = line_of(shown, "right", "tiny_a")
    assert of_model.split("]")[1].split()[:3] == ["0.125", "0.000", "0.000"]
    assert f"right: tiny_a {NOTE[WORDS]}. {REMEDY[WORDS]}" in shown
    (caveat,) = [line for line in shown if line.startswith("right: tiny_b")]
    assert caveat.startswith("right: tiny_b: 4.7 % of its texts are unparsed or name several options, so its")
    assert "between " in caveat and "correct)." in caveat
    card = vouch("publish", "card", "tiny_a")
    assert "12.5 % of its texts are unparsed" in card and f"It {NOTE[WORDS]}." in card
    assert ranks("right") == {"tiny_a": None, "tiny_b": 1} and ranks("left")["tiny_a"]
    assert {row["dataset"] for row in DIFFERENCES.read(DIFFERENCES_PATH).to_pylist()} == {"left"}
    evidence = read()
    assert evidence.models("right") == ("tiny_a", "tiny_b") and evidence.candidates("right") == ("tiny_b",)
    assert "tiny_a (12\u202f%) on right" in VERDICT_SECTION.build(evidence).warnings[0]
    right = results_on(evidence, "right")
    labels = [column.label for column in right.grids[0].columns]
    assert labels[2:7] == ["Items", "Accuracy %", "Unparsed %", "Refused %", "Several %"]
    assert [row[4].text for row in right.grids[0].rows] == ["4.7", "12.5"]
    assert right.grids[0].rows[1][0].note == NOTE[WORDS]
    assert sum("all of these are wrong" in sentence for sentence in right.sentences) == 2
    assert metrics_json(evidence)["right"]["tiny_a"]["unparsed_rate"] == 0.125
    only = evidence.leaderboard[evidence.leaderboard["dataset"] == "right"]
    alone = replace(evidence, leaderboard=only[only["model"] == "tiny_a"])
    assert VERDICT_SECTION.build(alone).headline == "tiny_a does not give readable answers on right."


def test_what_a_judge_read_is_shown_with_the_bounds_without_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, vouch: Vouch
) -> None:
    """8 of 64 texts say nothing to the rules; the judge finds the first option in them."""
    monkeypatch.chdir(made(tmp_path, unread={"tiny_a": 8}))
    params = load_yaml(Path("params.yaml"))
    params["score"] = {**params["score"], "judge": {"model": "tiny_b"}}
    Path("params.yaml").write_text(yaml.safe_dump(params), "utf-8")
    question = ITEMS.read(items_path("right")).to_pylist()[0]["question"]
    choices = Choices(tuple(LABELS), (f"red {ESCAPE}", "green", "blue"), question)
    row = {"key": key("Hmm.", choices), "verdict": "option", "index": 0, "reply": "A", "judge": "j"}
    JUDGED.write(judged_path("right"), [row])
    JUDGED.write(judged_path("left"), [])
    for dataset in ("left", "right"):
        stage(score.main, "score", dataset)
    stage(compare.main, "compare")
    monkeypatch.setenv("COLUMNS", "400")
    away, caveat = [line for line in vouch("show").splitlines() if line.startswith("right: tiny_a")]
    assert away == f"right: tiny_a {NOTE[WORDS]}. {REMEDY[WORDS]}", (
        "nobody decided whether the judge is right"
    )
    assert caveat.startswith("right: tiny_a: 12.5 % of its texts were read by the judge; without")
    low, high = (float(text.split()[0]) for text in caveat.split("between ")[1].split(" and ")[::2])
    assert high - low == pytest.approx(12.5, abs=0.11)
    assert "read by the judge" in vouch("publish", "card", "tiny_a")
    sentences = [text for part in parts(GENERATED_SECTION.build(read())) for text in part.sentences]
    assert any("were read by the judge" in text for text in sentences)
    assert "comparisons: tiny_a (12\N{NARROW NO-BREAK SPACE}%) on right" in left_out(read(), ["right"])[0]
    assert ranks("right") == {"tiny_a": None, "tiny_b": 1}, "what an unproven judge read is not decided"
