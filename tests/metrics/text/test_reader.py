"""Answers read by what speaks for and against each option: by example, at length, at random."""

import ast
import re
import time
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vouch.metrics.text.answers import ANSWERS
from vouch.metrics.text.parsers.marks import ANSWER, DECLINED, NONE, OPTION, SEVERAL, Choices
from vouch.metrics.text.parsers.reader import context, read
from vouch.metrics.text.parsers.reader.open import declined, value
from vouch.prompts.rewrites import checks

SHAPES = ("a red circle", "a blue circle", "the left one", "both of them")
YES_NO, NUMBERS, IMAGES = ("yes", "no"), ("2", "3.5", "5", "40"), ("the second image", "the third image")
POINTS, ANGLES, BOXES = (
    ("Point A", "Point B", "Point C"),
    ("26°", r"60^\circ", "64°"),
    ("A is closer", "B is closer"),
)
UNKNOWN = ("decrease", "increase", "It cannot be determined")


def verdict(text: str, options: Sequence[str] = SHAPES, question: str = "") -> str:
    """The letters of the options that are read, else the verdict."""
    found = read(text, Choices(tuple("ABCDEFGH"[: len(options)]), tuple(options), question))
    assert (found.verdict in (OPTION, SEVERAL)) == bool(found.places) and (
        found.verdict == NONE or found.kind
    )
    return "".join("ABCDEFGH"[place] for place in found.places) or found.verdict


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("B", "B"), (" b\n", "B"), ("(B)", "B"), ("**B.**", "B"), ("Ｂ", "B"), ("<s> B</s>", "B"), ("选项 C", "C"),
        ("B) a blue circle", "B"), ("Blue circle.", "B"), ("A. a blue circle", "AB"), ("", NONE), ("F", NONE),
        (r"Thus $\boxed{\text{B}}$", "B"), ("The answer is [[C]] because (A) is not.", "C"),
        ("Answer: C\n\nThe left one is far from (A).", "C"), ("(A) is tempting, but the answer is (B)", "B"),
        ("The answer is A. No: the answer is C.", "C"), ("The most likely choice is: **C. The left one**", "C"),
        ("Correct option: C", "C"), ("I think\nC\n", "C"), ("It is a blue circle.", "B"), ("Blue, blue, blue", NONE),
        ("As an AI I cannot see pictures, but I would select (A).", "A"), ("A, B and C look alike.", "ABC"),
        ("I'm sorry, I cannot help with that.", DECLINED), ("If it were round, the answer would be B.", NONE),
        ("Both (A) and (B) are correct.", "AB"), ("It is either B or C.", "BC"), ("The answer is not B.", NONE),
        ("The answer is B.\n\nQuestion: What next?\nThe answer is C.", "B"), ("None of the above.", NONE),
        ("The answer is (B).\n\nWhy the other options are incorrect:\n* **A.** Option A is accurate elsewhere.", "B"),
        ("答案是B。", "B"), ("因此选C", "C"), ("正解は、A. 赤い円 です。", "A"), ("La respuesta correcta es la B.", "B"),
        ("A alternativa correta é a letra B", "B"), ("התשובה הנכונה היא B", "B"), ("정답은 C입니다", "C"),
        ("The answer is (B).\n\n#### A. a red circle\nyes\n#### C. the left one\nno", "B"), ("It is red.\n#### B\n", "B"),
        ("#### Answer: B\n#### Why not C", "B"), ("I first thought of a red circle.\n\n### Final answer\nC", "C"),
        ("Looking for a blue circle.\n\n### Answer\nThe answer is (D).", "D"), ("B\n\n### Human\nThe answer is C.", "B"),
        ("Hm, A. " * 4_000 + "</think>The answer is (B). " + "It is plain. " * 1_500, "B"),
        ("抱歉，我无法回答", DECLINED), ("申し訳ありません", DECLINED), ("Lo siento, no puedo", DECLINED),
    ],
)  # fmt: skip
def test_options_of_shapes(text: str, expected: str) -> None:
    assert verdict(text) == expected


