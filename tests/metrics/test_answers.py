"""Answer metrics against their definitions and hand-computed values."""

import math
import random
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import vouch
from vouch.metrics.label_free import agreement
from vouch.metrics.metric import is_share
from vouch.metrics.text.answers import ANSWERS, IN_VLMEVALKIT, anls, normal


def score(name: str, text: str, *references: str) -> float:
    (value,) = ANSWERS[name]([text], [references])
    return float(value)


@pytest.mark.parametrize(
    ("metric", "text", "references", "value"),
    [
        ("exact_match", "Two.", ("2", "two"), 1),
        ("exact_match", "the Red  circle!", ("red circle",), 1),
        ("exact_match", "“Ｒｅｄ”", ("red",), 1),
        ("exact_match", "red circle", ("a red", "circle"), 0),
        ("exact_match", "", ("red",), 0),
        ("exact_match", "4.5", ("4.5",), 1),
        ("lower_match", " Stephen King\n", ("stephen king",), 1),
        ("lower_match", "TWO", ("2", "two"), 1),
        ("lower_match", "The Stand", ("Stand",), 0),
        ("lower_match", "Stephen King.", ("Stephen King",), 0),
        ("lower_match", "stephen  king", ("stephen king",), 0),
        ("lower_match", "", ("red",), 0),
        ("anls", "Hello  World", ("hello world",), 1),
        ("anls", "hella", ("hello",), 0.8),
        ("anls", "abcd", ("abxy",), 0),
        ("anls", "1999", ("1985",), 0),
        ("anls", "abcde", ("abcxy",), 0.6),
        ("anls", "caf\u00e9", ("cafe\u0301",), 1),
        ("lower_match", "CAFE\u0301", ("caf\u00e9",), 1),
        ("ocr_contains", "a cafe\u0301 here", ("caf\u00e9",), 1),
        ("word_accuracy", "caf\u00e9", ("cafe\u0301",), 1),
        ("anls", "abcd", ("axyz",), 0),
        ("anls", "abcd", ("zzzz", "abce"), 0.75),
        ("anls", "", ("a",), 0),
        ("anls", "x" * 100_000, ("x",), 0),
        ("anls", "ab" * 5_000, ("ba" * 5_000,), 1 - 2 / 10_000),
    ],
)
def test_the_best_of_several_references_counts(
    metric: str, text: str, references: tuple[str, ...], value: float
) -> None:
    assert score(metric, text, *references) == pytest.approx(value)


def test_vqa_score_leaves_each_reference_out_once() -> None:
    ten = ["cat"] * 4 + ["dog"] * 2 + ["cow"] + ["a", "b", "c"]
    # Leaving one of the four out leaves three, which is enough.
    assert score("vqa_score", "cat", *ten) == pytest.approx(1.0)
    assert score("vqa_score", "dog", *ten) == pytest.approx((2 * 1 / 3 + 8 * 2 / 3) / 10)
    assert score("vqa_score", "cow", *ten) == pytest.approx((0 + 9 * 1 / 3) / 10)
    assert score("vqa_score", "The Cow.", *ten[:-1], "a cow") == pytest.approx((2 * 1 / 3 + 8 * 2 / 3) / 10)
    assert score("vqa_score", "horse", *ten) == 0
    assert score("vqa_score", "cat", "cat") == 1 and score("vqa_score", "cat", "dog") == 0


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("The TWO cats!", "2 cats"),
        ("dont", "don't"),
        ("1,000", "1000"),
        ("black/white", "black white"),
        ("3.5", "3.5"),
        ("u.s.", "us"),
        ("whats that", "what's that"),
        ("None", "0"),
        ("shant", "shan't"),
        ("someones", "someone's"),
        ("somebodys", "somebody's"),
        ("notve", "not've"),
        ("whatve", "what've"),
        ("couldnt've", "couldn't've"),
        ("couldn'tve", "couldn't've"),
        ("yall'll", "y'all'll"),
        ("lets", "lets"),
        ("im", "im"),
    ],
)
def test_texts_that_vqa_takes_for_equal(text: str, same: str) -> None:
    assert normal(text) == normal(same) == same


