"""Flags of texts: respellings, answers in questions, damaged encodings."""

import pytest

from vouch.datasets.flags import (
    damaged,
    leaks,
    lettered,
    option_flags,
)


@pytest.mark.parametrize(
    ("options", "found"),
    [
        (["a cat", "a cat"], {"duplicate_options", "repeated_answer_text"}),
        (["one dog", "a cat", "a cat"], {"duplicate_options"}),
        (["a cat", " "], {"empty_option"}),
        (["A kite.", "a kite"], {"respelled_answer", "respelled_options"}),
        (["dog", "It’s here", "It's  here"], {"respelled_options"}),
        (["Yes", "No", "10–12", "10-12"], {"respelled_options"}),
        (["cafe\u0301 au lait", "café au lait"], {"respelled_answer", "respelled_options"}),
        (["AA", "Aa", "aa"], set()),
        (["XAXA", "XAXa", "XaXa"], set()),
        (["AABB", "AaBb", "aabb", "Aabb"], set()),
        (["genotype AA", "genotype Aa", "genotype aa", "Genotype BB"], set()),
        (["carbon and CO", "carbon and Co"], set()),
        (["Carbon Dioxide", "carbon dioxide"], {"respelled_answer", "respelled_options"}),
        (["ZYGOTE", "A zygote", "a Zygote"], {"respelled_options"}),
        (["H2O", "h2o"], set()),
        (["m2", "m²"], set()),
        (["-3", "3", "+3", "3.5", "35"], set()),
        (["I", "i"], set()),
        (["4", "four"], set()),
        (["X", "x", "."], set()),
        (["the left cup", "the right cup"], set()),
        (["(a+b)*(a-b)", "(a+b)*(a+b)", "a-b"], set()),
        (["resume", "résumé"], set()),
        (["cat", "cats"], set()),
        (["a cat", "a\u200b cat"], {"respelled_answer", "respelled_options"}),
        (["a dog", "soft\u00adware shop", "software shop\ufeff"], {"respelled_options"}),
        (["１２ ｃｍ", "12 cm"], {"respelled_answer", "respelled_options"}),
        (["Tom &amp; Jerry", "Tom & Jerry"], {"respelled_answer", "respelled_options"}),
        (["caf&eacute; bar", "café bar", "caf&#233; bar"], {"respelled_answer", "respelled_options"}),
        (["x &amp;lt; y", "x < y"], {"respelled_answer", "respelled_options"}),
        (["5&nbsp;cm", "5 cm"], {"respelled_answer", "respelled_options"}),
        (["\u202eleft\u202c", "left"], {"respelled_answer", "respelled_options"}),
        (["heart ❤\ufe0f", "heart ❤"], {"respelled_answer", "respelled_options"}),
        (["AT&T", "AT T", "&co", "&c"], set()),
        (["m²", "m2", "²", "½", "1⁄2"], set()),
        (["", " ", "", ""], {"letters_only"}),
        (["", "", "x"], {"duplicate_options", "empty_option", "repeated_answer_text"}),
    ],
)
def test_options_that_are_alike(options, found):
    assert option_flags(options, [0]) == found


LETTERED = [
    ["A. a dog", "B. a cat"], ["(A) a dog", "(B) a cat", "(C) a hat"], ["a) a dog", "b) a cat"], ["B: no", "A: yes"],
    ["1. one", "2. two", "3. three"], ["(i) x", "(ii) y", "(iii) z"], ["Option A: x", "Option B: y"], ["A、狗", "B、猫"],
    ["Ａ．dog", "Ｂ．cat"], ["[A] x", "[B] y"], ["A.dog", "B.cat"], ["A - a dog", "B - a cat"],
    ["**A.** a dog", "**B.** a cat"],
]  # fmt: skip
UNLETTERED = [
    ["A-frame", "B-flat"], ["J. Smith", "K. Jones"], ["A. Lincoln", "G. Washington"], ["1.5 cm", "2.5 cm"], ["A", "B"],
    ["A dog", "B flat"], ["A. a dog", "a cat"], ["10:30", "11:30"], ["3. a", "7. b"], [],
]  # fmt: skip


def test_options_with_letters_of_their_own():
    assert [options for options in LETTERED if not lettered(options)] == []
    assert [options for options in UNLETTERED if lettered(options)] == []


@pytest.mark.parametrize(
    ("question", "options", "leaking"),
    [
        ("Which material is this magnifying glass made of?", ["glass", "clay"], True),
        ("The Eiffel Tower in Paris: which tower is this?", ["Eiffel Tower", "Big Ben"], True),
        ("What is the photosynthesis shown here called?", ["Photosynthesis.", "respiration", "growth"], True),
        ("Is there a yes on the sign?", ["yes", "no"], False),
        ("Which is larger, an elephant or a mouse?", ["an elephant", "a mouse"], False),
        ("What colour is the car beside the red van?", ["red", "blue"], False),
        ("How many of the 3 boxes are open?", ["3", "2"], False),
        ("How many of the three boxes are open?", ["three", "two"], False),
        ("Are the two jars the same shape?", ["same", "Not the same"], False),
        ("Which light is brighter?", ["the bright light", "the dim light"], False),
        ("Which of these does she see in a mirror?", ["A", "B"], False),
        ("What is left of the man on the left side?", ["on the left side", "on the right side"], False),
        ("What does the glassware hold?", ["glass", "clay"], False),
        ("Is this an elephant?", ["It is an elephant", "It is a mouse"], False),
        ("What is it?", ["42", "$10$"], False),
    ],
)
def test_answers_in_their_question(question, options, leaking):
    assert leaks(question, options, [0]) == leaking


def test_open_questions_and_several_answers_have_no_one_answer_to_leak():
    assert not leaks("An elephant", [], [])
    assert not leaks("An elephant", ["elephant", "mouse"], [0, 1])


TEXTS = [
    "café", "It’s", "naïve – 5 °C", "«Où?»", "über", "Привет", "日本語の質問", "שאלה", "λ ≥ 3 µm", "👍 good", "£5",
]  # fmt: skip
SOUND = [
    "plain", "„MENÜ“", "“IRMÃ”", "à “la carte”", "Ångström", "±5 µm²", "‘É’", "São Paulo", "ÀÉÎÕÜ", "Ünïcödé",
]  # fmt: skip


@pytest.mark.parametrize("text", TEXTS)
def test_read_with_the_wrong_encoding(text):
    wrong = text.encode().decode("latin-1")
    assert damaged(wrong) and not damaged(text)
    known = {b: chr(b) for b in (0x81, 0x8D, 0x8F, 0x90, 0x9D)}
    assert damaged("".join(known.get(b) or bytes([b]).decode("cp1252") for b in text.encode()))


def test_lost_characters_and_texts_that_are_odd_but_sound():
    assert damaged("a \ufffd b") and damaged("it\x92s") and damaged("k\0i\0te") and damaged("é\0")
    assert not any(map(damaged, SOUND))
