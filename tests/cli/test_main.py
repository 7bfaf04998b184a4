"""The entry point: help, names of commands, errors in one line."""

import importlib
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Vouch
from tests.models.project import ROOT
from vouch.cli.main import COMMANDS, GROUPS, main

EVERY = [[name] for name in COMMANDS] + [[group, name] for group, (_, own) in GROUPS.items() for name in own]


def ended(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[object, str, str]:
    """Exit status, stdout and stderr of a command that ends the program."""
    with pytest.raises(SystemExit) as end:
        main(list(words))
    return (end.value.code, *capsys.readouterr())


def test_help_names_the_commands_and_says_where_numbers_and_exit_statuses_are_told(
    capsys: pytest.CaptureFixture[str],
) -> None:
    status, said, _ = ended(capsys, "--help")
    assert status == 0 and "reports/metrics.json" in said
    assert re.findall(r"^  (\w+)  ", said, re.MULTILINE)[: len(COMMANDS)] == list(COMMANDS)
    assert all(f"  {group} {'|'.join(own)}" in said for group, (_, own) in GROUPS.items())
    (page,) = re.findall(r"docs/\w+\.md", said)
    assert "The exit status is" in (ROOT / page).read_text("utf-8")
    assert ended(capsys) == (2, said, "")


@pytest.mark.parametrize("words", EVERY, ids=" ".join)
def test_every_command_explains_itself(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    status, said, _ = ended(capsys, *words, "--help")
    assert status == 0 and said.startswith(f"usage: vouch {' '.join(words)} ")
    assert f"Examples:\n  vouch {' '.join(words)}" in said and max(map(len, said.splitlines())) < 111


@pytest.mark.parametrize("group", GROUPS)
def test_a_group_lists_its_commands(group: str, capsys: pytest.CaptureFixture[str]) -> None:
    status, said, _ = ended(capsys, group)
    assert status == 0 and all(f"\n  {name} " in said for name in GROUPS[group][1])


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["sync"], "vouch: sync is now `vouch store sync`"),
        (["card", "tiny_a"], "vouch: card is now `vouch publish card`"),
        (["shwo"], "vouch: no command shwo; did you mean show? see `vouch --help`"),
        (["store", "snyc"], "vouch store: no command snyc; did you mean sync? see `vouch store --help`"),
        (["x\x1b[31m"], "vouch: no command x [31m; see `vouch --help`"),
        (["show", "--reading"], "vouch show: unknown --reading; see `vouch show --help`"),
        (
            ["show", "--varations"],
            "vouch show: unknown --varations, did you mean --variations?; see `vouch show --help`",
        ),
        (
            ["show", "--protocol", "claen"],
            "vouch show: argument --protocol: no claen; did you mean clean? valid: clean, faithful; see `vouch "
            "show --help`",
        ),
        (["item"], "vouch item: the following arguments are required: id; see `vouch item --help`"),
    ],
)
def test_wrong_words_are_one_line(words: list[str], told: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert ended(capsys, *words) == (2, "", f"{told}\n")


def test_too_little_memory_is_one_line(vouch: Vouch, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vouch.cli.plan.run", lambda options: bytearray(1 << 60))
    assert vouch("plan", status=1).startswith("vouch: memory ran out; ")


def test_outside_a_checkout(vouch: Vouch, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert "not inside a checkout" in vouch("show", status=1)


def test_the_command_starts_in_a_subfolder_and_loads_no_model_library(bare: Path) -> None:
    (bare / "below").mkdir()
    code = (
        "import sys; from vouch.cli.main import main; status = main(['show']); "
        "print(status, sorted({'torch', 'transformers', 'pandas', 'dvc'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=bare / "below", env={"PYTHONPATH": str(ROOT)}, capture_output=True,
        text=True, check=True,
    )  # fmt: skip
    assert done.stdout == "1 []\n" and "run `dvc repro`" in done.stderr


def test_no_command_and_no_stage_that_asks_no_model_loads_torch() -> None:
    """It takes seconds: heavy imports stand in the functions that need them."""
    commands = [
        ".".join(path.relative_to(ROOT).with_suffix("").parts)
        for path in (ROOT / "vouch/cli").rglob("[!_]*.py")
    ]
    modules = [
        *commands,
        *(f"stages.{name}" for name in ("prepare", "vary", "pin", "browse", "score", "compare")),
    ]
    code = f"import importlib, sys\nfor name in {modules!r}:\n    importlib.import_module(name)\n    assert 'torch' not in sys.modules, name"
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)


def test_help_of_a_command_begins_with_what_the_command_does() -> None:
    """Its docstring is the help, of which the first word is a verb."""
    for name in [
        *COMMANDS,
        *(f"{group}.{name}" for group, (_, commands) in GROUPS.items() for name in commands),
    ]:
        text = str(importlib.import_module(f"vouch.cli.{name}").__doc__)
        first = text.split()[0]
        assert first.istitle() and not re.match(
            r"(Two|Rows|What|The|Rules|Entries|How|A|An|Folders|Entry) ", text
        ), name
