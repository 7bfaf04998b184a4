"""Letter tokens of a real byte-pair encoder, which knows both spellings and merges across a colon."""

from collections.abc import Sequence

import pytest
from tokenizers import Tokenizer

from tests.models.tiny import CHAT, byte_pairs, pieces
from tests.refusals import refused
from vouch.models.chat.chat import LetterIds, letter_ids, space_after


@pytest.fixture(scope="module")
def encoder() -> Tokenizer:
    return byte_pairs(CHAT).backend_tokenizer


def letters(encoder: Tokenizer, prompt: str, natural: str, labels: Sequence[str]) -> LetterIds:
    def encode(texts: Sequence[str]) -> list[list[int]]:
        return [list(one.ids) for one in encoder.encode_batch(list(texts))]

    return letter_ids(encode, prompt, natural, labels, None)


def names(encoder: Tokenizer, ids: tuple[int, ...]) -> list[str]:
    return [encoder.id_to_token(token).replace("Ġ", " ") for token in ids]


def test_both_spellings_are_found_and_the_natural_one_is_read(encoder: Tokenizer) -> None:
    for natural, read, other in ((" ", [" A", " B"], ["A", "B"]), ("", ["A", "B"], [" A", " B"])):
        letter_tokens = letters(encoder, "answer\n", natural, "AB")
        assert (names(encoder, letter_tokens.read), names(encoder, letter_tokens.other)) == (read, other)
        assert (letter_tokens.dropped, letter_tokens.added) == (0, ())


@pytest.mark.parametrize(
    ("prompt", "natural", "labels", "dropped", "added", "read"),
    [
        ("is:", " ", "12", 0, [" "], ["1", "2"]),  # a space is written before a digit, as a token of its own
        ("is: ", "", "12", 0, [], ["1", "2"]),
        ("is: ", "", "AB", 1, [], [" A", " B"]),  # the space belongs to the letter
        ("is: ", "", "DE", 0, [], ["D", "E"]),
        ("is\n", "", "DE", 0, [], ["D", "E"]),
        ("is", " ", "DE", 0, [" "], ["D", "E"]),
        ("is", " -", "DE", 0, [" ", "-"], ["D", "E"]),
    ],
)
def test_letters_stand_where_running_text_has_them(
    encoder: Tokenizer,
    prompt: str,
    natural: str,
    labels: str,
    dropped: int,
    added: list[str],
    read: list[str],
) -> None:
    found = letters(encoder, prompt, natural, labels)
    assert (found.dropped, names(encoder, found.added)) == (dropped, added)
    assert names(encoder, found.read) == read
    known = encoder.encode(prompt).ids
    for label, token in zip(labels, found.read, strict=True):
        whole = [*known[: len(known) - dropped], *found.added, token]
        assert encoder.encode(prompt + natural + label).ids == whole


def test_a_letter_that_merges_with_the_prompt_where_others_do_not(encoder: Tokenizer) -> None:
    assert encoder.encode("x:A").ids[-1] != encoder.encode("x:B").ids[-2]  # `:A` is one token
    with refused(r"for each of A, B in one place after 'x:' \(B takes 3 there\)"):
        letters(encoder, "x:", "", "AB")
    assert names(encoder, letters(encoder, "x:", " ", "AB").read) == [" A", " B"]
    assert letters(encoder, "x:", " ", "AB").other == ()


def test_brackets_of_both_spellings(encoder: Tokenizer) -> None:
    letter_tokens = letters(encoder, "answer\n", "", "AB")
    assert names(encoder, letter_tokens.bracket) == ["("]  # ` (` is two tokens here


def test_pieces_that_hold_the_space_before_a_word() -> None:
    """As SentencePiece does it: where a text begins, both spellings are one and the same token."""
    words = pieces()

    def encode(texts: Sequence[str]) -> list[list[int]]:
        return list(words(list(texts), add_special_tokens=False)["input_ids"])

    first = letter_ids(encode, "", "", "AB", words.unk_token_id)
    assert words.convert_ids_to_tokens(first.read) == ["▁A", "▁B"]
    assert first.spelling == "" and first.other == ()
    later = letter_ids(encode, "the house is", " ", "AB", words.unk_token_id)
    assert words.convert_ids_to_tokens(later.read) == ["▁A", "▁B"]
    assert later.spelling == " " and words.convert_ids_to_tokens(later.other) == ["A", "B"]
    spaced = letter_ids(encode, "the house is ", "", "AB", words.unk_token_id)
    assert spaced.read == later.read and len(encode(["the house is "])[0]) - spaced.dropped == 3


@pytest.mark.parametrize("labels", [["A", "IV"], ["A", "A"], ["A", ""]])
def test_no_place_serves_every_mark(encoder: Tokenizer, labels: list[str]) -> None:
    with refused("no distinct single token for each of"):
        letters(encoder, "x\n", "", labels)


def test_unknown_token_is_no_letter() -> None:
    vocabulary = {"?": 0, "x": 1, "A": 2}

    def encode(texts: Sequence[str]) -> list[list[int]]:
        return [[vocabulary.get(piece, 0) for piece in text.replace(" ", "")] for text in texts]

    assert letter_ids(encode, "x", "", "A", 0) == LetterIds("", (2,), (), ())
    with refused("B has none of its own"):
        letter_ids(encode, "x", "", "AB", 0)


@pytest.mark.parametrize("labels", ["ABCD", "abcd", "1234"])
def test_the_marks_that_are_shown_are_read(encoder: Tokenizer, labels: str) -> None:
    assert names(encoder, letters(encoder, "answer\n", "", labels).read) == list(labels)


@pytest.mark.parametrize(
    "spaced",
    ["The answer is", "Answer:", "**Answer:**", 'He said "yes"', "`x` is", "x =", "->", "정답은", "[x]", "a > b", "👉"],
)  # fmt: skip
def test_a_word_goes_on_after_a_space(spaced: str) -> None:
    assert space_after(spaced) == " "


@pytest.mark.parametrize(
    "joined",
    [
        "", "Answer: ", "x\n", "(", "The answer is [", "\\boxed{", 'It is "', "“", "**", "The answer is **", "Option '",
        "`x` is `", "$", "<answer>", "</think>", "<|message|>", "答案是", "答案：", "答案是**", "「", "（", "Choice #", "Answer: <", "¿",
    ],
)  # fmt: skip
def test_a_word_goes_on_without_a_space(joined: str) -> None:
    assert space_after(joined) == ""
