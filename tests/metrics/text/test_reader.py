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
from vouch.metrics.text.reader import context, reader
from vouch.metrics.text.reader.open import declined, value
from vouch.metrics.text.reader.options import ANSWER, DECLINED, NONE, OPTION, SEVERAL, Choices
from vouch.metrics.text.reader.reader import read
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


def test_a_correction_is_the_reason() -> None:
    choices = Choices(("A", "B", "C", "D"), SHAPES)
    for text, kind in (("B, no wait, C", "correction"), ("The answer is A. It is C.", "statement")):
        assert read(text, choices).kind == kind


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("<think>The answer is B. Wait, maybe", NONE), ("<think>The answer is B.</think>", NONE), ("B.</think>", NONE),
        ("<think>A? No.</think>\n\nB", "B"), ("A? No.</think>B", "B"), ("<think>A</think>B<think>C</think>", "B"),
        ("<thinking>The answer is A.</thinking>\nThe answer is B.", "B"), ("<Thought>(A)</Thought><Output>B</Output>", "B"),
        ("◁think▷The answer is A.◁/think▷B", "B"), ("◁think▷The answer is A", NONE), ("[THINK]A or C[/THINK]B", "B"),
        ("[THINK]The answer is A.", NONE), ("<seed:think>The answer is A.</seed:think>B", "B"), ("<seed:think>It is A.", NONE),
        ("<|channel>thought\nThe answer is A.<channel|>B", "B"), ("<|channel>thought\nThe answer is A.", NONE),
        ("<|channel|>analysis<|message|>The answer is A.<|end|><|start|>assistant<|channel|>final<|message|>B<|return|>", "B"),
        ("<|channel|>analysis<|message|>The answer is A.", NONE), ("analysisIt is A.assistantfinalThe answer is B.", "B"),
        ("analysisThe user asks. The answer is A", NONE), ("thought\nThe answer is A", NONE),
        ("<SUMMARY>s</SUMMARY><REASONING>So A.</REASONING><CONCLUSION>B</CONCLUSION>", "B"), ("<REASONING> So A. <CONCLUSION>B", "B"),
        ("<REASONING> So the answer is A.", NONE), ("<think>So A.\n<answer>B</answer><|im_end|>", "B"),
        ("<think>The form is <answer>A</answer>, so the answer is B", NONE), ("<answer>B</answer><reasoning>Not (A).</reasoning>", "B"),
        ("<|START_THINKING|>It is A.<|END_THINKING|><|START_RESPONSE|>B<|END_RESPONSE|>", "B"),
        ("<|begin_of_thought|>It is A.<|end_of_thought|>\n<|begin_of_solution|>B<|end_of_solution|>", "B"),
        ("<unused94>thought\nIt is A.<unused95>The answer is B.", "B"), ("The answer is B.\n<think>Or is the answer A?", "B"),
        ("Here is my thought process: A.\n\nHere is my response: B", "B"), ("Thinking...\nIt is A.\n...done thinking.\n\nB", "B"),
        ("The tag `<think>` opens a thought. The answer is B.", "B"), ("<p>Thinking of A.</p> The answer is B.", "B"),
        ('<details type="reasoning" done="true">\n<summary>Thought</summary>\nThe answer is A\n</details>\nB', "B"),
        ('<details type="reasoning">The answer is A', NONE), ("<details><summary>Why</summary>The answer is B</details>", "B"),
        ("&lt;think&gt;The answer is A.&lt;/think&gt;\nB", "B"), ("&lt;think&gt;The answer is A.", NONE),
    ],
)  # fmt: skip
def test_a_thought_is_no_answer(text: str, expected: str) -> None:
    assert verdict(text) == expected
    numbers = re.sub(r"(?<![A-Za-z])[AB](?![A-Za-z])", lambda mark: {"A": "7", "B": "12"}[mark.group()], text)
    assert value(numbers).span == ("" if expected == NONE else "12")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The answer is C, not B.", "C"), ("答案是C，不是B。", "C"), ("La respuesta es C, no es B.", "C"), ("A resposta é C, não é B.", "C"),
        ("The answer is (C), cannot be (B).", "C"), ("The answer is not A but B.", "B"), ("答案不是B，而是C。", "C"), ("应选C，B不正确。", "C"),
        ("答えはBではなくCです。", "C"), ("正解はC、Bではない。", "C"), ("The answer is none other than B.", "B"), ("It can be nothing but B.", "B"),
        ("The answer cannot be (B).", NONE), ("La respuesta no es B.", NONE), ("A resposta não é B.", NONE), ("I would not choose (B).", NONE),
        ("It can't possibly be (B), so (C).", "C"), ("答案不可能是B。", NONE), ("There is no doubt that B is correct.", "B"), ("Option B, is not correct.", NONE),
        ("Answer: A. Wait, no: B. Final answer: C", "C"), ("Answer: A. Wait, no: B.", "B"), ("The answer is A... sorry, I meant B.", "B"),
        ("Final answer: C. (My first answer was A.)", "C"), ("First I thought the final answer: A, but the final answer: D", "D"),
        ("I said the final answer is A. That was wrong. It is B.", "B"), ("The final answer is B. I withdraw my earlier answer A.", "B"),
        ("Answer: C\nNote: in my previous message I said the answer is B; please disregard it.", "C"), ("My first answer is A.", "A"),
        ("The answer is A. Sorry, that's incorrect. It should be C.", "C"), ("Option A is correct at sight. As I said, the answer is B.", "B"),
        ("Answer: C. (I used to think the answer was B)", "C"),
        ("I said the answer is A because it is red. However, that was a mistake, and it is B.", "B"), ("答案是C。我之前说答案是A。", "C"),
        ("La respuesta es B. Inicialmente dije que la respuesta es A.", "B"), ("I first thought the answer was A, but now the answer is B.", "B"),
        ("The answer is (A). Actually, (C).", "C"), ("Answer: B. Correction: C", "C"), ("A. No, B.", "B"), ("A. No, B. No, C.", "C"), ("B, no wait, C", "C"), ("答案是A。不对，应该是B。", "B"),
        ("Resposta: A. Correção: B.", "B"), ("答えはAです。いや、Bです。", "B"), ("Answer: A. Explanation: B is wrong.", "A"), ("The answer is A. No doubt.", "A"),
        ("(A) is the correct answer: (B) has another color.", "A"), ("Answer: A. Actually, B is a circle too, but not red.", "A"),
        ("A corrente é 4,5 A. Resposta: D.", "D"), ("Thus I = 4.5 A. Answer: C", "C"), ("The current is (I = 10 A)", NONE), ("The charge is 3 C.", NONE),
        ("1 A) a red circle 2 B) a blue circle. Answer B", "B"), ("In step 2 B is used. The answer is C.", "C"), ("10 L/min", NONE),
        # What a sentence denies from its beginning on is denied as well.
        ("I don't think the answer is B.", NONE), ("I doubt that the answer is B.", NONE), ("I would not say the answer is A.", NONE),
        ("It is not true that the answer is B.", NONE), ("It is unlikely that the answer is B.", NONE), ("No way it is B.", NONE),
        ("No creo que la respuesta sea B.", NONE), ("Não acho que a resposta seja C.", NONE), ("我不认为答案是B。", NONE),
        ("The answer is B, I don't think it is A.", "B"), ("I do not think it is A. It is C.", "C"), ("I don't think it is a red circle.", NONE),
        ("I don't think there is any doubt: the answer is B.", "B"), ("I don't think so. The answer is A.", "A"),
        ("The answer is by no means clear, but I would choose A.", "A"), ("A is not correct, B is.", "B"), ("B is not right, but C is.", "C"),
        ("Es la C, no la D.", "C"), ("Es la B, no la A.", "B"), ("É a C, não a D.", "C"), ("It is A rather than C.", "A"), ("A and not C.", "A"),
    ],
)  # fmt: skip
def test_what_is_denied_corrected_or_a_unit_is_no_answer(text: str, expected: str) -> None:
    assert verdict(text) == expected


