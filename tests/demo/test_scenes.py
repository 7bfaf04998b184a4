"""Scenes, pairs, questions and dialogues: equal from the same seed, in disjoint spaces, with correct answers.

Answers are judged by rules that are written here a second time.
"""

import io
import os
import random
import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from vouch.demo.scenes.phrasings import HELD_OUT, TRAINED
from vouch.demo.scenes.questions import (
    CHOICE_TASKS,
    CORNERS,
    LATER_TASKS,
    NUMBERS,
    OPEN_TASKS,
    PAIR_TASKS,
    SIDES,
    TURNS,
    Question,
    choices,
    corner,
    make_dialogue,
    make_pair_question,
    make_question,
    winner,
    wording,
)
from vouch.demo.scenes.scene import (
    CELL,
    COLOURS,
    FEWEST,
    HALF_FEWEST,
    HALF_MOST,
    MOST,
    SHAPES,
    SIZE,
    Pair,
    Scene,
    Thing,
    draw_half,
    draw_pair,
    draw_scene,
    png,
    render,
    render_pair,
)

ROOT = Path(__file__).parents[2]
SPACES = ("train", "dev", "test")
DIGEST = """
import hashlib, random
from vouch.demo.scenes.scene import draw_scene, png, render
rng = random.Random("same")
print(hashlib.sha256(b"".join(png(render(draw_scene(rng, "train"))) for _ in range(20))).hexdigest())
"""


def layout(scene: Scene) -> frozenset[tuple[int, int, str]]:
    return frozenset((thing.column, thing.row, thing.name) for thing in scene.things)


