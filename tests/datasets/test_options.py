"""Schemes of options: clean distractors, the sets of Kostumov et al. (2024), the choices of ReForm-Eval."""

import json
import random
from collections import Counter
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from pydantic import ValidationError

from tests.metrics.released import WHOLE, native_options, needs_oodcv
from vouch.datasets import options
from vouch.datasets.built_choices import (
    BUILT_SCHEMES,
    OpenQuestion,
    built_choices,
    noun_reader,
    steps_between,
)
from vouch.datasets.config import DatasetEntry, OptionScheme, Subset
from vouch.datasets.loaders import oodcv_vqa
from vouch.datasets.options import DRAWN_SCHEMES, Choice, key, resized
from vouch.datasets.read.files import SourceFiles
from vouch.pipeline.errors import UserError

NAMES = ["tree", "boat", "lamp", "sock", "drum", "coin", "fork", "gate"]


def choice(options, answer=0, group="g", name="q"):
    return Choice(name, group, tuple(options), (answer,))


@pytest.mark.parametrize(
    "spellings",
    [
        ("A Cat", "cat.", "the “cat”", "Cat"), ("4", "four"), ("Four dogs", "4 DOGS"), ("ﬁsh", "fish"),
        ("cafe\u0301", "CAFÉ"), ("STRASSE", "straße"), ("x²", "x2"), ("  wide   gap ", "wide gap"), ("１２", "12"),
    ],
)  # fmt: skip
def test_spellings_of_one_text(spellings):
    assert len(set(map(key, spellings))) == 1


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
    found = resized(rows, seed=42)
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
    places = [row.answers[0] for row in resized(rows, seed=42)]
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
    (row,) = resized([choice(options, answer, "g")], seed=42)
    assert list(row.options[: len(kept)]) == kept and options[answer] == row.options[row.answers[0]]


def test_copies_agree_and_order_does_not_matter():
    rows = population(random.Random(2))
    copies = [
        choice(["red kite", "hat"], 0, "same", "a"),
        choice(["hat", "red kite"], 1, "same", "b"),
    ]
    long = ["v", "w", "x", "y", "z"]
    turned = [choice(long[n:] + long[:n], (3 - n) % 5, "long", f"l{n}") for n in range(5)]
    found = resized([*rows, *copies, *turned], seed=42)
    assert found[60].options[2:] == found[61].options[2:]
    assert len({frozenset(row.options) for row in found[62:]}) == 1
    again = resized([*turned, *copies, *reversed(rows)], seed=42)
    assert {row.id: row for row in again} == {row.id: row for row in found}
    assert resized([*rows, *copies, *turned], seed=43) != found


BOUND = [
    "All of the above", "none of these", "None of the above.", "Both A and B", "A and C", "both", "neither; ",
    "I don’t know", "I don't know", "Cannot be determined", "Can't tell", "B", "Option C", "1 and 3", "?",
]  # fmt: skip


def test_texts_that_make_sense_in_their_own_item_only_are_never_drawn():
    for text in BOUND:
        rows = [choice(["x1", text], 0, "h"), *(choice([f"y{n}", "z1"], 0, f"g{n}") for n in range(5))]
        drawn = {option for row in resized(rows, seed=0)[1:] for option in row.options[2:]}
        assert text not in drawn and "x1" in drawn, text
    free = ["x1", "both hands", "allspice", "another"]
    rows = [choice(free[:2], 0, "h"), choice(free[2:], 0, "i"), choice(["y", "w"], 0, "g")]
    assert set(resized(rows, seed=0, size=8)[2].options[2:]) == set(free), "they merely look like them"


def test_too_small_a_pool_leaves_fewer_options():
    assert resized([choice(["x", "y"]), choice(["y1", "x1"])], seed=0)[0].options == ("x", "y")


def test_several_answers_all_stay():
    row = Choice("q", "g", tuple("vwxyz"), (1, 3, 4))
    (found,) = resized([row], seed=0)
    assert [found.options[n] for n in found.answers] == ["w", "y", "z"] and len(found.options) == 4


ROWS = [
    Choice("0", "0", ("a", "b"), (1,)),
    Choice("1", "1", ("c", "d", "e", "f"), (0,)),
    Choice("2", "2", ("g", "h", "i"), (2,)),
    Choice("3", "3", ("j", "k", None, None), (0,)),
]


