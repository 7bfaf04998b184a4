"""The entry point: help, names of commands, errors in one line."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Vouch
from tests.models.project import ROOT
from vouch.cli.command import FOLDER, commands, imported, purpose
from vouch.cli.main import main

EVERY = [found.name for own in commands().values() for found in own.values()]
GROUPS = [group for group in commands() if group]


def ended(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[object, str, str]:
    """Exit status, stdout and stderr of a command that ends the program."""
    with pytest.raises(SystemExit) as end:
        main(list(words))
    return (end.value.code, *capsys.readouterr())


def test_help_names_every_command_and_says_where_numbers_and_exit_statuses_are_explained(
    capsys: pytest.CaptureFixture[str],
) -> None:
    status, text, _ = ended(capsys, "--help")
    assert status == 0 and "reports/metrics.json" in text
    for name, found in commands()[""].items():
        assert f"\n  {name:<12}{found.help}\n" in text
    assert all(f"\n  {group} {'|'.join(own)}\n" in text for group, own in commands().items() if group)
    (page,) = re.findall(r"docs/\w+\.md", text)
    assert "The exit status is" in (ROOT / page).read_text("utf-8")
    assert ended(capsys) == (2, text, "")


@pytest.mark.parametrize("name", EVERY)
def test_every_command_explains_itself(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Its help begins with a verb, has an example, and fits an editor's window."""
    status, text, _ = ended(capsys, *name.split(), "--help")
    assert status == 0 and text.startswith(f"usage: vouch {name} ")
    assert f"Examples:\n  vouch {name}" in text and max(map(len, text.splitlines())) < 111
    group, _, own = name.rpartition(" ")
    first = imported(commands()[group][own]).text.split()[0]
    assert first.istitle() and first not in ("Two", "Rows", "What", "The", "Rules", "How", "A", "An")


@pytest.mark.parametrize("group", GROUPS)
def test_a_group_lists_its_commands(group: str, capsys: pytest.CaptureFixture[str]) -> None:
    status, text, _ = ended(capsys, group)
    assert status == 0 and text.startswith(f"{purpose(group)}.\n")
    assert all(f"\n  {name} " in text for name in commands()[group])


def test_no_declaration_is_overlooked_and_no_name_is_declared_twice() -> None:
    """Commands are found in the text of the files: every decorator must be written in the form that is read."""
    decorators = sum(path.read_text("utf-8").count("\n@command(") for path in FOLDER.rglob("*.py"))
    assert decorators == len(EVERY) == len(set(EVERY))


NEW = '''"""Greetings."""

import argparse

from vouch.cli.command import argument, command


@command("greet", "say hello to a model", argument("model", names="models"))
def run(options: argparse.Namespace) -> int:
    """Greet a model."""
    print(f"hello {options.model}")
    return 0
'''


def test_a_command_is_one_file(tmp_path: Path) -> None:
    """Help, completion and the documentation know it, and nothing else is edited."""
    for name in ("stages", "profiles", "dvc.yaml", "params.yaml"):
        (tmp_path / name).symlink_to(ROOT / name)
    shutil.copytree(ROOT / "vouch", tmp_path / "vouch", ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "vouch/cli/greet.py").write_text(NEW, "utf-8")

    code = f"""
import sys
from contextlib import suppress
from vouch.cli.main import main
for words in (["--help"], ["greet", "vouch_s"], ["completion", "bash"]):
    with suppress(SystemExit):
        main(words)
sys.path.append({str(ROOT)!r})
from tools.site import commands_page
print(commands_page())
"""
    env = os.environ | {"PYTHONPATH": str(tmp_path)}
    out = subprocess.check_output([sys.executable, "-c", code], cwd=tmp_path, env=env, text=True)
    assert "\n  greet       say hello to a model\n" in out and "\nhello vouch_s\n" in out
    assert re.search(r"_greet_pos_0_COMPGEN=\S*", out), "TAB offers the names of models"
    assert "| `vouch greet` | say hello to a model |" in out


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
        (
            ["report", "--against", "HEAD", "--out", ""],
            "vouch report: argument --out: is empty; name a file or folder; see `vouch report --help`",
        ),
        (["item"], "vouch item: one of the arguments id --wrong is required; see `vouch item --help`"),
    ],
)
def test_wrong_words_are_one_line(words: list[str], told: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert ended(capsys, *words) == (2, "", f"{told}\n")


def test_too_little_memory_is_one_line(vouch: Vouch, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vouch.cli.plan.check_params", lambda *_: bytearray(1 << 60))
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


PRINTS_ITS_MODULES = (
    "import atexit, sys; atexit.register(lambda: print(*sys.modules, file=sys.stderr)); "
    "from vouch.cli.main import main; sys.exit(main())"
)
NUMBERS = {"numpy", "pyarrow", "pandas", "scipy", "pydantic", "jinja2", "PIL"}
OF_THE_REPORT = {"scipy.stats", "vouch.report.evidence", "vouch.library"}
OF_SCORING = {"scipy.special", "scipy.sparse", "vouch.metrics.text", "rapidfuzz"}


@pytest.mark.parametrize(
    ("words", "absent"),
    [
        ("--help", NUMBERS),
        ("completion models", NUMBERS),
        ("show", OF_THE_REPORT | OF_SCORING | NUMBERS - {"numpy", "pyarrow", "scipy"}),
        ("show --variations --wide", OF_THE_REPORT | OF_SCORING | {"pandas"}),
        ("item kite-004 --dataset left", OF_THE_REPORT | {"pandas"}),
        ("compare tiny_a tiny_b", OF_THE_REPORT | {"pandas"}),
    ],
)
def test_a_command_loads_no_library_that_it_does_not_use(scored: Path, words: str, absent: set[str]) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PRINTS_ITS_MODULES, *words.split()], cwd=scored,
        env={"PYTHONPATH": str(ROOT)}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    loaded = set(done.stderr.split())
    assert "vouch.cli.main" in loaded
    assert not {name for name in loaded for one in absent if f"{name}.".startswith(f"{one}.")}


IN_FUNCTIONS = {
    *("torch", "transformers", "datasets", "accelerate", "openai", "httpx2", "aiohttp", "huggingface_hub"),
    *("dvc", "snakemake", "altair", "scipy.stats", "scipy.special", "scipy.optimize", "sklearn", "shtab"),
}
"""Libraries that only functions import; together they take tens of seconds."""
WITH_PANDAS = {
    *("stages.compare", "stages.report"),
    *(f"vouch.cli.{name}" for name in ("against", "against_page", "card", "report")),
}


def test_what_commands_and_stages_import_first_is_small() -> None:
    """Every run of a stage waits for it, and `vouch completion bash` imports all commands."""
    stages = [path.stem for path in (ROOT / "stages").glob("[!_]*.py")]
    files = [path.relative_to(ROOT) for path in (ROOT / "vouch/cli").rglob("[!_]*.py")]
    modules = {f"stages.{name}" for name in stages} - {"stages.train"}
    modules |= {".".join(path.with_suffix("").parts) for path in files}
    assert modules > WITH_PANDAS
    code = f"""
import importlib, sys
for names, absent in (
    ({sorted(modules - WITH_PANDAS)!r}, {IN_FUNCTIONS | {"pandas"}!r}), ({sorted(WITH_PANDAS)!r}, {IN_FUNCTIONS!r})
):
    for name in names:
        importlib.import_module(name)
        assert not absent & set(sys.modules), (name, absent & set(sys.modules))
"""
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)
