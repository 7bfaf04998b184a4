"""`vouch compare`, `vouch item` and `vouch publish card` on tables that the stages wrote."""

import json
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import yaml
from huggingface_hub import parse_eval_result_entries
from PIL import Image
from scipy.stats import binomtest

from tests.cli.conftest import Vouch
from tests.cli.scored import COUNT, HOSTILE
from tests.models.project import ROOT
from vouch.cli.compare import size_gap
from vouch.cli.completion import whole_parser
from vouch.cli.gate import rule
from vouch.cli.item import close
from vouch.cli.main import main
from vouch.metrics.comparison.config import Config
from vouch.metrics.comparison.statistics import holm
from vouch.report.gates import minimum_detectable_effect
from vouch.tables.asked import ITEMS, KEPT, items_path
from vouch.tables.results import (
    DIFFERENCES,
    DIFFERENCES_PATH,
    LEADERBOARD,
    LEADERBOARD_PATH,
    METRICS,
    OUTCOMES,
    VARIATIONS,
    VARIATIONS_PATH,
    outcomes_path,
)


@pytest.fixture(autouse=True)
def made(scored: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The finished project, which is the present folder."""
    monkeypatch.chdir(scored)
    return scored


def outcomes(model: str, dataset: str, variation: str = "original") -> dict[str, dict[str, Any]]:
    return {
        row["item"]: row
        for row in OUTCOMES.read(outcomes_path(dataset)).to_pylist()
        if (row["model"], row["variation"]) == (model, variation)
    }


def test_compare_is_of_the_tables_and_its_counts_add_up(vouch: Vouch) -> None:
    found = json.loads(vouch("compare", "tiny_b", "tiny_a", "--json"))
    assert [(pair["dataset"], pair["output"]) for pair in found["pairs"]] == [
        ("left", "letters"),
        ("right", "text"),
    ]
    rows = {row["dataset"]: row for row in DIFFERENCES.read(DIFFERENCES_PATH).to_pylist()}
    for pair in found["pairs"]:
        row, gap = rows[pair["dataset"]], pair["accuracy"]
        assert (row["first"], row["second"]) == ("tiny_a", "tiny_b"), "the table has the other direction"
        assert [gap[key] for key in ("difference", "low", "high", "p")] == [
            *(-row[key] for key in ("difference", "high", "low")),
            row["p"],
        ]
        of_report = holm([rows[name]["p"] for name in ("left", "right")])
        assert gap["p_holm"] == dict(zip(("left", "right"), of_report, strict=True))[pair["dataset"]]
        assert pair["first"]["accuracy"]["value"] - pair["second"]["accuracy"]["value"] == pytest.approx(
            gap["difference"]
        )
        assert pair["minimum_detectable_effect"] == pytest.approx(  # of two claims
            (2.807034 + 0.841621) * (gap["high"] - gap["low"]) / (2 * 1.959964)
        )
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


def test_compare_in_a_variation_counts_the_same_way(vouch: Vouch) -> None:
    (pair,) = json.loads(
        vouch("compare", "tiny_a", "tiny_b", "--dataset", "left", "--variation", "vr_b", "--json")
    )["pairs"]
    a, b = (outcomes(model, "left", "vr_b") for model in ("tiny_a", "tiny_b"))
    mean = sum(a[item]["clean_correct"] - b[item]["clean_correct"] for item in a) / COUNT
    assert pair["accuracy"]["difference"] == pytest.approx(mean)
    assert pair["accuracy"]["p_holm"] == pair["accuracy"]["p"] < 0.01, (
        "of one pair there is nothing to correct"
    )


def test_the_screen_of_compare(vouch: Vouch) -> None:
    out = vouch("compare", "tiny_a", "tiny_b")
    assert out.startswith("A is tiny_a, B is tiny_b; prompts: original; clean protocol\n")
    assert out.count("A is better") == 2 and "sky  [31mred" in out
    assert max(map(len, out.splitlines())) < 200 and len(out.splitlines()) < 30
    mirrored = vouch("compare", "tiny_b", "tiny_a", "--output", "letters")
    assert "B is better" in mirrored and "text" not in mirrored.split("Where do")[1]


@pytest.mark.parametrize(
    ("models", "rules", "failed"),
    [
        (["tiny_a", "tiny_b"], ["accuracy < -0.02", "p >= 0.5"], []),
        (["tiny_b", "tiny_a"], ["accuracy < -0.02"], ["left, letters", "right, text"]),
        (["tiny_b", "tiny_a"], ["accuracy.high < 0 and p < .01", "accuracy > 0"], ["left", "right"]),
        (["tiny_b", "tiny_a", "--output", "letters"], ["accuracy < 0"], ["left, letters"]),
        (
            ["tiny_b", "tiny_a", "--dataset", "left"],
            ["set_size_lac > -99", "ece < 9 and coverage_lac > -1"],
            ["left", "left"],
        ),
        (["tiny_a", "tiny_b"], ["accuracy < -0.02 and set_size_lac > -99"], []),  # the first decides
    ],
)
def test_a_gate(
    capsys: pytest.CaptureFixture[str], models: list[str], rules: list[str], failed: list[str]
) -> None:
    """The exit status is 3 where a rule holds, and stderr says of what; the tables are printed as ever."""
    status = main(["compare", *models, *(word for one in rules for word in ("--fail-if", one))])
    out, err = capsys.readouterr()
    lines = [line for line in err.splitlines() if line.startswith("vouch: fails: ")]
    assert (status, len(lines)) == (3 if failed else 0, len(failed)) and out.startswith("A is tiny_")
    assert all(place in line for line, place in zip(lines, failed, strict=True))


Row = dict[str, Any]


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
    ("change", "words", "rule_", "status", "said"),
    [
        # texts have no sets: nothing is known of the rule there
        (
            whole,
            "tiny_a tiny_b",
            "set_size_lac > 9",
            1,
            "cannot judge: right, text, original: no set_size_lac",
        ),
        (
            whole,
            "tiny_a tiny_b",
            "accuracy > -1 and set_size_aps > 9",
            1,
            "right, text, original: no set_size_aps",
        ),
        (whole, "tiny_a tiny_b", "set_size_lac > -99", 3, "cannot judge: right, text"),
        (whole, "tiny_a tiny_b --output letters", "set_size_lac > 9", 0, ""),
        # what one of them never answered, in whole or for the most part
        (
            never_asked,
            "tiny_a tiny_b",
            "accuracy < -0.9",
            1,
            "right, text, original: only tiny_b has results",
        ),
        (
            never_asked,
            "tiny_b tiny_a",
            "accuracy < -0.9",
            1,
            "right, text, original: only tiny_b has results",
        ),
        (never_asked, "tiny_b tiny_a", "accuracy < -0.1", 3, "cannot judge: right, text"),
        (never_asked, "tiny_a tiny_b --dataset left", "accuracy < -0.9", 0, ""),
        (
            never_asked,
            "tiny_a tiny_b --variation vr_b",
            "accuracy < -0.9",
            1,
            "(vr_b): only tiny_b has results",
        ),
        (
            half_unanswered,
            "tiny_a tiny_b",
            "accuracy < -0.9",
            1,
            "original: tiny_b left 50.0% of the prompts unans",
        ),
        (
            without_original,
            "tiny_a tiny_b",
            "accuracy < -0.9",
            1,
            "right, text, original: no results of both",
        ),
    ],
)
def test_a_gate_passes_nothing_that_it_has_not_judged(
    capsys: pytest.CaptureFixture[str],
    change: Callable[[Row], Row | None],
    words: str,
    rule_: str,
    status: int,
    said: str,
) -> None:
    """Every dataset and output that either model has is judged, or named."""
    before = LEADERBOARD_PATH.read_bytes()
    try:
        LEADERBOARD.write(
            LEADERBOARD_PATH, filter(None, map(change, LEADERBOARD.read(LEADERBOARD_PATH).to_pylist()))
        )
        assert main(["compare", *words.split(), "--fail-if", rule_]) == status
    finally:
        LEADERBOARD_PATH.write_bytes(before)
    assert said in capsys.readouterr().err


def test_a_gate_without_a_difference_judges_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    before = DIFFERENCES_PATH.read_bytes()
    try:
        DIFFERENCES.write(DIFFERENCES_PATH, [])
        assert main(["compare", "tiny_a", "tiny_b", "--fail-if", "accuracy < -0.9"]) == 1
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
        ITEMS.write(path, [row | {"group": f"g{place % 10}"} for place, row in enumerate(rows)])
        left, right = json.loads(vouch("compare", "tiny_a", "tiny_b", "--json"))["pairs"]
        out = vouch("compare", "tiny_a", "tiny_b")
        shown, card = vouch("show"), vouch("publish", "card", "tiny_a")
        lines = json.loads(vouch("show", "--json"))
        capsys.readouterr()
        rule_ = ["--fail-if", "accuracy > 0 and p < 0.5", "--dataset", "left"]
        assert main(["compare", "tiny_a", "tiny_b", *rule_]) == 1
        assert "cannot judge: left, letters, original: no p" in capsys.readouterr().err
    finally:
        path.write_bytes(before)
    assert (left["too_small"], right["too_small"]) == (why, "")
    assert left["accuracy"]["p_holm"] is left["minimum_detectable_effect"] is None
    assert left["counts"]["mcnemar_p"] is None and right["counts"]["mcnemar_p"] < 0.05
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
    (pair,) = json.loads(vouch("compare", "tiny_b", "tiny_a", "--dataset", "left", "--json"))["pairs"]
    gap = pair["accuracy"]["difference"]
    words = ["compare", "tiny_b", "tiny_a", "--dataset", "left", "--fail-if"]
    assert (
        main([*words, f"accuracy < {gap + 1e-6:.9f}"]) == 3
        and f"accuracy {gap:+.4f}" in capsys.readouterr().err
    )
    assert main([*words, f"accuracy < {gap - 1e-6:.9f}"]) == 0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["tiny_a", "tiny_b", "--fail-if", "accuracy"], 'write NAME < NUMBER, e.g. "accuracy < -0.02"'),
        (["tiny_a", "tiny_b", "--fail-if", "acuracy < 1"], "no number acuracy; did you mean accuracy?"),
        (["tiny_a", "tiny_b", "--fail-if", "accuracy < 1 or p < 1"], "is not a rule"),
        (["tiny_a", "tiny_b", "--fail-if", f"accuracy < {'1' * 100_000}x"], "is not a rule"),
        (
            ["tiny_a", "tiny_b", "--fail-if", "accuracy < -2"],
            "accuracy lies between -1 and 1, so the rule never",
        ),
        (["tiny_a", "tiny_b", "--fail-if", "p < 0"], "p lies between 0 and 1, so the rule never holds"),
        (["tiny_a", "tiny_x"], "no model tiny_x; did you mean tiny_"),
        (["tiny_a", "tiny_a"], "name two different ones"),
        (["tiny_a", "tiny_b", "--dataset", "lef"], "no dataset lef; did you mean left?"),
        (["tiny_a", "tiny_b", "--variation", "vr_c"], "no variation vr_c"),
        (
            ["tiny_a", "tiny_b", "--dataset", "left", "--output", "text"],
            "no prompt that both answered on left",
        ),
        (["tiny_a", f"x{HOSTILE}"], "no model x"),
    ],
)
def test_compare_of_what_is_not_there(vouch: Vouch, words: list[str], said: str) -> None:
    assert said in vouch("compare", *words, status=1)


def test_an_item_with_its_answers_and_sets(vouch: Vouch) -> None:
    found = json.loads(vouch("item", "kite-004", "--dataset", "left", "--json"))
    assert found["item"]["answers"] == [1] and len(found["answers"]) == 6
    for entry in found["answers"]:
        row = outcomes(entry["model"], "left", entry["variation"])["kite-004"]
        assert entry["right"] == row["correct"] and entry["confidence"] == row["confidence"]
        members = entry["lac"]
        assert (row["size_lac"] is None) == (members is None) and (row["half"] == "test") == (
            members is not None
        )
        if members is not None:
            assert len(members) == row["size_lac"] and members[0] == entry["answer"]
            assert row["covered_lac"] == any(member.startswith("ABC"[k]) for member in members
                                             for k in found_answers(found, entry))  # fmt: skip


def found_answers(found: dict[str, Any], entry: dict[str, Any]) -> list[int]:
    (prompt,) = [prompt for prompt in found["prompts"] if prompt["id"] == entry["prompt"]]
    return list(prompt["answers"])


def test_flips_agree_with_the_table_of_variations(vouch: Vouch) -> None:
    shares = {
        (row["model"], row["variation"]): row["value"]
        for row in VARIATIONS.read(VARIATIONS_PATH).to_pylist()
        if row["metric"] == "flipped" and row["dataset"] == "right"
    }
    flipped = dict.fromkeys(shares, 0)
    for name in ITEMS.read(items_path("right"))["id"].to_pylist():
        for entry in json.loads(vouch("item", name, "--dataset", "right", "--json"))["answers"]:
            if entry["against_original"] == "flipped" and entry["effect"] == KEPT:
                flipped[entry["model"], entry["variation"]] += 1
    assert {key: count / COUNT for key, count in flipped.items()} == pytest.approx(shares) and len(
        shares
    ) == 2


def test_the_screen_of_an_item_with_a_hostile_id(vouch: Vouch, tmp_path: Path) -> None:
    pictures = tmp_path / "images"
    out = vouch("item", HOSTILE, "--dataset", "right", "--model", "tiny_a", "--images", str(pictures))
    assert "\nquestion: Which  [31mred" in out and "\n  kite?\n" in out and "(correct)" in out
    assert f"image 1: {'0' * 64} in data/images/right.parquet" in out
    assert out.count("tiny_a") >= 4 and max(map(len, out.splitlines())) < 250, "long texts are cut"
    assert sorted(path.name for path in pictures.iterdir()) == [
        f"0{place}-{name}-1.png" for place, name in ((1, "original"), (2, "ls_n"), (3, "vr_b"))
    ]
    assert Image.open(pictures / "01-original-1.png").size == (8, 6)
    assert "not empty" in vouch("item", "kite-000", "--dataset", "left", "--images", str(pictures), status=1)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["kite-0041"], "did you mean 'kite-0"),
        (["kite-004"], "is in left, right; choose one by --dataset"),
        (["kite-004", "--dataset", "lft"], "did you mean left?"),
        (["kite-004", "--dataset", "left", "--model", "tiny"], "did you mean tiny_"),
        ([HOSTILE + "?"], "did you mean "),
        ([""], "no item ''; did you mean "),
    ],
)
def test_an_item_that_is_not_there(vouch: Vouch, words: list[str], said: str) -> None:
    assert said in vouch("item", *words, status=1)


def test_close_ids_survive_a_slip_at_either_end() -> None:
    ids = [f"kite-{number:06d}" for number in range(3000)]
    assert close("kite-00123", ids)[0] == "'kite-000123'" or "'kite-000123'" in close("kite-00123", ids)
    assert "'kite-001234'" in close("kyte-001234", ids) and "'kite-001234'" in close("KITE-001234x", ids)


def test_results_that_the_hub_reads(vouch: Vouch, made: Path, tmp_path: Path) -> None:
    """A file for each dataset of the hub; `right` is none."""
    params = yaml.safe_load((made / "params.yaml").read_text("utf-8"))
    origin = {"hub": "owner/data", "split": "test", "revision": "a" * 40}
    params["datasets"]["left"] |= {"origin": origin}
    before = (made / "params.yaml").read_bytes()
    (made / "params.yaml").write_text(json.dumps(params), "utf-8")
    file = tmp_path / "card.md"
    try:
        vouch("publish", "card", "tiny_a", "--out", file, "--repository", tmp_path)
    finally:
        (made / "params.yaml").write_bytes(before)
    (path,) = (tmp_path / ".eval_results").iterdir()
    (found,) = parse_eval_result_entries(yaml.safe_load(path.read_text("utf-8")))
    (row,) = [row for row in standing("tiny_a", "accuracy") if row["dataset"] == "left"]
    assert path.name == f"left_{row['output']}.yaml"
    assert (found.dataset_id, found.task_id, found.dataset_revision) == ("owner/data", "default", "a" * 40)
    assert found.value == round(row["value"], 4)
    assert str(found.notes).startswith(f"Accuracy by {row['output']}, {row['value']:.3f} [")
    assert str(found.notes).endswith(f"of {row['items']} questions of test")
    text = file.read_text("utf-8")
    assert "guaranteed to cover 90 %" in text and "of 2 prompt variations" in text and "(vr_b)" in text
    assert "verified" in text and vouch("publish", "card", "tiny_a") == text


def standing(model: str, metric: str) -> list[dict[str, Any]]:
    from vouch.tables.results import LEADERBOARD

    return [
        row
        for row in LEADERBOARD.read(LEADERBOARD_PATH).to_pylist()
        if (row["model"], row["metric"], row["protocol"], row["variation"], row["category"])
        == (model, metric, "clean", "original", "all")
    ]


@pytest.mark.parametrize("words", [["compare", "tiny_a", "tiny_b"], ["item", "kite-004", "--dataset", "left"],
                                   ["publish", "card", "tiny_a"]])  # fmt: skip
def test_missing_tables_and_those_of_another_version_are_one_line(
    vouch: Vouch, made: Path, words: list[str]
) -> None:
    path = outcomes_path("left") if words[0] == "item" else LEADERBOARD_PATH
    kept = path.read_bytes()
    try:
        METRICS.write(path, [])
        assert f"holds metrics/{METRICS.version}, expected" in vouch(*words, status=1)
        path.write_bytes(b"half")
        assert str(path) in vouch(*words, status=1)
        path.unlink()
        assert "dvc" in vouch(*words, status=1)
    finally:
        path.write_bytes(kept)


def test_what_can_be_detected() -> None:
    assert minimum_detectable_effect(-0.0196, 0.0196) == pytest.approx(0.0342, abs=1e-4), (
        "3.4 standard errors of 0.01"
    )
    assert minimum_detectable_effect(-0.0196, 0.0196, claims=10) == pytest.approx(0.0413, abs=1e-4)
    assert minimum_detectable_effect(None, 0.1) is None


@pytest.mark.parametrize("other", [0, 1])  # rows whose sets differ in size
def test_a_difference_of_set_sizes_where_hardly_a_set_differs_has_an_interval_with_zero(other: int) -> None:
    rows = 20
    sizes = pd.DataFrame({"group": [f"{row:02}" for row in range(rows)], "size": 2.0, "size_b": 2.0})
    sizes.loc[: other - 1, "size"] = 3.0
    found = size_gap(sizes, "size", Config(resamples=200, seed=0))
    reach = 2 if other else 1  # the largest difference of such sets
    exact = reach * (1 - 0.025 ** (1 / rows))
    assert found["difference"] == pytest.approx(other / rows)
    assert found["low"] is not None and found["low"] <= -exact + other / rows + 1e-6
    assert found["high"] is not None and found["high"] >= exact