WRONG, MAMMAL = "Which of the following statements is incorrect?", "Which of the following is NOT a mammal?"


@pytest.mark.parametrize(
    ("question", "text", "expected"),
    [
        ("以下哪一项是错误的？", "选项A是正确的", NONE), ("以下哪一项是错误的？", "选项A正确，B正确，C错误，D正确。", "C"),
        ("以下哪一项是错误的？", "答案是B", "B"), (WRONG, "Option A is correct.", NONE), (WRONG, "A is the correct answer.", "A"),
        (WRONG, "(A) is true. (B) is true. (C) is false. (D) is true.", "C"), (WRONG, "A, B and D are correct. C is wrong.", "C"),
        (WRONG, "The answer is C. Option A is correct, option B is correct.", "C"), (WRONG, "The answer is not B.", NONE),
        ("¿Cuál es incorrecta?", "La opción A es correcta.", NONE), ("次のうち誤っているものはどれか。", "Bは誤りである。", "B"),
        (MAMMAL, "(B) is not a mammal.", "B"), (MAMMAL, "The one that cannot be is (B).", "B"), (MAMMAL, "It is not A.", NONE),
        ("Which statement is correct?", "Option A is incorrect. Option B is correct.", "B"), ("", "选项A是正确的", "A"),
    ],
)  # fmt: skip
def test_where_what_is_wrong_is_asked_for_a_true_statement_is_no_answer(
    question: str, text: str, expected: str
) -> None:
    assert verdict(text, SHAPES, question) == expected


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
        ("P may be a red circle.\nQ: a salt, white.\nR: a gas.\nThe answer is (B).", "B"),
        ("A red circle it may be.\nProblem: the picture is dark. Still, the answer is (B).", "B"),
        ("We look at it. " * 80 + "Is it a red circle?\nQuestion: which is it?\nThe answer is (B).", "B"),
        ("We look at it. " * 80 + "So it is (A).\n\nQuestion: And now?\nThe answer is (B).", "A"),
        ("A\n\nQ: Name the gas.\nA: B", "A"),
        ("Q: total heat.\nW: work.\n" + "We look at it. " * 80 + "Hence the answer is (B).", "B"),
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
        ("Yes, no question.", YES_NO, "A"), ("No, no doubt about that.", YES_NO, "B"), ("Not at all.", YES_NO, "B"), ("是的", ("是", "否"), "A"),
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
        (r"The answer is $\sqrt{13}$.", ("$13$", r"$\sqrt{13}$", r"$\sqrt3$"), "B"), ("So it is √7.", ("7", "√7"), "B"),
        (r"It is $\frac{\sqrt{3}}{2}$.", (r"$\sqrt3/2$", "$1/2$"), "A"), ("sqrt(5)", ("$5$", r"$\sqrt{5}$"), "B"),
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
    """A language is added there alone; names of tokens have no language."""
    tokens = set(re.findall(r"[^\W\d_]{2,}", reader._TOKENS.pattern))
    files = Path(context.__file__).parent.glob("*.py")
    assert {word for file in files for word in _spoken(file)} - tokens == set()
    assert "not" in set(_spoken(Path(checks.__file__))), "the check finds words where there are some"


