"""Pairs of pictures: questions judged by rules written apart from the makers, and what they look like."""

import random
from collections import Counter

import numpy as np
import pytest

from vouch.demo.scenes.questions import PAIR_TASKS, SIDES, Question, make_pair_question, winner
from vouch.demo.scenes.scene import (
    HALF_FEWEST,
    HALF_MOST,
    Pair,
    Scene,
    Thing,
    draw_half,
    draw_pair,
    render,
    render_pair,
)


def named(scene: Scene, subject: str) -> int:
    """How many things of a scene a subject names: stars, objects, red objects, star, red object, red star."""
    first, *rest = subject.split()
    if not rest:
        return sum(first in ("objects", t.shape, t.shape + "s") for t in scene.things)
    return sum(t.colour == first and rest[0] in ("object", "objects", t.shape) for t in scene.things)


def questions(task: str, count: int = 300) -> list[tuple[Pair, Question]]:
    rng = random.Random(f"test/{task}")
    pairs = (draw_pair(rng, "train") for _ in range(20 * count))
    return [(p, question) for p in pairs if (question := make_pair_question(rng, p, task))][:count]


@pytest.mark.parametrize("task", PAIR_TASKS)
def test_exactly_one_side_answers(task: str) -> None:
    made = questions(task)
    assert len(made) == 300
    for pair, question in made:
        left, right = named(pair.left, question.subject), named(pair.right, question.subject)
        if task in ("has", "has_not"):
            left, right = left > 0, right > 0
        assert left != right
        best = "Left" if left > right else "Right"
        expected = best if task in ("more", "has") else SIDES[best == "Left"]
        assert question.answer == expected and (question.answer, *question.wrong) in (SIDES, SIDES[::-1])
    answers = Counter(question.answer for _, question in made)
    assert max(answers.values()) < 0.6 * len(made)
    assert len({question.subject for _, question in made}) > 8


def test_both_pictures_or_none_answer_nothing() -> None:
    star, circle = (Thing(shape, "red", 0, 0, 8.0, 8.0, 6.0) for shape in ("star", "circle"))
    pair = Pair(*(Scene((thing,), (255, 255, 255), 2) for thing in (star, circle)))
    assert winner("more", "objects", pair) is None and winner("has", "red object", pair) is None
    assert winner("has", "square", pair) is None
    assert (winner("has", "star", pair), winner("has_not", "star", pair)) == ("Left", "Right")
    assert (winner("less", "circles", pair), winner("more_not", "circles", pair)) == ("Left", "Left")


def test_something_can_be_asked_about_every_pair() -> None:
    rng = random.Random(3)
    for _ in range(400):
        pair = draw_pair(rng, "train")
        assert any(make_pair_question(rng, pair, task) for _ in range(60) for task in PAIR_TASKS)


def test_halves_are_of_the_space_and_share_no_layout_with_others() -> None:
    rng = random.Random(0)
    for space in ("train", "dev", "test"):
        for _ in range(50):
            half = draw_half(rng, space)
            assert half.space == space and HALF_FEWEST <= len(half.things) <= HALF_MOST
            assert {thing.column for thing in half.things} <= {0, 1}


def test_the_picture_of_a_pair_is_its_pictures_side_by_side() -> None:
    pair = draw_pair(random.Random(1), "train")
    whole = np.asarray(render_pair(pair))
    assert whole.shape == (64, 64, 3)
    assert np.array_equal(whole[:, :32], np.asarray(render(pair.left)))
    assert np.array_equal(whole[:, 32:], np.asarray(render(pair.right)))