def test_mmbench_by_hand():
    """The same draws, spelt out with a generator of their own."""
    rng = random.Random(42)
    cells = [["a", "b", None, None], list("cdef"), ["g", "h", "i", None], ["j", "k", None, None]]
    for row, missing in ((0, (3, 2)), (2, (3,)), (3, (3, 2))):
        drawn = [int(rng.random() * 4) for _ in missing]
        for place, other in zip(missing, drawn, strict=True):
            cells[row][place] = rng.choice(cells[other])
    found = options.mmbench(ROWS, 42)
    assert [list(row.options) for row in found] == cells
    assert [row.answers for row in found] == [row.answers for row in ROWS]
    assert cells == [["a", "b", "b", "i"], ["c", "d", "e", "f"], ["g", "h", "i", "a"], ["j", "k", "g", "g"]]
    with pytest.raises(UserError, match="item 9: has 5 options"):
        options.mmbench([Choice("9", "9", tuple("vwxyz"), (0,))], 42)


def test_mmbench_as_released(shared):
    """All 466 rows that the authors filled up come out as they released them (Kostumov et al. 2024)."""
    path = shared("vlm-uncertainty-bench") / "items-mmbench.parquet"
    released = pq.read_table(path, columns=["id", *"ABCD", "answer"]).to_pylist()
    rows = [
        Choice(str(row["id"]), str(row["id"] % 1_000_000), native, ("ABCD".index(row["answer"]),))
        for row, native in zip(released, native_options(released), strict=True)
    ]
    assert sum(len(row.options) < 4 for row in rows) == 466
    found = options.mmbench(rows, 42)
    assert [row.options for row in found] == [tuple(row[letter] for letter in "ABCD") for row in released]
    assert sum(None in row.options for row in found) == 17
    shown = [[text for text in row.options if text is not None] for row in found]
    assert sum(len(set(texts)) < len(texts) for texts in shown) == 16

    clean = resized(rows, 42)
    assert all(len(row.options) == 4 and None not in row.options for row in clean)
    repeated = [row.id for row in clean if len(set(row.options)) < 4]
    assert len(repeated) == 15, "those that the source itself has"
    assert [row.answers for row in clean] == [row.answers for row in rows]


@pytest.mark.parametrize(
    "name",
    ["ai2d_mini", "ccbench_samples", "mathvision_test", "mmbench_samples", "puzzlevqa", "scienceqa_test"],
)
def test_real_sets_in_the_clean_reading(project, shared, name):
    """Four options each; the source's own order, answers and images, byte by byte, are still there."""
    folder = shared(f"realdata/{name}")
    lines = [json.loads(line) for line in (folder / "items.jsonl").open(encoding="utf-8")]
    project.entry["options"] = {"scheme": "kostumov_mmbench", "protocol": "clean"}
    tables = project.prepare(source=str(folder))
    pictures = dict(zip(*(tables["images"][key].to_pylist() for key in ("digest", "bytes")), strict=True))
    for item, line in zip(tables["items"].to_pylist(), lines, strict=True):
        options, native = item["options"], line["options"]
        assert len(options) == 4
        assert [options[answer] for answer in item["answers"]] == [native[line["answer"]]]
        kept = [text for text in native if text in options]
        assert len(kept) >= min(4, len(native)) and options[: min(4, len(native))] == kept[:4]
        assert len(set(map(key, options))) == 4 or len(set(map(key, native))) < len(native)
        assert [pictures[digest] for digest in item["images"]] == [
            (folder / path).read_bytes() for path in line["images"]
        ]
    defects = {row["defect"]: row["items"] for row in tables["defects"].to_pylist()}
    assert defects["missing_option"] == defects["broken_image"] == defects["unusable_entry"] == 0
    assert defects["duplicate_options"] <= (1 if name == "mathvision_test" else 0)


