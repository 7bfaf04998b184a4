"""Letter tokens of a real byte-pair encoder, which knows both spellings and merges across a colon."""

import pytest
from tokenizers import Tokenizer

from tests.models.tiny import CHAT, byte_pairs, pieces
from vouch.models.chat.letter_tokens import LetterIds, LetterTokens


@pytest.fixture(scope="module")
def encoder() -> Tokenizer:
    return byte_pairs(CHAT).backend_tokenizer


def letters(encoder: Tokenizer, prompt: str, natural: str) -> LetterTokens:
    return LetterTokens(lambda text: list(encoder.encode(text).ids), prompt, natural, None)


def names(encoder: Tokenizer, ids: tuple[int, ...]) -> list[str]:
    return [encoder.id_to_token(token).replace("Ġ", " ") for token in ids]


def test_both_spellings_are_found_and_the_natural_one_is_read(encoder: Tokenizer) -> None:
    for natural, read, other in ((" ", [" A", " B"], ["A", "B"]), ("", ["A", "B"], [" A", " B"])):
        found = letters(encoder, "answer\n", natural).ids("AB")
        assert found is not None
        assert (names(encoder, found.read), names(encoder, found.other)) == (read, other)


def test_a_letter_that_merges_with_the_prompt_does_not_count(encoder: Tokenizer) -> None:
    assert encoder.encode("x:A").ids[-1] != encoder.encode("x:B").ids[-2]  # `:A` is one token
    found = letters(encoder, "x:", "").ids("AB")
    assert found is not None and names(encoder, found.read) == [" A", " B"] and found.other == ()


def test_brackets_of_both_spellings(encoder: Tokenizer) -> None:
    found = letters(encoder, "answer\n", "").ids("AB")
    assert found is not None and names(encoder, found.bracket) == ["("]  # ` (` is two tokens here


def test_pieces_that_hold_the_space_before_a_word() -> None:
    """As SentencePiece does it: where a text begins, both spellings are one and the same token."""
    words = pieces()

    def encode(text: str) -> list[int]:
        return list(words(text, add_special_tokens=False)["input_ids"])

    first = LetterTokens(encode, "", "", words.unk_token_id).ids("AB")
    assert first is not None and words.convert_ids_to_tokens(first.read) == ["▁A", "▁B"]
    assert first.spelling == "" and first.other == ()
    later = LetterTokens(encode, "the house is", " ", words.unk_token_id).ids("AB")
    assert later is not None and words.convert_ids_to_tokens(later.read) == ["▁A", "▁B"]
    assert later.spelling == " " and words.convert_ids_to_tokens(later.other) == ["A", "B"]


def test_no_spelling_serves_every_mark(encoder: Tokenizer) -> None:
    assert letters(encoder, "x\n", " ").ids(["A", "IV"]) is None
    assert letters(encoder, "x\n", " ").ids(["A", "A"]) is None


def test_unknown_token_is_no_letter() -> None:
    vocabulary = {"?": 0, "x": 1, "A": 2}
    tokens = LetterTokens(
        lambda text: [vocabulary.get(piece, 0) for piece in text.replace(" ", "")], "x", "", 0
    )
    assert tokens.ids("A") == LetterIds("", (2,), (), ())
    assert tokens.ids("AB") is None


@pytest.mark.parametrize("marks", ["ABCD", "abcd", "1234"])
def test_the_marks_that_are_shown_are_read(encoder: Tokenizer, marks: str) -> None:
    found = letters(encoder, "answer\n", "").ids(marks)
    assert found is not None and names(encoder, found.read) == list(marks)
