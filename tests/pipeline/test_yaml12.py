"""YAML as DVC reads it, and what cannot be read as one line."""

import io

import pytest

from vouch.pipeline.errors import UserError
from vouch.pipeline.yaml12 import load, loads

# text, and a word that the error must hold
REFUSED = [
    ("a: 1\nb: [", "not valid YAML"),
    ("a: 1\na: 2", "line 2: not valid YAML: key 'a' stands twice"),
    ("a: 2020-01-01", "write 2020-01-01 in quotes"),
    ("? [a, b]\n: c", "line 1: not valid YAML: a key must be a plain name"),
    ("? {a: b}\n: c", "a key must be a plain name"),
    ("x: &x {a: 1}\ny: {<<: *x}", "line 2: not valid YAML: merge keys"),
    ("a: +_", "+_ is no integer"),
    ("a: 0x_", "0x_ is no integer"),
    ("a: ._", "._ is no number"),
    ("a: " + "1" * 5000, "line 1"),
    ("a: 0x" + "f" * 5000, "line 1"),
    ("a: !!int four", "four is no integer"),
    ("a: !!float four", "four is no number"),
    ("a: !!bool four", "four"),
    ('a: "\\ud800"', "not valid YAML"),
    ("a: !!python/object/apply:os.getcwd []", "tag"),
    ("a: !!python/name:os.system", "tag"),
    ("a: &a [*a]", "line 1"),
    ("a: !!map [1]", "expected a mapping"),
    (
        "a: " + "[" * 5000 + "]" * 5000,
        "line 1: not valid YAML: more than 100 lists and mappings in each other",
    ),
    *(
        (level * 250_000, "more than 100 lists and mappings in each other")
        for level in ("[", "{a: ", "- ", "? ")
    ),
    ("\n".join(" " * level + "a:" for level in range(200)), "line 101: not valid YAML: more than 100 lists"),
    ("a: b\x00", "not valid YAML"),
    ("a: 1\n<<<<<<< HEAD\nb: 2\n=======\nb: 3\n>>>>>>> other\n", "a merge conflict"),
    ("a: 1\n---\nb: 2", "another document"),
]


@pytest.mark.parametrize(("text", "words"), REFUSED, ids=[f"{i}" for i in range(len(REFUSED))])
def test_what_cannot_be_read_is_one_line(text, words):
    with pytest.raises(UserError) as caught:
        loads(text, "params.yaml")
    line = str(caught.value)
    assert line.startswith("params.yaml") and words in line, line
    assert len(line) < 300 and line.isprintable()


def test_what_is_deep_enough_for_anybody_is_read():
    for text in ("[" * 100 + "]" * 100, "- " * 100, "\n".join(" " * level + "a:" for level in range(100))):
        assert loads(text, "x")


@pytest.mark.parametrize(
    "text",
    ["1_0", "0o17", "0b1", "0x1F", "017", "1e-1", ".5", "-0.0", "1e5", "yes", "on", "12e03", "1:30", "~", "True",
     ".inf", "'1'", "_", "a\ufeff", "&a [1, 2]", "!!str 12", "\ufeffb", "off", "010", "12e4567", "5.", "", "null",
     "true", "+1", "1_000", "0b11", "1_0.5", "-.inf", "+.inf", "[1, two]", "{a: 1}", "1e-3", "<<x"],
)  # fmt: skip
def test_values_are_those_of_dvc(text):
    from ruamel.yaml import YAML

    theirs = YAML(typ="safe").load(io.StringIO(f"a: {text}\n"))
    ours = loads(f"a: {text}\n", "params.yaml")
    assert ours == theirs and type(ours["a"]) is type(theirs["a"])


def test_a_file_that_is_no_text(tmp_path):
    path = tmp_path / "params.yaml"
    for content in (b"a: \xe9", "a: 1".encode("utf-16")):
        path.write_bytes(content)
        with pytest.raises(UserError, match="UTF-8"):
            load(path)
    with pytest.raises(UserError, match="no such file"):
        load(tmp_path / "gone.yaml")
    with pytest.raises(UserError, match="cannot be read"):
        load(tmp_path)


@pytest.mark.parametrize(
    "text", ["a:\n\tb: 1\n", "a:\n  b: 1\n\tc: 2\n", "a:\n  \tb: 1\n  c: 2\n", "- 1\n\t- 2\n"]
)
def test_a_tab_is_called_a_tab(text: str) -> None:
    line = next(number for number, each in enumerate(text.split("\n"), start=1) if "\t" in each)
    with pytest.raises(
        UserError, match=rf"params.yaml line {line}: .*indented with a tab; write spaces there"
    ):
        loads(text, "params.yaml")