def test_scienceqa_by_hand():
    rows = [Choice("0", "0", ("a", "b"), (1,)), Choice("1", "1", tuple("vwxyz"), (3,)), ROWS[2]]
    rng = random.Random(42)
    drawn = [int(rng.random() * 3) for _ in range(2)]
    expected = [("a", "b", *(rng.choice(rows[n].options) for n in drawn))]
    expected.append(("y", *("vwxz"[int(rng.random() * 4)] for _ in range(3))))
    expected.append(("g", "h", "i", rng.choice(rows[int(rng.random() * 3)].options)))
    found = options.scienceqa(rows, 42)
    assert [row.options for row in found] == expected
    assert [row.answers for row in found] == [(1,), (0,), (2,)]


def test_scienceqa_of_five_answers_a_only_when_faithful():
    rows = [Choice(str(n), str(n), tuple(f"{c}{n}" for c in "vwxyz"), (n % 5,)) for n in range(200)]
    assert {row.answers for row in options.scienceqa(rows, 42)} == {(0,)}
    clean = resized(rows, 42)
    assert len({row.answers for row in clean}) == 4
    assert all(len(set(row.options)) == 4 for row in clean)
    with pytest.raises(UserError, match="has 6 options"):
        options.scienceqa([Choice("9", "9", tuple("uvwxyz"), (0,))], 42)


def digits(count=2000):
    rng = random.Random(7)
    pairs = [rng.sample(range(6), 2) for _ in range(count)]
    return [
        Choice(str(n), str(n), (f"There are {a}", f"There are {b}"), (n % 2,))
        for n, (a, b) in enumerate(pairs)
    ]


@pytest.mark.parametrize("protocol", ["faithful", "clean"])
def test_oodcv(protocol):
    rows = digits()
    found = DRAWN_SCHEMES["kostumov_oodcv"][protocol](rows, 42)
    for before, after in zip(rows, found, strict=True):
        native = [options.DIGITS[int(option[-1])] for option in before.options]
        assert set(native) <= set(after.options) <= set(options.DIGITS) and len(after.options) == 4
        assert after.options[after.answers[0]] == native[before.answers[0]]
    twice = sum(len(set(row.options)) < 4 for row in found)
    assert 420 < twice < 580 if protocol == "faithful" else twice == 0  # a quarter by chance
    places = Counter(row.answers[0] for row in found)
    assert all(400 < places[n] < 600 for n in range(4))


def drawn_back(four: list[int], rng: random.Random) -> list[int]:
    """The digits before the shuffle, the source's two first: what the generator draws for a row does not depend
    on its digits, so the shuffle can be undone."""
    rng.choices(range(4), k=2)
    shuffled = list(range(4))
    rng.shuffle(shuffled)
    return [four[shuffled.index(position)] for position in range(4)]


@needs_oodcv
def test_oodcv_as_released():
    """The authors' file: the size and situations that the loader expects, and every cell of the 2,844 rows as the
    scheme draws it from the source's two options, which are those before the shuffle."""
    released = pq.read_table(WHOLE / "items-oodcv.parquet").to_pylist()
    expected = oodcv_vqa.expected(SourceFiles(Path("there"), ()), oodcv_vqa.Settings())
    counts = Counter(f"category {row['category']}" for row in released)
    assert {name: {n} for name, n in counts.items()} | {"items": {len(released)}} == expected
    assert len(released) == 2844 and len(counts) == 7
    rng, rows = random.Random(42), []
    for row in released:
        native = drawn_back([options.DIGITS.index(row[letter]) for letter in "ABCD"], rng)[:2]
        right = native.index(options.DIGITS.index(row[row["answer"]]))
        rows.append(choice([f"There are {digit}" for digit in native], right))
    found = DRAWN_SCHEMES["kostumov_oodcv"]["faithful"](rows, 42)
    assert [(*each.options, "ABCD"[each.answers[0]]) for each in found] == [
        tuple(row[column] for column in ("A", "B", "C", "D", "answer")) for row in released
    ]


def test_oodcv_refuses_other_options():
    for texts in (("a 1", "b 1"), ("a 1", "b 6"), ("1", "2", "3"), ("cat", "dog"), ("", "a 1")):
        with pytest.raises(UserError, match="two that end in different digits"):
            options.oodcv_clean([Choice("9", "9", texts, (0,))], 42)