# Numbers, formulas and what is no number: the first two tables hold for every metric that compares words.
SAME = (
    (".5", "0.5"), ("−0.5", "-1/2"), ("½", "0.5"), ("1½", "3/2"), ("1 1/2", "1.5"), ("10²", "100"), ("10⁻³", "0.001"),
    ("1e3", "1000"), ("3 × 10⁴", "30000"), ("1,234,567", "1234567"), ("10 000", "10000"), ("27{,}000", "27000"),
    ("0,5", "0.5"), ("$.50", "0.50"), ("5 cm", "5 centimeters"), ("5 square meters", "5 m²"), ("5 cm", "5"),
    ("45 percent", "45%"), ("60^\\circ", "60 degrees"), (r"\frac{3}{4}", "0.75"), (r"\frac{1+2}{4}", "0.75"),
    (r"\sqrt[3]{8}", "2"), (r"\sqrt{12}", r"2\sqrt3"), ("x = 5", "5"), ("4!", "24"), ("4 million", "4000000"),
    ("two hundred and five", "205"), ("twenty-one", "21"), ("minus five", "-5"), (r"27000 - 4500 \pi", r"27000-4500\pi"),
    ("(3, -4)", "(3,-4)"), ("$x^2 + 1$", "x^{2}+1"), ("1, 2", "[1, 2]"), ("[0,1)", "[0, 1)"), ("(3.14)", "3.14"),
    ("The answer is 10√2+100.", r"10\sqrt{2}+100"), (r"So \boxed{90^\circ}", "90"), ("**red**", "red"),
    ("sqrt(16)", "4"), ("12 dozen", "144"), ("two dozen", "24"), ("f(3) = 8", "8"),
)  # fmt: skip
DIFFERENT = (
    (".25", "25"), (".5", "5"), ("10²", "102"), ("x²", "x2"), ("½", "12"), ("1½", "11/2"), ("10₂", "102"), ("1,5", "15"),
    ("(5)", "-5"), ("3/4", "34"), ("1:2", "12"), ("10:30", "1030"), ("5'", '5"'), ("5!", "5"), ("[0, 1)", "(0, 1]"),
    ("(0, 1)", "[0, 1]"), ("{1, 2}", "(1, 2)"), ("<5", "5"), ("C*", "C"), ("'til", "til"), ("?", "!"), ("5 cm", "5 m"),
    ("5 cm²", "5 cm"), ("$5", "€5"), ("10 am", "10 pm"), ("3 million", "3 thousand"), ("four times", "4"),
    ("four hundred", "4"), ("three quarters", "3"), ("twenty five", "20"), ("3 and 6", "3"), ("5x", "5"),
    (r"10\sqrt2+100", "100"), (r"\boxed{10\sqrt2+100}", "100"), (r"\boxed{2x+3}", "3"), (r"\boxed{180-x}", "180"),
    ("The answer is 5 m", "7 m"), ("5e3", "5"), ("1.2.3", "123"),
    ("sin(30)", "30"), ("f(3)", "3"), ("ln 2", "2"), (r"\log_{10} 100", "100"), ("sqrt(2)", "2"), ("12 dozen", "12"), ("v1.10", "v1.1"), ("7 8", "78"),
)  # fmt: skip


@pytest.mark.parametrize(("text", "reference"), SAME)
def test_equal_numbers_and_formulas(text: str, reference: str) -> None:
    assert score("exact_match", text, reference) == 1


@pytest.mark.parametrize(("text", "reference"), DIFFERENT)
def test_numbers_and_formulas_that_differ(text: str, reference: str) -> None:
    assert score("exact_match", text, reference) == score("exact_match", reference, text) == 0


def test_agreement_and_semantic_entropy_tell_numbers_apart() -> None:
    short = [pair for pair in DIFFERENT if "boxed" not in pair[0]]
    assert [pair for pair in short if agreement(pair[0], [pair[1]])] == []
    apart = vouch.semantic_entropy([[*pair, *pair] for pair in short])
    assert apart == pytest.approx([math.log(2)] * len(short))
    for text, same in (
        (".5", "0.50"),
        ("1,000", "1e3"),
        ("3.14.", "(3.14)"),
        ("−5", "-5"),
        ("A dog", "“dog.”"),
        ("<think>red or blue?</think>blue", "Blue."),
        ("½", ".5"),
        ("3½", "7/2"),
        ("5²", "25"),
        ("10⁻³", "0.001"),
        ("6/8", "3/4"),
        ("[2,7)", "[2, 7)"),
    ):
        assert agreement(text, [same]) == 1


