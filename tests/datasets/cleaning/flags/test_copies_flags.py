import pytest

from vouch.datasets.cleaning.duplicates import Copies, default_group


def flags(rows):
    copies = Copies()
    for row in rows:
        copies.add(row)
    return copies.flags()


def row(options, answer, question="Which?", images=("p",), group="g", hint=None):
    names = {"id": "q", "question": question, "images": list(images), "group": group, "hint": hint}
    return {**names, "options": options, "answers": [answer], "references": []}


def test_rotated_and_repeated():
    rows = [row(["x", "y", "z"], 0), row(["z", "x", "y"], 1), row(["x", "y", "z"], 0), row(["y", "x"], 0)]
    assert flags(rows) == {
        0: {"circular_copy", "repeated_item"},
        1: {"circular_copy"},
        2: {"circular_copy", "repeated_item"},
    }


def test_copies_may_be_filled_up_with_different_distractors():
    assert flags([row(["x", "y", "n"], 0), row(["y", "x", "m"], 1)]) == {
        0: {"circular_copy"},
        1: {"circular_copy"},
    }


def test_another_picture_question_hint_or_answer_is_another_item():
    first = row(["x", "y"], 0)
    others = [
        row(["y", "x"], 1, images=("q",)),
        row(["y", "x"], 1, question="What?"),
        row(["y", "x"], 1, hint="see"),
        row(["y", "x"], 0),
    ]
    assert flags([first, *others]) == {}


@pytest.mark.parametrize(
    "question",
    ["Tom\u200b and Jerry?", "Tom  and Jerry?\n", "Tom ａｎｄ Jerry？", "&#84;om and Jerry&quest;"],
)
def test_what_a_person_reads_as_the_same_is_a_copy(question):
    rows = [row(["x & y", "z"], 0, question="Tom and Jerry?"), row(["x &amp; y", "z"], 0, question=question)]
    assert flags(rows) == {0: {"repeated_item"}, 1: {"repeated_item"}}
    assert flags([rows[0], {**rows[1], "options": ["z", "x & y"], "answers": [1]}])[0] == {"circular_copy"}


def test_copies_in_two_groups():
    assert flags([row(["x", "y"], 0), row(["y", "x"], 1, group="h")]) == {
        0: {"circular_copy", "copies_apart"},
        1: {"circular_copy", "copies_apart"},
    }


def test_without_pictures_only_a_group_of_the_source_counts():
    pair = [row(["x", "y"], 0, images=()), row(["y", "x"], 1, images=())]
    assert flags(pair) == {0: {"circular_copy"}, 1: {"circular_copy"}}
    group = default_group("q", ())
    assert flags([{**item, "group": group} for item in pair]) == {}


def test_options_without_a_text_are_told_by_their_places():
    assert flags([row(["", ""], 0), row(["", ""], 1)]) == {}
    assert flags([row(["", ""], 1), row(["", ""], 1)]) == {0: {"repeated_item"}, 1: {"repeated_item"}}
