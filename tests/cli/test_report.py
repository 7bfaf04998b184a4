"""`vouch report --against`: two runs side by side. Whole runs of DVC are in tests/checkouts/test_dvc_commands.py."""

import hashlib
import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from stages.compare import main as compare
from stages.score import main as score
from tests.cli.conftest import Vouch, lay_out, set_params
from tests.cli.scored import COUNT, HOSTILE, build, stage
from vouch.cli.against import (
    CHANGED,
    GAINED,
    LISTED,
    LOST,
    MOVED,
    SAME,
    NumberPair,
    RunComparison,
    Side,
    against,
)
from vouch.cli.against_page import page
from vouch.cli.leaderboard import cells
from vouch.cli.report import ANSWERS, summary
from vouch.metrics.comparison.config import CompareConfig
from vouch.metrics.comparison.leaderboard import differences
from vouch.pipeline.dag import read_dag
from vouch.pipeline.dvc_store import object_path
from vouch.pipeline.yaml12 import dumped
from vouch.tables.asked import ITEMS, items_path
from vouch.tables.results import LEADERBOARD, LEADERBOARD_PATH, OUTCOMES, outcomes_path

CONFIG = CompareConfig(resamples=50)
UNREAD = 20
LINE = ("right", "original", "text", "tiny_a")
SETTINGS = {"params.yaml": {"score.alpha": 0.1, "seed": 1}, "models.lock": {}}


