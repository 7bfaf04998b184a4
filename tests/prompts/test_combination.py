"""Combinations: what two variations do to an item together, and to its answers."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.refusals import refused
from vouch.prompts.combination import Variation, VariationPart, combined, load_variation
from vouch.prompts.draft import Draft, Item
from vouch.prompts.template import Template
from vouch.prompts.variations import Declaration, declared
from vouch.tables.asked import EFFECTS, KEPT, OWN, SWAPPED

STYLE = Template(body="{hint}{question}\n{options}", hint="{hint}\n", option="{label}. {text}")
NAMES = declared()


def turning(*effects: str) -> Variation:
    """A variation of parts that do nothing but say what they do to the answers."""
    parts = [
        VariationPart(Declaration(f"p{n}", changes=(), effect=effect, vary=lambda draft: draft), None)
        for n, effect in enumerate(effects)
    ]
    return Variation("+".join(part.name for part in parts), tuple(parts))


def item(options: int, answers: Sequence[int]) -> Item:
    return Item("q", "g", "?", None, tuple(f"o{n}" for n in range(options)), tuple(answers), ("d",), "choice")


effects = st.lists(st.sampled_from([one for one in EFFECTS if one != OWN]), max_size=4)


@given(effects, st.data())
def test_effects_multiply(found: list[str], data: st.DataObject) -> None:
    options = data.draw(st.integers(1, 6))
    answers = data.draw(st.lists(st.integers(0, options - 1), unique=True).map(sorted))
    given_, turned = item(options, answers), turning(*found)
    others = [index for index in range(options) if index not in answers]
    after = turned.answers(given_)
    turns = sum(effect != KEPT for effect in found)
    if turns and (not answers or not others or (SWAPPED in found and options != 2)):
        assert after is None
    else:
        assert list(after or ()) == (answers if turned.effect == KEPT else others)
        assert (turned.effect == KEPT) == (turns % 2 == 0)
    assert {combined(order) for order in permutations(found)} == {turned.effect}


@given(effects, effects)
def test_effects_of_effects(one: list[str], other: list[str]) -> None:
    assert (combined([combined(one), combined(other)]) == KEPT) == (combined([*one, *other]) == KEPT)


SIDES = Item("q", "g", "Which?", "h", ("Left", "Right"), (0,), ("l", "r"), "choice", exchange=("x", None))


@pytest.mark.parametrize("one", NAMES)
def test_every_two_files_combine_or_say_why_not(one: str) -> None:
    """Two that change different things do not see each other: their order changes nothing but the name."""

    def nameless(found: tuple[list[Draft], bool]) -> tuple[list[dict[str, object]], bool]:
        drafts = [{**draft._asdict(), "variation": "", "item": vars(draft.item)} for draft in found[0]]
        return drafts, found[1]

    (first,) = load_variation(one).parts
    for other in NAMES:
        (second,) = load_variation(other).parts
        apart = (
            not set(first.declaration.parts) & set(second.declaration.parts)
            and first.declaration.parts
            and second.declaration.parts
        )
        turned = "turns" in (*first.declaration.parts, *second.declaration.parts) and {
            first.declaration.effect,
            second.declaration.effect,
        } != {KEPT}
        if not apart or turned:
            with refused(rf"^variation {one}\+{other}: "):
                load_variation(f"{one}+{other}")
            continue
        there, back = load_variation(f"{one}+{other}"), load_variation(f"{other}+{one}")
        assert there.effect == back.effect == combined([first.declaration.effect, second.declaration.effect])
        assert there.same_as == back.same_as
        assert nameless(there.drafts(SIDES, STYLE)) == nameless(back.drafts(SIDES, STYLE))


def test_a_variation_changes_no_more_than_it_says() -> None:
    """What a draft holds, by the part that stands for it."""
    last = replace(SIDES, id="p", goes_on=True)
    source = replace(SIDES, turns=(last,))

    def parts(draft: Draft) -> dict[str, object]:
        return {
            "words": (draft.item.question, draft.item.hint, draft.item.options),
            "images": draft.images,
            "order": draft.order,
            "turns": (draft.turns, draft.earlier),
            "template": draft.template,
            "nothing": (draft.item.id, draft.item.answers, draft.item.images, draft.asked),
        }

    (plain,), _ = load_variation("original").drafts(source, STYLE)
    seen = 0
    for name in NAMES:
        variation = load_variation(name)
        (part,) = variation.parts
        for draft in variation.drafts(source, STYLE)[0]:
            changed = {key for key, value in parts(draft).items() if value != parts(plain)[key]}
            assert changed <= set(part.declaration.parts), name
            seen += bool(changed)
    assert seen > len(NAMES) / 2


def test_drafts_are_numbered_where_one_part_makes_several() -> None:
    variation = load_variation("vr_b+circular")
    drafts, numbered = variation.drafts(SIDES, STYLE)
    assert numbered and [draft.order for draft in drafts] == [(0, 1), (1, 0)]
    assert all(draft.images[0].steps for draft in drafts)
    assert load_variation("vr_b").drafts(SIDES, STYLE)[1] is False
