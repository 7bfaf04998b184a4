"""A renamed key, command or column: the table, and everything that answers by it."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Vouch
from tests.models.project import ROOT
from vouch.cli.main import main
from vouch.pipeline import errors
from vouch.pipeline.errors import did_you_mean, rename_key, renamed_keys
from vouch.pipeline.yaml12 import load, loads

OLD = {
    "compare.bootstraps": "compare.resamples",  # another name
    "encoder": "embed.texts.encoder",  # another place
    "datasets.*.style": "datasets.*.template",  # in each of several entries
}


@pytest.fixture(autouse=True)
def table(monkeypatch: pytest.MonkeyPatch) -> None:
    """These keys, a command and a column are renamed."""
    monkeypatch.setattr(errors, "KEYS", OLD)
    monkeypatch.setitem(errors.COMMANDS, "headline", "show")
    monkeypatch.setitem(errors.NAMES, "victor", "winner")


def old_profile() -> str:
    """The profile `small` as it was written before the renaming."""
    lines = (ROOT / "profiles/small.yaml").read_text("utf-8").splitlines(keepends=True)
    (texts,) = [line for line in lines if line.startswith("  texts: {encoder: ")]
    lines.remove(texts)
    old = "".join([*lines, texts.strip().removeprefix("texts: {").removesuffix("}"), "\n"])
    assert old.count("template:") == 2 and old.count("resamples:") == 1
    return old.replace("template:", "style:  ").replace("resamples:", "bootstraps:")


def test_use_writes_the_new_names_and_keeps_comments_and_order(bare: Path, vouch: Vouch) -> None:
    (bare / "profiles").mkdir()
    for name, text in (("small", (ROOT / "profiles/small.yaml").read_text("utf-8")), ("old", old_profile())):
        (bare / f"profiles/{name}.yaml").write_text(text, "utf-8")
    vouch("use", "small")
    before = (bare / "params.yaml").read_text("utf-8")
    printed = vouch("use", "old")
    after = (bare / "params.yaml").read_text("utf-8")
    assert loads(after, "after") == loads(before, "before")
    assert set(before.splitlines()) - set(after.splitlines()) == {
        "  texts: {encoder: vouch/models/encoders/none.py}"
    }, "every other line stands as it was, comments included"
    assert printed.count(" is now ") == 5 and "key datasets.left.style of the profile is now" in printed
    assert vouch("plan", "old") == vouch("plan", "small")


def test_params_yaml_with_old_keys_is_refused_in_a_line_for_each(bare: Path, capsys: Any) -> None:
    (bare / "params.yaml").write_text(old_profile(), "utf-8")
    assert main(["plan"]) == 1
    head, *problems = capsys.readouterr().err.splitlines()
    assert head.endswith("params.yaml: 4 problems")
    assert "  - key compare.bootstraps is now compare.resamples; rename it" in problems
    assert "  - key datasets.right.style is now datasets.right.template; rename it" in problems


def test_an_old_key_beside_the_new_one_is_to_be_removed(bare: Path, vouch: Vouch) -> None:
    values = load(bare / "params.yaml")
    (bare / "params.yaml").write_text(
        json.dumps(values | {"compare": values["compare"] | {"bootstraps": 7}}), "utf-8"
    )
    assert "key compare.bootstraps is now compare.resamples; remove it" in vouch("plan", status=1)


@pytest.mark.parametrize("values", [None, 5, [], {"datasets": None}, {"datasets": [1]}, {"compare": "x"}])
def test_odd_content_has_no_old_keys(values: Any) -> None:
    assert list(renamed_keys(values, OLD)) == []


def test_a_key_moves_to_where_the_new_one_stands() -> None:
    values: dict[str, Any] = {"encoder": 1}
    assert rename_key(values, "encoder", "embed.texts.encoder") and values == {
        "embed": {"texts": {"encoder": 1}}
    }
    values = {"encoder": 1, "embed": 5}
    assert not rename_key(values, "encoder", "embed.texts.encoder") and values == {"embed": 5}


def test_commands_and_other_names_are_answered_with_the_new_one(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["headline"])
    assert capsys.readouterr().err == "vouch: headline is now `vouch show`\n"
    assert did_you_mean("victor", ["first", "winner"]) == "it is now winner; valid: first, winner"
    assert "is now" not in did_you_mean("victor", ["first"]), "nothing of that name is known here"


def test_every_new_name_exists() -> None:
    """A line of the table that leads nowhere helps nobody."""
    from vouch.cli.command import commands

    known = {found.name for own in commands().values() for found in own.values()}
    assert set(errors.COMMANDS.values()) <= known
