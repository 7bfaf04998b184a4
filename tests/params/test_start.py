"""What a stage loads before its own work: no heavy library, and the check of all parameters only once."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.pipeline.conftest import ENV, lay_out
from vouch.params import start
from vouch.pipeline.yaml12 import load
from vouch.tables.asked import ITEMS, REWRITES, items_path, prompts_path, rewrites_path

ROOT = Path(__file__).parents[2]
CHECK = "vouch.params.check"
# libraries that stages load for their own work, or that only the console and the engines need
HEAVY = {"torch", "transformers", "datasets", "openai", "pandas", "scipy", "PIL", "jinja2", "tqdm"}
HEAVY |= {"dvc", "ruamel", "snakemake", "huggingface_hub", "requests", "concurrent.futures"}


def imported(*arguments: str) -> set[str]:
    """Modules that a Python loads, as `-X importtime` tells, until it ends well."""
    ran = subprocess.run(
        [sys.executable, "-X", "importtime", *arguments],
        env=ENV,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr[-2000:]
    lines = (line for line in ran.stderr.splitlines() if line.startswith("import time:"))
    found = {line.rpartition("|")[2].strip() for line in lines}
    return found - {
        "pandas"
    }  # pyarrow asks for it and is refused (vouch/tables/table.py); its parts would be here


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A checkout with one item to vary."""
    monkeypatch.chdir(lay_out(tmp_path))
    params = load(ROOT / "profiles/small.yaml")
    params["datasets"] = {"toy": {"loader": "jsonl", "source": "toy", "template": "kostumov"}}
    params["variations"] = ["original", "vr_b", "circular"]
    (tmp_path / "params.yaml").write_text(json.dumps(params), "utf-8")
    item = {"id": "a", "group": "a", "question": "What?", "options": ["x", "y"], "answers": [0]}
    ITEMS.write(items_path("toy"), [{**item, "images": ["0" * 64], "kind": "choice"}])
    REWRITES.write(rewrites_path("toy"), [])
    return tmp_path


def test_a_stage_loads_nothing_heavy_and_checks_the_same_files_once(project: Path) -> None:
    vary = ("-m", "stages.vary", "toy")
    assert CHECK in imported(*vary), "nothing has been checked yet"
    before = prompts_path("toy").read_bytes()
    found = imported(*vary)
    assert CHECK not in found and "vouch.prompts.template" in found
    assert not {name for name in found if name in HEAVY or name.partition(".")[0] in HEAVY}
    assert prompts_path("toy").read_bytes() == before
    text = (project / "params.yaml").read_text("utf-8")
    (project / "params.yaml").write_text(text.replace('"seed": 42', '"seed": "42"', 1), "utf-8")
    with pytest.raises(AssertionError, match=r"params\.yaml: .*seed: .* found '42'"):
        imported(*vary)


def test_what_the_check_depends_on_is_seen(project: Path) -> None:
    (project / "vouch").unlink()
    (project / "vouch/prompts/templates").mkdir(parents=True)
    template = project / "vouch/prompts/templates/new.yaml"
    last = start._seen()
    for change in (
        lambda: template.write_text("body: x\n"),
        lambda: template.write_text("body: y\n"),
        template.unlink,
        lambda: (project / "models.lock").write_text("models: {}\n"),
        lambda: (project / "params.yaml").write_text("profile: x\n"),
    ):
        change()
        now = start._seen()
        assert now != last
        last = now
    (project / "vouch/__pycache__").mkdir()
    (project / "vouch/__pycache__/x.pyc").write_bytes(b"x")
    assert start._seen() == now, "bytecode is no code"


def test_what_stages_import_to_start() -> None:
    stages = ("rewrite", "vary", "pin", "train")
    found = imported("-c", "import " + ", ".join(f"stages.{stage}" for stage in stages))
    assert not {name for name in found if name in HEAVY or name.partition(".")[0] in HEAVY}
    assert CHECK not in found


@pytest.mark.parametrize("brace", "{}")
def test_braces_in_the_path_of_the_checkout_are_one_line(project: Path, brace: str) -> None:
    """DVC ends there in a traceback, after the stage has run."""
    here = project.rename(project.with_name(f"a{brace}b"))
    for command in (["stages.vary", "toy"], ["vouch.cli.main", "store", "sync"]):
        ran = subprocess.run(
            [sys.executable, "-m", *command],
            cwd=here,
            env=ENV,
            capture_output=True,
            text=True,
            check=False,
        )
        said = f"vouch: {here}: DVC fails in a folder with `{{` or `}}` in its path; rename or move it\n"
        assert (ran.returncode, ran.stderr) == (1, said)
    assert not prompts_path("toy").exists()


def test_a_path_that_is_not_utf_8_is_one_line(project: Path) -> None:
    """DVC ends there in a traceback, as soon as it writes the path down."""
    here = Path(os.fsdecode(os.fsencode(project.with_name("a")) + b"\xff"))
    try:
        project.rename(here)
    except OSError:
        pytest.skip("names are UTF-8 here")
    ran = subprocess.run(
        [sys.executable, "-m", "vouch.cli.main", "plan"],
        cwd=here,
        env=ENV,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 1 and ran.stderr.count("\n") == 1, ran.stderr
    assert "whose path is not UTF-8; rename or move it" in ran.stderr
