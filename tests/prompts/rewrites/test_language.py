"""The rules are English: what they take for it, measured on questions of real sets, and where `not` fits."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from vouch.prompts.rewrites.checks import failures
from vouch.prompts.rewrites.engines import rules
from vouch.prompts.rewrites.sentences import Cannot, is_english
from vouch.prompts.rewrites.table import Task

SHARED = Path(__file__).resolve().parents[4] / "shared" / "reference"
SETS = ("ai2d_mini", "ccbench_samples", "mathvision_test", "mmbench_samples", "puzzlevqa", "scienceqa_test")
SENTENCE = re.compile(r"(?<=[.?!？。])\s+|\n")
FOREIGN = re.compile("[\u0600-\u06ff\u3040-\uffff]")
real = pytest.mark.skipif(not SHARED.exists(), reason="the reference data are not on this machine")


def questions(name: str) -> Iterator[tuple[str, str]]:
    """(set, question), each once."""
    if name in SETS:
        lines = (SHARED / "realdata" / name / "items.jsonl").read_text("utf-8").splitlines()
        yield from dict.fromkeys((name, json.loads(line)["question"]) for line in lines)
    elif name == "mmbench":
        table = pq.read_table(SHARED / "vlm-uncertainty-bench/items-mmbench.parquet", columns=["question"])
        yield from dict.fromkeys((name, text) for text in table["question"].to_pylist())
    else:
        table = pq.read_table(SHARED / f"answers/{name}.parquet", columns=["sub", "question"])
        yield from dict.fromkeys((row["sub"], row["question"]) for row in table.to_pylist())


def sentences(found: Iterator[tuple[str, str]]) -> list[tuple[str, str]]:
    """(set, sentence) of two words at least, each once in its question."""
    return [
        (name, part)
        for name, text in found
        for part in dict.fromkeys(SENTENCE.split(re.sub(r"<image\s*\d*>", "", text)))
        if len(part.split()) > 1
    ]


def rewritable(text: str) -> bool:
    """Whether any rule makes something of it, whatever its language."""
    for kind in ("lr_i", "lr_c", "lr_v", "clean", "ls_n"):
        try:
            rules.RULES[kind](text)
        except Cannot:
            continue
        return True
    return False


@pytest.mark.parametrize(
    "text",
    [
        "Determine a area do triangulo",
        "Describe la imagen",
        "¿Dónde está el gato?",
        "Quelle est la couleur du cercle ?",
        "Was ist das?",
        "In che direzione va?",
        "Wat is de hoofdstad?",
        "图中所示建筑名称为？",
        "Describe x.",
        "?",
    ],
)
def test_what_is_not_taken_for_english_is_refused_in_every_kind(text: str) -> None:
    tasks = [Task(text, kind) for kind in rules.RULES]
    found = [proposal for _, proposal in rules.Rules().ask(tasks)]
    assert {proposal.text for proposal in found} == {None}
    assert {proposal.reason for proposal in found} == {
        "the rules refuse: rules are English, and this does not read as English"
    }


@real
def test_0_of_1101_spanish_and_portuguese_sentences_pass() -> None:
    of = {"spain_local", "brazil_local"}
    found = [text for name, text in sentences(questions("worldmedqa")) if name in of]
    assert len(found) == 1101 and sum(map(is_english, found)) == 0


@real
def test_0_of_586_spanish_and_portuguese_options_of_four_words_pass() -> None:
    table = pq.read_table(SHARED / "answers/worldmedqa.parquet", columns=["sub", "options"])
    found = {
        (row["sub"], text)
        for row in table.to_pylist()
        if row["sub"] in ("spain_local", "brazil_local") and row["options"]
        for text in json.loads(row["options"])
        if len(text.split()) > 3
    }
    assert len(found) == 586 and not [text for _, text in found if is_english(text)]


@real
def test_of_362_hebrew_japanese_and_chinese_questions_one_passes_which_is_in_english() -> None:
    of = {"israel_local", "japan_local", "ccbench_samples"}
    found = [text for name in ("worldmedqa", "ccbench_samples") for own, text in questions(name) if own in of]
    (passed,) = filter(is_english, found)
    assert len(found) == 362 and not FOREIGN.search(passed)


@real
def test_0_of_2120_english_sentences_that_the_rules_rewrite_are_refused() -> None:
    found = [
        pair for name in (*SETS, "mmbench", "worldmedqa", "mathvista") for pair in sentences(questions(name))
    ]
    english = [
        text
        for name, text in found
        if not name.endswith("_local") and not FOREIGN.search(text) and rewritable(text)
    ]
    refused = [text for text in english if not is_english(text)]
    assert (len(english), len(refused)) == (2120, 0)


@real
def test_580_negations_of_real_sentences_and_not_stands_where_english_has_it() -> None:
    """Before, 583: `Which word best does not describe the sound`, twice, and one verb of two."""
    every = {
        text
        for name in (*SETS, "mmbench", "worldmedqa", "mathvista")
        for _, text in sentences(questions(name))
    }
    tasks = [Task(text, "ls_n") for text in sorted(every) if len(text) < 400]
    made = {
        task.question: proposal.text
        for task, proposal in rules.Rules().ask(tasks)
        if proposal.text and not failures("ls_n", task.question, proposal.text)
    }
    odd = re.compile(
        r"\b(?:best|better|most|least|also|often|always|still|now|just|only|both|each|\w+ly) (?:does|do|is|are|was|were|can|will) ?not\b"
    )
    assert len(made) == 580 and not [text for text in made.values() if odd.search(text)]


@pytest.mark.parametrize(
    "question",
    [
        "Which word best describes the sound this thunderstorm makes?",
        "Which of the following best describes the picture?",
        "What best describes the scene?",
        "Which sentence most accurately describes the picture?",
        "Which sentence also shows a dog?",
        "Who always wears a hat?",
        "Which one best is described as a cat?",
        "Which dog now has the ball?",
        "Based on the given food web, which organism is a carnivore and is also eaten by other organism?",
    ],
)
def test_negations_that_english_does_not_have_are_not_made(question: str) -> None:
    with pytest.raises(Cannot):
        rules.RULES["ls_n"](question)
    assert rules.RULES["lr_i"](question).lower().startswith(("tell me", "based on"))
