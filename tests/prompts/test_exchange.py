"""Images that are swapped or exchanged: people's decisions about them, and what the pixels then say is
correct."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from stages.prepare import main as prepare
from stages.vary import main as vary
from tests.prompts.conftest import Project
from tests.prompts.rows import run_stage
from tests.refusals import refused
from vouch.demo.scenes.scene import COLOURS
from vouch.images.opening import render
from vouch.prompts.exchange import LOSER, WINNER, candidates, compared, decisions_path, sides
from vouch.tables.asked import (
    IMAGES,
    ITEMS,
    PROMPTS,
    REWRITES,
    images_path,
    items_path,
    prompts_path,
    rewrites_path,
)

WHITER, TALLER = "Which cloud is whiter?", "Which tree is taller?"


def pair(name: str, left: str, right: str, answer: int, question: str = WHITER, **changes: Any) -> Any:
    """A row of the items table that compares two pictures."""
    return {
        "id": name,
        "group": name,
        "question": question,
        "options": ["Left", "Right"],
        "answers": [answer],
        "images": [left, right],
        "kind": "choice",
        **changes,
    }


# a and b lose with l1 and l2; c asks something else; d is no comparison
GREYS = [
    pair("a", "w1", "l1", 0),
    pair("b", "l2", "w2", 1),
    pair("c", "w1", "l1", 0, TALLER),
    pair("d", "w1", "l1", 0, options=["cat", "dog"]),
]


def decide(*lines: str) -> None:
    path = decisions_path("toy")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(["question,replaced,first,second,winner", *lines]) + "\n", "utf-8")


def shown(rows: list[dict[str, Any]]) -> dict[str, list[str]]:
    """Item -> digests of its vs_e prompt."""
    return {
        row["item"]: [recipe["images"][0] for recipe in row["images"]]
        for row in rows
        if row["variation"] == "vs_e"
    }


def test_the_winner_gives_way_to_a_picture_that_loses_against_its_loser(project: Project) -> None:
    assert project.vary(GREYS, variations=["vs_e"]) == [], "nobody decided yet"
    decide(f"{WHITER},winner,l1,l2,second")
    (row,) = project.vary(GREYS, variations=["vs_e"])
    assert row["id"] == "b/vs_e" and shown([row]) == {"b": ["l2", "l1"]}, "l2 beats l1, in w2's place"
    assert row["answers"] == [0] and row["effect"] == "swapped", "the left one wins now"
    decide(f"{WHITER},winner,l1,l2,first")
    assert shown(project.vary(GREYS, variations=["vs_e"])) == {"a": ["l2", "l1"]}
    decide(f"{WHITER},winner,l1,l2,neither")
    assert project.vary(GREYS, variations=["vs_e"]) == []


def test_the_mirrored_way_replaces_the_loser(project: Project) -> None:
    decide(f"{WHITER},loser,w1,w2,first")
    assert shown(project.vary(GREYS, variations=["vs_e"])) == {"b": ["w1", "w2"]}, "w1 beats w2"
    decide(f"{WHITER},loser,w2,w1,second", f"{WHITER},winner,l1,l2,second")
    assert shown(project.vary(GREYS, variations=["vs_e"]))["b"] in (["w1", "w2"], ["l2", "l1"])


def test_options_in_the_other_order_name_the_same_pictures(project: Project) -> None:
    turned = [pair("a", "w1", "l1", 1, options=["Right", "Left"]), GREYS[1]]
    decide(f"{WHITER},winner,l1,l2,first")
    (row,) = project.vary(turned, variations=["vs_e"])
    assert shown([row]) == {"a": ["l2", "l1"]} and row["answers"] == [0]
    assert sides(["the right image.", "The left image."]) == (1, 0) and sides(["left", "second"]) is None


def test_of_several_that_fit_all_come_up_and_the_same_again(project: Project) -> None:
    losers = [f"l{n}" for n in range(8)]
    items = [pair(f"i{n}", f"w{n}", "strong", 0) for n in range(40)]
    items += [pair(f"o{n}", "x", loser, 0) for n, loser in enumerate(losers)]
    decide(*(f"{WHITER},winner,strong,{loser},first" for loser in losers))
    found = shown(project.vary(items, variations=["vs_e"]))
    assert len(found) == 40 and {pictures[0] for pictures in found.values()} == set(losers)
    assert all(pictures[1] == "strong" for pictures in found.values())
    first = prompts_path("toy").read_bytes()
    decide(*(f"{WHITER},winner,{loser},strong,second" for loser in reversed(losers)))
    project.vary(items, variations=["vs_e"])
    assert prompts_path("toy").read_bytes() == first, "the order of decisions is no matter"


def test_an_items_own_winner_never_takes_its_own_place(project: Project) -> None:
    items = [pair("a", "p", "q", 0), pair("b", "r", "p", 0)]
    decide(f"{WHITER},winner,q,p,first")
    assert project.vary(items, variations=["vs_e"]) == [], (
        "q beats p, says a person; a's source says p beats q"
    )


def test_what_the_source_names_wins(project: Project) -> None:
    items = [pair("a", "w1", "l1", 0, exchange=[None, "own"]), *GREYS[1:], pair("e", "w3", "l3", 0)]
    decide(f"{WHITER},winner,l2,l3,first")
    assert shown(project.vary(items, variations=["vs_e"])) == {"a": ["w1", "own"], "b": ["l2", "l3"]}
    decide(f"{WHITER},winner,l1,l2,first")
    with refused("line 2: first: no image 'l1' lost in that question"):
        project.vary(items, variations=["vs_e"])


def test_candidates_are_all_pairs_of_losers_of_one_question() -> None:
    rows = [
        *GREYS,
        pair("e", "w3", "l1", 0),
        pair("f", "w3", "l3", 0),
        pair("g", "x", "x", 0),
        pair("h", "x", "y", 0, answers=[0, 1]),
        pair("i", "x", "y", 0, images=["x", "y", "z"]),
    ]
    items = [item for row in rows if (item := compared({"exchange": [], **row}))]
    assert [item.id for item in items] == ["a", "b", "c", "e", "f"]
    found = {one.pair.images: (one.of_first, one.of_second) for one in candidates(items, WINNER)}
    assert found == {
        ("l1", "l2"): (("a", "e"), ("b",)),
        ("l1", "l3"): (("a", "e"), ("f",)),
        ("l2", "l3"): (("b",), ("f",)),
    }
    mirrored = [one.pair for one in candidates(items, LOSER)]
    assert [one.images for one in mirrored] == [("w1", "w2"), ("w1", "w3"), ("w2", "w3")]
    assert {one.question for one in mirrored} == {WHITER} and {one.replaced for one in mirrored} == {LOSER}


BAD = [
    ([f"{WHITER},winer,l1,l2,first"], "replaced: unknown name winer; did you mean winner? valid: loser, winner"),
    ([f"{WHITER},winner,l1,l2,frist"], "winner: unknown name frist; did you mean first? valid: first, neither, second"),
    ([f"{WHITER},winner,l1,l1,first"], "first and second are the same image"),
    ([f"{WHITER},winner,l1,l2,first", f"{WHITER},winner,l2,l1,first"], "line 3: a second decision about l2 and l1"),
    ([f"{WHITER},winner,l1,l9,first"], "second: no image 'l9' lost in that question; take the digest"),
    ([f"{WHITER},loser,w1,l1,first"], "second: no image 'l1' won in that question"),
    (["Which?,winner,l1,l2,first"], "no question 'Which?' that items of toy ask about two images"),
    ([f"{WHITER},winner,l1,l2"], "not as many fields"),
]  # fmt: skip


@pytest.mark.parametrize(("lines", "said"), BAD)
def test_a_bad_decision_is_one_line(project: Project, lines: list[str], said: str) -> None:
    decide(*lines)
    with refused() as error:
        project.vary(GREYS, variations=["vs_e"])
    assert said in str(error.value) and "decisions/exchange/toy.csv line" in str(error.value)
    assert not prompts_path("toy").exists()


def test_rows_that_can_be_exchanged_for_all_variations(project: Project) -> None:
    decide(f"{WHITER},winner,l1,l2,second")
    names = ["original", "vr_b", "vs_s", "vs_e"]
    everything = project.vary(GREYS, variations=names)
    assert {row["item"] for row in everything} == {"a", "b", "c", "d"}
    assert project.notes["left_out"] == 0
    kept = project.vary(GREYS, variations=names, entry={"rows": "exchangeable"})
    assert [row["id"] for row in kept] == [f"b/{name}" for name in names]
    assert kept == [row for row in everything if row["item"] == "b"]
    assert (project.notes["items"], project.notes["left_out"]) == (1, 3)
    assert project.vary(GREYS, variations=["original"], entry={"rows": "exchangeable"}) == [kept[0]], (
        "vs_e need not be named"
    )
    assert project.vary(GREYS, variations=names, entry={"rows": "all"}) == everything
    every = project.vary(GREYS, variations=["original", "initial", "vs_e"], entry={"rows": "exchangeable"})
    assert [row["id"] for row in every] == [
        "a/initial", "b/original", "b/initial", "b/vs_e", "c/initial", "d/initial"
    ], "the filter of Table A5 leaves the original questions of all items"  # fmt: skip
    assert (project.notes["items"], project.notes["left_out"]) == (1, 3)


def test_no_row_that_can_be_exchanged_is_one_line(project: Project) -> None:
    with refused(r"datasets\.toy\.rows: exchangeable leaves none; .*vouch review exchange toy"):
        project.vary(GREYS, variations=["original", "initial"], entry={"rows": "exchangeable"})
    assert not Path(prompts_path("toy")).exists()


def test_a_dataset_with_variations_of_its_own(project: Project) -> None:
    made = project.vary(GREYS, variations=["original"], entry={"variations": ["vs_s", "vr_b"]})
    assert [row["id"] for row in made[:3]] == ["a/vs_s", "a/vr_b", "b/vs_s"]
    assert {row["variation"] for row in made} == {"vs_s", "vr_b"}


CHOICE = ("original", "option_order", "circular", "vr_b_5", "vr_l", "vr_r", "jpeg_1", "blank", "text_only")
PAIR = ("vs_s", "vs_e", "option_order+vs_s", "circular+vs_e", "ls_n+vs_s", "ls_n+vr_l")
TALK = ("dialogue", "dialogue_gold", "dialogue+vr_b")

Rows = list[dict[str, Any]]


def made(variations: Sequence[str]) -> Rows:
    """The prompts of 40 pairs, whose questions are negated as well."""
    entry = {
        "loader": "pairs",
        "source": "vouch/demo/scenes",
        "template": "talk",
        "settings": {"seed": 3, "items": 40},
    }
    run_stage(prepare, "prepare", "toy", {"datasets.toy": entry})
    questions = dict.fromkeys(row["question"] for row in ITEMS.read(items_path("toy")).to_pylist())
    other = {"kind": "ls_n", "status": "accepted"}
    REWRITES.write(
        rewrites_path("toy"), [{"original": text, "rewrite": f"not: {text}"} | other for text in questions]
    )
    run_stage(
        vary,
        "vary",
        "toy",
        {"datasets.toy": {"template": "talk"}, "variations": list(variations), "outputs": None},
    )
    rows: Rows = PROMPTS.read(prompts_path("toy")).to_pylist()
    return rows


@pytest.fixture(autouse=True)
def talking(project: Project) -> None:
    """A style that asks for texts, and shows two pictures as one."""
    text = (project.templates / "plain.yaml").read_text(encoding="utf-8").replace("first", "merged")
    more = "outputs: [letters, text]\nmax_tokens: 5\n"
    (project.templates / "talk.yaml").write_text(text + more, encoding="utf-8")


def seen(row: dict[str, Any]) -> list[np.ndarray]:
    """Pixels of a prompt's pictures."""
    table = IMAGES.read(images_path("toy"), ["digest", "bytes"]).to_pylist()
    stored = {image["digest"]: image["bytes"] for image in table}
    return [np.asarray(render(recipe, stored.__getitem__)) for recipe in row["images"]]


