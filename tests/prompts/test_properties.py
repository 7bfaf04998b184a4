"""What holds of variations whatever the item: turned twice is as before, an order changes no answer."""

from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.prompts.rows import item_rows, template_of
from vouch.prompts.combination import load_variation
from vouch.prompts.draft import Draft, Item, start
from vouch.prompts.template import Template
from vouch.prompts.variations import declared
from vouch.tables.asked import KEPT, SWAPPED

STYLE_NAMES = (
    "kostumov",
    "kostumov_joined",
    "parc",
    "azad_mathvision",
    "reform_vqa",
    "reform_vqa_likelihood",
)
NAMES = sorted(set(declared()) - {"p_true"})  # only beside `original`; see test_conversation.py
ORDERS = ("option_order", "circular", "shuffled", "tests", "labels", "option_order+labels", "circular+labels")
REWRITES = {kind: f"{kind} of it?" for kind in ("lr_i", "lr_c", "lr_v", "ls_n", "ls_a", "ls_m")}

texts = st.text(st.sampled_from("ab {}<image 1>.\n"), max_size=8)  # with all that a layout could trip over


@cache
def template(name: str) -> Template:
    return template_of(name)


@st.composite
def items(draw: st.DrawFn, least: int = 0, most: int = 6) -> Item:
    """Any item: equal options, several answers or none, marks and braces in its words."""
    options = draw(st.lists(texts, min_size=least, max_size=most))
    places = range(len(options))
    answers = draw(st.lists(st.sampled_from(places), unique=True).map(sorted)) if options else []
    images = draw(st.lists(st.sampled_from("uvw"), max_size=3))
    exchange = draw(st.sampled_from([(), tuple("x" if k else None for k in range(len(images)))]))
    kind = "choice" if options else "text"
    question, hint = draw(texts.filter(bool)), draw(st.none() | texts)
    return Item(
        *(draw(st.sampled_from(["i", "j", "long/id"])), "g", question, hint),
        *(tuple(options), tuple(answers), tuple(images), kind),
        exchange=exchange,
        rewrites=REWRITES,
        index=draw(st.integers(0, 9)),
    )


@st.composite
def pairs(draw: st.DrawFn) -> Item:
    """An item whose options name its two pictures."""
    sides = draw(
        st.sampled_from([("Left", "Right"), ("the second", "the first"), ("<image 1>", "<image 2>")])
    )
    answers = (draw(st.integers(0, 1)),)
    return Item("p", "g", "Which?", None, sides, answers, ("u", "v"), "choice", exchange=("x", "y"))


def rows(name: str, item: Item, look: Template) -> list[dict[str, Any]]:
    return list(item_rows(item, [load_variation(name)], look, "own", 7, before={}))


def again(name: str, item: Item, look: Template) -> Iterator[tuple[Draft, list[Draft]]]:
    """What a variation makes of an item, and what it makes of that."""
    (part,) = load_variation(name).parts
    for once in load_variation(name).drafts(item, look)[0]:
        made = part.vary(once)
        assert made is not None
        yield once, [made] if isinstance(made, Draft) else list(made)


@given(pairs(), st.sampled_from(STYLE_NAMES))
def test_swapped_twice_is_as_before(item: Item, name: str) -> None:
    first = start(item, template(name), "vs_s")
    for once, (twice,) in again("vs_s", item, template(name)):
        assert twice == first != once
        assert [image.image for image in once.images] == ["v", "u"]
    variation = load_variation("vs_s")
    assert variation.effect == SWAPPED
    turned = variation.answers(item)
    assert turned == (1 - item.answers[0],)
    assert variation.answers(replace(item, answers=turned)) == item.answers


@given(items(least=2), st.sampled_from(STYLE_NAMES))
def test_an_order_and_its_inverse_is_the_first_order(item: Item, name: str) -> None:
    first = tuple(range(len(item.options)))
    for once, (twice,) in again("option_order", item, template(name)):
        assert twice.order == first == once.order[::-1]
    rotations = list(again("circular", item, template(name)))
    assert {once.order for once, _ in rotations} == {first[k:] + first[:k] for k in first}
    for place, (_, back) in enumerate(rotations):
        assert back[-place % len(first)].order == first


@given(items(), st.sampled_from(STYLE_NAMES), st.sampled_from(ORDERS))
def test_orders_and_marks_change_no_answer(item: Item, look: str, name: str) -> None:
    originals = rows("original", item, template(look))
    for row in rows(name, item, template(look)):
        own = [index for index in row["order"] if index >= 0]
        kept = {item.options[index] for index in range(len(item.options))}
        assert len(set(own)) == len(own) and {item.options[index] for index in own} == kept
        assert sorted(row["order"][place] for place in row["answers"]) == list(item.answers)
        shown = dict(zip(originals[0]["order"], originals[0]["options"], strict=True))
        if template(look).images != "interleaved":
            assert row["options"] == [shown[index] for index in row["order"]]
        assert [index for index in row["order"] if index < 0] == [index for index in shown if index < 0]
        assert row["images"] == originals[0]["images"]


@given(pairs(), st.sampled_from(STYLE_NAMES), st.sampled_from(["ls_n", "ls_a", "ls_m"]))
def test_two_that_turn_the_answer_turn_it_back(item: Item, look: str, kind: str) -> None:
    asked = replace(item, rewrites=REWRITES)
    (both,), (words,), (sides,) = (
        rows(name, asked, template(look)) for name in (f"{kind}+vs_s", kind, "vs_s")
    )
    (plain,) = rows("original", asked, template(look))
    assert both["answers"] == plain["answers"] and words["answers"] == sides["answers"] != plain["answers"]
    assert (both["text"], both["images"]) == (words["text"], sides["images"])


@given(items(), st.sampled_from(STYLE_NAMES), st.sampled_from(NAMES))
def test_what_every_prompt_holds_to(item: Item, look: str, name: str) -> None:
    """Only an item's own options are ever correct, as many as its effect says, and each prompt has its own
    id."""
    made = rows(name, item, template(look))
    others = tuple(index for index in range(len(item.options)) if index not in item.answers)
    for row in made:
        correct = sorted(row["order"][place] for place in row["answers"])
        assert correct == list(item.answers if row["effect"] == KEPT else others)
        assert len(row["options"]) == len(row["order"])
        assert row["labels"] == [] or len(row["labels"]) == len(set(row["labels"])) == len(row["options"])
    assert len({row["id"] for row in made}) == len(made)
    assert made == rows(name, item, template(look)), "randomness comes from the item's id alone"
