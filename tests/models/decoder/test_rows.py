"""Rows of passes: what a job holds follows from its pack alone, tries share beginnings, caches split by rows."""

from collections.abc import Sequence

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from transformers.cache_utils import DynamicLayer

from vouch.models.chat.chat import LetterIds
from vouch.models.decoder import rows as jobs_file
from vouch.models.decoder.passes import Unsupported, join, row_of
from vouch.models.decoder.preparing import Prepared
from vouch.models.decoder.rows import Mode, PassRow, build, jobs
from vouch.models.engine import Question
from vouch.tables.asked import LETTERS, LIKELIHOOD, TEXT

SEQUENCES = st.lists(st.lists(st.integers(0, 3), min_size=1, max_size=6), min_size=1, max_size=6)


def test_two_branches() -> None:
    trie = build([[5, 6, 7], [5, 6, 8, 9], [5, 6]])
    assert trie.tokens.tolist() == [5, 6, 7, 8, 9]
    assert trie.depths.tolist() == [0, 1, 2, 2, 3]
    assert trie.paths == ((0, 1, 2), (0, 1, 3, 4), (0, 1))
    assert trie.attends.astype(int).tolist() == [
        [1, 0, 0, 0, 0],
        [1, 1, 0, 0, 0],
        [1, 1, 1, 0, 0],
        [1, 1, 0, 1, 0],
        [1, 1, 0, 1, 1],
    ]


@given(SEQUENCES)
def test_every_sequence_is_a_path_that_sees_itself_alone(sequences: list[list[int]]) -> None:
    trie = build(sequences)
    assert len(trie) == len({tuple(one[: end + 1]) for one in sequences for end in range(len(one))})
    for sequence, path in zip(sequences, trie.paths, strict=True):
        assert trie.tokens[list(path)].tolist() == sequence
        assert trie.depths[list(path)].tolist() == list(range(len(sequence)))
        for depth, node in enumerate(path):
            assert np.flatnonzero(trie.attends[node]).tolist() == list(path[: depth + 1])


BUCKET = 8


def prompt(
    name: str,
    after: Sequence[int],
    options: Sequence[Sequence[int]] = (),
    image: int = 0,
    max_tokens: int = 0,
) -> Prepared:
    """Three tokens with an image, then others."""
    return Prepared(
        question=Question(name, None, name, max_tokens=max_tokens),
        ids=(1, 9, 9, *after),
        prefix=3 if image is not None else 0,
        shown={"pixel_values": torch.full((1, 1), float(image))},
        by_token={},
        letters=LetterIds("", (1, 2), (), ()),
        options=tuple(map(tuple, options)),
    )


def made(output: str, prompts: Sequence[Prepared], mode: Mode, may_pad: bool = True) -> list[PassRow]:
    return list(jobs(output, prompts, mode, BUCKET, lambda tokens: may_pad))


def test_letters_of_one_image_are_one_trie() -> None:
    (job,) = made(LETTERS, [prompt("a", [4, 5]), prompt("b", [4, 6, 7]), prompt("c", [4, 5])], "trie")
    assert job.trie is not None
    assert job.trie.tokens.tolist() == [4, 5, 6, 7]
    assert [target.wanted for target in job.targets] == [((1,),), ((3,),), ((1,),)]
    assert (job.length, job.wanted) == (8, (1, 3))


def test_another_image_is_another_trie() -> None:
    found = made(LETTERS, [prompt("a", [4]), prompt("b", [5], image=1), prompt("c", [6])], "trie")
    assert [[one.prepared.question.id for one in job.targets] for job in found] == [["a", "c"], ["b"]]


def test_options_are_branches_whose_last_tokens_are_not_read() -> None:
    (job,) = made(LIKELIHOOD, [prompt("a", [4, 5], [[6, 7, 8], [6], [7, 8]])], "trie")
    assert job.trie is not None
    assert job.trie.tokens.tolist() == [4, 5, 6, 7, 7]
    assert job.targets[0].wanted == ((1, 2, 3), (1,), (1, 4))
    assert job.wanted == (1, 2, 3, 4)


