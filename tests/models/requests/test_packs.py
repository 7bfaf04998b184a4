"""Packs and keys, and image recipes that no stage of this project wrote."""

from collections.abc import Sequence
from typing import Any

import pytest

from tests.models.project import image, prompt, recipe
from tests.refusals import refused
from vouch.images.opening import render
from vouch.models.config import BeamSearch, ExtractConfig, Sampling
from vouch.models.packs import PACK_PROMPTS, KeyedPack, Keys, groups
from vouch.models.replies import OwnReply
from vouch.tables.asked import LETTERS, LIKELIHOOD, TEXT

CONFIG = ExtractConfig(batch=4, bucket=8, threads=1)
BASE: dict[str, Any] = {"pin": "p", "engine": "e/1.1", "settings": {"batch": 4}}
ALL = (LETTERS, LIKELIHOOD, TEXT)


def row(id: str, text: str = "what", **columns: Any) -> dict[str, Any]:
    made = prompt(id, text, **{"outputs": ALL, **columns})
    return {"system": None, "response": None, "max_tokens": 5, "row": 0, **made}


def packs(
    rows: Sequence[dict[str, Any]], config: ExtractConfig = CONFIG, **replies: OwnReply | None
) -> list[KeyedPack]:
    keys = Keys(BASE, config)
    return [pack for group in groups(rows, replies, keys) for pack in group]


def key(output: str, base: dict[str, Any] = BASE, config: ExtractConfig = CONFIG, **columns: Any) -> bytes:
    wanted = Keys(base, config).pack(output, [{**row("q1/original"), **columns}])
    return wanted.members[0].keys[0]


def test_a_beam_search_is_part_of_the_keys_of_greedy_texts_alone() -> None:
    rows = [row("q1/original", outputs=ALL)]
    plain, five = Keys(BASE, CONFIG), Keys(BASE, CONFIG, search=BeamSearch(beams=5))
    six = Keys(BASE, CONFIG, search=BeamSearch(beams=6))
    for output in (LETTERS, LIKELIHOOD):
        assert plain.pack(output, rows) == five.pack(output, rows)
    greedy, searched, other = (keys.pack(TEXT, rows).members[0] for keys in (plain, five, six))
    assert len({greedy.keys[0], searched.keys[0], other.keys[0]}) == 3
    assert searched.decodings[0].search == BeamSearch(beams=5) and greedy.decodings[0].search is None


def test_the_prefix_of_a_model_begins_answers_whose_letter_is_read() -> None:
    keys = Keys(BASE, CONFIG, "(")
    (member,) = keys.pack(LETTERS, [row("q1/original")]).members
    assert member.prompt["response"] == "(" and member.keys[0] == key(LETTERS, response="(") != key(LETTERS)
    given = [row("q1/original", response="It is")]
    assert keys.pack(LETTERS, given) == Keys(BASE, CONFIG).pack(LETTERS, given), "the prompt's own stays"
    for output in (LIKELIHOOD, TEXT):
        asked = [row("q1/original")]
        assert keys.pack(output, asked) == Keys(BASE, CONFIG).pack(output, asked)


@pytest.mark.parametrize(
    ("output", "of_it", "of_others"),
    [
        (LETTERS, {"labels": ["A", "C"]}, {"options": ["x"], "max_tokens": 9}),
        (LIKELIHOOD, {"options": ["x"]}, {"labels": ["A"], "max_tokens": 9}),
        (TEXT, {"max_tokens": 9}, {"labels": ["A"], "options": ["x"]}),
    ],
)
def test_a_key_covers_what_can_change_an_answer_and_no_name(
    output: str, of_it: dict[str, Any], of_others: dict[str, Any]
) -> None:
    names = {
        "id": "b/c",
        "item": "b",
        "variation": "c",
        "template": "s",
        "row": 7,
        "answers": [1],
        "order": [3],
    }
    assert key(output) == key(output, **names) == key(output, **of_others)
    step = {"operation": "rotate", "severity": 0, "revision": 1}
    one = {"images": ["d" * 64], "steps": [step]}
    shown = [[one], [one, one], [{**one, "images": ["e" * 64]}], [{**one, "images": ["d" * 64] * 2}]]
    other = [{**step, "severity": 1}, {**step, "operation": "blur"}, {**step, "revision": 2}]
    steps = [[], [step, step], *([changed] for changed in other), [step, other[0]], [other[0], step]]
    shown += [[{**one, "steps": changed}] for changed in steps]
    different = [
        key(output, **of_it),
        key(output, system=""),
        key(output, text="what "),
        key(output, response=" ("),
        key(output, turns=[{"question": "a", "answer": "b"}]),
        key(output, turns=[{"question": "b", "answer": "a"}]),
        *(key(output, images=recipes) for recipes in shown),
        *(key(output, {**BASE, name: "other"}) for name in BASE),
        *(key(other) for other in ALL if other != output),
    ]
    assert len({key(output), *different}) == len(different) + 1


