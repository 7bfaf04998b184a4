"""First tokens and masses of a real tiny model, with and without an answer prefix."""

from collections import Counter
from pathlib import Path

import pytest

from tests.models.engines import alone, letters_of, question, shared
from tests.models.tiny import save_llava
from tools.first_tokens import Found, first_tokens, line


def test_masses_and_words_are_those_after_the_prefix(tmp_path: Path) -> None:
    engine = shared(save_llava(tmp_path))
    asked = [(question(number, 3 + number), [0]) for number in range(5)]
    for prefix in ("", "the answer"):
        found = first_tokens(engine, asked, prefix)
        begun = [question(number, 3 + number, response=prefix or None) for number in range(5)]
        plain = [letters_of(one) for one in alone(engine, "letters", begun).values()]
        assert found.letters == pytest.approx([one.letter_mass for one in plain])
        assert found.right == [max(range(4), key=one.logits.__getitem__) == 0 for one in plain]
        assert found.first.total() == 5


def test_a_row_says_what_was_found() -> None:
    found = Found([0.9, 0.2], [0.05, 0.8], [True, False], Counter({"(": 1, "B": 2}))
    assert line("(", found) == "| '(' | 55.0 % | 42.5 % | 50.0 % | 50.0 % | `B` 2, `(` 1 |\n"