def test_settings_name_the_schemes():
    assert (
        len({*BUILT_SCHEMES, *DRAWN_SCHEMES}) == 8 and OptionScheme(scheme="reform_pool").protocol == "clean"
    )
    with pytest.raises(ValidationError, match="kostumov_mmbench"):
        OptionScheme(scheme="kostumov_mmbnch")
    assert DatasetEntry(loader="jsonl", source="x", template="plain").options is None


def test_the_stage_applies_a_scheme(project, item):
    for n in range(9):
        project.image(f"{n}.png", shade=n)  # of one image all would be one group, which shares no options
    asked = [
        {"id": f"q{n}", "question": f"Which {n}?", "options": [f"a{n}", f"b{n}"], "image": f"{n}.png"}
        for n in range(9)
    ]
    project.lines(*(item(**values, answer=1) for values in asked))
    plain = project.prepare()["items"]
    options = {"scheme": "kostumov_mmbench", "protocol": "clean", "seed": 1}
    project.entry["options"] = options
    clean = project.prepare()["items"]
    assert {len(texts) for texts in clean.column("options").to_pylist()} == {4}
    assert clean.drop_columns(["options"]).equals(plain.drop_columns(["options"]))
    project.entry["options"] = {**options, "protocol": "faithful"}
    faithful = project.prepare()
    for row in faithful["items"].to_pylist():
        assert ("missing_option" in row["flags"]) == (len(row["options"]) < 4)
        assert row["options"][1] == f"b{row['id'][1:]}" and row["answers"] == [1]


def test_a_faithful_draw_needs_every_entry(project, item):
    project.image("one.png")
    project.lines(item(), item(id="bad", answer=9))
    project.entry["options"] = {"scheme": "kostumov_mmbench", "protocol": "faithful"}
    with pytest.raises(UserError, match="1 entries of the source were rejected"):
        project.prepare(on_error="skip")
    assert project.written() == []


ANIMALS = ("cat", "dog", "wolf", "Cat", "trout", "salmon", "rose")
KINDS = ("pet", "pet", "wild", "pet", "fish", "fish", "plant")
OPEN_ROWS = [OpenQuestion(f"q{n}", f"g{n}", KINDS[n % 7], "What is it?", ANIMALS[n % 7]) for n in range(70)]

# offsets, words and what each is a kind of, in the form of WordNet's own files
TREE = {
    "entity": (), "animal": ("entity",), "plant": ("entity",), "canine": ("animal",), "feline": ("animal",),
    "dog": ("canine",), "wolf": ("canine",), "cat": ("feline",), "fish": ("animal",), "trout": ("fish",),
    "salmon": ("fish",), "rose": ("plant",), "great_dane": ("dog",), "domestic_dog": ("canine",),
}  # fmt: skip
SAME = {"domestic_dog": "dog"}  # a second word of one synset


def wordnet(folder: Path) -> Path:
    """A small WordNet."""
    folder.mkdir(parents=True)
    offsets = {name: f"{100 + number:08d}" for number, name in enumerate(TREE)}
    offsets |= {word: offsets[name] for word, name in SAME.items()}
    index = [f"{name} n 1 1 @ 1 0 {offsets[name]}  " for name in TREE]
    data = []
    for name, above in TREE.items():
        if name not in SAME:
            pointers = " ".join(f"@ {offsets[one]} n 0000" for one in above)
            data.append(
                f"{offsets[name]} 03 n 01 {name} 0 {len(above):03d} {pointers} | a gloss; with @ in it"
            )
    licence = "  1 This software and database is being provided to you\n"
    (folder / "index.noun").write_text(licence + "\n".join(index) + "\n")
    (folder / "data.noun").write_text(licence + "\n".join(data) + "\n")
    return folder


def made(scheme: str, rows=OPEN_ROWS, seed: int = 0, folder: Path = Path()) -> dict[str, tuple[str, ...]]:
    """Options by id; checks what every scheme promises."""
    found = {}
    for asked, choice in zip(
        rows, built_choices(rows, BUILT_SCHEMES[scheme](rows, seed, folder), seed), strict=True
    ):
        spelt = [key(option) for option in choice.options]
        assert len(set(spelt)) == len(spelt), "no two options are the same in any spelling"
        assert key(choice.options[choice.answers[0]]) == key(asked.answer)
        found[asked.id] = choice.options
    return found