LEFT, HANDLES, BLUE = "Is the dog on the left?", "Does the cup have handles?", "Is the car blue?"
LIGHT = "Is the light on?"


@pytest.mark.parametrize(
    ("question", "text", "expected"),
    [
        ("Is it the maximum?", "It is not the maximum.", "B"), ("Is it the maximum?", "It is the maximum.", "A"), ("", "It is the maximum.", NONE),
        ("Is it not the maximum?", "It is not the maximum.", "A"), (LEFT, "The dog is on the left, not on the right.", "A"),
        (LEFT, "There is no doubt that the dog is on the left.", "A"), (LEFT, "The dog without spots is on the left.", "A"),
        (LEFT, "The dog, which is not blue, is on the left.", "A"), (LEFT, "The dog that is not brown is on the left.", "A"),
        (LEFT, "Not only is the dog on the left, it is also big.", "A"), (LEFT, "The dog is not on the right but on the left.", "A"),
        (LEFT, "The dog, not the cat, is on the left.", "A"), (LEFT, "The dog is on the left; there are no cats.", "A"),
        (LEFT, "The dog is on the left but not near the tree.", "A"), (LEFT, "There is no dog on the left.", "B"),
        (LEFT, "The dog is on the right rather than on the left.", "B"), (LEFT, "I don't think the dog is on the left.", "B"),
        (LEFT, "It is not true that the dog is on the left.", "B"), (LEFT, "Neither the dog nor the cat is on the left.", "B"),
        ("Are there people?", "There are people, though none of them is smiling.", "A"), (LEFT, "The answer is C. The dog is on the left.", NONE),
        (LEFT, "The cat, not the dog, is on the left.", "B"), (LEFT, "The dog is on the left, the cat is not.", "A"),
        ("Is the cat on the left?", "The dog is on the left, the cat is not.", "B"), (LEFT, "It is unclear whether the dog is on the left.", NONE),
        (LEFT, "If the dog is on the left, it is big.", NONE), (LEFT, "The dog is on the left, but the cat is on the right.", NONE),
        (HANDLES, "The cup does not have handles.", "B"), (HANDLES, "The cup comes without handles.", "B"), (HANDLES, "The cup lacks handles.", "B"),
        (HANDLES, "The cup has two handles, not three.", "A"), (HANDLES, "The cup has handles that are not round.", "A"),
        (BLUE, "The car is red instead of blue.", "B"), (BLUE, "The car is not red, it is blue.", "A"), (BLUE, "The car is blue and has no doors.", "A"),
        ("Is it raining?", "I don't think it is raining.", "B"), ("Is it raining?", "It isn't snowing, it is raining.", "A"),
        # Another place, or another word for the question's, makes it another statement.
        (LIGHT, "The light is on.", "A"), (LIGHT, "The light is off.", NONE), (LIGHT, "The light is off, not on.", "B"),
        (LIGHT, "The light is on, not off.", "A"), ("Is the cup on the table?", "The cup is under the table.", NONE),
        ("Is the cat in the box?", "The cat is on the box.", NONE), ("Is the cat in the box?", "The cat in the image is in the box.", "A"),
        ("Is the bird on the water?", "The bird is above the water, not on it.", "B"), ("Is there a dog in the picture?", "There is a dog on the sofa.", "A"),
        ("Is the big red car near the old house open?", "The big red car near the old house is closed.", NONE),
        ("Is the number of red cars less than the number of buss?", "The number of red cars is indeed less than the number of busses.", "A"),
    ],
)  # fmt: skip
def test_a_question_repeated_is_answered(question: str, text: str, expected: str) -> None:
    """Only what a negation denies counts, not any negation in the sentence."""
    assert verdict(text, YES_NO, question) == expected


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
        ("ocr_contains", "<think>Is it 7?</think>The answer is 9.", "7", 0),
        ("anls", "[THINK]It is a stop sign.[/THINK]stop", "stop", 1),
        ("exact_match", "<think>stop", "stop", 0),
    ],
)
def test_metrics_find_the_answer_of_a_longer_text(
    metric: str, text: str, reference: str, expected: float
) -> None:
    assert ANSWERS[metric]([text], [[reference]]) == [expected]


