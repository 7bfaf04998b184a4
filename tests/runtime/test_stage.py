"""Inputs that change while a stage reads them."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from PIL import Image

from stages.runtime.digests import Digests
from stages.yaml12 import load

ROOT = Path(__file__).parents[2]
SOURCE = "of-ours"
RECEIPT = ".vouch/receipts/prepare-toy.json"
STAGE = """
import os, sys
from stages.prepare.__main__ import main
from stages.runtime import digests
from stages.runtime.stage import run_stage
def read(path, size, whole=digests._md5):
    print("again", path, file=sys.stderr)
    return whole(path, size)
digests._md5 = read
def body(run):
    main(run)
    exec(os.environ['THEN'])
run_stage("prepare", body)
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "stages").symlink_to(ROOT / "stages")
    shutil.copytree(ROOT / "decisions", tmp_path / "decisions")
    for name in ("dvc.yaml", "models.lock"):
        shutil.copy(ROOT / name, tmp_path)
    params = load(ROOT / "profiles/small.yaml")
    params["datasets"] = {"toy": {"loader": "jsonl", "source": SOURCE, "style": "kostumov"}}
    (tmp_path / "params.yaml").write_text(json.dumps(params), "utf-8")
    (tmp_path / SOURCE).mkdir()
    lines = []
    for number in range(3):
        Image.new("RGB", (32, 32), (0, number, 0)).save(tmp_path / SOURCE / f"{number}.png")
        item = {"id": str(number), "question": "What?", "options": ["x", "y"], "answer": 0}
        lines.append(json.dumps({**item, "image": f"{number}.png"}) + "\n")
    (tmp_path / SOURCE / "items.jsonl").write_text("".join(lines), "utf-8")
    return tmp_path


def prepare(project: Path, then: str) -> subprocess.CompletedProcess[str]:
    """Runs the stage, with a line of Python when its body has ended."""
    return subprocess.run(
        [sys.executable, "-c", STAGE, "toy"],
        cwd=project,
        env={**os.environ, "PYTHONPATH": str(ROOT), "THEN": then},
        capture_output=True,
        text=True,
        check=False,
    )


def test_pictures_are_not_read_a_second_time_for_their_digests(project: Path) -> None:
    ran = prepare(project, "pass")
    assert ran.returncode == 0, ran.stderr
    again = [line.split()[1] for line in ran.stderr.splitlines() if line.startswith("again ")]
    assert f"{SOURCE}/items.jsonl" in again
    assert not [path for path in again if path.endswith(".png")]


def test_the_receipt_holds_the_digest_of_what_is_there(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran = prepare(project, "pass")
    assert ran.returncode == 0, ran.stderr
    monkeypatch.chdir(project)
    receipt = json.loads(Path(RECEIPT).read_text("utf-8"))
    assert receipt["deps"][SOURCE] == Digests(Path("none.json")).of(SOURCE)


@pytest.mark.parametrize(
    "edit",
    [
        "open('of-ours/1.png', 'ab').write(b'x')",
        "open('of-ours/items.jsonl', 'a').write(' ')",
        "os.remove('of-ours/2.png')",
        "open('of-ours/new.png', 'w').write('')",
        "os.rename('of-ours/0.png', 'of-ours/3.png')",
        "f = 'of-ours/0.png'; s = os.stat(f); d = open(f, 'rb').read(); open(f, 'wb').write(d[:-1] + b'x'); "
        "os.utime(f, ns=(s.st_atime_ns, s.st_mtime_ns))",
    ],
)
def test_a_source_that_changes_meanwhile_is_one_line_and_no_receipt(project: Path, edit: str) -> None:
    ran = prepare(project, edit)
    assert ran.returncode == 1
    message = f"vouch: {SOURCE}: changed while prepare@toy was reading it; run the stage again"
    assert ran.stderr.splitlines()[-1] == message
    assert not (project / RECEIPT).exists()
    assert "changed while" not in prepare(project, "pass").stderr