@pytest.fixture(scope="module")
def earlier(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same project, but the first texts of tiny_a say nothing."""
    folder = tmp_path_factory.mktemp("earlier")
    lay_out(folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        build(folder, unread={"tiny_a": UNREAD})
    return folder


def side(folder: Path, settings: Any = SETTINGS, **rows: Callable[[Any], bool]) -> Side:
    """The run in a folder. rows: of the leaderboard, those to keep."""
    paths = [of(name) for of in (outcomes_path, items_path) for name in ("left", "right")]
    digests = {str(path): hashlib.md5((folder / path).read_bytes()).hexdigest() for path in paths}
    table = LEADERBOARD.read(folder / LEADERBOARD_PATH).to_pylist()
    kept = [row for row in table if all(test(row[name]) for name, test in rows.items())]
    return Side(settings, {"score@both": digests}, cells(kept, "clean"), 15, lambda path: folder / path)


def number(found: RunComparison, metric: str) -> NumberPair:
    (one,) = (each for each in found.numbers if (each.line, each.column[0]) == (LINE, metric))
    return one


def test_a_run_beside_itself_moves_nothing(scored: Path) -> None:
    found = against(side(scored), side(scored), CONFIG)
    assert found.unchanged and set(found.states) == {SAME} and not found.answers
    text = summary(found, "v1")
    assert text.endswith("Nothing moved: every number and every answer is the same.\n")
    assert "params.yaml: the same" in text and "outputs with other bytes: 0 of 4" in text
    assert "<h1>Nothing moved</h1>" in page(found, "v1", "")


def test_a_number_has_moved_if_the_interval_of_its_paired_difference_excludes_zero(
    scored: Path, earlier: Path
) -> None:
    """The interval is that of two models on the same questions."""
    found = against(side(scored), side(earlier), CONFIG)
    one = number(found, "accuracy")
    tables = [OUTCOMES.read(folder / outcomes_path("right")) for folder in (scored, earlier)]
    runs = []
    for name, table in zip(("now", "then"), tables, strict=True):
        own = table.filter(pc.equal(table["model"], "tiny_a"))
        at = own.schema.get_field_index("model")
        runs.append(own.set_column(at, "model", pa.array([name] * own.num_rows)))
    (row,) = differences(pa.concat_tables(runs), CONFIG.seed, CONFIG.resamples)
    assert (one.difference, one.items, one.of) == (pytest.approx(row["difference"]), row["items"], COUNT)
    assert (one.low, one.high) == (pytest.approx(row["low"]), pytest.approx(row["high"]))
    assert one.then is not None and one.now is not None
    assert one.state == MOVED and one.then < one.now
    text = " ".join(summary(found, "v1").split())
    assert (
        "(the 95 % interval excludes 0; not corrected for the number of numbers, and prediction sets " in text
    )
    error = number(found, "ece")
    assert error.then is not None and error.now is not None
    assert error.difference == pytest.approx(error.now - error.then)
    assert {each.state for each in found.numbers if each.line != LINE} == {SAME}
    assert found.states[MOVED] + found.states[CHANGED] == len(
        [each for each in found.numbers if each.then != each.now]
    )


def test_on_few_groups_only_shares_of_questions_move(scored: Path, earlier: Path, tmp_path: Path) -> None:
    """Intervals of other numbers miss too often there (docs/small-data.md)."""
    few = []
    for name, folder in (("now", scored), ("then", earlier)):
        shutil.copytree(folder, tmp_path / name, ignore=shutil.ignore_patterns(".*", "reports"))
        path = tmp_path / name / items_path("right")
        rows = ITEMS.read(path).to_pylist()
        ITEMS.write(path, [row | {"group": f"g{n % 10}"} for n, row in enumerate(rows)])
        path = tmp_path / name / outcomes_path("right")
        of = {row["id"]: f"g{n % 10}" for n, row in enumerate(rows)}
        OUTCOMES.write(path, [row | {"group": of[row["item"]]} for row in OUTCOMES.read(path).to_pylist()])
        few.append(side(tmp_path / name))
    now, then = few
    found = against(now, then, CONFIG)
    assert number(found, "accuracy").state == MOVED and number(found, "accuracy").low is not None
    error = number(found, "ece")
    assert error.difference and error.low is error.high is None and error.state == CHANGED


def test_changed_answers_are_listed_with_both_answers(scored: Path, earlier: Path) -> None:
    found = against(side(scored), side(earlier), CONFIG)
    (one,) = (each for each in found.answers if each.changed)
    assert one.line == LINE and one.changed == UNREAD and one.prompts == COUNT
    assert one.kinds[LOST] == 0 < one.kinds[GAINED]
    assert [each.kind for each in one.listed[: one.kinds[GAINED]]] == [GAINED] * one.kinds[GAINED]
    assert {each.then for each in one.listed} == {"(unparsed)"}
    assert all(each.now.split()[0] in ("red", "green", "blue") for each in one.listed)
    (back,) = (each for each in against(side(earlier), side(scored), CONFIG).answers if each.changed)
    assert back.kinds == {**one.kinds, LOST: one.kinds[GAINED], GAINED: 0}
    assert found.variations["right", "ls_n"][1] == UNREAD
    lines = [one._replace(line=("right", "original", "text", f"m{n}")) for n in range(ANSWERS + 2)]
    text = summary(found._replace(answers=lines), "v1")
    assert "\n2 more (a model on a dataset, one request type) are on the page\n" in text


def test_text_of_others_is_harmless_in_terminal_and_page(scored: Path, tmp_path: Path) -> None:
    lay_out(tmp_path)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path)
        build(tmp_path, unread={"tiny_a": COUNT})
    found = against(side(scored), side(tmp_path), CONFIG)
    text = summary(found, "v1 \x1b[31m<b>")
    assert all(char.isprintable() or char == "\n" for char in text)
    assert max(map(len, text.splitlines())) <= 80
    (one,) = (each for each in found.answers if each.changed)
    assert len(one.listed) == LISTED < one.changed == COUNT
    made = page(found, "v1 \x1b[31m<b>", "items.html")
    assert f"{COUNT - LISTED} more changed answers are left out." in made
    assert "v1 \ufffd[31m&lt;b&gt;" in made and not {"\x1b", "\u202e"} & set(made)
    assert 'href="items.html#right/kite-000"' in made
    assert 'href="../a%20%231/items.html#right/kite-000"' in page(found, "v1", "../a #1/items.html")
    whole = one._replace(listed=[one.listed[0]._replace(item=HOSTILE, then="<script>", now="a\x1bb")])
    made = page(found._replace(answers=[whole]), "v1", "items.html")
    assert "#right/q%0A%1B%5B31m" in made and "&lt;script&gt;" in made and "\x1b" not in made


@pytest.mark.parametrize(
    ("change", "other", "then_only", "now_only"),
    [
        (
            lambda rows: [{**row, "question": "?"} if row["id"] == "kite-003" else row for row in rows],
            1,
            0,
            0,
        ),
        (lambda rows: [{**row, "flags": ["x"], "category": "c"} for row in rows], 0, 0, 0),
        (lambda rows: rows[:-4], 0, 0, 4),
        (lambda rows: [*rows, {**rows[0], "id": "more"}], 0, 1, 0),
        (lambda rows: [{**row, "answers": [0]} for row in rows], 42, 0, 0),
    ],
)
def test_only_answers_to_the_same_questions_are_paired(
    scored: Path, earlier: Path, tmp_path: Path, change: Any, other: int, then_only: int, now_only: int
) -> None:
    rows = ITEMS.read(earlier / items_path("right")).to_pylist()
    ITEMS.write(tmp_path / "items.parquet", change(rows))
    then = side(earlier)
    digests = then.outs["score@both"] | {str(items_path("right")): "other"}

    def path_of(path: Path) -> Path:
        return tmp_path / "items.parquet" if path == items_path("right") else earlier / path

    found = against(side(scored), then._replace(outs={"score@both": digests}, path_of=path_of), CONFIG)
    (each,) = (each for each in found.questions if each.dataset == "right")
    assert tuple(map(len, (each.other, each.then_only, each.now_only))) == (other, then_only, now_only)
    one = number(found, "accuracy")
    assert one.items == len(each.same) == COUNT - other - now_only
    assert (f"on {one.items} of {COUNT} questions" in summary(found, "v1")) == (one.items < COUNT)


def test_what_only_one_run_has_is_named(scored: Path) -> None:
    settings = {"params.yaml": {"score.alpha": 0.2, "old": [1]}, "models.lock": {"models.x.source": "y"}}
    then = side(scored, settings, dataset=lambda name: name == "left", model=lambda name: name != "tiny_b")
    found = against(side(scored), then, CONFIG)
    assert (found.now_only, found.then_only) == (["dataset right", "model tiny_b"], [])
    assert [(one.file, one.key, one.then, one.now) for one in found.settings] == [
        ("params.yaml", "old", "[1]", None),
        ("params.yaml", "score.alpha", "0.2", "0.1"),
        ("params.yaml", "seed", None, "1"),
        ("models.lock", "models.x.source", "y", None),
    ]
    text = summary(found, "v1")
    assert "params.yaml: old (gone), score.alpha, seed (new) differ" in text
    assert "models.lock: models.x.source (gone) differs" in text
    assert "only here: dataset right, model tiny_b" in text and not found.unchanged
    assert "0.2</td>" in page(found, "v1", "")


def test_answers_that_cannot_be_read_cost_only_their_list(
    scored: Path, earlier: Path, tmp_path: Path
) -> None:
    (tmp_path / "old.parquet").write_bytes(b"PAR1")
    then = side(earlier)

    def path_of(path: Path) -> Path:
        return tmp_path / "old.parquet" if path == outcomes_path("right") else earlier / path

    found = against(side(scored), then._replace(path_of=path_of), CONFIG)
    (note,) = found.notes
    assert note.startswith("right: its answers cannot be compared one by one: not readable as parquet")
    one = number(found, "accuracy")
    assert (one.state, one.difference, one.items) == (CHANGED, None, 0) and not found.answers


def record() -> None:
    """Writes a dvc.lock that names the tables here, and puts these into DVC's cache, as `dvc commit` does."""
    stages: dict[str, Any] = {}
    for each in read_dag().stages.values():
        there = [out for out in each.outs if Path(out).is_file()]
        digests = {out: hashlib.md5(Path(out).read_bytes()).hexdigest() for out in there}
        for out, digest in digests.items():
            object_path(digest).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(out, object_path(digest))
        if digests:
            outs = [{"path": out, "hash": "md5", "md5": digest} for out, digest in digests.items()]
            stages[each.name] = {"cmd": each.cmd, "outs": outs}
    Path("dvc.lock").write_text(dumped({"schema": "2.0", "stages": stages}), "utf-8")


def test_an_edit_is_compared_with_the_last_commit(
    scored: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, vouch: Vouch
) -> None:
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    shutil.copytree(scored, tmp_path / "one", symlinks=True)
    monkeypatch.chdir(tmp_path / "one")
    subprocess.run(["git", "init", "-q"], check=True)
    subprocess.run(["dvc", "init", "-q"], check=True)
    record()
    for words in (["add", "params.yaml", "models.lock", "dvc.lock"], ["commit", "-qm", "results"]):
        subprocess.run(["git", "-c", "user.name=t", "-c", "user.email=t@example.org", *words], check=True)
    shown = vouch("report", "--against", "HEAD")
    assert "Nothing moved" in shown and "params.yaml: the same" in shown
    set_params(score={"alpha": 0.4, "calibration": 0.5, "seed": 42, "splits": 10, "bins": 15})
    for dataset in ("left", "right"):
        stage(score, "score", dataset)
    stage(compare, "compare")
    record()
    shown = vouch("report", "--against", "HEAD")
    assert "params.yaml: score.alpha differs\n" in shown and "models.lock: the same\n" in shown
    assert re.search(r"^  Set size LAC +\d\.\d{3} +\d\.\d{3}  -0\.\d{3} \[.* moved$", shown, re.M)
    assert "answers changed" not in shown and "  Accuracy" not in shown
    page = Path("build/against/index.html").read_text("utf-8")
    assert "<h1>What moved</h1>" in page and ">score.alpha<" in page
    numbers = json.loads(vouch("report", "--against", "HEAD", "--json", "--out", "other.html"))["numbers"]
    assert {one["state"] for one in numbers if one["metric"] == "accuracy"} == {SAME}
    assert Path("other.html").read_text("utf-8") == page, "the same bytes"
    shutil.rmtree(".dvc/cache")
    assert "at HEAD: neither here nor in the remote; `dvc push`" in vouch(
        "report", "--against", "HEAD", status=1
    )
    assert "--against: v9: no such commit" in vouch("report", "--against", "v9", status=1)


def test_without_results_here_there_is_nothing_to_compare(vouch: Vouch, bare: Path) -> None:
    assert "nothing was run here yet; run `dvc repro`" in vouch("report", "--against", "HEAD", status=1)