@pytest.mark.parametrize("scheme", ["reform_classes", "reform_pool", "reform_nearby"])
def test_draws_are_by_lot_and_repeatable(scheme):
    found = made(scheme)
    assert found == made(scheme) and found != made(scheme, seed=1)
    assert made(scheme, rows=OPEN_ROWS[::-1]) == found, "the order of the source does not matter"
    places = Counter(
        options.index(asked.answer) for asked, options in zip(OPEN_ROWS, found.values(), strict=True)
    )
    assert len(found["q0"]) > 2 and min(places[n] for n in range(3)) >= 7
    assert made(scheme, rows=[*OPEN_ROWS, OpenQuestion("y", "y", "pet", "Is it?", "Yes")])["y"] == (
        "yes",
        "no",
    )


@pytest.mark.parametrize("scheme", ["reform_classes", "reform_pool", "reform_nearby"])
def test_wrong_options_are_drawn_by_lot(scheme):
    """Of seven others each is as likely as any, whatever the other questions with the same answer got."""
    rows = [OpenQuestion(f"q{n}", f"g{n}", "thing", "What is it?", NAMES[n % 8]) for n in range(800)]
    found = {name: frozenset(options) for name, options in made(scheme, rows=rows).items()}
    drawn = Counter(option for row in rows[::8] for option in found[row.id] - {row.answer})
    assert len(drawn) == 7 and all(23 < times < 63 for times in drawn.values()), "43 are expected"
    again = {name: frozenset(options) for name, options in made(scheme, rows=rows, seed=1).items()}
    assert sum(found[name] == again[name] for name in found) < 100, "one of 35 triples is the same, 23 of 800"


def test_where_the_wrong_options_come_from():
    kind = dict(zip(map(key, ANIMALS), KINDS, strict=True))
    classes, pool, nearby = (made(f"reform_{name}") for name in ("classes", "pool", "nearby"))
    assert {len(options) for options in classes.values()} == {4}
    assert {option for options in classes.values() for option in map(key, options)} == set(kind)
    assert set(pool["q0"]) == {"cat", "dog", "Not sure", "Unknown"}, "pets are few, and filled up"
    assert set(pool["q2"]) == {"wolf", "Not sure", "Unknown"}
    assert all("dog" in map(key, nearby[f"q{n}"]) for n in range(0, 70, 7)), "the other pet comes first"
    assert {len(options) for options in nearby.values()} == {4}


def test_a_set_with_one_answer_cannot_be_asked():
    with pytest.raises(UserError, match="item q: no other answer can be its wrong option"):
        made("reform_classes", rows=[OpenQuestion("q", "g", "", "What?", "cat")])


def test_neighbours_in_wordnet(tmp_path):
    wordnet(tmp_path / "wordnet")
    names = ["dog", "wolf", "cat", "trout", "salmon", "rose", "domestic dog", "great dane"]
    rows = [OpenQuestion(name, name, "", "What?", name) for name in names]
    found = made("reform_wordnet", rows=rows, folder=tmp_path)
    assert set(found["dog"]) == {"dog", "wolf", "cat", "salmon"}, "no synonym, no kind of it; then by name"
    assert set(found["great dane"]) == {"great dane", "wolf", "cat", "salmon"}
    assert set(found["trout"]) >= {"trout", "salmon"}
    with pytest.raises(UserError, match=r"1 answers are not nouns of WordNet \(blorb\); write them as"):
        made("reform_wordnet", rows=[*rows, OpenQuestion("b", "b", "", "What?", "blorb")], folder=tmp_path)
    with pytest.raises(UserError, match=r"index\.noun: cannot be read .*put WordNet's"):
        made("reform_wordnet", rows=rows, folder=tmp_path / "none")
    (tmp_path / "wordnet/data.noun").write_text("no such table\n")
    with pytest.raises(UserError, match=r"not WordNet's index\.noun and data\.noun"):
        made("reform_wordnet", rows=rows, folder=tmp_path)