def test_packs_follow_from_item_and_variation_alone() -> None:
    def rows(variations: Sequence[str], items: Sequence[str] = ("q1", "q2")) -> list[dict[str, Any]]:
        return [
            row(f"{item}/{name}/{number}", f"{item} {name} {number}")
            for item in items
            for name in variations
            for number in range(1, PACK_PROMPTS + 3)
        ]

    def keys(*given: Any) -> set[bytes]:
        return {key for pack in packs(rows(*given)) for member in pack.members for key in member.keys}

    few = packs(rows(["a"]))
    of_letters = [pack for pack in few if pack.output == LETTERS]
    assert [len(pack.members) for pack in of_letters] == [PACK_PROMPTS, 2] * 2
    assert all(len(pack.members) == 1 for pack in few if pack.output == TEXT)
    assert keys(["a"]) < keys(["a", "b"]), "a further variation"
    assert keys(["a"]) == keys(["a"], ["q2", "q1"]), "another order of the items"
    changed = rows(["a"])
    changed[1]["text"] += "!"
    changes = [
        [one.keys != other.keys for one, other in zip(pack.members, edited.members, strict=True)]
        for pack, edited in zip(few, packs(changed), strict=True)
    ]
    touched = [(pack.output, len(change)) for pack, change in zip(few, changes, strict=True) if any(change)]
    assert touched == [(LETTERS, PACK_PROMPTS), (LIKELIHOOD, PACK_PROMPTS), (TEXT, 1)]
    assert all(all(change) for change in changes if any(change)), "the whole pack"


def test_a_rotation_that_repeats_a_prompt_is_asked_once() -> None:
    """The first of `circular` shows what `original` shows, so both have one key; no other key hangs on it."""

    def keys(*variations: str) -> dict[tuple[str, str], tuple[bytes, ...]]:
        rows = [row("q/original", "ab"), row("q/vr_b", "dim ab")]
        rows += [row(f"q/circular/{place}", text) for place, text in enumerate(("ab", "bc", "ca"), start=1)]
        rows += [row(f"q/circular+vr_b/{place}", f"dim {text}") for place, text in ((1, "ab"), (2, "bc"))]
        asked = [one for one in rows if one["variation"] in variations]
        return {(pack.output, one.prompt["id"]): one.keys for pack in packs(asked) for one in pack.members}

    every = keys("original", "vr_b", "circular", "circular+vr_b")
    for output in ALL:
        assert every[output, "q/circular/1"] == every[output, "q/original"]
        assert every[output, "q/circular+vr_b/1"] == every[output, "q/vr_b"]
    assert len(set(every.values())) == len(every) - 2 * len(ALL)
    assert keys("circular").items() <= every.items() and keys("original").items() <= every.items()


def test_a_prompt_that_asks_for_nothing_is_in_no_pack() -> None:
    assert packs([row("q/a", outputs=()), row("q/b", outputs=None)]) == []


def test_samples_have_keys_and_seeds_of_their_own() -> None:
    def member(*sampling: tuple[float, int], seed: int = 42, text: str = "what") -> Any:
        listed = tuple(Sampling(temperature=heat, samples=count) for heat, count in sampling)
        config = CONFIG.model_copy(update={"sampling": listed, "seed": seed})
        (pack,) = packs([row("q/a", text, outputs=(TEXT,))], config)
        (one,) = pack.members
        return dict(zip(((d.temperature, d.sample) for d in one.decodings), one.keys, strict=True)), one

    few, one = member((0.7, 2))
    assert list(few) == [(0.0, 0), (0.7, 1), (0.7, 2)] and len({d.seed for d in one.decodings}) == 3
    more, _ = member((0.7, 3), (1.0, 1))
    assert few.items() < more.items() and len(set(more.values())) == 5
    reseeded, _ = member((0.7, 2), seed=1)
    assert [few[name] == reseeded[name] for name in few] == [True, False, False], "greedy text has no seed"
    _, other = member((0.7, 2), text="who")
    assert not {d.seed for d in one.decodings[1:]} & {d.seed for d in other.decodings[1:]}


def test_what_cannot_be_asked_stands_beside_its_pack() -> None:
    rows = [row("q/a/1"), row("q/a/2", labels=""), row("q/a/3", "who")]
    letters = [pack for pack in packs(rows) if pack.output == LETTERS]
    assert [[member.prompt["id"] for member in pack.members] for pack in letters] == [
        ["q/a/1", "q/a/3"],
        ["q/a/2"],
    ]
    (alone,) = letters[1].members
    assert alone.problem == "asks for letters but has no labels" and alone.keys == ()
    options = [pack for pack in packs(rows) if pack.output == LIKELIHOOD]
    assert options[1].members[0].problem == "asks for likelihood but has no options"


def test_packs_wait_for_the_answers_that_they_repeat() -> None:
    later = {"turns": [("what", "{answer 1}")], "earlier": [["q/a/1"]]}
    rows = [row("q/a/1"), row("q/a/2", "who", **later)]
    assert [(pack.output, len(pack.members)) for pack in packs(rows)] == [(TEXT, 1)]
    found = packs(rows, **{"q/a/1": OwnReply("dog")})
    assert [(pack.output, len(pack.members)) for pack in found] == [
        (LETTERS, 2),
        (LIKELIHOOD, 2),
        (TEXT, 1),
        (TEXT, 1),
    ]
    assert found[0].members[1].prompt["turns"] == [{"question": "what", "answer": "dog"}]
    cat = packs(rows, **{"q/a/1": OwnReply("cat")})
    assert [pack == other for pack, other in zip(found, cat, strict=True)] == [False, False, True, False]
    refused = packs(rows, **{"q/a/1": None})
    problems = [member.problem for pack in refused for member in pack.members]
    assert problems.count("repeats the answer to prompt q/a/1, which has none") == 3


NOISE = image(0)


@pytest.mark.parametrize("count", [0, 2])
def test_a_recipe_with_another_number_of_images(count: int) -> None:
    made = {**recipe(NOISE), "images": recipe(NOISE)["images"] * count}
    with refused(f"of {count} images gives {count} images instead of one"):
        render(made, lambda digest: NOISE)