def of(rows: Rows, variation: str) -> Rows:
    return [row for row in rows if row["variation"] == variation]


def covered(pixels: np.ndarray, colour: str) -> int:
    """Number of 16-pixel cells of a half that hold at least two pixels of exactly this colour."""
    hits = (pixels == COLOURS[colour]).all(axis=2)
    return int((hits.reshape(4, 16, 2, 16).sum(axis=(1, 3)) >= 2).sum())


def test_pairs_that_are_swapped_or_exchanged_have_the_other_answer_by_their_pixels() -> None:
    rows = made((*CHOICE, *PAIR, *TALK))
    items = {row["id"]: row for row in ITEMS.read(items_path("toy")).to_pylist()}
    assert not any(of(rows, name) for name in TALK)
    assert len(of(rows, "vs_s")) == len(of(rows, "vr_r")) == 40 > len(of(rows, "vs_e")) > 10
    assert len(of(rows, "circular+vs_e")) == 2 * len(of(rows, "vs_e"))
    effects = {name: {row["effect"] for row in of(rows, name)} for name in PAIR}
    assert effects.pop("ls_n+vs_s") == {"kept"} and effects.pop("ls_n+vr_l") == {"complement"}
    assert all(effect == {"swapped"} for effect in effects.values())
    assert {row["family"] for row in of(rows, "ls_n+vs_s")} == {"LS+VS"}
    checked = 0
    # brightened colours are no longer those that are counted
    for row in (row for name in ("original", *PAIR) if name != "ls_n+vr_l" for row in of(rows, name)):
        item = items[row["item"]]
        colour = next((word for word in item["question"].rstrip("?.").split() if word in COLOURS), None)
        if colour is None or "object" not in item["question"]:
            continue
        (whole,) = seen(row)
        assert whole.shape == (64, 74, 3)
        left, right = (covered(half, colour) for half in (whole[:, :32], whole[:, 42:]))
        more = left > right if item["category"] in ("more", "has") else left < right
        (answer,) = row["answers"]
        negated = row["variation"].startswith("ls_n")
        assert row["options"][answer] == ("Left" if more != negated else "Right"), row["id"]
        assert row["text"].startswith("not: ") == negated
        assert left != right
        checked += row["variation"] in PAIR
    assert checked > 20