def test_steps_in_wordnet(tmp_path):
    read = noun_reader(wordnet(tmp_path / "wordnet"))
    dog, cat, dane, tinca = (read(name) for name in ("Dog", "cat, true cat", "Great Dane", "tinca"))
    assert steps_between(dog, cat) == steps_between(cat, dog) == 4 and steps_between(dane, cat) == 5
    synonym = read("domestic dog")
    assert steps_between(dog, dane) == steps_between(dane, dog) == steps_between(dog, synonym) == 0
    assert not tinca and steps_between(tinca, dog) == 0


def test_written_ones(tmp_path):
    path = tmp_path / "wrong-options.csv"
    rows = [OpenQuestion("a", "a", "", "What?", "cat"), OpenQuestion("b", "b", "", "Is it?", "no")]
    with pytest.raises(
        UserError, match="no such file; write it, or have it written by `vouch review distract`"
    ):
        made("reform_written", rows=rows, folder=tmp_path)
    path.write_text('id,wrong_1,wrong_2,wrong_3\na,dog,"wolf, grey",rat\n')
    assert set(made("reform_written", rows=rows, folder=tmp_path)["a"]) == {"cat", "dog", "wolf, grey", "rat"}
    path.write_text("id,wrong_1,wrong_2,wrong_3\na,'-5,'round',rat\n")
    assert set(made("reform_written", rows=rows, folder=tmp_path)["a"]) == {"cat", "-5", "'round'", "rat"}
    for text, words in {
        "id,wrong_1\n": "its first line must be id,wrong_1,wrong_2,wrong_3",
        "id,wrong_1,wrong_2,wrong_3\na,dog,,rat\n": "line 2: needs an id of its own and 3 texts",
        "id,wrong_1,wrong_2,wrong_3\na,x,y,z\na,x,y,z\n": "line 3: needs an id",
        "id,wrong_1,wrong_2,wrong_3\na,dog,The cat,rat\n": "two options are the same, or one is the answer 'cat'",
        "id,wrong_1,wrong_2,wrong_3\nz,x,y,z\n": "no line for 1 questions",
    }.items():
        path.write_text(text)
        with pytest.raises(UserError, match=words):
            made("reform_written", rows=rows, folder=tmp_path)


def test_the_stage_makes_choices_of_open_questions(project):
    project.image("one.png")
    lines = [
        {"question": f"What is {n}?", "references": [f"thing {n}", f"a thing {n}"], "image": "one.png"}
        for n in range(8)
    ]
    project.lines(*lines, {"question": "Which?", "options": ["x", "y"], "answer": 0, "image": "one.png"})
    project.entry["options"] = {"scheme": "reform_classes", "seed": 3}
    items = project.prepare()["items"].to_pylist()
    assert [item["kind"] for item in items] == ["choice"] * 9
    assert all(len(item["options"]) == 4 and item["references"] for item in items[:8])
    assert [item["options"][item["answers"][0]] for item in items[:8]] == [f"thing {n}" for n in range(8)]
    assert items[8]["options"] == ["x", "y"] and not any(
        "option" in flag for i in items for flag in i["flags"]
    )
    project.entry["options"]["protocol"] = "faithful"
    with pytest.raises(UserError, match=r"datasets\.toy\.options: reform_classes has no faithful protocol"):
        project.prepare()


def test_a_sample_is_a_tenth_with_whole_groups(project, item):
    project.image("one.png")
    lines = [item(id=f"q{n}", question=f"{n}?", image="one.png", category=f"g{n // 3}") for n in range(600)]
    project.lines(*lines)
    project.entry["sample"] = {"share": 0.1, "seed": 1}
    items = project.prepare(group="category")["items"].to_pylist()
    assert 30 <= len(items) <= 90, "60 are expected; 30 and 90 are four standard deviations away"
    assert set(Counter(one["group"] for one in items).values()) == {3}
    again = project.prepare(group="category")["items"]["id"].to_pylist()
    assert again == [one["id"] for one in items]
    project.entry["sample"] = {"share": 0.3, "seed": 1}
    assert set(again) < set(project.prepare(group="category")["items"]["id"].to_pylist())
    project.entry["options"] = {"scheme": "kostumov_mmbench", "protocol": "faithful"}
    with pytest.raises(ValueError, match="a faithful protocol draws over all items"):
        project.prepare()
    assert not Subset(share=0.001).holds("x")
