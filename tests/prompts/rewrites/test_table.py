"""The stage on a small table of items, people's decisions, and what `vary` makes of both."""

from pathlib import Path
from typing import Any

import pytest

from tests.prompts.rewrites.conftest import Project, decide, item, words
from tests.refusals import refused
from vouch.prompts.rewrites.table import decisions_path, kinds_of
from vouch.tables.asked import REWRITES, rewrites_path

COLOUR, COUNT, ODD = "What colour is the circle?", "How many circles are there?", "Circle, red or what?"


@pytest.fixture
def toy(project: Project) -> Project:
    project.items(
        item("a", COLOUR),
        item("b", COLOUR, group="a", images=["d2"]),
        item("c", COUNT),
        item("d", ODD),
        item("e", "What is shown in the picture?", kind="text", options=[], answers=[], references=["a cat"]),
    )
    return project


def test_one_row_for_each_question_and_kind(toy: Project) -> None:
    rows = toy.rows()
    keys = [(row["original"], row["kind"]) for row in rows]
    assert len(set(keys)) == len(keys) == 2 * 3 + 1, "no negation of an open question"
    assert {row["kind"] for row in rows} == {"lr_i", "ls_n"}
    assert words(rows)[COLOUR, "ls_n"] == "What colour is the circle not?"
    (refused,) = [row for row in rows if row["original"] == ODD and row["kind"] == "lr_i"]
    assert refused["status"] == "rejected" and refused["rewrite"] is None and refused["reason"]
    assert all(row["rewriter"] == "rules/3" for row in rows)
    assert toy.notes["rewrites"]["lr_i accepted"] == 3 and sum(toy.notes["rejected"].values()) == 2


def test_nothing_where_no_variation_needs_it(toy: Project) -> None:
    toy.variations = ["original", "blank", "vr_b"]
    assert toy.rows() == [] and REWRITES.open(rewrites_path("toy")).metadata.num_rows == 0
    first = rewrites_path("toy").read_bytes()
    toy.items(item("z", "Else?"))
    assert toy.rows() == [] and rewrites_path("toy").read_bytes() == first


def test_a_combination_names_its_kinds() -> None:
    assert kinds_of(["original", "vr_l", "ls_n+vs_s", "lr_i+vr_l", "lr_i"]) == ["lr_i", "ls_n"]


def test_the_same_bytes_again(toy: Project) -> None:
    toy.rows()
    first = rewrites_path("toy").read_bytes()
    toy.rows()
    assert rewrites_path("toy").read_bytes() == first


def test_prompts_have_the_words_and_the_answers_of_their_variation(toy: Project) -> None:
    toy.rows()
    found = {row["id"]: row for row in toy.prompts()}
    assert [name for name in found if name.startswith("d/")] == ["d/original"], "refused: no prompt"
    assert [name for name in found if name.startswith("e/")] == ["e/original", "e/lr_i"]
    assert found["a/original"]["answers"] == found["a/lr_i"]["answers"] == [1]
    assert found["a/ls_n"]["answers"] == [0, 2], "all but the original answer"
    assert "Tell me what colour the circle is." in found["b/lr_i"]["text"]
    assert (
        "What colour is the circle not?" in found["b/ls_n"]["text"] and COLOUR not in found["b/ls_n"]["text"]
    )
    assert found["a/ls_n"]["options"] == ["red", "green", "blue"], "options are never re-worded"


def test_options_that_a_style_adds_are_no_answers_of_a_turned_question(toy: Project) -> None:
    toy.rows()
    (row,) = [row for row in toy.prompts("kostumov") if row["id"] == "a/ls_n"]
    assert len(row["options"]) == 5 and row["answers"] == [0, 2]


