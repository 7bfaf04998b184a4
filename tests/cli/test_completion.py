"""Completion in real shells: the script that `vouch completion` prints, sourced, and TAB pressed."""

import argparse
import io
import os
import shutil
import subprocess
import sys
from contextlib import chdir, redirect_stdout
from pathlib import Path

import pytest

from vouch.cli.command import FILES, commands, fill, imported
from vouch.cli.completion import NAMES, SHELLS, run
from vouch.cli.main import main
from vouch.pipeline.errors import UserError
from vouch.pipeline.yaml12 import load

ROOT = Path(__file__).parents[2]
BASH = """source {script}; COMP_WORDS=({words} ""); COMP_CWORD={count}; _shtab_vouch vouch "" x
printf '%s\\n' "${{COMPREPLY[@]}}" """
ZSH = """zmodload zsh/zpty; zpty z zsh -f -i
zpty -w z "autoload -Uz compinit; compinit -u -d {folder}/dump; source {script}; compdef _shtab_vouch vouch"
zpty -w z "bindkey '^T' list-choices; unsetopt zle_bracketed_paste; PS1=REA''DY"
zpty -r z out '*READY*'; zpty -w -n z $'{words} \\t\\t'; zpty -w -n z $'\\x15echo E''ND\\n'
zpty -r z out '*END*'; print -r -- "$out" """
FISH = "source {script}; complete -C '{words} '"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The scripts, and a `vouch` to ask for names."""
    folder = tmp_path_factory.mktemp("completion")
    for shell in filter(shutil.which, SHELLS):
        (folder / f"script.{shell}").write_text(vouch("completion", shell), "utf-8")
    (folder / "vouch").write_text(f'#!/bin/sh\nexec {sys.executable} -m vouch.cli.main "$@"\n', "utf-8")
    (folder / "vouch").chmod(0o755)
    return folder


def vouch(*arguments: str) -> str:
    """What a command prints. In this process, where the parsers of all commands are made once for all scripts;
    the shells below start one of their own."""
    with chdir(ROOT), redirect_stdout(io.StringIO()) as out:
        assert main(list(arguments)) == 0
    return out.getvalue()


def test_a_name_that_a_shell_would_run_is_not_offered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    names = "models: {fine_1: x, '$(touch here)': x, '`touch here`': x, 'a b': x}\n"
    Path("params.yaml").write_text(names, "utf-8")
    run(argparse.Namespace(what="models"))
    assert capsys.readouterr().out == "fine_1\n"


@pytest.mark.parametrize(
    "params",
    [
        "", "null", "5", "text", "[]", "[1, 2]", "models: 5", "models: [1, {a: b}]", "models: text", "datasets: null",
        "datasets: [left]", "datasets: {left: null, 5: 3, '../..': {}}", "datasets: {left: [x]}", "datasets: {true: x}",
        "datasets: {left: {variations: 5}}", "datasets: {left: {variations: {a: 1}}}", 'datasets: {"a\\0b": {}}',
        "variations: blank", "variations: {blank: 1}", "variations: [[a], null]", "&a {models: *a, datasets: *a}",
    ],
)  # fmt: skip
def test_an_odd_params_yaml_offers_fewer_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, params: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("params.yaml").write_text(params, "utf-8")
    for kind in NAMES:
        try:
            assert run(argparse.Namespace(what=kind)) == 0
        except UserError as error:
            assert str(error).startswith("params.yaml"), "one line"


def offered(shell: str, folder: Path, words: str) -> set[str]:
    """The words offered after these and a space."""
    if not shutil.which(shell):
        pytest.skip(f"no {shell} here")
    script = {"bash": BASH, "zsh": ZSH, "fish": FISH}[shell].format(
        folder=folder, script=folder / f"script.{shell}", words=words, count=len(words.split())
    )
    path = {"PATH": f"{folder}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT), "TERM": "dumb"}
    options = {"bash": ["--norc"], "zsh": ["-f"], "fish": ["--no-config"]}[shell]
    done = subprocess.run(
        [shell, *options, "-c", script],
        cwd=ROOT,
        env=os.environ | path,
        capture_output=True,
        text=True,
        timeout=600,  # for one that hangs: on a busy machine zsh alone takes a minute
    )
    return set(done.stdout.split())


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("vouch store", {"pull", "verify", "prune", "sync", "warm"}),
        ("vouch compare", {"vouch_s", "vouch_l"}),
        ("vouch compare vouch_s vouch_l --dataset", {"shapes", "shapes_text"}),
        ("vouch compare vouch_s vouch_l --variation", {"option_order", "lr_i"}),
        ("vouch use", {"kostumov", "small"}),
    ],
)
def test_names_are_offered(shell: str, folder: Path, words: str, expected: set[str]) -> None:
    assert offered(shell, folder, words) >= expected


def test_names_are_those_of_the_checkout() -> None:
    params = load(ROOT / "params.yaml")
    for kind in ("models", "datasets", "variations"):
        assert vouch("completion", kind).split()[: len(params[kind])] == list(params[kind])
    of_datasets = {name for entry in params["datasets"].values() for name in entry.get("variations", ())}
    assert of_datasets <= set(vouch("completion", "variations").split())
    assert set(vouch("completion", "profiles").split()) == {
        path.stem for path in (ROOT / "profiles").glob("*.yaml")
    }
    assert vouch("completion", "sources").split() == [*params["datasets"], *params["models"]]


def test_every_argument_names_files_or_a_kind_of_names() -> None:
    found = [imported(found) for own in commands().values() for found in own.values()]
    named = {names for command in found for _, names in fill(argparse.ArgumentParser(), command)}
    assert named == {"", FILES, *NAMES}
