"""The rules: on the demo's questions, on PARC's own examples, and what they must refuse."""

import re
from collections.abc import Iterator

import pytest

from vouch.demo.scenes.phrasings import HELD_OUT, TRAINED
from vouch.prompts.asking import Reply
from vouch.prompts.rewrites.checks import NEGATION, failures, words
from vouch.prompts.rewrites.engines import rules
from vouch.prompts.rewrites.table import Task, instruction
from vouch.tables.asked import CLEAN, KINDS, NEGATIONS

SUBJECTS = {
    "colour": "circle",
    "shape": "red",
    "count": "red objects",
    "more": "circles",
    "count_like_it": "shape",
}
TURNED = ("exist_not", "more_not", "has_not")  # tasks that negate already


def propose(question: str, kind: str) -> Reply:
    ((_, proposal),) = rules.Rules().ask([Task(question, kind)])
    return proposal


def rewritten(question: str, kind: str) -> str | None:
    return propose(question, kind).text


def demo_questions() -> Iterator[tuple[str, str]]:
    for table in (TRAINED, HELD_OUT):
        for task, wordings in table.items():
            subject = SUBJECTS.get(task, "circles" if task in ("less", "more_not") else "red circle")
            yield from ((task, wording.format(subject=subject)) for wording in wordings)


@pytest.mark.parametrize("kind", KINDS)
def test_every_wording_of_the_demo_is_rewritten_well_or_refused(kind: str) -> None:
    accepted = 0
    for task, question in demo_questions():
        text, reason = (proposal := propose(question, kind)).text, proposal.reason
        if text is None:
            assert reason.startswith("the rules refuse: ")
            continue
        accepted += 1
        assert not failures(kind, question, text), (question, text)
        assert re.fullmatch(r"[A-Z][\w ,]*[.?]", text), text
        if kind in NEGATIONS:
            assert task not in TURNED, f"{question} is negated already"
            assert task != "presence", f"{question} asks for yes or no"
        if kind in ("lr_i", "ls_n"):
            assert len(words(text)) <= len(words(question)) + 5
    least = {"lr_i": 70, "lr_c": 25, "lr_v": 50, "ls_n": 35, "ls_a": 2, "ls_m": 8, CLEAN: 25}
    assert accepted >= least[kind], "the rules know the demo's questions"


@pytest.mark.parametrize("kind", ["lr_i", "ls_n", "ls_m"])
def test_the_demos_models_know_every_word(kind: str) -> None:
    """So that a rewrite costs them what its form costs, and not what an unknown word does."""
    from vouch.demo.writing import UNKNOWN, build_tokenizer

    tokenizer = build_tokenizer()
    found = [text for _, question in demo_questions() if (text := rewritten(question, kind))]
    assert found and not [text for text in found if UNKNOWN in tokenizer.tokenize(text)]
    assert UNKNOWN in tokenizer.tokenize("Determine which")


@pytest.mark.parametrize(
    ("question", "instruction_", "negated"),
    [
        ("What colour is the circle?", "Tell me what colour the circle is.", "What colour is the circle not?"),
        ("Which shape does the red object have?", "Tell me which shape the red object has.", "Which shape does the red object not have?"),
        ("How many circles are there?", "Tell me how many circles there are.", "What is not the number of circles?"),
        ("How many circles are in the picture?", "Tell me how many circles are in the picture.", "What is not the number of circles in the picture?"),
        ("In which corner is the red circle?", "Tell me in which corner the red circle is.", "In which corner is the red circle not?"),
        ("Which of these is in the picture?", "Tell me which of these is in the picture.", "Which of these is not in the picture?"),
        ("What can you see in the picture?", "Tell me what you can see in the picture.", "What can you not see in the picture?"),
        ("Which picture has more circles?", "Tell me which picture has more circles.", "Which picture does not have more circles?"),
        ("Select the object that is in the picture.", "Select the object that is in the picture.", "Select the object that is not in the picture."),
        ("Colour of the circle?", "Tell me the colour of the circle.", None),
        ("Is there a red circle in the picture?", "Tell me if there is a red circle in the picture.", None),
        ("Which of these is not in the picture?", "Tell me which of these is not in the picture.", None),
        ("What is the man holding?", "Tell me what the man is holding.", "What is the man not holding?"),
        ("What is the capital of Alaska?", "Tell me the capital of Alaska.", "What is not the capital of Alaska?"),
        ("Which one is the correct caption of this image?", "Tell me which one is the correct caption of this image.", "Which one is not the correct caption of this image?"),
        ("Are the two apples in the picture the same color?", "Tell me if the two apples in the picture are the same color.", None),
        ("Which sentence correctly describes capybaras?", "Tell me which sentence correctly describes capybaras.", "Which sentence does not correctly describe capybaras?"),
    ],
)  # fmt: skip
def test_instruction_and_negation(question: str, instruction_: str, negated: str | None) -> None:
    assert rewritten(question, "lr_i") == instruction_
    assert rewritten(question, "ls_n") == negated


