"""Small parts: words, bins, labels, ranges, look-ups."""

from itertools import combinations

import numpy as np
import pytest

from vouch.report import formatting
from vouch.report.evidence import Number, Pair
from vouch.report.pages.models import CHARACTER, place_labels
from vouch.report.table import MISSING, figure, ranges
from vouch.report.table_files import bins


def test_numbers_in_words() -> None:
    assert formatting.number(-0.001, 2) == "0.00"
    assert formatting.number(-1.5, 1) == "\u22121.5"
    assert formatting.percent(0.8374) == "83.7\u202f%"
    assert formatting.span(0.1, 0.2, 1, 100) == "10.0–20.0"
    assert formatting.span(-0.1, 0.2, 1) == "\u22120.1 to 0.2"
    assert formatting.bracketed(None, 1.0, 1) == ""
    assert formatting.plural(1, "item") == "1 item"
    assert formatting.plural(4377, "category", "categories") == "4,377 categories"
    assert formatting.ranks(1, 3) == "1–3"
    assert formatting.ranks(2, 2) == "2"


def test_lists_in_words() -> None:
    assert formatting.listed([]) == "none"
    assert formatting.listed(["a"]) == "a"
    assert formatting.listed(["a", "b", "c"]) == "a, b and c"
    assert formatting.listed(list("abcdefg"), 4) == "a, b, c, d and 3 more"
    assert formatting.listed(list("abcde"), 4) == "a, b, c, d and e"


def test_bins_against_counting_by_hand() -> None:
    confidence = np.array([0.05, 0.5, 0.55, 0.999, 1.0])
    correct = np.array([False, True, False, True, False])
    table = bins(confidence, correct, 10)
    assert table["bin"].tolist() == [0, 5, 9]
    assert table["answers"].tolist() == [1, 2, 2]
    assert table["accuracy"].tolist() == [0.0, 0.5, 0.5]
    assert table["confidence"].tolist() == pytest.approx([0.05, 0.525, 0.9995])
    # Wilson's interval for one success in two, computed from its closed form.
    assert table["low"][1] == pytest.approx(0.0945312, abs=1e-6)
    assert table["high"][1] == pytest.approx(0.9054688, abs=1e-6)
    assert table["low"][0] == pytest.approx(0, abs=1e-12)


def test_labels_cover_neither_points_nor_one_another() -> None:
    generator = np.random.default_rng(1)
    points = [(float(x), float(y)) for x, y in generator.uniform((60, 20), (460, 380), (25, 2))]
    names = [f"model_{number}" for number in range(25)]
    placed = place_labels(points, names, (520, 400))
    boxes = []
    for name, label in zip(names, placed, strict=True):
        if label is None:
            continue
        width = len(name) * CHARACTER * 11
        left = label.x if label.align == "left" else label.x - width
        boxes.append((left, label.y - 5, left + width, label.y + 5))
    assert len(boxes) >= 23
    for a, b in combinations(boxes, 2):
        assert a[2] <= b[0] or b[2] <= a[0] or a[3] <= b[1] or b[3] <= a[1]
    for box in boxes:
        assert not any(box[0] < x < box[2] and box[1] < y < box[3] for x, y in points)
    assert placed == place_labels(points, names, (520, 400))


def test_a_label_that_fits_nowhere_is_left_out() -> None:
    assert place_labels([(5, 5)], ["far_too_long_a_name"], (10, 10)) == [None]


def test_ranges_share_one_scale() -> None:
    low, high = Number(0.5, 0.4, 0.6, 9, 1, 1, 1), Number(0.9, 0.8, 1.0, 9, 1, 1, 1)
    drawn = ranges([low, None, high])
    assert drawn[1] is None
    assert drawn[0] is not None and (drawn[0].low, drawn[0].high) == (0, pytest.approx(33.33))
    assert drawn[2] is not None and drawn[2].high == 100
    assert ranges([low]) == [None]


def test_a_missing_number_is_a_dash() -> None:
    assert figure(None, 1) is MISSING
    assert figure(Number(0.5, None, None, 9, None, None, None), 1, 100).note == ""


def test_a_pair_read_backwards() -> None:
    pair = Pair(0.2, 0.1, 0.3, 0.01, 9)
    assert pair.reversed() == Pair(-0.2, -0.3, -0.1, 0.01, 9)
    assert pair.reversed().reversed() == pair