@settings(max_examples=60, deadline=None)
@given(st.text("abc", max_size=7), st.text("abc", max_size=7))
def test_levenshtein_follows_its_recursion(first: str, second: str) -> None:
    table = [[max(i, j) for j in range(len(second) + 1)] for i in range(len(first) + 1)]
    for i in range(1, len(first) + 1):
        for j in range(1, len(second) + 1):
            change = table[i - 1][j - 1] + (first[i - 1] != second[j - 1])
            table[i][j] = min(change, table[i - 1][j] + 1, table[i][j - 1] + 1)
    longer = max(len(first), len(second), 1)
    similarity = 1 - table[-1][-1] / longer
    assert anls(first, second) == (similarity if similarity > 0.5 else 0)


@pytest.mark.parametrize(
    ("text", "reference", "value"),
    [
        ("105", "100", 1),
        ("105.1", "100", 0),
        ("-95", "-100", 1),
        ("0.5", "50%", 1),
        ("52%", "0.5", 1),
        ("0", "0", 1),
        ("0.01", "0", 0),
        ("Yes", "yes", 1),
        ("100 cats", "100", 1),
        ("nan", "nan", 1),
        ("inf", "1", 0),
        ("9" * 400, "1", 0),
        (".5", "5", 0),
        ("10²", "100", 1),
        ("2²", "22", 0),
        ("1,000", "1000", 1),
        ("1/2", "0.5", 1),
    ],
)
def test_relaxed_accuracy(text: str, reference: str, value: float) -> None:
    assert score("relaxed_accuracy", text, reference) == value
    assert score("relaxed_accuracy", text, "another", reference) == value


@pytest.mark.parametrize(
    ("metric", "text", "references", "faithful", "clean"),
    [
        ("relaxed_accuracy", " Yes ", ["yes"], 1, 1),
        ("relaxed_accuracy", "Yes.", ["Yes"], 0, 1),
        ("relaxed_accuracy", "The answer is Yes.", ["Yes"], 0, 1),
        ("relaxed_accuracy", "The value is 42 percent.", ["42"], 0, 1),
        ("relaxed_accuracy", "2,345", ["2345"], 0, 1),
        ("relaxed_accuracy", "2345", ["2,345"], 0, 1),
        ("relaxed_accuracy", "105", ["100"], 1, 1),
        ("relaxed_accuracy", "105.1", ["100"], 1, 0),
        ("relaxed_accuracy", "105.3", ["100"], 0, 0),
        ("relaxed_accuracy", "95", ["100"], 0, 1),
        ("relaxed_accuracy", "52%", ["0.5"], 1, 1),
        ("relaxed_accuracy", "52 %", ["0.5"], 1, 1),
        ("relaxed_accuracy", "0.0", ["0"], 0, 1),
        ("relaxed_accuracy", "0", ["0"], 1, 1),
        ("relaxed_accuracy", "nan", ["5"], 0, 0),
        ("relaxed_accuracy", "3", ["7", "3.1"], 1, 1),
        ("relaxed_accuracy", "<think>7 or 3?</think>3", ["3"], 1, 1),
        ("lower_match", " Stephen King\n", ["stephen king"], 1, 1),
        ("lower_match", "Stephen King.", ["Stephen King"], 0, 0),
        ("lower_match", "stephen king", [" Stephen King "], 1, 1),
        ("lower_match", "CAFE\u0301", ["caf\u00e9"], 0, 1),
        ("anls", "abcd", ["abxy"], 0.5, 0),
        ("anls", "abcde", ["abxyz"], 0, 0),
        ("anls", "", [""], 1, 1),
        ("anls", "abcd    ", ["abxd"], 0.875, 0.75),
        ("anls", "ABcd", ["abxd"], 0.75, 0.75),
        ("anls", "ABCß", ["abcd"], 0.8, 0.75),
    ],
)
def test_vlmevalkits_rules_are_those_of_the_faithful_protocol(
    metric: str, text: str, references: list[str], faithful: float, clean: float
) -> None:
    """Those of December 2024, whose 5 % are of the text's number. Its VQA score is that of both protocols."""
    assert sorted(IN_VLMEVALKIT) == ["anls", "lower_match", "relaxed_accuracy"]
    assert IN_VLMEVALKIT[metric]([text], [references]) == [faithful]
    assert ANSWERS[metric]([text], [references]) == [clean]