def test_a_decision_wins_over_rules_and_checks(toy: Project) -> None:
    decide(
        toy,
        f"{COLOUR},ls_n,use,Which colour does the circle lack?",
        f"{COLOUR},lr_i,reject,",
        f"{COUNT},lr_i,accept,",
        f'"{ODD}",lr_i,use,"Say whether the circle is red, or what."',
        f'"{ODD}",lr_v,use,not asked for in this profile',
    )
    rows = {(row["original"], row["kind"]): row for row in toy.rows()}
    assert rows[COLOUR, "ls_n"]["status"] == "by_hand" and rows[COLOUR, "ls_n"]["rewriter"] == "hand"
    assert (
        rows[COLOUR, "lr_i"]["status"] == "rejected" and rows[COLOUR, "lr_i"]["reason"] == "rejected by hand"
    )
    assert rows[COUNT, "lr_i"]["rewrite"] == "Tell me how many circles there are."
    assert (rows[COUNT, "lr_i"]["status"], rows[COUNT, "lr_i"]["rewriter"]) == ("by_hand", "rules/3")
    texts = {row["id"]: row["text"] for row in toy.prompts()}
    assert "Which colour does the circle lack?" in texts["a/ls_n"] and "a/lr_i" not in texts
    assert "Say whether the circle is red, or what." in texts["d/lr_i"]


def test_cleaning_is_proposed_and_applied_only_where_decided(toy: Project) -> None:
    raw = "where is the bike"
    toy.items(item("a", raw), item("b", raw + " now"), item("c", COLOUR), item("d", ODD))
    toy.rewrite["clean"] = ["toy"]
    rows = words(toy.rows())
    assert rows[raw, "clean"] == "Where is the bike?" and (raw, "lr_i") in rows
    assert {row["text"].splitlines()[0] for row in toy.prompts() if row["id"] == "a/original"} == {raw}

    decide(toy, f"{raw},clean,accept,", f'"{ODD}",clean,drop,', f"{COLOUR},clean,reject,")
    rows = words(toy.rows())
    assert toy.notes["dropped"] == 1
    assert (raw, "lr_i") not in rows and rows["Where is the bike?", "lr_i"] == "Tell me where the bike is."
    texts = {row["id"]: row["text"] for row in toy.prompts()}
    assert texts["a/original"].startswith("Where is the bike?")
    assert texts["a/lr_i"].startswith("Tell me where the bike is.")
    assert texts["b/original"].startswith("where is the bike now"), "not decided: as it was"
    assert texts["c/original"].startswith(COLOUR)
    assert not any(name.startswith("d/") for name in texts)

    toy.rewrite["clean"] = []
    assert [row["original"] for row in toy.rows() if row["kind"] == "clean"] == [raw, COLOUR, ODD], (
        "decisions stay"
    )


def test_two_questions_cleaned_into_one_share_their_rewrites(toy: Project) -> None:
    toy.items(item("a", "where is it", kind="text", options=[]), item("b", "Where is it??"))
    decide(toy, "where is it,clean,use,Where is it?", "Where is it??,clean,use,Where is it?")
    assert words(toy.rows())["Where is it?", "ls_n"] == "Where is it not?"


BAD = [
    (["Which car?,lr_i,reject,"], "line 2: no question 'Which car?' in this dataset"),
    ([f"{COLOUR},lr_x,reject,"], "unknown kind lr_x; did you mean lr_v? valid: clean, lr_c, lr_i"),
    ([f"{COLOUR},lr_i,rejected,"], "unknown decision rejected; did you mean reject? valid: accept, drop, reject, use"),
    ([f"{COLOUR},lr_i,use, "], "use needs words in text"),
    ([f"{COLOUR},lr_i,use,What\x1b[31m is it?"], "line 2: text has a control character or a line end (U+001B)"),
    ([f"{COLOUR},lr_i,drop,"], "only cleaning drops a question"),
    ([f"{COLOUR},lr_i,reject,", f"{COLOUR},lr_i,accept,"], "line 3: a second decision about lr_i of"),
    ([f"{ODD},lr_i,reject,"], "not as many fields"),
    ([f"{COLOUR},lr_i,reject"], "not as many fields"),
    ([f'"{COLOUR}"x,lr_i,reject,'], "not CSV"),
    ([f'"{ODD}",lr_i,accept,'], "nothing to accept (the rules refuse: holds several clauses"),
]  # fmt: skip


@pytest.mark.parametrize(("lines", "said"), BAD)
def test_a_bad_decision_is_one_line(toy: Project, lines: list[str], said: str) -> None:
    decide(toy, *lines)
    with refused() as error:
        toy.rows()
    assert said in str(error.value) and "decisions/rewrites/toy.csv line" in str(error.value)
    assert not rewrites_path("toy").exists()