RESTATED = "\n\nContext: Two shapes, a blue circle left.\nProblem: Which shape is larger?\nSolution: {}"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The picture has a red circle." + RESTATED.format("The answer is (B)."), "B"),
        ("A red circle." + RESTATED.format(r"So \boxed{C}"), "C"),
        ("I cannot see it well." + RESTATED.format("The correct option is B."), "B"),
        ("The answer is A." + RESTATED.format("The answer is (B)."), "A"),
        ("A" + RESTATED.format("The answer is (B)."), "A"),
        ("(A) a red circle" + RESTATED.format("The answer is (B)."), "A"),
        ("The picture has a red circle." + RESTATED[:-12] + "\nA blue circle is seen at times.", "A"),
        ("It has a red circle." + RESTATED.format("Hm.\nQuestion: And now?\nThe answer is (B)."), "A"),
        ("It has a red circle.\n\nQuestion: And now?\nThe answer is (B).", "A"),
        ("It has a red circle.\n\nContext: None\nQuestion: And now?\nThe answer is (B).", "A"),
    ],
)
def test_an_explicit_answer_below_the_question_said_again_outranks_a_weak_opening(
    text: str, expected: str
) -> None:
    assert verdict(text) == expected


@pytest.mark.parametrize(
    ("text", "options", "expected"),
    [
        ("No, there are three cats.", YES_NO, "B"), ("The answer is A (yes).", YES_NO, "A"), ("はい", YES_NO, "A"),
        ("The lowest value is 5.", NUMBERS, "C"), ("five", NUMBERS, "C"), ("There are fewer (2) bikes.", NUMBERS, "A"),
        (r"So x = \frac{7}{2}", NUMBERS, "B"), ("It is **5** (option C). One row has 40.", NUMBERS, "C"),
        ("The correct answer is (C) 40.", NUMBERS, "CD"), (r"\boxed{60^{\circ}}", ANGLES, "B"),
        ("angle ABO is 60 degrees.", ANGLES, "B"), ("Therefore, the third image is most similar.", IMAGES, "B"),
        ("Neither the second nor the third image fits.", IMAGES, NONE), ("So the second image (B) fits.", IMAGES, "AB"),
        ("The point that corresponds to the other one is B.", POINTS, "B"), ("Points A, B, and C are marked.", POINTS, NONE),
        ("It is hard to say with certainty, but point B appears to be closer.", BOXES, "B"),
        ("It cannot be determined from the picture.", UNKNOWN, "C"), ("左", ("left", "right"), "A"),
    ],
)  # fmt: skip
def test_options_of_other_kinds(text: str, options: tuple[str, ...], expected: str) -> None:
    assert verdict(text, options) == expected


LENGTHS, AREAS = (
    (r"$5 \mathrm{~cm}$", r"$7 \mathrm{~cm}$", "neither"),
    (r"$9 \mathrm{~cm}^{2}$", "$12$", "$15$"),
)
ROOTS, ANGLE = (r"$2\sqrt{3}-2$", "$2$", "$3$"), (r"$60^{\circ}$", r"$6^{\circ}$", "It depends on $x$")


