"""Tables fit the terminal: 80 columns by themselves, more where there are more, all of them with --wide."""

from itertools import pairwise
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tests.cli.conftest import Vouch, flat, lay_out
from tests.cli.scored import names
from tests.models.project import ROOT
from vouch.cli.compare_screen import screen
from vouch.cli.leaderboard import cells, label
from vouch.cli.printing import Column, _shortened, columns_of, cut, table, wrapped
from vouch.cli.show import compared, headline
from vouch.metrics.blind import BLIND_RATE
from vouch.metrics.metric import metrics
from vouch.pipeline.yaml12 import load
from vouch.report.gates import INFINITE
from vouch.tables import HEADLINE
from vouch.tables.results import LEADERBOARD, LEADERBOARD_PATH

MODELS = sorted(load(ROOT / "models.lock")["models"], key=lambda name: (-len(name), name))[:6]
"""The six longest names that the project has."""
VALUES = {"low": 0.0, "high": 1.0, "value": 0.123456, "items": 14233}


def leaderboard(value: float = 0.123456) -> list[dict[str, object]]:
    """Every metric of six models on two datasets, each with the widest interval that it can have."""
    none = dict.fromkeys(LEADERBOARD.schema.names)
    line = {"category": "all", "protocol": "clean", "variation": "original", "output": "letters", "score": ""}
    scores = {"set_size": HEADLINE, "coverage": HEADLINE, "uacc": ("mean",)}
    return [
        none | line | VALUES | {"dataset": dataset, "model": model, "metric": metric, "score": score}
        | {"calibration": "marginal" if score else "", "value": 0.0 if metric in (INFINITE, BLIND_RATE) else value}
        for dataset in ("seedbench", "a_dataset_of_a_long_name")
        for model in MODELS
        for metric in metrics()
        for score in scores.get(metric, ("",))
    ]  # fmt: skip


def comparison() -> str:
    """Two models on seven lines, every number with its widest interval."""
    gap = {"difference": -0.123456, "low": -0.25, "high": 0.25, "p": 0.00001, "p_holm": 0.04321}
    side = dict.fromkeys(("accuracy", "coverage_lac", "ece"), VALUES)
    entry = {
        **{"variation": "original", "items": 14233, "first": side, "second": side, "accuracy": gap},
        **{"too_small": "", "minimum_detectable_effect": 0.1234, "set_size": dict.fromkeys(HEADLINE, gap)},
        "guessing": {"chance": 0.25, "first": True, "second": False},
        "counts": {"both": 14000, "first_only": 99, "second_only": 99, "neither": 35, "mcnemar_p": 0.5},
    }
    where = [{"dataset": "a_dataset_of_a_long_name", "output": output} for output in ("likelihood", "text")]
    numbers = {"items": 14233, "groups": 99, "first": 0.1, "second": 0.2, "difference": -0.1}
    category = {**where[0], **numbers, "category": "instance counting of objects that are hidden"}
    return screen(MODELS[0], MODELS[1], [entry | line for line in where], [category])


def widest(text: str) -> int:
    return max(map(columns_of, text.splitlines()))


@pytest.mark.parametrize(
    "words",
    [
        *(["show"], ["show", "--variations"], ["show", "--protocol", "faithful"]),
        *(["compare", "tiny_a", "tiny_b"], ["compare", "tiny_a", "tiny_b", "--variation", "ls_n"]),
        *(["item", names()[0], "--dataset", "left"], ["item", names()[-1], "--dataset", "left", "--detail"]),
        *(["plan"], ["plan", "--power"]),
        *(["plan", study] for study in ("azad", "current", "kostumov", "parc", "reform", "tu")),
    ],
    ids=lambda words: " ".join(words[:2]),
)
def test_a_command_prints_eighty_columns_and_all_with_wide(
    scored: Path, vouch: Vouch, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, words: list[str]
) -> None:
    """As if the output were no terminal."""
    monkeypatch.delenv("COLUMNS", raising=False)
    if words[0] == "plan":  # without results, but with the models of every study
        lay_out(tmp_path, "profiles")
        (tmp_path / "models.lock").unlink()
        (tmp_path / "models.lock").symlink_to(ROOT / "models.lock")
    monkeypatch.chdir(tmp_path if words[0] == "plan" else scored)
    narrow, wide = vouch(*words), vouch(*words, "--wide")
    assert widest(narrow) <= 80 and "left out: " not in wide
    assert narrow.count("left out: ") == flat(narrow).count("(--wide shows all)")


@pytest.mark.parametrize("room", [80, 100, 160, 240])
def test_screens_of_six_models_with_long_names_fit_any_terminal(
    monkeypatch: pytest.MonkeyPatch, room: int
) -> None:
    monkeypatch.setenv("COLUMNS", str(room))
    now, then = cells(leaderboard(), "clean"), cells(leaderboard(0.5), "clean")
    for text in (headline(now), compared(now, then), compared(now, then, every=True), comparison()):
        assert widest(text) <= room
    assert all(headline(now).count(f" {model} ") == 2 for model in MODELS)


