"""BLEU of all texts of a dataset, by hand, as pycocoevalcap computes it, and resampled by groups."""

import math
import random
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from tests.metrics.simulated import config
from tests.metrics.text.test_texts import blocks, choice, question, scored
from vouch.metrics.intervals import centred, resampled
from vouch.metrics.metric import CLEAN, FAITHFUL
from vouch.metrics.text.corpus import OF_CORPUS, corpus_figures, corpus_sums
from vouch.metrics.text.scoring import score_texts
from vouch.tables.thoughts import apart

SIZES = (1, 2, 3, 4)
BLEU = [f"bleu_{size}" for size in SIZES]
Pairs = Sequence[tuple[str, Sequence[str]]]


def bleus(*pairs: tuple[str, Sequence[str]]) -> list[float]:
    """BLEU-1 ... BLEU-4 of texts with their references."""
    texts, references = [text for text, _ in pairs], [known for _, known in pairs]
    summed = corpus_sums(BLEU, texts, references)
    return [float(OF_CORPUS[name].value(summed[name].sum(axis=0))) for name in BLEU]


def by_definition(size: int, pairs: Pairs) -> float:
    """BLEU-N, one n-gram after another."""
    product, length, wanted = 1.0, 0, 0
    for text, references in pairs:
        words = len(text.split())
        length += words
        wanted += sorted((abs(len(one.split()) - words), len(one.split())) for one in references)[0][1]
    for width in range(1, size + 1):
        shared = total = 0
        for text, references in pairs:
            own = _grams(text, width)
            total += len(own)
            shared += sum(
                min(own.count(gram), max(_grams(one, width).count(gram) for one in references))
                for gram in set(own)
            )
        product *= (shared + 1e-15) / (total + 1e-9)
    ratio = (length + 1e-15) / (wanted + 1e-9)
    return product ** (1 / size) * (math.exp(1 - 1 / ratio) if ratio < 1 else 1)


def _grams(text: str, width: int) -> list[tuple[str, ...]]:
    words = text.split()
    return [tuple(words[start : start + width]) for start in range(len(words) - width + 1)]


def test_words_count_as_often_as_in_the_reference_that_has_most_of_them() -> None:
    """The example of Papineni et al. 2002: 2 of 7, since `the` is there twice in one reference, once in the other."""
    references = ["the cat is on the mat", "there is a cat on the mat"]
    one, two, *_ = bleus(("the the the the the the the", references))
    assert one == pytest.approx(2 / 7) and two == pytest.approx(0, abs=1e-7)


def test_shares_are_of_all_texts_together() -> None:
    """6 of 7 words and 3 of 5 pairs; the mean of the two texts' shares of words would be 5/6."""
    one, two, *_ = bleus(("a b c d", ["a b c d"]), ("x y z", ["x w z"]))
    assert one == pytest.approx(6 / 7) and two == pytest.approx(math.sqrt(6 / 7 * 3 / 5))


def test_texts_shorter_than_the_closest_references_are_punished() -> None:
    """3 words of 4 and of 5; 3 is as far from 2 as from 4, and the shorter reference counts."""
    assert bleus(("a b c", ["a b c d", "a b c d e"]))[:3] == pytest.approx([math.exp(1 - 4 / 3)] * 3)
    assert bleus(("a b c", ["a b c d", "a b"]))[:3] == pytest.approx([1] * 3)
    short, long = ("a b", ["a b c d"]), ("a b c d", ["a b"])
    assert bleus(short)[0] == pytest.approx(math.exp(-1))
    assert bleus(short, long)[0] == pytest.approx(4 / 6), "one text makes up for the other"


def test_an_empty_text_counts_by_the_words_that_it_lacks() -> None:
    assert bleus(("", ["a cat"])) == [0, 0, 0, 0]
    assert bleus(("a b c d", ["a b c d"]), ("", ["a b"])) == pytest.approx([math.exp(1 - 6 / 4)] * 4)
    assert bleus(("", [""])) == [0, 0, 0, 0]


def test_thoughts_are_no_part_of_a_text() -> None:
    said = "<think>the cat</think>a dog"
    assert apart(said).answer.split() == ["a", "dog"]
    assert bleus((said, ["a dog"]))[1] == pytest.approx(1)