@pytest.mark.parametrize(
    ("text", "reference", "whole", "share"),
    [
        ("It says: STOP now", "stop", 1, 1),
        ("It says: STOPPED", "stop", 0, 0),
        ("no stop, go", "stop go", 1, 1),
        ("go and stop", "stop go", 0, 1),
        ("Go!", "stop go", 0, 0.5),
        ("it's", "its", 1, 1),
        ("anything", "...", 1, 0),
        ("?", "...", 0, 0),
        ("3.5 l", "35", 1, 0),
        ("1/2 cup", "12", 1, 0),
        ("10:30 am", "1030", 1, 0),
        ("-5 C", "5", 1, 0),
        (".5 l", "5", 1, 0),
        (".5 l", "0.50", 0, 1),
        ("1,000 men", "1000", 1, 1),
        ("Room 5.", "5", 1, 1),
        ("stop\ngo", "stop go", 0, 1),
        ("l'été ici", "été", 0, 0),
        ("été", "ÉTÉ!", 1, 1),
        ("出口 here", "出口", 1, 1),
        ("出口", "入口", 0, 0),
        ("", "出口", 0, 0),
    ],
)
def test_words_of_an_ocr_answer(text: str, reference: str, whole: float, share: float) -> None:
    assert score("ocr_contains", text, reference) == whole
    assert score("word_accuracy", text, reference) == share
    assert score("ocr_contains", text, "none of it", reference) == whole, "the best reference counts"


@settings(max_examples=200, deadline=None)
@given(st.text("aB1 .-'5$_\n", max_size=12), st.text("aB1 .-'5$_", min_size=1, max_size=4))
def test_scene_text_in_ascii_is_read_by_the_rule_of_the_authors_code(text: str, reference: str) -> None:
    """Signs go, case does not count, and the reference stands between two ends of words."""
    kept, wanted = (
        "".join(char for char in one.lower() if char.isalnum() or char.isspace()) for one in (text, reference)
    )
    found = re.search(rf"\b{re.escape(wanted)}\b", kept) is not None
    assert score("ocr_contains", text, reference) == found


INVOICE = "The guests sat down at the table number 7 and then the waiter brought the bill for the total amount of 35 dollars"


def test_a_number_anywhere_in_a_long_text_counts() -> None:
    """The authors of ReForm-Eval look for the reference alone, however long the text is."""
    for number, correct in (("7", 1), ("35", 1), ("3", 0), ("dollars", 1), ("table number 7", 1)):
        assert (
            score("ocr_contains", f"{INVOICE}.", number) == score("kie_contains", INVOICE, number) == correct
        )


@pytest.mark.parametrize(
    ("text", "reference", "correct"),
    [
        ("It's THE Total: 1,000", "1000", 1),
        ("two pages", "2", 1),
        ("2 pages", "two", 1),
        ("a page", "the page", 1),
        ("dont sign", "don't", 1),
        ("3.5 l", "35", 0),
        ("3.5 l", "3.5", 1),
        ("black/white", "white", 1),
        ("November", "November 5", 0),
        ("Nov. 5", "nov 5", 1),
        ("costs $5", "$5", 0),
        ("", "5", 0),
        ("signed", "sign", 0),
    ],
)
def test_key_information_is_sought_as_vqa_normalises_it(text: str, reference: str, correct: float) -> None:
    assert score("kie_contains", text, reference) == correct
    assert score("kie_contains", text, "nothing of it", reference) == correct, "the best reference counts"


def test_cider_d_by_hand() -> None:
    """Two rows whose references share no gram: every gram has rarity ln 2, which cancels."""
    texts, references = ["a b c", "x y"], [["a b c d"], ["x y z w"]]
    same = [3 / math.sqrt(3 * 4), 2 / math.sqrt(2 * 3), 1 / math.sqrt(1 * 2), 0]
    other = [2 / math.sqrt(2 * 4), 1 / math.sqrt(1 * 3), 0, 0]
    expected = [
        10 * sum(same) / 4 * math.exp(-(1**2) / 72),
        10 * sum(other) / 4 * math.exp(-(2**2) / 72),
    ]
    assert ANSWERS["cider_d"](texts, references) == pytest.approx(expected)


def test_cider_d_clips_and_averages_over_references() -> None:
    metric = ANSWERS["cider_d"]
    others = [["p q r s t"], ["k l m n o"]]
    # `cat` four times over counts once; the second reference shares nothing.
    (value, *_) = metric(["cat cat cat cat", "", ""], [["cat"], *others])
    assert value == pytest.approx(10 * (4 * 1 / 4) / 4 / 4 * 4 / 4 * math.exp(-(3**2) / 72))
    (perfect, *_) = metric(["a b c d e", "", ""], [["a b c d e"], *others])
    assert perfect == pytest.approx(10)
    (half, *_) = metric(["a b c d e", "", ""], [["a b c d e", "f g h i j"], *others])
    assert half == pytest.approx(5)