@pytest.mark.parametrize(
    ("kind", "question", "expected"),
    [
        ("lr_c", "Are the two sofas the same color in the picture?", "Are the sofas the same color?"),
        ("lr_c", "Which picture has more circles?", "Picture with more circles?"),
        ("lr_c", "In this picture, are the two dolphins the same size?", "Are the two dolphins the same size?"),
        ("lr_c", "Which kite is older?", "Older kite?"),
        ("lr_c", "Which of these is in the picture?", None),
        ("lr_c", "Which material is this spatula made of?", None),
        ("lr_v", "Where is the bike?", "Looking carefully at what is shown, could you please tell me where the bike is?"),
        ("lr_v", "Please look at the picture carefully and tell me where it is.", None),
        ("ls_a", "Which of these is in the picture?", "Which of these is missing from the picture?"),
        ("ls_a", "Which animal is the largest?", None),
        ("ls_a", "What colour is the circle?", None),
        ("ls_m", "Which picture has more water?", "Which picture has less water?"),
        ("ls_m", "Which picture has more people in it?", "Which picture has fewer people in it?"),
        ("ls_m", "There are more circles in which picture?", "There are fewer circles in which picture?"),
        ("ls_m", "Which kite is older?", "Which kite is less old?"),
        ("ls_m", "What colour is the circle?", None),
        ("ls_m", "What might the image of the older gentleman evoke in viewers?", None),
        ("ls_m", "How many more circles are on the left?", None),
        ("clean", "where is the  bike", "Where is the bike?"),
        ("clean", "Complete the sentence.\nThe African elephant is the () land animal in the world.", None),
        ("lr_i", "What direction is India in Kyrgyzstan?", None),
        ("lr_i", "What can Lacey and Felix trade to each get what they want?", None),
        ("lr_i", "What type of rock is slate?", None),
        ("lr_i", "how many dogs are there？", "Tell me how many dogs there are."),
        ("ls_n", "Look at <image 1>. What is shown?", None),
        ("ls_n", "Which of <image 1> and <image 2> is brighter?", None),
        ("ls_n", "Which animal hasn't any stripes?", None),
        ("ls_n", "¿Dónde está el gato?", None),
        ("lr_i", "?", None),
    ],
)  # fmt: skip
def test_what_else_the_rules_do_and_refuse(kind: str, question: str, expected: str | None) -> None:
    assert rewritten(question, kind) == expected


# What the rules make of PARC's examples, where it is not what PARC's are: still right, or refused.
OTHERWISE = {
    ("lr_i", "Are the two sofas"): "Tell me if the two sofas are the same color in the picture.",
    ("lr_i", "Based on the image, how can fun"): None,
    ("lr_i", "Which pants’ fit"): "Tell me which pants’ fit is more regular.",
    (
        "lr_i",
        "In the picture, which direction",
    ): "In the picture, tell me which direction the teddy bear is facing.",
    ("ls_n", "Which fence is burnter?"): "Which fence is not burnter?",
    ("ls_a", "Which Python code can"): None,
    ("ls_a", "What musn’t Joe and Alice"): None,
    ("clean", "What direction is India"): "What direction is India in Kyrgyzstan?",
    ("clean", "Complete the sentence."): None,
    ("clean", "Two magnets are places"): None,
}


@pytest.mark.parametrize("kind", KINDS)
def test_examples_of_parc(kind: str) -> None:
    for example in instruction(kind).examples:
        known = [
            text for (of, start), text in OTHERWISE.items() if of == kind and example.q.startswith(start)
        ]
        assert rewritten(example.q, kind) == (known[0] if known else example.a)


def test_no_double_negation_whatever_the_words() -> None:
    for question in (
        "Who never sleeps?",
        "Which cup is without a lid?",
        "Which corner doesn't have any food?",
        "What cannot fly?",
    ):
        assert NEGATION.search(question)
        assert [rewritten(question, kind) for kind in NEGATIONS] == [None] * 3
