"""Every check on what it must catch and what it must let pass."""

import pytest

from vouch.prompts.rewrites.checks import CHECKS, failures
from vouch.prompts.rewrites.table import instruction
from vouch.tables.asked import KINDS

Q = "Which of the 3 cups that Anna holds is more dented?"
GOOD = {
    "clean": Q,
    "lr_i": "Determine which of the 3 cups that Anna holds is more dented.",
    "lr_c": "Of Anna’s 3 cups, which is more dented?",
    "lr_v": "Of the 3 cups that Anna holds, could you please tell me which one is more dented?",
    "ls_n": "Which of the 3 cups that Anna holds is not more dented?",
    "ls_a": "Which of the 3 cups that Anna holds is more intact?",
    "ls_m": "Which of the 3 cups that Anna holds is less dented?",
}
BAD = [
    ("not_empty", "lr_i", Q, " ?"),
    ("one_sentence", "lr_i", Q, "Look at the 3 cups that Anna holds. Determine which is more dented."),
    ("one_sentence", "ls_n", Q, "Which of the 3 cups that Anna holds is not more dented?\nI added a word"),
    ("changed", "lr_v", Q, Q),
    ("changed", "ls_a", Q, Q.upper().capitalize().replace("anna", "Anna")),
    ("entities", "lr_c", Q, "Which of the cups that Anna holds is more dented?"),
    ("entities", "lr_i", Q, "Determine which of the 4 cups that Anna holds is more dented."),
    ("entities", "lr_i", Q, "Determine which of the 3 cups that she holds is more dented."),
    ("entities", "lr_v", Q, "Could you tell me which of the 3 cups that Anna and Bob hold is more dented?"),
    ("entities", "lr_i", "Which of <image 1> and <image 2> is brighter?", "Determine whether <image 1> is brighter."),
    ("shorter", "lr_c", Q, "Which one of the 3 cups that Anna holds is more dented?"),
    ("longer", "lr_v", Q, "Of Anna’s 3 cups, which is more dented?"),
    ("negated", "ls_n", Q, "Which of the 3 cups that Anna holds is less dented?"),
    ("negated", "ls_n", Q, "Which of the 3 cups that Anna does not hold is not more dented?"),
    ("negated", "ls_n", "Which of these is not shown?", "Which of these is not not shown?"),
    ("unnegated", "lr_i", "Which of these is not shown?", "Determine which of these is shown."),
    ("unnegated", "lr_c", Q, "Which of Anna’s 3 cups isn’t dented?"),
    ("lessened", "ls_m", Q, "Which of the 3 cups that Anna holds is more intact?"),
    ("lessened", "ls_m", Q, "Which of the 3 cups that Anna holds is more or less dented?"),
    ("instructs", "lr_i", Q, Q),
    ("asks", "ls_n", Q, "The 3 cups that Anna holds are not more dented."),
    ("bare", "ls_n", Q, "Answer: Which of the 3 cups that Anna holds is not more dented?"),
    ("bare", "lr_i", Q, "Sure! Determine which of the 3 cups that Anna holds is more dented."),
    ("bare", "ls_n", Q, "Which of the 3 cups that Anna holds is not more dented? (A) Left (B) Right"),
    ("bare", "clean", Q, "**Which of the 3 cups that Anna holds is more dented?**"),
    ("related", "lr_i", "Which planet is closest to the sun?", "Mercury."),
    ("related", "ls_a", "Which dog runs faster?", "Which cat sleeps?"),
    ("not_endless", "lr_v", Q, Q.replace("more", "more and more" + " and more" * 70)),
    ("printable", "lr_i", Q, "Determine which of the 3 cups that Anna holds is \u202emore dented."),
    ("printable", "lr_i", Q, "Determine which of the 3 cups that Anna holds is \x1b[2Jmore dented."),
    ("printable", "ls_n", Q, "Which of the 3 cups that Anna holds is not more dented\ufffd?"),
    ("script", "lr_i", Q, "Determine which of the 3 cups that Anna holds is более dented."),
]  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_good_ones_pass(kind: str) -> None:
    assert failures(kind, Q, GOOD[kind]) == {}


@pytest.mark.parametrize(("check", "kind", "original", "rewrite"), BAD)
def test_bad_ones_are_caught(check: str, kind: str, original: str, rewrite: str) -> None:
    assert failures(kind, original, rewrite).get(check)


def test_an_endless_rewrite_is_looked_at_no_further() -> None:
    """A million opening quotation marks would keep a pattern busy for hours."""
    assert list(failures("ls_n", Q, "‘" * 1_000_000)) == ["not_endless"]


def test_each_check_is_tested() -> None:
    assert {check for check, *_ in BAD} == set(CHECKS)


@pytest.mark.parametrize("kind", KINDS)
def test_examples_of_parc_pass_but_the_one_that_stays_the_same(kind: str) -> None:
    for example in instruction(kind).examples:
        same = kind == "ls_a" and example.q == example.a
        assert list(failures(kind, example.q, example.a)) == (["changed"] if same else [])