def test_places_read_are_filled_to_a_power_of_two() -> None:
    (job,) = made(LIKELIHOOD, [prompt("a", [4, 5], [[6, 7, 8]])], "trie")
    assert job.wanted == (1, 2, 3, 3)


@pytest.mark.parametrize(("mode", "sequence"), [("batch", (4, 5)), ("plain", (1, 9, 9, 4, 5))])
def test_chains(mode: Mode, sequence: tuple[int, ...]) -> None:
    (letters,) = made(LETTERS, [prompt("a", [4, 5])], mode)
    assert (letters.mode, letters.sequence, letters.wanted) == (mode, sequence, (len(sequence) - 1,))
    first, second = made(LIKELIHOOD, [prompt("a", [4, 5], [[6, 7], [8]])], mode)
    assert (first.sequence, second.sequence) == ((*sequence, 6), sequence)
    assert [job.targets[0].option for job in (first, second)] == [0, 1]
    assert first.targets[0].wanted == ((len(sequence) - 1, len(sequence)),)


def test_text_is_a_chain_even_where_tries_are_sound() -> None:
    (job,) = made(TEXT, [prompt("a", [4, 5], max_tokens=7)], "trie")
    assert (job.mode, job.sequence, job.length) == ("batch", (4, 5), 8)


@pytest.mark.parametrize(("mode", "length", "total"), [("batch", 2, 18), ("plain", 5, 15)])
def test_text_is_not_padded_where_that_would_show(mode: Mode, length: int, total: int) -> None:
    asked: list[int] = []
    one = prompt("a", [4, 5], max_tokens=7)
    (job,) = jobs(TEXT, [one], mode, BUCKET, lambda tokens: bool(asked.append(tokens)))
    assert (job.length, asked) == (length, [total])
    assert made(TEXT, [one], mode)[0].shape != job.shape


def test_a_trie_has_a_largest_size(monkeypatch: pytest.MonkeyPatch) -> None:
    prompts = [prompt(str(number), [4, 10 + number, 20 + number]) for number in range(5)]
    monkeypatch.setattr(jobs_file, "MAX_NODES", 5)
    assert [len(job.targets) for job in made(LETTERS, prompts, "trie")] == [2, 2, 1]
    monkeypatch.setattr(jobs_file, "MAX_NODES", 1)  # a single prompt is never cut
    assert [len(job.targets) for job in made(LETTERS, prompts, "trie")] == [1] * 5


def test_a_pack_makes_the_same_jobs_in_any_company() -> None:
    alone = made(LETTERS, [prompt("a", [4, 5])], "trie")
    again = made(LETTERS, [prompt("a", [4, 5])], "trie")
    assert [job.shape for job in alone] == [job.shape for job in again]
    longer = made(LETTERS, [prompt("a", [4, 5, 6, 7])], "trie")
    assert longer[0].shape == alone[0].shape  # of one bucket


def layer(rows: int = 3) -> DynamicLayer:
    made = DynamicLayer()
    made.update(torch.randn(rows, 2, 5, 4), torch.randn(rows, 2, 5, 4))
    return made


def test_rows_apart_and_together() -> None:
    whole = layer()
    whole.cumulative_length = torch.tensor(5)  # of all rows alike
    again = join([row_of(whole, row) for row in range(3)])
    assert torch.equal(again.keys, whole.keys) and torch.equal(again.values, whole.values)
    assert again.cumulative_length == 5


def test_going_on_from_joined_rows_changes_none_of_them() -> None:
    whole = layer(1)
    whole.state = torch.zeros(1, 2, 3)
    join([whole]).state.add_(1)
    assert not whole.state.any()


@pytest.mark.parametrize("more", [torch.zeros(3), torch.zeros(3, 5)])
def test_what_may_belong_to_rows_is_refused(more: torch.Tensor) -> None:
    whole = layer()
    whole.lengths = more
    with pytest.raises(Unsupported, match="DynamicLayer is of an unknown kind"):
        row_of(whole, 1)
    whole.lengths = {"first": more}
    with pytest.raises(Unsupported):
        row_of(whole, 1)
