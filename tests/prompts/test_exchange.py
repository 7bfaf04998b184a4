"""Pictures to exchange by people's decisions, and datasets that ask only what can be exchanged."""

from pathlib import Path
from typing import Any

import pytest

from tests.prompts.conftest import Project
from tests.refusals import refused
from vouch.prompts.exchange import LOSER, WINNER, candidates, compared, decisions_path, sides
from vouch.tables.asked import prompts_path

WHITER, TALLER = "Which cloud is whiter?", "Which tree is taller?"
HEAD = "question,replaced,first,second,winner"


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
ITEMS = [
    pair("a", "w1", "l1", 0),
    pair("b", "l2", "w2", 1),
    pair("c", "w1", "l1", 0, TALLER),
    pair("d", "w1", "l1", 0, options=["cat", "dog"]),
]


def decide(*lines: str, head: str = HEAD) -> None:
    decisions_path("toy").parent.mkdir(parents=True, exist_ok=True)
    decisions_path("toy").write_text("\n".join([head, *lines]) + "\n", "utf-8")


def shown(rows: list[dict[str, Any]]) -> dict[str, list[str]]:
    """Item -> digests of its vs_e prompt."""
    return {
        row["item"]: [recipe["images"][0] for recipe in row["pictures"]]
        for row in rows
        if row["variation"] == "vs_e"
    }


def test_the_winner_gives_way_to_a_picture_that_loses_against_its_loser(project: Project) -> None:
    assert project.vary(ITEMS, variations=["vs_e"]) == [], "nobody decided yet"
    decide(f"{WHITER},winner,l1,l2,second")
    (row,) = project.vary(ITEMS, variations=["vs_e"])
    assert row["id"] == "b/vs_e" and shown([row]) == {"b": ["l2", "l1"]}, "l2 beats l1, in w2's place"
    assert row["answers"] == [0] and row["effect"] == "swapped", "the left one wins now"
    decide(f"{WHITER},winner,l1,l2,first")
    assert shown(project.vary(ITEMS, variations=["vs_e"])) == {"a": ["l2", "l1"]}
    decide(f"{WHITER},winner,l1,l2,neither")
    assert project.vary(ITEMS, variations=["vs_e"]) == []


def test_the_mirrored_way_replaces_the_loser(project: Project) -> None:
    decide(f"{WHITER},loser,w1,w2,first")
    assert shown(project.vary(ITEMS, variations=["vs_e"])) == {"b": ["w1", "w2"]}, "w1 beats w2"
    decide(f"{WHITER},loser,w2,w1,second", f"{WHITER},winner,l1,l2,second")
    assert shown(project.vary(ITEMS, variations=["vs_e"]))["b"] in (["w1", "w2"], ["l2", "l1"])


def test_options_in_the_other_order_name_the_same_pictures(project: Project) -> None:
    turned = [pair("a", "w1", "l1", 1, options=["Right", "Left"]), ITEMS[1]]
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
    items = [pair("a", "w1", "l1", 0, exchange=[None, "own"]), *ITEMS[1:], pair("e", "w3", "l3", 0)]
    decide(f"{WHITER},winner,l2,l3,first")
    assert shown(project.vary(items, variations=["vs_e"])) == {"a": ["w1", "own"], "b": ["l2", "l3"]}
    decide(f"{WHITER},winner,l1,l2,first")
    with refused("line 2: first: no picture 'l1' lost in that question"):
        project.vary(items, variations=["vs_e"])


def test_candidates_are_all_pairs_of_losers_of_one_question() -> None:
    rows = [
        *ITEMS,
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
    ([f"{WHITER},winner,l1,l1,first"], "first and second are the same picture"),
    ([f"{WHITER},winner,l1,l2,first", f"{WHITER},winner,l2,l1,first"], "line 3: a second decision about l2 and l1"),
    ([f"{WHITER},winner,l1,l9,first"], "second: no picture 'l9' lost in that question; take the digest"),
    ([f"{WHITER},loser,w1,l1,first"], "second: no picture 'l1' won in that question"),
    (["Which?,winner,l1,l2,first"], "no question 'Which?' that items of toy ask about two pictures"),
    ([f"{WHITER},winner,l1,l2"], "not as many fields"),
]  # fmt: skip


@pytest.mark.parametrize(("lines", "said"), BAD)
def test_a_bad_decision_is_one_line(project: Project, lines: list[str], said: str) -> None:
    decide(*lines)
    with refused() as error:
        project.vary(ITEMS, variations=["vs_e"])
    assert said in str(error.value) and "decisions/exchange/toy.csv line" in str(error.value)
    assert not prompts_path("toy").exists()


def test_rows_that_can_be_exchanged_for_all_variations(project: Project) -> None:
    decide(f"{WHITER},winner,l1,l2,second")
    names = ["original", "vr_b", "vs_s", "vs_e"]
    everything = project.vary(ITEMS, variations=names)
    assert {row["item"] for row in everything} == {"a", "b", "c", "d"}
    assert project.notes["left_out"] == 0
    kept = project.vary(ITEMS, variations=names, entry={"rows": "exchangeable"})
    assert [row["id"] for row in kept] == [f"b/{name}" for name in names]
    assert kept == [row for row in everything if row["item"] == "b"]
    assert (project.notes["items"], project.notes["left_out"]) == (1, 3)
    assert project.vary(ITEMS, variations=["original"], entry={"rows": "exchangeable"}) == [kept[0]], (
        "vs_e need not be named"
    )
    assert project.vary(ITEMS, variations=names, entry={"rows": "all"}) == everything


def test_no_row_that_can_be_exchanged_is_one_line(project: Project) -> None:
    with refused(r"datasets\.toy\.rows: exchangeable leaves none; .*vouch review exchange toy"):
        project.vary(ITEMS, entry={"rows": "exchangeable"})
    assert not Path(prompts_path("toy")).exists()


def test_a_dataset_with_variations_of_its_own(project: Project) -> None:
    made = project.vary(ITEMS, variations=["original"], entry={"variations": ["vs_s", "vr_b"]})
    assert [row["id"] for row in made[:3]] == ["a/vs_s", "a/vr_b", "b/vs_s"]
    assert {row["variation"] for row in made} == {"vs_s", "vr_b"}