def test_same_seed_same_bytes_in_every_process() -> None:
    def run(hash_seed: str) -> str:
        environment = {**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": str(ROOT)}
        command = [sys.executable, "-c", DIGEST]
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout

    assert len(run("1")) == 65 and run("1") == run("2")


def test_draws_are_those_of_the_first_release() -> None:
    scene = draw_scene(random.Random("golden"), "test")
    drawn = [
        (t.column, t.row, t.name, round(t.x, 3), round(t.y, 3), round(t.radius, 3)) for t in scene.things
    ]
    assert drawn == [
        (1, 3, "yellow circle", 23.338, 56.748, 4.103),
        (3, 3, "green star", 56.845, 57.016, 4.004),
    ]


def test_spaces_share_no_layout_and_keep_their_shares() -> None:
    rng = random.Random(0)
    drawn = {space: {layout(draw_scene(rng, space)) for _ in range(300)} for space in SPACES}
    assert not drawn["train"] & drawn["dev"] | drawn["train"] & drawn["test"] | drawn["dev"] & drawn["test"]
    train = [draw_scene(rng, "train") for _ in range(50)]
    # The space hangs on the layout alone: another background is no way from one space into another.
    assert {Scene(scene.things, (255, 255, 255)).space for scene in train} == {"train"}


def test_things_stand_in_cells_of_their_own() -> None:
    rng = random.Random(1)
    scenes = [draw_scene(rng, "train") for _ in range(300)]
    for scene in scenes:
        assert FEWEST <= len(scene.things) <= MOST
        cells = [(thing.column, thing.row) for thing in scene.things]
        assert cells == sorted(set(cells), key=lambda cell: cell[::-1])
        assert all((int(t.x // CELL), int(t.y // CELL)) == (t.column, t.row) for t in scene.things)
    assert len(Counter(thing.name for scene in scenes for thing in scene.things)) == len(SHAPES) * len(
        COLOURS
    )


def test_pixels_show_the_scene() -> None:
    rng = random.Random(2)
    for _ in range(50):
        scene = draw_scene(rng, "train")
        image = render(scene)
        assert (image.size, image.mode) == ((SIZE, SIZE), "RGB")
        taken = {(thing.column, thing.row) for thing in scene.things}
        for thing in scene.things:
            assert image.getpixel((int(thing.x), int(thing.y))) == COLOURS[thing.colour]
        for column, row in {(c, r) for c in range(4) for r in range(4)} - taken:
            centre = (column * CELL + CELL // 2, row * CELL + CELL // 2)
            assert image.getpixel(centre) == scene.background


def test_shapes_differ_in_pixels() -> None:
    """Of one size, a star covers least and a square most."""

    def covered(shape: str) -> int:
        image = render(Scene((Thing(shape, "black", 1, 1, 24.0, 24.0, 6.0),), (255, 255, 255)))
        return sum(value < 128 for value in image.convert("L").tobytes())

    areas = {shape: covered(shape) for shape in SHAPES}
    assert len(set(areas.values())) == len(SHAPES)
    assert abs(areas["circle"] - 3.1416 * 36) < 10 and abs(areas["square"] - 11.5**2) < 15


def test_png_keeps_the_pixels() -> None:
    image = render(draw_scene(random.Random(3), "dev"))
    again = Image.open(io.BytesIO(png(image)))
    assert again.format == "PNG" and again.tobytes() == image.tobytes() and not again.info


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
    assert make_dialogue(random.Random(0), scene) is None
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


def test_answers_are_right_and_nothing_else_on_offer_is() -> None:
    rng = random.Random(0)
    made = [(s, d) for s in (draw_scene(rng, "train") for _ in range(400)) if (d := make_dialogue(rng, s))]
    assert len(made) > 300
    for scene, dialogue in made:
        first, place, number = dialogue
        assert len(dialogue) == TURNS and (place.task, number.task) == LATER_TASKS
        asked, named = ("colour", "shape") if first.subject in SHAPES else ("shape", "colour")
        (thing,) = [t for t in scene.things if getattr(t, named) == first.subject]
        assert first.answer == getattr(thing, asked) and number.subject == asked
        assert place.answer == ("top" if thing.y < 32 else "bottom") + (" left" if thing.x < 32 else " right")
        alike = [t for t in scene.things if getattr(t, asked) == first.answer]
        assert number.answer == NUMBERS[len(alike)]
        for question in dialogue:
            assert question.answer not in question.wrong and len(set(question.wrong)) >= 3


def test_later_turns_do_not_name_the_thing() -> None:
    rng = random.Random(1)
    for _ in range(300):
        dialogue = make_dialogue(rng, draw_scene(rng, "train"))
        for question in dialogue[1:] if dialogue else ():
            for table in (TRAINED, HELD_OUT):
                text = wording(rng, question, table)
                assert dialogue[0].subject not in text and dialogue[0].answer not in text.split()


def named(scene: Scene, subject: str) -> int:
    """How many things of a scene a subject names: stars, objects, red objects, star, red object, red star."""
    first, *rest = subject.split()
    if not rest:
        return sum(first in ("objects", t.shape, t.shape + "s") for t in scene.things)
    return sum(t.colour == first and rest[0] in ("object", "objects", t.shape) for t in scene.things)


def pair_questions(task: str, count: int = 300) -> list[tuple[Pair, Question]]:
    rng = random.Random(f"test/{task}")
    pairs = (draw_pair(rng, "train") for _ in range(20 * count))
    return [(p, question) for p in pairs if (question := make_pair_question(rng, p, task))][:count]


@pytest.mark.parametrize("task", PAIR_TASKS)
def test_exactly_one_side_answers(task: str) -> None:
    made = pair_questions(task)
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


def test_both_images_or_none_answer_nothing() -> None:
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


def test_the_image_of_a_pair_is_its_images_side_by_side() -> None:
    pair = draw_pair(random.Random(1), "train")
    whole = np.asarray(render_pair(pair))
    assert whole.shape == (64, 64, 3)
    assert np.array_equal(whole[:, :32], np.asarray(render(pair.left)))
    assert np.array_equal(whole[:, 32:], np.asarray(render(pair.right)))
