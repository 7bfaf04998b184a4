"""Inputs that change while a stage reads them."""

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
from PIL import Image

from vouch.pipeline.digests import Digests
from vouch.pipeline.yaml12 import load

ROOT = Path(__file__).parents[2]
SOURCE = "of-ours"
RECEIPT = ".vouch/receipts/prepare-toy.json"
STAGE = """
import os, sys
from stages.prepare import main
from vouch.pipeline import digests
from vouch.pipeline.stage import run_stage
def read(path, size, whole=digests._md5):
    print("again", path, file=sys.stderr)
    return whole(path, size)
digests._md5 = read
def body(run):
    exec(os.environ["FIRST"])
    main(run)
    exec(os.environ["THEN"])
run_stage("prepare", body)
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "stages").symlink_to(ROOT / "stages")
    (tmp_path / "vouch").symlink_to(ROOT / "vouch")
    shutil.copytree(ROOT / "decisions", tmp_path / "decisions")
    for name in ("dvc.yaml", "models.lock"):
        shutil.copy(ROOT / name, tmp_path)
    params = load(ROOT / "profiles/small.yaml")
    params["datasets"] = {"toy": {"loader": "jsonl", "source": SOURCE, "template": "kostumov"}}
    params["datasets"]["toy"]["settings"] = {"on_error": "skip"}
    (tmp_path / "params.yaml").write_text(json.dumps(params), "utf-8")
    (tmp_path / SOURCE).mkdir()
    lines = []
    for number in range(3):
        Image.new("RGB", (32, 32), (0, number, 0)).save(tmp_path / SOURCE / f"{number}.png")
        item = {"id": str(number), "question": "What?", "options": ["x", "y"], "answer": 0}
        lines.append(json.dumps({**item, "image": f"{number}.png"}) + "\n")
    (tmp_path / SOURCE / "items.jsonl").write_text("".join(lines), "utf-8")
    return tmp_path


def prepare(project: Path, then: str = "pass", first: str = "pass") -> subprocess.CompletedProcess[str]:
    """Runs the stage, with a line of Python when its body begins and when it has ended."""
    return subprocess.run(
        [sys.executable, "-c", STAGE, "toy"],
        cwd=project,
        env={**os.environ, "PYTHONPATH": str(ROOT), "FIRST": first, "THEN": then},
        capture_output=True,
        text=True,
        check=False,
    )


def vouched(project: Path) -> str:
    receipt = json.loads((project / RECEIPT).read_text("utf-8"))
    digest: str = receipt["deps"][SOURCE]
    return digest


def present(project: Path, monkeypatch: pytest.MonkeyPatch) -> str | None:
    monkeypatch.chdir(project)
    return Digests(Path("none.json")).of(SOURCE)


def test_pictures_are_not_read_a_second_time_for_their_digests(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran = prepare(project)
    assert ran.returncode == 0, ran.stderr
    again = [line.split()[1] for line in ran.stderr.splitlines() if line.startswith("again ")]
    assert f"{SOURCE}/items.jsonl" in again
    assert not [path for path in again if path.endswith(".png")]
    assert vouched(project) == present(project, monkeypatch)


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
def test_a_source_that_changes_meanwhile_is_one_line_and_no_receipt(
    project: Path, edit: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran = prepare(project, edit)
    assert ran.returncode == 1
    message = f"vouch: {SOURCE}: changed while prepare@toy was reading it; run the stage again"
    assert ran.stderr.splitlines()[-1] == message
    assert not (project / RECEIPT).exists()
    again = prepare(project)
    assert again.returncode == 0, again.stderr
    assert vouched(project) == present(project, monkeypatch)


def edit_params(old: str, new: str) -> str:
    """A line of Python that replaces a text in params.yaml, which must be there."""
    return (
        f"p = open('params.yaml').read(); assert {old!r} in p; "
        f"open('params.yaml', 'w').write(p.replace({old!r}, {new!r}))"
    )


@pytest.mark.parametrize(
    ("old", "new"), [('"on_error": "skip"', '"on_error": "stop"'), ('"toy": {', '"other": {')]
)
def test_parameters_of_the_stage_that_change_meanwhile_are_one_line_and_no_receipt(
    project: Path, old: str, new: str
) -> None:
    """DVC reads them when the stage has ended: it would record the new ones beside results of the old ones."""
    ran = prepare(project, edit_params(old, new))
    assert ran.returncode == 1
    message = "vouch: params.yaml: datasets.toy: changed while prepare@toy was at work; run the stage again"
    assert ran.stderr.splitlines()[-1] == message
    assert not (project / RECEIPT).exists()


def test_parameters_of_other_stages_may_change_meanwhile(project: Path) -> None:
    ran = prepare(project, edit_params('"splits": 10', '"splits": 20'))
    assert ran.returncode == 0, ran.stderr
    assert (project / RECEIPT).exists()


def test_a_picture_that_was_another_while_it_was_read(project: Path) -> None:
    """Names, sizes and times are at the end what they were at the start."""
    link = project / SOURCE / "1.png"
    link.rename(project / SOURCE / "first.png")
    link.symlink_to("first.png")
    turned = "os.remove('of-ours/1.png'); os.symlink('{}.png', 'of-ours/1.png')"
    ran = prepare(project, turned.format("first"), turned.format("2"))
    assert ran.returncode == 1
    message = f"vouch: {SOURCE}/1.png: changed while prepare@toy was reading it; run the stage again"
    assert ran.stderr.splitlines()[-1] == message
    assert not (project / RECEIPT).exists()


@pytest.mark.parametrize(
    ("then", "told"),
    [
        ("bytearray(1 << 60)", "memory ran out; give the stage more, or run fewer at once"),
        ("import torch; torch.empty(1 << 60)", "memory ran out; give the stage more, or run fewer at once"),
        ("open('no\x1b[2J')", "no\ufffd[2J: No such file or directory"),
    ],
)
def test_what_this_machine_lacks_is_one_line(project: Path, then: str, told: str) -> None:
    ran = prepare(project, then)
    assert ran.returncode == 1 and "Traceback" not in ran.stderr
    assert ran.stderr.splitlines()[-1] == f"vouch: {told}; nothing that looks whole was written"
    assert not (project / RECEIPT).exists()


@pytest.mark.parametrize(
    "line", ["raise RuntimeError('of ours')", "import torch; torch.ones(2) @ torch.ones(3)"]
)
def test_a_bug_keeps_its_traceback(project: Path, line: str) -> None:
    ran = prepare(project, line)
    assert ran.returncode == 1 and "Traceback" in ran.stderr and "RuntimeError" in ran.stderr.splitlines()[-1]
    assert not (project / RECEIPT).exists()


def test_a_stage_that_hashes_a_huge_source_stops_when_it_is_told(project: Path) -> None:
    """A cluster's time limit, or Ctrl-C: threads that read on would keep the process for hours."""
    with (project / SOURCE / "huge").open("wb") as huge:
        try:
            huge.truncate(1 << 40)
        except OSError:
            pytest.skip("no file may be so long here")
    command = [sys.executable, "-m", "stages.prepare", "toy"]
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(command, cwd=project, env=env, stderr=subprocess.PIPE, text=True) as stage:
        try:
            while not (project / "data/runs/prepare-toy.json").exists() and stage.poll() is None:
                time.sleep(0.1)
            time.sleep(1)
            assert stage.poll() is None, "its source is being hashed"
            stage.terminate()
            _, said = stage.communicate(timeout=30)
        finally:
            stage.kill()
    assert stage.returncode == 1 and "told to stop (SIGTERM)" in said
    assert not (project / RECEIPT).exists()


@pytest.mark.skipif(os.geteuid() == 0 and not shutil.which("setpriv"), reason="root may read everything")
def test_a_file_that_may_not_be_read_is_told_before_the_work(project: Path) -> None:
    (project / SOURCE / "0.png").chmod(0)
    look = f"from vouch.pipeline.digests import fingerprint; fingerprint({SOURCE!r})"
    bound = ["setpriv", "--bounding-set=-dac_override,-dac_read_search"] if os.geteuid() == 0 else []
    ran = subprocess.run(
        [*bound, sys.executable, "-c", look], cwd=project, capture_output=True, text=True, check=False
    )
    message = f"{SOURCE}/0.png: you may not read it; change its permissions, or take it away"
    assert ran.stderr.splitlines()[-1].endswith(message)