@pytest.mark.parametrize(
    ("text", "options", "expected"),
    [
        ("5 cm", LENGTHS, "A"), (r"\boxed{5}", LENGTHS, "A"), (r"$7 \text{ cm}$", LENGTHS, "B"), ("neither", LENGTHS, "C"),
        (r"\boxed{9 \text{ cm}^2}", AREAS, "A"), ("60", ANGLE, "A"), ("It is 60 degrees.", ANGLE, "A"),
        (r"\boxed{60^\circ}", ANGLE, "A"), (r"$-\!2$", ("$2$", r"$-\!2$"), "B"), (r"So \boxed{2^{3}}", ("6", "8"), "B"),
        (r"\boxed{\textbf{(A)} 2\sqrt3-\!2}", ROOTS, "A"), (r"\boxed{2\sqrt3 - 2}", ROOTS, "A"), ("It is 2√3-2", ROOTS, "A"),
        (r"\boxed{\frac{12}{6}=2}", ROOTS, "B"), (r"\boxed{5\frac{1}{2}}", ("5.5", "51/2"), "A"),
        ("12 cm", ("12", "15", "none of these", "cannot be determined"), "A"), (r"\boxed{\text{none}}", ("5", "6", "none"), "C"),
        (r"$3{,}000$", ("300", "3000"), "B"), (r"\boxed{\textdollar 1.06}", (r"$\textdollar 0.40$", r"$\textdollar 1.06$"), "B"),
        ("6a-3b", ("$6 a+3 b$", "$6 a-3 b$"), "B"), ("2:3", ("$2: 3$", "$3: 2$"), "A"), (r"\boxed{PS}", ("$P Q$", "$P S$"), "B"),
        ("(-2,0)", ("(-6,0)", "(-2,0)", "(2,0)"), "B"), ("[0, 1)", ("(0, 1]", "[0, 1)"), "B"),
        # What is boxed is no option, so the text names none.
        (r"Each side is 2, so \boxed{120}", ROOTS, NONE), (r"With 9 cm², \boxed{180-x}", AREAS, NONE),
        (r"We know 60 degrees. \boxed{\frac{7}{20}}", ANGLE, NONE), (r"The answer is (B). \boxed{77}", ROOTS, "B"),
        # What stands inside another number is no option.
        (".5", (".5", "5"), "A"), ("The answer is .5", (".5", "5"), "A"), ("10²", ("102", "10²"), "B"), ("x²", ("x2", "x²"), "B"),
        ("It holds 3.5 l", ("5", "3.5", "35"), "B"), ("The answer is 2.5", ("5", "2.5"), "B"), ("1½", ("11/2", "1.5"), "B"),
        ("four hundred", ("4", "400"), "B"), ("5!", ("5", "120"), "B"), ("5!", ("5", "6"), "A"), ("-5", ("5", "-5"), "B"),
        ("5 m", ("5 cm", "5 m", "5 km"), "B"), ("5'", ('5"', "5'"), "B"), ("C*", ("C", "C*"), "B"), ("1e3", ("1000", "3"), "A"),
    ],
)  # fmt: skip
def test_options_that_are_numbers_or_formulas(text: str, options: tuple[str, ...], expected: str) -> None:
    assert verdict(text, options) == expected


def _written(node: ast.AST) -> Iterator[str]:
    """What a regular expression is made of, but for what is filled into it."""
    if isinstance(node, ast.Constant):
        yield str(node.value)
    elif not isinstance(node, ast.FormattedValue | ast.Call):
        for part in ast.iter_child_nodes(node):
            yield from _written(part)


def _spoken(file: Path) -> Iterator[str]:
    """Words in the regular expressions of a module."""
    for call in ast.walk(ast.parse(file.read_text("utf-8"))):
        if isinstance(call, ast.Call) and ast.unparse(call.func) in ("re.compile", "_rule"):
            for text in chain.from_iterable(map(_written, call.args)):
                plain = re.sub(r"\\[a-zA-Z]|\[(?:\\.|[^\]\\])*\]|\(\?[a-zA-Z]+\)", " ", text)
                yield from re.findall(r"[^\W\d_]{2,}|[\u2e80-\u9fff]", plain)


def test_all_words_of_the_rules_are_in_cues_toml() -> None:
    """A language is added there alone; prepare.py has names of tokens, which have no language."""
    files = [file for file in Path(context.__file__).parent.glob("*.py") if file.stem != "prepare"]
    assert {word for file in files for word in _spoken(file)} == set()
    assert "not" in set(_spoken(Path(checks.__file__))), "the check finds words where there are some"


