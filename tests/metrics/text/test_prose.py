"""Prose of small models that mentions options and answers nothing, and styles of answers: ticks, numbers, headings."""

import time

import pytest

from tests.metrics.text.test_reader import verdict
from vouch.metrics.text.reader.options import DECLINED, NONE

STATES, CITIES = ("a gas", "a liquid", "a solid"), ("Lima", "Quito", "La Paz", "Bogota")
ICE, PERU = "Is a block of ice a solid, a liquid, or a gas?", "What is the capital of Peru?"
RAIN = ("rain falls on the hills", "snow falls on the hills", "It cannot be determined")
WHEN = "A river rises when ()."


@pytest.mark.parametrize(
    ("question", "options", "text", "expected"),
    [
        # A definition of an option is no answer, whether it stands first or is the only one.
        (ICE, STATES, "A solid keeps its shape. A liquid flows. A gas fills its vessel.", NONE),
        (ICE, STATES, "A solid is a body that keeps its shape.", NONE), (ICE, STATES, "A block of ice is a solid.", "C"),
        (ICE, STATES, "A solid keeps its shape. So the block of ice is a solid.", "C"), (ICE, STATES, "It is a solid.", "C"),
        (ICE, STATES, "It is not just a solid that keeps its shape.", NONE), (ICE, STATES, "A solid.", "C"), (ICE, STATES, "A semi-solid body.", NONE),
        ("", STATES, "A solid is a body that keeps its shape.", "C"),
        (PERU, CITIES, "Lima is a large town.", NONE), (PERU, CITIES, "The capital of Peru is Lima.", "A"), (PERU, CITIES, "Lima is the capital of Peru.", "A"),
        (PERU, CITIES, "Lima and Quito are towns of the coast and of the hills.", NONE), (PERU, CITIES, "I think Lima.", "A"),
        (PERU, CITIES, "First, we need to identify Lima on a map of the coast.", NONE), (PERU, CITIES, "To determine whether the capital of Peru is Lima, look.", NONE),
        (PERU, CITIES, "The capital of Peru is Cusco.", NONE), (PERU, CITIES, "The capital of Peru is Lima. Its age cannot be determined.", "A"),
        # The question's own words.
        ("Which part lies behind the left atrium?", ("ventricle", "atrium", "valve"), "A right-sided heart has a right-atrium.", NONE),
        ("How many steps lead from A to B?", ("2", "4", "6"), "A 3 x 3 grid is a 4 x 4 grid, and each cell has two doors.", NONE),
        ("How many steps lead from one end to the other?", ("2", "4", "6"), "In a 6 x 6 grid, the steps that lead from one end to the other are 4.", "B"),
        # A list of the options says nothing, even if it is altered, cut or begun again.
        (WHEN, RAIN, "A. rain falls on the roofs\nB. snow falls on the hills\nC. It cannot be determined", NONE),
        (WHEN, RAIN, "A. rain falls on the hills\nB. snow falls on the hills\nC. It cannot be determined", NONE),
        (WHEN, RAIN, "It cannot be determined.", "C"), (WHEN, RAIN, "I cannot tell.", DECLINED),
        (WHEN, RAIN, "A. rain falls on the hills\nB. snow falls on the hills\nC. It cannot be determined\n\nA. rain fa", NONE),
        (WHEN, RAIN, "A. rain falls on the hills\nB. snow falls on the hills\n\nThe answer is B.", "B"),
        (WHEN, RAIN, "A: rain falls on the hills: the rain fell.\nB: snow falls on the hills: the snow fell.", NONE),
        (ICE, STATES, "(A) \\boxed{A}\n(B) \\boxed{B}\n(C) \\boxed{C}", NONE), (ICE, ("yes", "no"), "(C) yes\n(D) no\n(E) yes\n(F) no\n(G) yes", NONE),
        (ICE, STATES, "A: To find it, we look at the block.", NONE), (ICE, STATES, "B: it flows.", "B"), (ICE, STATES, "The water boils at 26.3°C.", NONE),
    ],
)  # fmt: skip
def test_a_mention_counts_if_it_is_about_the_question(
    question: str, options: tuple[str, ...], text: str, expected: str
) -> None:
    assert verdict(text, options, question) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("【答案】C", "C"), ("【答案】：B", "B"), ("【正解】B", "B"), ("[Answer] B", "B"), ("【选项】A 红 B 蓝", NONE), ("C三角形的面积", NONE), ("C是正确答案", "C"),
        ("A ✗\nB ✓\nC ✗", "B"), ("- [ ] A\n- [x] B\n- [ ] C", "B"), ("| option | |\n|---|---|\n| A | ❌ |\n| B | ✅ |", "B"), ("✅ B", "B"),
        ("✗ A. a red circle\n✓ B. a blue circle", "B"), ("A ✓\nB ✓\nC ✗", "AB"), ("A ✗\nB ✗", NONE), ("A ✓\nB ✗\n\nThe answer is C.", "C"), ("A（×）\nB（√）", "B"),
        ("option 2", "B"), ("Option 2: a blue circle", "B"), ("The second option.", "B"), ("I choose the third option.", "C"), ("The answer is option 3.", "C"),
        ("The first option is wrong, the second option is correct.", "B"), ("Option 7", NONE), ("第二个选项", "B"), ("選択肢2", "B"), ("La segunda opción.", "B"),
        ("There is an option 2.5 times larger.", NONE), ("The options 1, 2 and 3 differ.", NONE), ("Not the first option but the second option.", "B"),
    ],
)  # fmt: skip
def test_ticks_positions_and_headings(text: str, expected: str) -> None:
    assert verdict(text) == expected