@pytest.mark.parametrize(
    ("head", "said"),
    [
        ("question,kind,decision", "needs one column text"),
        (
            "question,kind,decision,text,wy",
            "unknown column wy; did you mean why? valid: by, decision, kind, question, text, why",
        ),
        ("question,kind,decision,text,text", "needs one column text"),
        ("question,kind,decision,,,", "needs one column text"),
        (
            f"question,kind,decision,text,, \n{COUNT},lr_i,,,,x",
            "line 2: has a cell in a column without a name",
        ),
        (f"question,kind,decision,text,,\n{COUNT},lr_i,reject,,", "line 2: has not as many fields"),
    ],
)
def test_bad_columns_are_one_line(toy: Project, head: str, said: str) -> None:
    decide(toy, head=head)
    with refused(r"toy\.csv(?:: | line 2: )") as error:
        toy.rows()
    assert said in str(error.value)


def test_decisions_as_spreadsheets_write_them(toy: Project) -> None:
    path = Path("decisions/rewrites/toy.csv")
    path.parent.mkdir(parents=True)
    text = f'question,kind,decision,text,why\r\n{COLOUR},lr_i,use,"Say the colour, please.",shorter\r\n{COUNT},lr_i,,,\r\n'
    path.write_bytes(b"\xef\xbb\xbf" + text.encode())
    assert words(toy.rows())[COLOUR, "lr_i"] == "Say the colour, please."
    text = f'question,,kind,decision,text, ,\r\n{COLOUR},,lr_i,use,"Say the colour, please.",,\r\n,,,,,,\r\n'
    path.write_text(text, "utf-8", newline="")
    assert words(toy.rows())[COLOUR, "lr_i"] == "Say the colour, please.", "columns without name and cells"
    path.write_bytes(b"\xff\xfe")
    with refused("not UTF-8"):
        toy.rows()


def test_a_dataset_without_decisions_of_its_own_is_left_alone(toy: Project) -> None:
    other = Path("decisions/rewrites/other.csv")
    other.parent.mkdir(parents=True)
    other.write_text("nonsense", "utf-8")
    assert toy.rows()


def test_dropping_a_turn_of_a_conversation_keeps_the_others(project: Project) -> None:
    first: dict[str, Any] = {"group": "talk"}
    project.items(item("a", COLOUR, **first), item("b", "Where is it?", turns=["a"], **first))
    project.variations = ["original"]
    decide(project, f"{COLOUR},clean,drop,")
    project.rows()
    assert [row["id"] for row in project.prompts()] == ["b/original"]


def test_what_follows_a_dropped_turn_is_no_conversation(project: Project) -> None:
    """The dropped question would have to be shown, and nobody asks for the answer to it."""
    talk: dict[str, Any] = {"group": "talk"}
    project.items(
        item("a", COUNT, **talk),
        item("b", COLOUR, turns=["a"], **talk),
        item("c", "Where is it?", turns=["a", "b"], **talk),
    )
    project.variations = ["original", "dialogue_gold", "dialogue"]
    decide(project, f"{COLOUR},clean,drop,")
    project.rows()
    made = [row["id"] for row in project.prompts("kostumov_spoken")]
    assert made == ["a/original", "a/dialogue_gold", "a/dialogue", "c/original"]


def test_a_dataset_with_variations_of_its_own(toy: Project) -> None:
    toy.entry = {"variations": ["original", "lr_v+vr_b"]}
    assert {row["kind"] for row in toy.rows()} == {"lr_v"}
    toy.entry = {"variations": ["original"]}
    assert toy.rows() == []


@pytest.mark.parametrize("between", [";", "\t"])
def test_columns_without_commas(toy: Project, between: str) -> None:
    decide(toy, head=between.join(("question", "kind", "decision", "text")))
    with refused(r"toy\.csv: its first line is .*; save it as CSV with commas, in UTF-8"):
        toy.rows()


def test_decisions_that_are_no_file_are_not_passed_over(toy: Project) -> None:
    decisions_path("toy").parent.mkdir(parents=True, exist_ok=True)
    decisions_path("toy").symlink_to("nowhere.csv")
    with refused(r"toy\.csv: is no file; put the CSV file of decisions there"):
        toy.rows()
