"""pairs: two rendered images of coloured shapes, and questions that one of them answers.

Five tasks: which image has more, fewer or not more of something, which has something, and which does not. An
item has both images, left and right; a template with `images: joined` shows them side by side. For each
image, `exchange` has another that changes the answer when it replaces that image, if there is one.
"""

import random
from collections.abc import Iterator
from dataclasses import replace

from vouch.datasets.raw import RawItem
from vouch.datasets.read.files import SourceFiles
from vouch.datasets.read.scenes import SceneSettings, check_source, count_items, draw, drawn_item
from vouch.demo.scenes.questions import PAIR_TASKS, SIDES, Question, make_pair_question, winner
from vouch.demo.scenes.scene import Pair, draw_half, draw_pair, png, render

_TRIES = 30

Settings = SceneSettings
count = count_items


def read(source: SourceFiles, name: str, settings: Settings) -> Iterator[RawItem]:
    check_source(source.path, name)
    for drawn in draw("pairs", settings.seed, settings.items, PAIR_TASKS, _pair, make_pair_question):
        pair = drawn.seen
        images = (png(render(pair.left)), png(render(pair.right)))
        for index, question in drawn.questions:
            fields = {"options": SIDES, "answers": (SIDES.index(question.answer),), "images": images}
            item = drawn_item(name, drawn, index, question, settings, what="pair", **fields)
            exchange = tuple(_exchange(drawn.rng, pair, question, side) for side in ("left", "right"))
            yield replace(item, exchange=exchange)


def _pair(rng: random.Random) -> Pair:
    return draw_pair(rng, "test")


def _exchange(rng: random.Random, pair: Pair, question: Question, side: str) -> bytes | None:
    """An image that, if shown on this side, makes the other side the answer; None if there is none.

    There may be none: if an image has no star, no change of the other image gives it one; and nothing is
    fewer than zero.
    """
    if question.task in ("has", "has_not"):
        return None
    (other,) = question.wrong
    for _ in range(_TRIES):
        half = draw_half(rng, "test")
        if winner(question.task, question.subject, replace(pair, **{side: half})) == other:
            return png(render(half))
    return None