@pytest.mark.parametrize(
    ("question", "expected"), [("Which is not a circle?", "B"), ("Which is a circle?", "AC")]
)
def test_the_only_cross_answers_what_is_not_so(question: str, expected: str) -> None:
    assert verdict("A ✓\nB ✗\nC ✓", question=question) == expected


ANIMALS, ANIMAL = ("cat", "dog", "bird", "fish"), "Which animal is in the image?"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # A lone cross or empty box counts against its option.
        ("✗ cat", NONE), ("✗ B) dog", NONE), ("Wrong: ✗ dog", NONE), ("- [ ] dog", NONE), ("dog ❌", NONE), ("✖️ dog", NONE), ("- [ ] B) dog", NONE),
        ("Wrong: ✗ dog, ✗ bird", NONE), ("✗ cat and dog", NONE), ("✗ cat\nIt is a dog.", "B"), ("✗ dog\n\nB", "B"), ("✅ dog", "B"), ("✔️ dog", "B"), ("- [x] dog", "B"),
        # Signs in one line, before or behind their options.
        ("✅ cat ❌ dog ❌ bird ❌ fish", "A"), ("❌ cat ✅ dog ❌ bird", "B"), ("cat ❌ dog ✅ bird ❌", "B"), ("cat ❌, dog ✅, bird ❌", "B"), ("[ ] cat [x] dog [ ] bird", "B"),
        ("Right: ✅ cat. Wrong: ❌ dog.", "A"), ("A ✗ B ✗ C ✓ D ✗", "C"), ("A ✗ | B ✓ | C ✗", "B"),
        # Several ticks are several answers, unless the text commits to one.
        ("✅ cat ✅ dog ❌ bird ❌ fish", "AB"), ("cat ✅ dog ✅ bird ❌", "AB"), ("✅ cat\n✅ dog\n❌ bird", "AB"), ("- [x] cat\n- [x] dog\n- [ ] bird", "AB"),
        ("✅ cat ✅ dog\n\nThe answer is B.", "B"), ("✅ cat ✅ dog\n\nB", "B"), ("✅ cat ✅ dog\n\nI cannot tell.", DECLINED),
        # Options one after another with nothing between them are a list.
        ("Possible answers: A) cat B) dog", NONE), ("Mögliche Antworten: A) cat B) dog", NONE), ("Réponses possibles : A) cat B) dog", NONE),
        ("Possible answers: (A) cat (B) dog", NONE), ("Possible answers: A) cat B) dog. The answer is B.", "B"), ("Possible answers: A) cat B) dog\n\nIt is a dog.", "B"),
        ("Answer: A) cat", "A"), ("Not A) cat but B) dog", "B"), ("Answer: A) cat and B) dog", "AB"),
        # A number and a letter that contradict each other name two options.
        ("option 2 (C)", "BC"), ("Option 2 (C)", "BC"), ("The answer is option 2 (C).", "BC"), ("C (option 2)", "BC"), ("the second option (C)", "BC"), ("option 2 (B)", "B"), ("(B) (option 2)", "B"),
        ("Option 2 (C: bird)", "BC"), ("Option 1 (A) cat Option 2 (B) dog Option 3 (C) bird", NONE), ("Option 2 (C is too far away)", "B"),
    ],
)  # fmt: skip
def test_signs_lists_and_contradictions(text: str, expected: str) -> None:
    assert verdict(text, ANIMALS, ANIMAL) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [("✗ dog", "B"), ("- [ ] dog", NONE), ("- [x] A\n- [ ] B", "A"), ("✓ cat ✗ dog ✓ bird", "B"), ("✓ cat ✓ dog ✗ bird ✗ fish", NONE)],
)  # fmt: skip
def test_signs_if_the_question_asks_what_is_not_so(text: str, expected: str) -> None:
    assert verdict(text, ANIMALS, "Which animal is not in the image?") == expected


def test_numbers_are_no_positions_if_options_or_labels_are_numbers() -> None:
    assert verdict("option 2", ("4", "2", "7")) == "B"
    assert verdict("The second option", ("4", "2", "7")) == NONE


@pytest.mark.parametrize(
    "piece",
    [
        "A solid is hard. ", "The capital is Lima ", "A ✓\n", "- [x] B\n", "✅ a gas ✅ Lima ", "a gas ❌ Lima ✅ ", "✗ ", "[ ] ", "- [ ] A\n", "option 2 (C) ", "A) a gas B) a liquid ", "option 2 ", "the second option ", "identify a solid ",
        "(E) yes\n", "A: a: ", "[answer] ", "\\boxed{A} ", "A. a gas\nB. a liquid\n", "° C ",
    ],
)  # fmt: skip
def test_a_megabyte_is_read_in_linear_time(piece: str) -> None:
    text = piece * (1_000_000 // len(piece))
    start = time.process_time()
    for question, options in ((ICE, STATES), (PERU, CITIES)):
        verdict(text, options, question)
    assert time.process_time() - start < 5
