import pytest

from vouch.datasets.cleaning.flags.options import flags


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
    ],
)
def test_same_in_another_spelling(options, found):
    assert flags(options, [0], missing=False) == found


@pytest.mark.parametrize(
    "options",
    [
        ["AA", "Aa", "aa"],
        ["H2O", "h2o"],
        ["m2", "m²"],
        ["-3", "3", "+3", "3.5", "35"],
        ["I", "i"],
        ["4", "four"],
        ["yes", "no"],
        ["X", "x", "."],
        ["the left cup", "the right cup"],
        ["(a+b)*(a-b)", "(a+b)*(a+b)", "a-b"],
        ["resume", "résumé"],
        ["cat", "cats"],
    ],
)
def test_different_after_all(options):
    assert flags(options, [0], missing=False) == set()


def test_missing_is_told():
    assert flags(["x", "y"], [0], missing=True) == {"missing_option"}
