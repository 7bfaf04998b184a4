import random

import pytest

from vouch.datasets.options import Choice, key, resized

NAMES = ["tree", "boat", "lamp", "sock", "drum", "coin", "fork", "gate"]


def choice(options, answer=0, group="g", name="q"):
    return Choice(name, group, tuple(options), (answer,))


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("A Cat", "cat."),
        ("the “cat”", "Cat"),
        ("4", "four"),
        ("Four dogs", "4 DOGS"),
        ("ﬁsh", "fish"),
        ("cafe\u0301", "CAFÉ"),
        ("STRASSE", "straße"),
        ("x²", "x2"),
        ("  wide   gap ", "wide gap"),
        ("１２", "12"),
    ],
)
def test_spellings_of_one_text(first, second):
    assert key(first) == key(second)


def test_different_texts():
    texts = ["cat", "cats", "a", "the", "?", "!", "4", "14", "forty", "dog house", "doghouse"]
    assert len({key(text) for text in texts}) == len(texts)


def population(rng, count=60):
    rows = []
    for n in range(count):
        options = [f"{rng.choice(NAMES)} {m}" for m in rng.sample(range(40), rng.randint(2, 6))]
        rows.append(choice(options, rng.randrange(len(options)), f"g{n // 2}", f"q{n}"))
    return rows


def test_everything_a_clean_choice_promises():
    rows = population(random.Random(1))
    found = resized(rows, 4, seed=42)
    for before, after in zip(rows, found, strict=True):
        assert len(after.options) == 4 and None not in after.options
        assert len({key(option) for option in after.options}) == 4
        assert after.options[after.answers[0]] == before.options[before.answers[0]]
        siblings = {option for row in rows if row.group == before.group for option in row.options}
        drawn = [option for option in after.options if option not in before.options]
        assert not siblings & set(drawn)
        kept = [option for option in before.options if option in after.options]
        assert list(after.options[: len(kept)]) == kept, "their order is that of the source"


def test_answers_of_five_options_do_not_move_to_a():
    rows = [choice([f"{name} {n}" for name in NAMES[:5]], n % 5, f"g{n}") for n in range(500)]
    places = [row.answers[0] for row in resized(rows, 4, seed=42)]
    assert 60 < places.count(0) < 200 and all(places.count(n) > 60 for n in range(4))


@pytest.mark.parametrize(
    ("options", "answer", "kept"),
    [
        (["v", "w", "x", "Both A and B", "y"], 3, ["v", "w", "x", "Both A and B"]),
        (["v1", "w1", "both A,B", "x1", "y1"], 0, ["v1", "w1"]),
        (["v", "w", "x", "y", "A and D only"], 4, ["v", "w", "x", "y", "A and D only"]),
        (["v", "w", "x", "y", "A and D only"], 0, ["v", "w", "x", "y"]),
    ],
)
def test_what_an_option_names_keeps_its_letter(options, answer, kept):
    """Of `A and D only` as the answer none of five can be taken out."""
    (row,) = resized([choice(options, answer, "g")], 4, seed=42)
    assert list(row.options[: len(kept)]) == kept and options[answer] == row.options[row.answers[0]]


def test_copies_agree_and_order_does_not_matter():
    rows = population(random.Random(2))
    copies = [
        choice(["red kite", "hat"], 0, "same", "a"),
        choice(["hat", "red kite"], 1, "same", "b"),
    ]
    long = ["v", "w", "x", "y", "z"]
    turned = [choice(long[n:] + long[:n], (3 - n) % 5, "long", f"l{n}") for n in range(5)]
    found = resized([*rows, *copies, *turned], 4, seed=42)
    assert found[60].options[2:] == found[61].options[2:]
    assert len({frozenset(row.options) for row in found[62:]}) == 1
    again = resized([*turned, *copies, *reversed(rows)], 4, seed=42)
    assert {row.id: row for row in again} == {row.id: row for row in found}
    assert resized([*rows, *copies, *turned], 4, seed=43) != found


@pytest.mark.parametrize(
    "text",
    [
        "All of the above",
        "none of these",
        "None of the above.",
        "Both A and B",
        "A and C",
        "both",
        "neither; ",
        "I don’t know",
        "I don't know",
        "Cannot be determined",
        "Can't tell",
        "B",
        "Option C",
        "1 and 3",
        "?",
    ],
)
def test_texts_that_make_sense_in_their_own_item_only_are_never_drawn(text):
    rows = [choice(["x1", text], 0, "h"), *(choice([f"y{n}", "z1"], 0, f"g{n}") for n in range(5))]
    drawn = {option for row in resized(rows, 4, seed=0)[1:] for option in row.options[2:]}
    assert text not in drawn and "x1" in drawn


def test_words_that_merely_look_like_them_are_drawn():
    rows = [
        choice(["x1", "both hands"], 0, "h"),
        choice(["allspice", "another"], 0, "i"),
        choice(["y", "w"], 0, "g"),
    ]
    assert set(resized(rows, 8, seed=0)[2].options[2:]) == {
        "x1",
        "both hands",
        "allspice",
        "another",
    }


def test_too_small_a_pool_leaves_fewer_options():
    assert resized([choice(["x", "y"]), choice(["y1", "x1"])], 4, seed=0)[0].options == ("x", "y")


def test_several_answers_all_stay():
    row = Choice("q", "g", tuple("vwxyz"), (1, 3, 4))
    (found,) = resized([row], 4, seed=0)
    assert [found.options[n] for n in found.answers] == ["w", "y", "z"] and len(found.options) == 4


def test_options_end_at_the_first_missing_one():
    assert choice(["x", None, "y"]).native == ("x",)
