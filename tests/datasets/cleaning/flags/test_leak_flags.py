import pytest

from vouch.datasets.cleaning.flags.leaks import leaks


@pytest.mark.parametrize(
    ("question", "options"),
    [
        ("Which material is this magnifying glass made of?", ["glass", "clay"]),
        ("The Eiffel Tower in Paris: which tower is this?", ["Eiffel Tower", "Big Ben"]),
        ("What is the photosynthesis shown here called?", ["Photosynthesis.", "respiration", "growth"]),
    ],
)
def test_leaks(question, options):
    assert leaks(question, options, [0])


@pytest.mark.parametrize(
    ("question", "options"),
    [
        ("Is there a yes on the sign?", ["yes", "no"]),
        ("Which is larger, an elephant or a mouse?", ["an elephant", "a mouse"]),
        ("What colour is the car beside the red van?", ["red", "blue"]),
        ("How many of the 3 boxes are open?", ["3", "2"]),
        ("How many of the three boxes are open?", ["three", "two"]),
        ("Are the two jars the same shape?", ["same", "Not the same"]),
        ("Which light is brighter?", ["the bright light", "the dim light"]),
        ("Which of these does she see in a mirror?", ["A", "B"]),
        ("What is left of the man on the left side?", ["on the left side", "on the right side"]),
        ("What does the glassware hold?", ["glass", "clay"]),
        ("Is this an elephant?", ["It is an elephant", "It is a mouse"]),
        ("What is it?", ["42", "$10$"]),
    ],
)
def test_does_not_leak(question, options):
    assert not leaks(question, options, [0])


def test_open_questions_and_several_answers_have_no_one_answer_to_leak():
    assert not leaks("An elephant", [], [])
    assert not leaks("An elephant", ["elephant", "mouse"], [0, 1])
