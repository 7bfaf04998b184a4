"""`vouch compare` and its gate on tables that the stages wrote."""

import json
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import yaml
from scipy.stats import binomtest

from tests.cli.conftest import Vouch, flat
from tests.cli.scored import COUNT, HOSTILE, outcomes
from tests.models.project import ROOT
from vouch.cli.compare import by_category, pairs, size_gap
from vouch.cli.compare_screen import _categories, _guessing
from vouch.cli.completion import whole_parser
from vouch.cli.gate import rule
from vouch.cli.guessing import guesses
from vouch.cli.leaderboard import OF_LINES, cells, over_all
from vouch.cli.main import main
from vouch.metrics.comparison.config import CompareConfig
from vouch.metrics.comparison.statistics import holm
from vouch.report.claims import above_chance
from vouch.report.config import Scoring
from vouch.report.gates import minimum_detectable_effect
from vouch.report.loading import load
from vouch.tables.asked import DROPPED, ITEMS, items_path
from vouch.tables.results import DIFFERENCES, DIFFERENCES_PATH, LEADERBOARD, LEADERBOARD_PATH

Row = dict[str, Any]
BOTH = ("tiny_a", "tiny_b")


@pytest.fixture(autouse=True)
def made(scored: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The finished project, which is the present folder."""
    monkeypatch.chdir(scored)
    return scored


def test_the_numbers_are_those_of_the_tables_and_the_counts_add_up(vouch: Vouch) -> None:
    found = json.loads(vouch("compare", "tiny_b", "tiny_a", "--json"))
    assert [(pair["dataset"], pair["output"]) for pair in found["pairs"]] == [
        ("left", "letters"),
        ("right", "text"),
    ]
    rows = {row["dataset"]: row for row in DIFFERENCES.read(DIFFERENCES_PATH).to_pylist()}
    of_report = dict(
        zip(("left", "right"), holm([rows[name]["p"] for name in ("left", "right")]), strict=True)
    )
    for pair in found["pairs"]:
        row, gap = rows[pair["dataset"]], pair["accuracy"]
        assert (row["first"], row["second"]) == BOTH, "the table has the other direction"
        assert [gap[key] for key in ("difference", "low", "high")] == [
            -row[key] for key in ("difference", "high", "low")
        ]
        assert (gap["p"], gap["p_holm"]) == (row["p"], of_report[pair["dataset"]])
        sides = [pair[side]["accuracy"]["value"] for side in ("first", "second")]
        assert sides[0] - sides[1] == pytest.approx(gap["difference"])
        of_two_claims = (2.807034 + 0.841621) * (gap["high"] - gap["low"]) / (2 * 1.959964)
        assert pair["minimum_detectable_effect"] == pytest.approx(of_two_claims)
        b, a = (outcomes(model, pair["dataset"]) for model in ("tiny_b", "tiny_a"))
        counts = pair["counts"]
        only = sum(b[item]["correct"] and not a[item]["correct"] for item in a)
        other = sum(a[item]["correct"] and not b[item]["correct"] for item in a)
        assert (counts["first_only"], counts["second_only"]) == (only, other) and other > only
        assert sum(counts[key] for key in ("both", "first_only", "second_only", "neither")) == COUNT
        assert counts["mcnemar_p"] == pytest.approx(binomtest(only, only + other).pvalue)
    left, right = found["pairs"]
    a, b = outcomes("tiny_a", "left"), outcomes("tiny_b", "left")
    gaps = [b[item]["clean_size_lac"] - a[item]["clean_size_lac"] for item in a]
    assert left["set_size"]["lac"]["difference"] == pytest.approx(sum(gaps) / COUNT, abs=1e-6)
    assert left["set_size"]["lac"]["low"] <= left["set_size"]["lac"]["difference"]
    assert right["set_size"]["lac"]["difference"] is None, "texts have no sets"
    assert abs(found["categories"][0]["difference"]) == max(abs(e["difference"]) for e in found["categories"])
    assert sum(e["items"] for e in found["categories"] if e["dataset"] == "left") == COUNT


def test_a_variation_is_compared_the_same_way(vouch: Vouch) -> None:
    words = ("--dataset", "left", "--variation", "vr_b", "--json")
    (pair,) = json.loads(vouch("compare", *BOTH, *words))["pairs"]
    a, b = (outcomes(model, "left", "vr_b") for model in BOTH)
    mean = sum(a[item]["clean_correct"] - b[item]["clean_correct"] for item in a) / COUNT
    assert pair["accuracy"]["difference"] == pytest.approx(mean)
    assert pair["accuracy"]["p_holm"] == pair["accuracy"]["p"] < 0.01, "one pair needs no correction"


def test_the_screen(vouch: Vouch) -> None:
    out = vouch("compare", *BOTH)
    assert out.startswith("A is tiny_a, B is tiny_b; prompts: original; clean protocol\n")
    assert out.count("A is better") == 2 and "sky  [31mred" in out
    assert max(map(len, out.splitlines())) < 200 and len(out.splitlines()) < 34
    assert (
        "\nBoth are shown to beat guessing on left and right.\n" in out or "\nOnly A is shown to beat" in out
    )
    assert "\np is corrected for all pairs of models; a verdict needs p < 0.01\n" in out
    mirrored = vouch("compare", *BOTH[::-1], "--output", "letters")
    assert "B is better" in mirrored and "text" not in mirrored.split("Where do")[1]


def test_whether_each_beats_guessing_is_the_claim_of_the_report(vouch: Vouch) -> None:
    """tiny_a answers 90 % of three options correctly, tiny_b 40 %, which so few questions do not show."""
    evidence = load(
        [
            path
            for folder in ("compare", "items", "scores")
            for path in Path("data", folder).glob("*.parquet")
        ],
        Scoring(alpha=0.1, calibration=0.5, splits=2, bins=10, seed=0),
    )
    rows = over_all(LEADERBOARD.read(LEADERBOARD_PATH), OF_LINES)
    assert guesses(rows, cells(rows, "clean")) == {
        name: (
            pytest.approx(evidence.chance(name)),
            {model: model in above_chance(evidence, name) for model in evidence.candidates(name)},
        )
        for name in evidence.datasets
    }
    for pair in json.loads(vouch("compare", *BOTH, "--json"))["pairs"]:
        beaten = above_chance(evidence, pair["dataset"])
        assert pair["guessing"] == {
            "chance": pytest.approx(1 / 3), "first": "tiny_a" in beaten, "second": "tiny_b" in beaten,
        }  # fmt: skip
        assert pair["guessing"]["first"]
    varied = json.loads(vouch("compare", *BOTH, "--variation", "vr_b", "--json"))
    assert {pair["guessing"] for pair in varied["pairs"]} == {None}, "the claim is about original prompts"


@pytest.mark.parametrize(
    ("first", "second", "claim"),
    [
        (True, True, "Both are shown to beat guessing on d and e."),
        (True, False, "Only A is shown to beat guessing on d (0.250) and e (0.250)."),
        (False, True, "Only B is shown to beat guessing on d (0.250) and e (0.250)."),
        (False, False, "Neither is shown to beat guessing on d (0.250) and e (0.250); do not choose between"),
        (None, False, ""),
        (None, None, ""),
    ],
)
def test_two_models_that_guess_are_not_chosen_from(
    first: bool | None, second: bool | None, claim: str
) -> None:
    guess = {"chance": 0.25, "first": first, "second": second}
    lines = list(_guessing([{"dataset": name, "guessing": guess} for name in "de"]))
    assert [line[: len(claim)] for line in lines] == ([claim] if claim else [])
    assert not list(_guessing([{"dataset": "d", "guessing": None}]))


def test_a_category_counts_the_groups_that_the_clean_protocol_keeps(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    names = {"question": "?", "kind": "text", "category": "sky"}
    dropped, pairs = list(DROPPED[:1]), [(f"q{n}", f"g{n // 2}") for n in range(10)]
    ITEMS.write(
        items_path("d"),
        [names | {"id": id, "group": of, "flags": dropped if of < "g2" else []} for id, of in pairs],
    )
    accuracy = {"metric": "accuracy", "protocol": "clean", "value": 0.5, "items": 6}
    row = {"dataset": "d", "output": "letters", "category": "sky", **accuracy}
    (entry,) = by_category([row | {"model": name} for name in "ab"], "a", "b")
    assert (entry["items"], entry["groups"]) == (6, 3)


def test_categories_of_few_questions_are_counted_and_not_shown() -> None:
    def category(name: str, groups: int) -> Row:
        numbers = {"items": 40, "groups": groups, "first": 0.0, "second": 1.0, "difference": -1.0}
        return {"dataset": "d", "output": "letters", "category": name, **numbers}

    text = _categories([category("one", 1), category("copies", 29), category("enough", 30)])
    assert (
        "enough" in text and "-1.000" in text and "copies" not in text and "Differences that no test" in text
    )
    left = "left out: 2 categories of fewer than 30 independent questions (--json has all)"
    assert left in flat(text)
    assert flat(_categories([category("one", 1)])).startswith("left out: 1 category of fewer")
    assert not _categories([])


@pytest.mark.parametrize(
    ("words", "rules", "failed"),
    [
        ("tiny_a tiny_b", ["accuracy < -0.02", "p >= 0.5"], []),
        ("tiny_b tiny_a", ["accuracy < -0.02"], ["left, letters", "right, text"]),
        ("tiny_b tiny_a", ["accuracy.high < 0 and p < .01", "accuracy > 0"], ["left", "right"]),
        ("tiny_b tiny_a --output letters", ["accuracy < 0"], ["left, letters"]),
        ("tiny_b tiny_a --dataset left", ["set_size_lac > -99", "ece < 9 and coverage_lac > -1"], ["left", "left"]),
        ("tiny_a tiny_b", ["accuracy < -0.02 and set_size_lac > -99"], []),  # the first decides
    ],
)  # fmt: skip
def test_a_gate(capsys: pytest.CaptureFixture[str], words: str, rules: list[str], failed: list[str]) -> None:
    """The exit status is 3 where a rule holds, and stderr says of what; the tables are printed as ever."""
    status = main(["compare", *words.split(), *(word for one in rules for word in ("--fail-if", one))])
    out, err = capsys.readouterr()
    lines = [line for line in err.splitlines() if line.startswith("vouch: fails: ")]
    assert (status, len(lines)) == (3 if failed else 0, len(failed)) and out.startswith("A is tiny_")
    assert all(where in line for line, where in zip(lines, failed, strict=True))


def whole(row: Row) -> Row:
    return row


def never_asked(row: Row) -> Row | None:
    return None if (row["model"], row["dataset"]) == ("tiny_a", "right") else row


def half_unanswered(row: Row) -> Row:
    is_it = (row["model"], row["dataset"], row["metric"]) == ("tiny_b", "left", "unanswered")
    return row | {"value": 0.5} if is_it else row


def without_original(row: Row) -> Row:
    return row | {"variation": "vr_b"} if row["dataset"] == "right" else row


@pytest.mark.parametrize(
    ("change", "words", "text", "status", "claim"),
    [
        # texts have no sets: nothing is known of the rule there
        (whole, "tiny_a tiny_b", "set_size_lac > 9", 1, "cannot judge: right, text, original: no set_size_lac"),
        (whole, "tiny_a tiny_b", "accuracy > -1 and set_size_aps > 9", 1, "right, text, original: no set_size_aps"),
        (whole, "tiny_a tiny_b", "set_size_lac > -99", 3, "cannot judge: right, text"),
        (whole, "tiny_a tiny_b --output letters", "set_size_lac > 9", 0, ""),
        # what one of them never answered, in whole or for the most part
        (never_asked, "tiny_a tiny_b", "accuracy < -0.9", 1, "right, text, original: only tiny_b has results"),
        (never_asked, "tiny_b tiny_a", "accuracy < -0.1", 3, "cannot judge: right, text"),
        (never_asked, "tiny_a tiny_b --dataset left", "accuracy < -0.9", 0, ""),
        (never_asked, "tiny_a tiny_b --variation vr_b", "accuracy < -0.9", 1, "(vr_b): only tiny_b has results"),
        (half_unanswered, "tiny_a tiny_b", "accuracy < -0.9", 1, "tiny_b left 50.0% of the prompts unans"),
        (without_original, "tiny_a tiny_b", "accuracy < -0.9", 1, "right, text, original: no results of both"),
    ],
)  # fmt: skip
def test_a_gate_passes_nothing_that_it_has_not_judged(
    capsys: pytest.CaptureFixture[str],
    change: Callable[[Row], Row | None],
    words: str,
    text: str,
    status: int,
    claim: str,
) -> None:
    """Every dataset and output that either model has is judged, or named."""
    before = LEADERBOARD_PATH.read_bytes()
    rows = filter(None, map(change, LEADERBOARD.read(LEADERBOARD_PATH).to_pylist()))
    try:
        LEADERBOARD.write(LEADERBOARD_PATH, rows)
        assert main(["compare", *words.split(), "--fail-if", text]) == status
    finally:
        LEADERBOARD_PATH.write_bytes(before)
    assert claim in capsys.readouterr().err


def test_a_gate_without_a_difference_judges_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    before = DIFFERENCES_PATH.read_bytes()
    try:
        DIFFERENCES.write(DIFFERENCES_PATH, [])
        assert main(["compare", *BOTH, "--fail-if", "accuracy < -0.9"]) == 1
    finally:
        DIFFERENCES_PATH.write_bytes(before)
    assert "cannot judge: left, letters, original: no accuracy (accuracy < -0.9)" in capsys.readouterr().err


def test_a_small_dataset_has_one_verdict_on_every_surface(
    capsys: pytest.CaptureFixture[str], vouch: Vouch
) -> None:
    """As in the report: numbers are shown, and nothing is ranked, named or claimed of ten groups of questions."""
    path = items_path("left")
    before = path.read_bytes()
    rows = ITEMS.read(path).to_pylist()
    why = "too small to tell: 10 independent questions, fewer than 30"
    try:
        ITEMS.write(path, [row | {"group": f"g{index % 10}"} for index, row in enumerate(rows)])
        left, right = json.loads(vouch("compare", *BOTH, "--json"))["pairs"]
        out, shown, card = vouch("compare", *BOTH), vouch("show"), vouch("publish", "card", "tiny_a")
        lines = json.loads(vouch("show", "--json"))
        capsys.readouterr()
        gate = ["--fail-if", "accuracy > 0 and p < 0.5", "--dataset", "left"]
        assert main(["compare", *BOTH, *gate]) == 1
        assert "cannot judge: left, letters, original: no p" in capsys.readouterr().err
    finally:
        path.write_bytes(before)
    assert (left["too_small"], right["too_small"]) == (why, "")
    assert left["accuracy"]["p_holm"] is left["minimum_detectable_effect"] is None
    assert left["counts"]["mcnemar_p"] is None and right["counts"]["mcnemar_p"] < 0.05
    for pair, holds in ((left, False), (right, True)):
        assert pair["first"]["ece"]["value"] and (pair["first"]["ece"]["low"] is not None) == holds
        assert None not in (pair["accuracy"]["low"], pair["first"]["accuracy"]["low"])
    assert {line["dataset"]: line["too_small"] for line in lines} == {"left": why, "right": ""}
    assert right["accuracy"]["p_holm"] == right["accuracy"]["p"], "the only claim that is left"
    assert out.count("A is better") == 1 and out.count("too small to tell") == 1
    assert f"left: {why}.\n" in shown and "right: too small" not in shown
    assert f"The dataset is {why}." in card and card.count("of 2 prompt variations") == 1


def test_the_rules_of_the_example_are_rules() -> None:
    steps = yaml.safe_load((ROOT / "docs/examples/gate.yml").read_text("utf-8"))["jobs"]["gate"]["steps"]
    (command,) = [shlex.split(step["run"]) for step in steps if "--fail-if" in step.get("run", "")]
    options = whole_parser().parse_args(command[1:])
    assert len(list(map(rule, options.fail_if))) == 3 and options.dataset == "kites"


def test_the_number_of_a_gate_is_that_of_the_table(capsys: pytest.CaptureFixture[str], vouch: Vouch) -> None:
    words = ["compare", "tiny_b", "tiny_a", "--dataset", "left"]
    (pair,) = json.loads(vouch(*words, "--json"))["pairs"]
    gap = pair["accuracy"]["difference"]
    assert main([*words, "--fail-if", f"accuracy < {gap + 1e-6:.9f}"]) == 3
    assert f"accuracy {gap:+.4f}" in capsys.readouterr().err
    assert main([*words, "--fail-if", f"accuracy < {gap - 1e-6:.9f}"]) == 0


@pytest.mark.parametrize(
    ("words", "claim"),
    [
        ([*BOTH, "--fail-if", "accuracy"], 'write NAME < NUMBER, e.g. "accuracy < -0.02"'),
        ([*BOTH, "--fail-if", "acuracy < 1"], "no number acuracy; did you mean accuracy?"),
        ([*BOTH, "--fail-if", "accuracy < 1 or p < 1"], "is not a rule"),
        ([*BOTH, "--fail-if", f"accuracy < {'1' * 100_000}x"], "is not a rule"),
        ([*BOTH, "--fail-if", "accuracy < -2"], "accuracy lies between -1 and 1, so the rule never"),
        ([*BOTH, "--fail-if", "p < 0"], "p lies between 0 and 1, so the rule never holds"),
        (["tiny_a", "tiny_x"], "no model tiny_x; did you mean tiny_"),
        (["tiny_a", "tiny_a"], "name two different ones"),
        ([*BOTH, "--dataset", "lef"], "no dataset lef; did you mean left?"),
        ([*BOTH, "--variation", "vr_c"], "no variation vr_c"),
        ([*BOTH, "--dataset", "left", "--output", "text"], "no prompt that both answered on left"),
        (["tiny_a", f"x{HOSTILE}"], "no model x"),
    ],
)
def test_compare_of_what_is_not_there(vouch: Vouch, words: list[str], claim: str) -> None:
    assert claim in vouch("compare", *words, status=1)


def test_what_can_be_detected() -> None:
    assert minimum_detectable_effect(-0.0196, 0.0196) == pytest.approx(0.0342, abs=1e-4), (
        "3.4 standard errors"
    )
    assert minimum_detectable_effect(-0.0196, 0.0196, claims=10) == pytest.approx(0.0413, abs=1e-4)
    assert minimum_detectable_effect(None, 0.1) is None


@pytest.mark.parametrize("other", [0, 1])  # rows whose sets differ in size
def test_a_difference_of_set_sizes_where_hardly_a_set_differs_has_an_interval_with_zero(other: int) -> None:
    rows = 20
    groups = [f"{row:02}" for row in range(rows)]
    first, second = (
        pa.table({"group": groups, "size": [3.0] * larger + [2.0] * (rows - larger)}) for larger in (other, 0)
    )
    found = size_gap(first, second, "size", CompareConfig(resamples=200, seed=0))
    reach = 2 if other else 1  # the largest difference of such sets
    exact = reach * (1 - 0.025 ** (1 / rows))
    assert found["difference"] == pytest.approx(other / rows)
    assert found["low"] is not None and found["low"] <= -exact + other / rows + 1e-6
    assert found["high"] is not None and found["high"] >= exact


@pytest.mark.parametrize(("count", "holds"), [(29, False), (30, True)])
def test_set_sizes_of_few_questions_have_no_interval(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, count: int, holds: bool
) -> None:
    monkeypatch.chdir(tmp_path)
    cell = {"value": 0.5, "low": 0.4, "high": 0.6, "items": count}
    line = {("accuracy", ""): cell, ("set_size", "lac"): cell}
    numbers = {("d", "original", "letters", name): line for name in "ab"}
    asked = {
        "dataset": "d",
        "variation": "original",
        "output": "letters",
        "correct": True,
        "clean_correct": 1.0,
    }
    first, second = (
        pa.Table.from_pylist(
            [
                {"model": name, "prompt": f"q{n}", "group": f"g{n}", **asked}
                | {"clean_size_lac": 1.0 + n % step, "clean_size_aps": None}
                for n in range(count)
            ]
        )
        for step, name in ((2, "a"), (3, "b"))
    )
    (entry,) = pairs(first, second, numbers, {}, CompareConfig(resamples=50))
    sizes = entry["set_size"]
    assert sizes["lac"]["difference"] < 0 and (sizes["lac"]["low"] is not None) == holds
    assert set(sizes["aps"].values()) == {None}


def test_a_file_is_compared_instead_of_models_of_the_checkout(vouch: Vouch, tmp_path: Path) -> None:
    """Models have no dot in their names, so a name with one is a file, whether it exists or not."""
    table = tmp_path / "scores.csv"
    table.write_text("item,model,score\n1,tiny_a,1\n1,tiny_b,0\n2,tiny_a,1\n2,tiny_b,\u202e\n")
    assert "row 4: score is '\\u202e'; give a number" in vouch("compare", table, status=1)
    table.write_text("item,model,score\n1,tiny_a\u202e,1\n1,tiny_b,0\n2,tiny_a\u202e,1\n2,tiny_b,1\n")
    assert "2 models, 2 questions" in vouch("compare", table)
    assert "tiny_a: name two models" in vouch("compare", "tiny_a", status=1)
    assert "tiny_a: is no file" in vouch("compare", table, "tiny_a", status=1)
    assert "scores.cvs: no such file" in vouch("compare", "scores.cvs", status=1)
