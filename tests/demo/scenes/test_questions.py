"""Questions against the scenes they are about, judged by rules written apart from the makers."""

import random

import pytest

from vouch.demo.scenes.phrasings import HELD_OUT, TRAINED
from vouch.demo.scenes.questions import (
    CHOICE_TASKS,
    CORNERS,
    LATER_TASKS,
    NUMBERS,
    OPEN_TASKS,
    PAIR_TASKS,
    Question,
    choices,
    corner,
    make_question,
    wording,
)
from vouch.demo.scenes.scene import COLOURS, SHAPES, Scene, Thing, draw_scene

TASKS = sorted({*CHOICE_TASKS, *OPEN_TASKS})


def truths(scene: Scene, task: str, subject: str) -> set[str]:
    """Every text that answers the question rightly."""
    things = scene.things
    if task == "colour":
        return {t.colour for t in things if t.shape == subject}
    if task == "shape":
        return {t.shape for t in things if t.colour == subject}
    if task == "count":
        words = subject.split()
        matching = [
            t
            for t in things
            if words == ["objects"]
            or words[0] == t.shape + "s"
            or (words[0] == t.colour and words[1] == "objects")
        ]
        return {NUMBERS[len(matching)]}
    if task == "position":
        places = [t for t in things if t.name == subject]
        return {("top" if t.y < 32 else "bottom") + (" left" if t.x < 32 else " right") for t in places}
    seen = {t.name for t in things}
    if task == "exist":
        return seen
    if task == "exist_not":
        return {f"{c} {s}" for c in COLOURS for s in SHAPES} - seen
    return {"yes" if subject in seen else "no"}


def questions(task: str, count: int = 300) -> list[tuple[Scene, Question]]:
    rng = random.Random(f"test/{task}")
    scenes = (draw_scene(rng, "train") for _ in range(20 * count))
    made = [(scene, question) for scene in scenes if (question := make_question(rng, scene, task))]
    return made[:count]


@pytest.mark.parametrize("task", TASKS)
def test_the_answer_is_right_and_nothing_else_on_offer_is(task: str) -> None:
    made = questions(task)
    assert len(made) == 300
    for scene, question in made:
        right = truths(scene, task, question.subject)
        assert question.task == task and question.answer in right
        assert not right & set(question.wrong)
        assert len(set(question.wrong)) == len(question.wrong)
        if task in ("colour", "shape", "count", "position"):
            assert len(right) == 1


@pytest.mark.parametrize("task", TASKS)
def test_no_answer_stands_out(task: str) -> None:
    """Whoever always gives the commonest answer of a task is right in at most half of the cases."""
    answers = [question.answer for _, question in questions(task)]
    assert max(answers.count(answer) for answer in answers) <= 0.55 * len(answers)


@pytest.mark.parametrize("task", CHOICE_TASKS)
@pytest.mark.parametrize("count", [2, 3, 4])
def test_choices(task: str, count: int) -> None:
    rng = random.Random(5)
    places = set()
    for _, question in questions(task, 60):
        options, answer = choices(rng, question, count)
        assert len(options) == len(set(options)) == count
        assert options[answer] == question.answer
        places.add(answer)
    assert places == set(range(count))


def test_ambiguous_scenes_are_refused() -> None:
    twins = tuple(Thing("star", "red", column, 0, 16.0 * column + 8, 8.0, 6.0) for column in (0, 3))
    scene = Scene(twins, (255, 255, 255))
    for task in ("colour", "shape", "position", "exist_not"):
        assert make_question(random.Random(0), scene, task) is None
    assert make_question(random.Random(0), scene, "exist").answer == "red star"


def test_every_task_has_both_kinds_of_wording_and_they_are_disjoint() -> None:
    assert set(TRAINED) == set(HELD_OUT) == {*TASKS, *PAIR_TASKS, *LATER_TASKS}
    trained = {text for texts in TRAINED.values() for text in texts}
    held_out = {text for texts in HELD_OUT.values() for text in texts}
    assert not trained & held_out
    assert len(trained) == sum(map(len, TRAINED.values())) and all(map(len, HELD_OUT.values()))


@pytest.mark.parametrize("table", [TRAINED, HELD_OUT])
@pytest.mark.parametrize("task", TASKS)
def test_wordings_name_the_subject(task: str, table: dict[str, tuple[str, ...]]) -> None:
    rng = random.Random(0)
    _, question = questions(task, 1)[0]
    texts = {wording(rng, question, table) for _ in range(200)}
    assert len(texts) == len(table[task])
    assert all(question.subject in text and "{" not in text for text in texts)


def test_corners_are_in_reading_order() -> None:
    assert [corner(0, 1), corner(3, 0), corner(1, 2), corner(2, 3)] == list(CORNERS)