def test_the_demo_in_eighty_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its stored results: four columns, three of them with their intervals."""
    monkeypatch.setenv("COLUMNS", "80")
    outs = load(ROOT / "dvc.lock")["stages"]["compare"]["outs"]
    digest = next(out["md5"] for out in outs if out["path"] == str(LEADERBOARD_PATH))
    rows = pq.read_table(ROOT / ".dvc/storage/files/md5" / digest[:2] / digest[2:]).to_pylist()
    now = cells(rows, "clean", variations=True)
    text = headline(now)
    assert len({model for *_, model in now}) == 6 and widest(text) <= 80
    first = next(line for line in text.splitlines() if line.startswith(" "))
    assert first.count("[") >= 2 and text.splitlines()[0].split()[-1] == "ECE"


def test_what_a_wider_terminal_shows_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """The columns come back in the order of their importance, the least important last."""
    now, heads = cells(leaderboard(), "clean"), []
    for room in (80, 130, 180, 400):
        monkeypatch.setenv("COLUMNS", str(room))
        top = headline(now).splitlines()[0]
        heads.append({head.strip() for head in top.split("  ")} - {""})
    assert all(fewer < more for fewer, more in pairwise(heads)), heads
    assert {"Accuracy", "Coverage", "Set size", "ECE"} <= heads[0]
    last = label("low_mass_rate", "")
    assert last not in heads[0] and last in heads[-1]


def test_intervals_go_first_then_columns_then_the_middle_of_names(monkeypatch: pytest.MonkeyPatch) -> None:
    columns = (Column("model", cut=True), Column("a", right=True), Column("b", right=True, rank=1))
    rows = [["a_model_of_the_first_kind", "0.5 [0.4, 0.6]", "0.7 [0.6, 0.8]"], ["other", "0.5", "0.5"]]
    seen = {}
    for room in (60, 46, 42, 25):
        monkeypatch.setenv("COLUMNS", str(room))
        seen[room] = table(columns, rows)
    assert "left out" not in seen[60] and "[0.6, 0.8]" in seen[60]
    assert "[0.6, 0.8]" not in seen[46] and " 0.7\n" in seen[46] and "interval of b" in seen[46]
    assert "0.7" not in seen[42] and "left out: b " in seen[42] and rows[0][0] in seen[42]
    assert "0.5 [0.4, 0.6]" in seen[25] and "…" in seen[25]
    assert "the middle of long texts" in flat(seen[25])


@pytest.mark.parametrize(
    "texts",
    [
        ["llava_v1_6_vicuna_13b", "llava_v1_6_vicuna_7b", "llava_v1_6_mistral_7b"],
        [f"{'x' * 40}{middle}{'y' * 40}" for middle in range(12)],
        ["short", "a" * 90, "a" * 91, "a" * 92],
        ["短い", f"{'左上の赤い' * 9}一", f"{'左上の赤い' * 9}二", "e\u0301" * 60],
    ],
)
def test_different_names_stay_different(texts: list[str]) -> None:
    for width in (8, 9, 12, 40):
        short = _shortened([*texts, *texts], width)
        assert max(map(columns_of, short)) <= width and len(set(short)) == len(texts)
        assert short[: len(texts)] == short[len(texts) :]
        assert all(
            one == whole for one, whole in zip(short, texts, strict=False) if columns_of(whole) <= width
        )


@pytest.mark.parametrize("room", [40, 80])
def test_full_width_characters_take_two_columns(monkeypatch: pytest.MonkeyPatch, room: int) -> None:
    """As in a terminal: columns stay below each other, and no line is wider than it."""
    monkeypatch.setenv("COLUMNS", str(room))
    names = ("左上の赤い丸", "left", "e\u0301te\u0301", "왼쪽", "Ａ")
    rows = [[name, "問題" * 30, f"{number}.5"] for number, name in enumerate(names)]
    lines = table([Column("model"), Column("text", cut=True), Column("n", right=True)], rows).splitlines()[:7]
    assert {columns_of(line) for line in lines} == {room} and all(line.endswith(".5") for line in lines[2:])
    at = [columns_of(line[: line.index("問")]) for line in lines[2:]]
    assert at == [14] * len(names)
    for text in ("数" * 200, f"a {'数' * 100} b", "word " * 60, "x" * 19 + "数"):
        folded = wrapped(text, "  ")
        assert max(map(columns_of, folded.splitlines())) <= room
        assert "".join(folded.split()) == "".join(text.split())
    assert columns_of(cut("数" * 60, 21)) == 21 and cut("数" * 10, 20) == "数" * 10


def test_a_table_without_rows_is_words() -> None:
    assert table([Column("model"), Column("Accuracy")], []) == "nothing to show\n"
    assert headline({}).startswith("no results to show; ")
