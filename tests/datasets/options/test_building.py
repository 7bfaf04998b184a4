"""Open questions made into choices, in every way of ReForm-Eval (Li et al. 2023)."""

from collections import Counter
from pathlib import Path

import pytest

from vouch.datasets.cleaning.config import Sample
from vouch.datasets.options import BUILT_SCHEMES, Asked, built_choices, key
from vouch.datasets.read.wordnet import Nouns
from vouch.pipeline.errors import UserError

ANIMALS = ("cat", "dog", "wolf", "Cat", "trout", "salmon", "rose")
KINDS = ("pet", "pet", "wild", "pet", "fish", "fish", "plant")
ROWS = [Asked(f"q{n}", f"g{n}", KINDS[n % 7], "What is it?", ANIMALS[n % 7]) for n in range(70)]

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


def made(scheme: str, rows=ROWS, seed: int = 0, folder: Path = Path()) -> dict[str, tuple[str, ...]]:
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
    assert made(scheme, rows=ROWS[::-1]) == found, "the order of the source does not matter"
    places = Counter(options.index(asked.answer) for asked, options in zip(ROWS, found.values(), strict=True))
    assert len(found["q0"]) > 2 and min(places[n] for n in range(3)) >= 7
    assert made(scheme, rows=[*ROWS, Asked("y", "y", "pet", "Is it?", "Yes")])["y"] == ("yes", "no")


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
        made("reform_classes", rows=[Asked("q", "g", "", "What?", "cat")])


def test_neighbours_in_wordnet(tmp_path):
    wordnet(tmp_path / "wordnet")
    names = ["dog", "wolf", "cat", "trout", "salmon", "rose", "domestic dog", "great dane"]
    rows = [Asked(name, name, "", "What?", name) for name in names]
    found = made("reform_wordnet", rows=rows, folder=tmp_path)
    assert set(found["dog"]) == {"dog", "wolf", "cat", "salmon"}, "no synonym, no kind of it; then by name"
    assert set(found["great dane"]) == {"great dane", "wolf", "cat", "salmon"}
    assert set(found["trout"]) >= {"trout", "salmon"}
    with pytest.raises(UserError, match=r"1 answers are no nouns of WordNet \(blorb\); write them as"):
        made("reform_wordnet", rows=[*rows, Asked("b", "b", "", "What?", "blorb")], folder=tmp_path)
    with pytest.raises(UserError, match=r"index\.noun: cannot be read .*put WordNet's"):
        made("reform_wordnet", rows=rows, folder=tmp_path / "none")
    (tmp_path / "wordnet/data.noun").write_text("no such table\n")
    with pytest.raises(UserError, match=r"not WordNet's index\.noun and data\.noun"):
        made("reform_wordnet", rows=rows, folder=tmp_path)


def test_steps_in_wordnet(tmp_path):
    nouns = Nouns(wordnet(tmp_path / "wordnet"))
    dog, cat, dane, tinca = (nouns.noun(name) for name in ("Dog", "cat, true cat", "Great Dane", "tinca"))
    assert dog.away(cat) == cat.away(dog) == 4 and dane.away(cat) == 5
    assert dog.away(dane) == dane.away(dog) == dog.away(nouns.noun("domestic dog")) == 0
    assert not tinca and tinca.away(dog) == 0


def test_written_ones(tmp_path):
    path = tmp_path / "wrong-options.csv"
    rows = [Asked("a", "a", "", "What?", "cat"), Asked("b", "b", "", "Is it?", "no")]
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
        "id,wrong_1,wrong_2,wrong_3\na,x,y,z\na,x,y,z\n": "line 3: must have an id",
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
    assert not Sample(share=0.001).holds("x")