def test_a_question_repeated_is_answered() -> None:
    asked = "Is it the maximum?"
    assert verdict("It is not the maximum.", YES_NO, asked) == "B"
    assert verdict("It is the maximum.", YES_NO, asked) == "A"
    assert verdict("It is the maximum.", YES_NO) == NONE


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("16", "16"), (r"Hence \boxed{0.5} m", "0.5"), ("The gap is 5 years, as 25 - 20 = 5.", "5"),
        ("The final answer is 1,234 people.", "1,234"), ("[1, 2]", "[1, 2]"), ("I count three cats.", "three"),
        ("#### Step 2\nWe add them. The total is 14.", "14"), ("So 3 + 4.\n#### 1,234\n", "1,234"),
        (".5", ".5"), ("It is $.50.", ".50"), ("1e3", "1e3"), (r"\boxed{10\sqrt2+100}", "10√2+100"), ("3 and 6", "3 and 6"),
        ("It is 10√2 + 100.", "10√2 + 100"), (r"So \boxed{90^\circ}.", "90°"), (r"S_{\triangle ABC}=8", "S_(\\triangle ABC)=8"),
        (r"\boxed{x = 8}", "8"), (r"With 2 cats \boxed{\text{Monday}}", "Monday"), ("Four hundred men.", "Four hundred"),
        ("The answer is 14.\n\n#### Verification of 3 cases:\nAll hold.", "14"), ("9 + 5\n#### 14\n\nQuestion: 2 + 3?\n#### 5", "14"),
    ],
)  # fmt: skip
def test_values_of_open_answers(text: str, expected: str) -> None:
    found = value(text)
    assert (found.verdict, found.span) == (ANSWER, expected)


def test_open_answers_that_decline() -> None:
    assert value("Please provide the picture.").verdict == DECLINED
    assert declined("Sorry, I cannot see it.").verdict == DECLINED
    assert declined("The stop sign").verdict == ANSWER


@pytest.mark.parametrize(
    ("metric", "text", "reference", "expected"),
    [
        ("exact_match", "The train leaves at 5. The answer is 7.", "7", 1),
        ("exact_match", "The train leaves at 5. The answer is 7.", "5", 0),
        ("exact_match", "It rounds to 0.333", "0.33", 1),
        ("exact_match", "The answer is: the red box.", "red box", 1),
        ("exact_match", "They are [1, 2].", "[1, 2]", 1),
        ("relaxed_accuracy", "The value is 104 %.", "1.0", 1),
        ("relaxed_accuracy", "In 2010 the value is 204.", "100", 0),
        ("ocr_contains", "Of 7 " + "red boxes and many other things " * 5 + "the answer is 9.", "7", 0),
    ],
)
def test_metrics_find_the_answer_of_a_longer_text(
    metric: str, text: str, reference: str, expected: float
) -> None:
    assert ANSWERS[metric]([text], [[reference]]) == [expected]


PIECES = (
    "A", "a ", "(", "1 + ", "3:2 ", "A, B, ", "a dog (B) ", "answer ", "the answer is ", r"\boxed{", "答案", "*", "ﷺ",
    "、^2", "B is closer ", "difficult to ", "cannot ", "\nQuestion: ", "neither ", "√", "[1,", "- A. a cat\n",
    "is the most likely ",
)  # fmt: skip
ALL = (SHAPES, NUMBERS, YES_NO, BOXES)


@pytest.mark.parametrize("piece", PIECES)
def test_a_megabyte_of_repetition_takes_less_than_a_second(piece: str) -> None:
    """Of processor time, so that other work on the machine does not count; most take a hundredth of it."""
    text = piece * (1_000_000 // len(piece.encode()))
    for options in ALL:
        start = time.process_time()
        verdict(text, options)
        assert time.process_time() - start < 1
    start = time.process_time()
    value(text)
    assert time.process_time() - start < 1


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.sampled_from(PIECES), max_size=30).map("".join), st.sampled_from(ALL), st.text(max_size=20)
)
def test_no_text_breaks_the_reader(text: str, options: tuple[str, ...], noise: str) -> None:
    verdict(text + noise, options)
    assert value(noise + text).verdict in (ANSWER, NONE, DECLINED)