@pytest.mark.parametrize(
    "references",
    [[["a cat"]], [["a cat"], ["a cat"]], [["a cat", "a dog"], ["a dog", "a cat"]], [[""], [""]]],
)
def test_cider_d_is_undefined_where_no_words_are_rare(references: list[list[str]]) -> None:
    assert np.isnan(ANSWERS["cider_d"](["a cat"] * len(references), references)).all()


@pytest.mark.parametrize("known", [["a cat"], ["cat", "A cat!"], ["a cat"] * 3])
def test_cider_d_is_undefined_of_a_row_that_holds_nothing_rare(known: list[str]) -> None:
    """0 for its own reference would be wrong; others keep their score."""
    own, other = ANSWERS["cider_d"]([known[0], "a red dog runs"], [known, ["a cat", "a red dog runs"]])
    assert np.isnan(own) and other == pytest.approx(5)


def test_words_of_cider_d_have_no_case_and_no_punctuation() -> None:
    texts, references = ["A red Dog, runs.", "x"], [["a red dog runs"], ["x y"]]
    assert ANSWERS["cider_d"](texts, references)[0] == pytest.approx(10)
    assert ANSWERS["cider"](texts, references)[0] < 2


def test_cider_d_does_not_tell_how_accents_are_composed() -> None:
    found = ANSWERS["cider_d"](["un cafe\u0301 noir ici", "x"], [["un caf\u00e9 noir ici"], ["x y"]])
    assert found[0] == pytest.approx(10)


@pytest.mark.parametrize(
    ("seed", "mean", "first"),
    [
        (0, 0.5524926823227347, [0.6608386209250254, 0.6838939872411922, 0.7983261673612285]),
        (1, 0.48294934004513773, [1.0242859978043999, 0.0, 0.7401421972836842]),
        (2, 0.5987338839500848, [0.4375591287463526, 1.0343148199877414, 0.48116043205167724]),
        (3, 0.6117584790669253, [0.24702268375844855, 0.23737148759890264, 1.1903436809441916]),
    ],
)
def test_cider_d_is_pycocoevalcaps(seed: int, mean: float, first: list[float]) -> None:
    """What version 1.2 gives, recorded: it brings 100 MB of Java."""
    draw = random.Random(seed)
    words = ["a", "red", "cat", "on", "the", "mat", "two", "dogs", "run", "by", "blue", "tree"]

    def text() -> str:
        return " ".join(draw.choices(words, k=draw.randint(1, 9)))

    texts = [text() for _ in range(60)]
    references = [[text() for _ in range(draw.randint(1, 4))] for _ in range(60)]
    found = ANSWERS["cider_d"](texts, references)
    assert found[:3] == pytest.approx(first, rel=1e-12, abs=1e-12)
    assert np.mean(found) == pytest.approx(mean, rel=1e-12)


@pytest.mark.parametrize(
    ("metric", "mean", "first"),
    [
        ("cider", 0.7250332451068073, [1.918318, 0.550852, 0.339219, 1.405541]),
        ("rouge_l", 0.33733179769906074, [0.622449, 0.410774, 0.360947, 0.373089]),
    ],
)
def test_captions_without_a_tokenizer_are_scored_as_by_reform_eval(
    metric: str, mean: float, first: list[float]
) -> None:
    """What pycocoevalcap 1.2 gives for texts as they are, recorded: case and punctuation tell words apart."""
    draw = random.Random(7)
    words = ["A", "a", "dog.", "dog", "cat,", "cat", "sits", "on", "the", "mat", "The", "red"]

    def text() -> str:
        return " ".join(draw.choices(words, k=draw.randint(1, 9)))

    texts = [text() for _ in range(60)]
    references = [[text() for _ in range(draw.randint(1, 4))] for _ in range(60)]
    texts[3] = "the  mat"
    found = ANSWERS[metric](texts, references)
    assert found[:4] == pytest.approx(first, abs=1e-6)
    assert np.mean(found) == pytest.approx(mean, rel=1e-12)


@settings(max_examples=40, deadline=None)
@given(
    st.lists(
        st.tuples(st.text(max_size=30), st.lists(st.text(max_size=30), min_size=1, max_size=3)), max_size=4
    )
)
def test_scores_lie_on_their_scale(pairs: list[tuple[str, list[str]]]) -> None:
    for name, metric in ANSWERS.items():
        found = metric([text for text, _ in pairs], [references for _, references in pairs])
        assert len(found) == len(pairs)
        if name.startswith("cider"):
            found = [value for value in found if not np.isnan(value)]
        assert all(0 <= value <= (1 if is_share(name) else 10 + 1e-9) for value in found)