PIECES = (
    "A", "a ", "(", "1 + ", "3:2 ", "A, B, ", "a dog (B) ", "answer ", "the answer is ", r"\boxed{", "答案", "*", "ﷺ",
    "、^2", "B is closer ", "difficult to ", "cannot ", "\nQuestion: ", "neither ", "√", "[1,", "- A. a cat\n",
    "is the most likely ", "A, no, B. ", "<think>", "</think>", "not B, but ",
)  # fmt: skip
ALL = (SHAPES, NUMBERS, YES_NO, BOXES)


@pytest.mark.parametrize("piece", PIECES)
def test_a_megabyte_of_repetition_is_read_in_linear_time(piece: str) -> None:
    """Half a second of processor time at most on a quiet machine; what is quadratic takes minutes."""
    text = piece * (1_000_000 // len(piece.encode()))
    for options in ALL:
        start = time.process_time()
        verdict(text, options)
        assert time.process_time() - start < 5
    start = time.process_time()
    value(text)
    assert time.process_time() - start < 5


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.sampled_from(PIECES), max_size=30).map("".join), st.sampled_from(ALL), st.text(max_size=20)
)
def test_no_text_breaks_the_reader(text: str, options: tuple[str, ...], noise: str) -> None:
    verdict(text + noise, options)
    assert value(noise + text).verdict in (ANSWER, NONE, DECLINED)
