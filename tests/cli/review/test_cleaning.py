"""PARC's six steps of cleaning MMBench (Schmalfuss et al. 2025, A7.4) as a table that people fill in: out as CSV,
decided, back, and into prompts.
"""

from pathlib import Path

import pytest

from stages.rewrite import main as rewrite
from stages.vary import main as vary
from tests.cli.conftest import set_params
from tests.cli.csv_rows import load, save
from tests.cli.review.conftest import stage
from tests.prompts.rewrites.conftest import item
from vouch.cli.main import main
from vouch.pipeline import yaml12
from vouch.tables.asked import ITEMS, PROMPTS, REWRITES, items_path, prompts_path, rewrites_path

# step of PARC -> the question as it is, what a person decides, and the words
STEPS = {
    "irrelevant": ("Magnets are fun. Which magnet is longer?", "use", "Which magnet is longer?"),
    "several": ("Two cups stand here. Is one of them red?", "use", "Is one of the two cups red?"),
    "grammar": ("which of cups longer", "use", "Which of the cups is longer?"),
    "capitals": ("where is the bike", "accept", "Where is the bike?"),
    "leak": ("What does the dog’s playing show?", "use", "What does the dog show?"),
    "no antonym": ("What is the number in the corner?", "drop", ""),
    "good": ("Which car is longer?", "", "Which car is longer?"),
}


@pytest.fixture
def project(bare: Path) -> None:
    """A checkout whose dataset `quiz` asks a question for each step, one of them twice."""
    params = yaml12.load(Path("params.yaml"))
    set_params(
        datasets={"quiz": params["datasets"]["left"]},
        variations=["original", "lr_i", "ls_n"],
        rewrite={**params["rewrite"], "clean": ["quiz"]},
    )
    rows = [item(step, question) for step, (question, _, _) in STEPS.items()]
    ITEMS.write(items_path("quiz"), [*rows, item("again", STEPS["capitals"][0])])


def prompts() -> dict[str, str]:
    """Runs both stages; id of each prompt -> its first line."""
    stage(rewrite, "rewrite", "quiz")
    stage(vary, "vary", "quiz")
    found = PROMPTS.read(prompts_path("quiz")).to_pylist()
    return {row["id"]: row["text"].splitlines()[0] for row in found}


def exported(path: Path) -> list[dict[str, str]]:
    assert main(["review", "rewrites", "quiz", "--kind", "clean", "--export", str(path)]) == 0
    return load(path)


def decided(path: Path, rows: list[dict[str, str]]) -> None:
    by_question = {question: (decision, text) for question, decision, text in STEPS.values()}
    for row in rows:
        row["decision"], words = by_question[row["question"]]
        row |= {"text": words if row["decision"] == "use" else "", "by": "me", "why": "A7.4"}
    save(path, rows)


def test_the_six_steps_from_a_table_to_prompts(project: None, tmp_path: Path) -> None:
    before = prompts()
    assert {before[f"{step}/original"] for step in STEPS} == {question for question, _, _ in STEPS.values()}
    file = tmp_path / "edits.csv"
    rows = exported(file)
    assert [row["question"] for row in rows] == [question for question, _, _ in STEPS.values()]
    proposals = {row["question"]: (row["rewrite"], row["status"], row["reason"]) for row in rows}
    assert proposals["where is the bike"] == ("Where is the bike?", "accepted", "")
    assert "several sentences" in proposals[STEPS["irrelevant"][0]][2], "the rules refuse and say why"

    decided(file, rows)
    assert main(["review", "rewrites", "quiz", "--import", str(file)]) == 0
    after = prompts()
    for step, (_, decision, words) in STEPS.items():
        assert after.get(f"{step}/original") == (None if decision == "drop" else words), step
    assert after["again/original"] == "Where is the bike?", "a decision is about the question, not the item"
    assert not any(name.startswith("no antonym/") for name in after), "dropped: no prompt of any variation"
    assert after["irrelevant/ls_n"] == "Which magnet is not longer?", "made of the cleaned words"
    assert after["capitals/lr_i"] == "Tell me where the bike is."

    made = {row["original"]: row for row in REWRITES.read(rewrites_path("quiz")).to_pylist()}
    assert made[STEPS["leak"][0]]["status"] == "by_hand" and made[STEPS["leak"][0]]["reason"] == "A7.4"
    assert [row["decision"] for row in exported(file)] == [decision for _, decision, _ in STEPS.values()]
    assert prompts() == after


def test_a_step_taken_back_brings_the_question_back(project: None, tmp_path: Path) -> None:
    first = prompts()
    file = tmp_path / "edits.csv"
    decided(file, exported(file))
    assert main(["review", "rewrites", "quiz", "--import", str(file)]) == 0
    assert prompts() != first
    Path("decisions/rewrites/quiz.csv").unlink()
    assert prompts() == first