def test_bleu_is_pycocoevalcaps() -> None:
    """What version 1.2 gives, recorded; also for what is too short to hold a size, which is almost 0 of 0."""
    draw = random.Random(7)

    def text() -> str:
        return " ".join(draw.choices(["A", "a", "dog.", "dog"], k=draw.randint(1, 9)))

    texts = [text() for _ in range(60)]
    references = [[text() for _ in range(draw.randint(1, 4))] for _ in range(60)]
    texts[3:5] = ["dog  a", ""]
    exact = {"rel": 1e-12, "abs": 1e-18}
    recorded = [0.737864077667515, 0.5800569104967555, 0.3684977713258079, 0.17846005973668747]
    assert bleus(*zip(texts, references, strict=True)) == pytest.approx(recorded, **exact)
    tiny = [0.049787068268290074, 4.978706829318358e-05, 4.978706830148144e-06, 1.5744053386817196e-06]
    assert bleus(("a", ["a b c d"])) == pytest.approx(tiny, **exact)
    tiny = [0.999999999666667, 0.9999999995833336, 0.9999999993888895, 0.03162277658719003]
    assert bleus(("a b c", ["a b", "a b c d"])) == pytest.approx(tiny, **exact)


TEXTS = st.text(alphabet="ab \u00e9.", max_size=12)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(TEXTS, st.lists(TEXTS, min_size=1, max_size=3)), min_size=1, max_size=4))
def test_bleu_is_its_definition(pairs: Pairs) -> None:
    assert bleus(*pairs) == pytest.approx([by_definition(size, pairs) for size in SIZES], rel=1e-9, abs=1e-18)


def test_an_interval_is_that_of_the_metric_recomputed_for_every_draw() -> None:
    draw = random.Random(1)
    words = ["a", "red", "cat", "on", "the", "mat"]
    texts = [" ".join(draw.choices(words, k=draw.randint(2, 7))) for _ in range(24)]
    references = [[" ".join(draw.choices(words, k=6)), text] for text in texts[::-1]]
    groups = np.arange(24) // 2
    counted = np.arange(24) < 22
    summed = corpus_sums(["rouge_l", "bleu_2"], texts, references)
    assert list(summed) == ["bleu_2"], "the others are of single texts"
    (clean,) = corpus_figures(summed, counted, groups, CLEAN, 3)
    pairs = [*zip(texts, references, strict=True)][:22]
    values = []
    for times in resampled(np.eye(11), 3).astype(int):
        drawn = [
            pair for group, often in enumerate(times) for pair in pairs[2 * group : 2 * group + 2] * often
        ]
        values.append(by_definition(2, drawn))
    whole = by_definition(2, pairs)
    assert (clean.metric, clean.items, clean.value) == ("bleu_2", 22, pytest.approx(whole))
    assert clean.low is not None and clean.high is not None and clean.low < whole < clean.high
    assert (clean.low, clean.high) == pytest.approx(centred(whole, np.array(values)))
    (faithful,) = corpus_figures(summed, counted, groups, FAITHFUL, 3)
    assert (faithful.value, faithful.low, faithful.high) == (clean.value, None, None)


def test_every_protocol_and_category_has_the_bleu_of_its_own_rows() -> None:
    rows = [
        question("q0", "a b c d e", "a b c d x", category="one"),
        question("q1", "a b", "a b c d", category="two"),
        question("q2", "x", "y", category="two", flags=["missing_option"]),
        question("q3", "whatever"),
        choice("q4", "A"),
    ]
    metrics, _ = scored(rows, config(answers={"d": ["rouge_l", *BLEU]}))
    pairs = [("a b c d e", ["a b c d x"]), ("a b", ["a b c d"]), ("x", ["y"])]
    for protocol, counted in (("clean", pairs[:2]), ("faithful", pairs)):
        found = [metrics[protocol, "", name] for name in BLEU]
        assert [row["value"] for row in found] == pytest.approx([by_definition(n, counted) for n in SIZES])
        assert {row["items"] for row in found} == {len(counted)}
        assert {row["low"] is None for row in found} == {protocol == "faithful"}
    (block,) = blocks(rows)
    by_category = {
        (row["protocol"], row["category"]): (row["value"], row["items"])
        for row in score_texts("m", "d", block, config(answers={"d": ["rouge_l", "bleu_1"]}))[0]
        if row["metric"] == "bleu_1"
    }
    for where, counted in {
        ("clean", "one"): pairs[:1],
        ("clean", "two"): pairs[1:2],
        ("faithful", "two"): pairs[1:],
    }.items():
        assert by_category[where] == (pytest.approx(by_definition(1, counted)), len(counted))
    assert ("clean", "", "bleu_1") not in scored(rows[3:], config(answers={"d": ["rouge_l", *BLEU]}))[0]


def test_a_metric_of_all_texts_grades_none() -> None:
    with pytest.raises(
        ValidationError, match="bleu_4 is of all texts together; name one of single texts first: anls"
    ):
        config(answers={"d": ["bleu_4", "cider"]})
    with pytest.raises(ValidationError, match="unknown name bleu; did you mean bleu_"):
        config(answers={"d": ["cider", "bleu"]})
