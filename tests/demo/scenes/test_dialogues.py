"""Dialogues: all turns are about the thing that the first one names."""

import random

from vouch.demo.scenes.phrasings import HELD_OUT, TRAINED
from vouch.demo.scenes.questions import LATER_TASKS, NUMBERS, TURNS, make_dialogue, wording
from vouch.demo.scenes.scene import SHAPES, Scene, Thing, draw_scene


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


def test_an_ambiguous_scene_hosts_none() -> None:
    twins = tuple(Thing("star", "red", column, 0, 16.0 * column + 8, 8.0, 6.0) for column in (0, 3))
    assert make_dialogue(random.Random(0), Scene(twins, (255, 255, 255))) is None
