"""`vouch review rewrites`: what it lists, and a table that goes out as CSV and comes back decided."""

import json
from pathlib import Path
from typing import Any

import pytest

from stages.rewrite import main as rewrite
from tests.cli.conftest import Vouch, set_params
from tests.cli.csv_rows import load, save
from tests.prompts.rewrites.conftest import item
from vouch.cli.main import main
from vouch.pipeline import yaml12
from vouch.pipeline.dag import Dag, Stage
from vouch.pipeline.run import Run
from vouch.prompts.rewrites.table import read_decisions
from vouch.tables.asked import ITEMS, REWRITES, items_path, rewrites_path

COLOUR, ODD = "What colour is the circle?", 'Red, or "green"?'
DECISIONS = Path("decisions/rewrites/quiz.csv")


@pytest.fixture
def project(bare: Path) -> None:
    """A checkout whose dataset `quiz` has two questions, rewritten."""
    left = yaml12.load(Path("params.yaml"))["datasets"]["left"]
    set_params(datasets={"quiz": left}, variations=["original", "lr_i", "ls_n"])
    ITEMS.write(items_path("quiz"), [item("a", COLOUR), item("b", ODD)])
    run_stage()


def run_stage() -> dict[tuple[str, str], dict[str, Any]]:
    values = {"datasets.quiz": {}, "rewrite": {}, "variations": ["lr_i", "ls_n"]}
    stage = Stage("rewrite@quiz", "python -m stages.rewrite quiz", (), (), {"params.yaml": values})
    rewrite(Run(Dag([stage]), stage, ["quiz"]))
    rows = REWRITES.read(rewrites_path("quiz")).to_pylist()
    return {(row["original"], row["kind"]): row for row in rows}


def rewrites(*words: object) -> None:
    assert main(["review", "rewrites", "quiz", *map(str, words)]) == 0


def exported(path: Path) -> list[dict[str, str]]:
    rewrites("--export", path)
    return load(path)


def test_counts_and_what_was_rejected(project: None, vouch: Vouch) -> None:
    lines = vouch("review", "rewrites", "quiz").splitlines()
    assert [line.split() for line in lines[2:6]] == [
        ["lr_i", "accepted", "1"],
        ["lr_i", "rejected", "1"],
        ["ls_n", "accepted", "1"],
        ["ls_n", "rejected", "1"],
    ]
    assert len(lines) == 11 and all(ODD in line and "the rules refuse" in line for line in lines[-2:])
    assert "What colour is the circle not?" in vouch("review", "rewrites", "quiz", "--all", "--kind", "ls_n")
    REWRITES.write(rewrites_path("quiz"), [])
    assert "no variation of this profile needs them" in vouch("review", "rewrites", "quiz")


def test_out_decided_and_back(project: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "review.csv"
    rows = exported(file)
    assert [row["decision"] for row in rows] == [""] * 4 and rows[0][
        "rewrite"
    ] == "Tell me what colour the circle is."
    rows[0] |= {"decision": "accept", "by": "me"}
    rows[1] |= {"decision": "reject", "why": "odd, to me"}
    rows[2] |= {"decision": "use", "text": 'Say "red" or "green".'}
    save(file, rows)
    rewrites("--import", file)
    assert "3 decisions taken over, 3 in decisions/rewrites/quiz.csv" in capsys.readouterr().out
    written = DECISIONS.read_text("utf-8").splitlines()
    assert written[0] == "question,kind,decision,text,by,why" and len(written) == 4
    assert f"{COLOUR},lr_i,accept,Tell me what colour the circle is.,me," in written

    made = run_stage()
    assert made[COLOUR, "lr_i"]["status"] == "by_hand"
    assert made[COLOUR, "ls_n"]["reason"] == "odd, to me"
    assert made[ODD, "lr_i"]["rewrite"] == 'Say "red" or "green".'

    first = DECISIONS.read_bytes()
    again = exported(file)
    assert sorted(row["decision"] for row in again) == ["", "accept", "reject", "use"]
    rewrites("--import", file)
    assert DECISIONS.read_bytes() == first


def test_a_text_that_a_spreadsheet_would_run_comes_back_as_it_was(project: None, tmp_path: Path) -> None:
    hostile = [
        "=HYPERLINK(1)",
        "+1 or -1?",
        "-x",
        "@me",
        "\tTab?",
        "\rBack?",
        "'=quoted",
        "'plain'",
        "''-two",
    ]
    row = {"kind": "lr_i", "status": "rejected", "reason": "=why", "rewrite": None}
    REWRITES.write(rewrites_path("quiz"), [{"original": text, **row} for text in hostile])
    file = tmp_path / "review.csv"
    rows = exported(file)
    assert not any(cell.startswith(tuple("=+-@\t\r\n")) for row in rows for cell in row.values())
    assert rows[0]["question"] == "'=HYPERLINK(1)" and rows[7]["question"] == "'plain'"
    for each in rows:
        each |= {"decision": "use", "text": "-5 degrees", "by": each["question"]}
    save(file, rows)
    rewrites("--import", file)
    decisions = read_decisions(DECISIONS)
    assert [one.task.question for one in decisions] == sorted(hostile)
    assert [one.by for one in decisions] == sorted(hostile) and decisions[0].text == "-5 degrees"
    assert DECISIONS.read_text("utf-8").count(",use,'-5 degrees,") == len(hostile)


def test_decisions_about_other_kinds_stay(project: None, tmp_path: Path) -> None:
    DECISIONS.parent.mkdir(parents=True)
    DECISIONS.write_text(f"question,kind,decision,text\n{COLOUR},ls_a,reject,\n", "utf-8")
    file = tmp_path / "review.csv"
    rows = exported(file)
    rows[0]["decision"] = "reject"
    save(file, rows)
    rewrites("--import", file)
    assert [line.split(",")[1] for line in DECISIONS.read_text("utf-8").splitlines()[1:]] == ["lr_i", "ls_a"]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"decision": "acept"}, "unknown decision acept"),
        ({"decision": "accept"}, "there is no rewrite to accept"),
        ({"decision": "reject", "question": "Else?"}, "no lr_i of 'Else?' in data/rewrites/quiz.parquet"),
    ],
)
def test_bad_files_are_one_line_and_change_nothing(
    project: None, tmp_path: Path, vouch: Vouch, change: dict[str, str], said: str
) -> None:
    file = tmp_path / "review.csv"
    rows = exported(file)
    next(row for row in rows if row["question"] == ODD).update(change)
    save(file, rows)
    assert said in vouch("review", "rewrites", "quiz", "--import", file, status=1)
    assert not DECISIONS.exists()


def test_unknown_names(project: None, vouch: Vouch) -> None:
    assert "did you mean quiz?" in vouch("review", "rewrites", "quizz", status=1)
    said = vouch("review", "rewrites", "quiz", "--import", "nowhere.csv", status=1)
    assert "nowhere.csv: no such file; write it with --export" in said


def test_the_plan_says_what_a_model_would_be_asked(project: None, vouch: Vouch) -> None:
    assert "rewrites to ask" not in vouch("plan"), "rules cost nothing"
    source = {"kind": "server", "url": "http://127.0.0.1:9/v1", "name": "llama"}
    models = {"models": {"writer": {"source": source, "engine": "openai"}}}
    Path("models.lock").write_text(json.dumps(models), "utf-8")
    set_params(
        helpers={"writer": "models.lock"}, rewrite={"rewriter": "data/models/writer.json", "clean": ["quiz"]}
    )
    assert "at most 72 rewrites to ask of writer" in vouch("plan"), "24 items, 3 kinds"
