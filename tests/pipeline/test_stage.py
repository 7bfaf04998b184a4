"""How a stage starts and ends: inputs that change meanwhile, limits of the machine, bugs."""

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from PIL import Image

from stages.prepare import main
from tests.pipeline.conftest import ENV
from vouch.params.start import check_once
from vouch.pipeline import digests, files
from vouch.pipeline.digests import Digests
from vouch.pipeline.errors import UserError
from vouch.pipeline.run import Run, _run, _told
from vouch.pipeline.yaml12 import load

SOURCE = Path("of-ours")
RECEIPT = Path(".vouch/receipts/prepare-toy.json")
ENDS = """
import sys
from vouch.params.start import run_stage
line = sys.argv.pop()
sys.argv.append("toy")
run_stage("prepare", lambda run: exec(line))
"""


@pytest.fixture
def toy(project: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with a dataset of three pictures; the working folder."""
    params = load(project / "params.yaml")
    params["datasets"] = {"toy": {"loader": "jsonl", "source": str(SOURCE), "template": "kostumov"}}
    params["datasets"]["toy"]["settings"] = {"on_error": "skip"}
    (project / "params.yaml").write_text(json.dumps(params), "utf-8")
    (project / SOURCE).mkdir()
    lines = []
    for number in range(3):
        Image.new("RGB", (32, 32), (0, number, 0)).save(project / SOURCE / f"{number}.png")
        item = {"id": str(number), "question": "What?", "options": ["x", "y"], "answer": 0}
        lines.append(json.dumps({**item, "image": f"{number}.png"}) + "\n")
    (project / SOURCE / "items.jsonl").write_text("".join(lines), "utf-8")
    monkeypatch.chdir(project)
    return project


def prepare(then: Callable[[], object] = list, first: Callable[[], object] = list) -> None:
    """Runs the stage as a new process would, with something that happens as its body begins and ends."""
    files._found.clear()
    files._read.clear()

    def body(run: Run) -> None:
        first()
        main(run)
        then()

    _run("prepare", ["toy"], body, check_once)


def vouched() -> str:
    digest: str = json.loads(RECEIPT.read_text("utf-8"))["deps"][str(SOURCE)]
    return digest


def anew() -> str | None:
    return Digests(Path("none.json")).of(str(SOURCE), anew=True)


def test_pictures_are_not_read_a_second_time_for_their_digests(
    toy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    again: list[str] = []
    whole = digests._md5
    monkeypatch.setattr(digests, "_md5", lambda path, size: again.append(path) or whole(path, size))
    prepare()
    assert f"{SOURCE}/items.jsonl" in again
    assert not [path for path in again if path.endswith(".png")]
    assert vouched() == anew()


def test_two_runs_leave_the_same_outputs(toy: Path) -> None:
    """Also their records: what differs from run to run is no output."""

    def outputs() -> dict[str, bytes]:
        return {str(path): path.read_bytes() for path in Path("data").rglob("*") if path.is_file()}

    prepare()
    first = outputs()
    prepare(lambda: time.sleep(0.1))
    assert outputs() == first and "data/runs/prepare-toy.json" in first
    record = json.loads(first["data/runs/prepare-toy.json"])
    assert record["params"] == {"params.yaml": {"datasets.toy": load(Path("params.yaml"))["datasets"]["toy"]}}
    assert record["inputs"] == {str(SOURCE): Digests().of(str(SOURCE))}, "of the code dvc.lock alone tells"
    assert {"began", "seconds", "processor_seconds", "measured"} <= json.loads(
        Path(".vouch/runs/prepare-toy.json").read_text()
    ).keys()


def turn_a_byte() -> None:
    path = SOURCE / "0.png"
    status = path.stat()
    path.write_bytes(path.read_bytes()[:-1] + b"x")
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


@pytest.mark.parametrize(
    "edit",
    [
        lambda: (SOURCE / "1.png").open("ab").write(b"x"),
        lambda: (SOURCE / "items.jsonl").open("a").write(" "),
        lambda: (SOURCE / "2.png").unlink(),
        lambda: (SOURCE / "new.png").touch(),
        lambda: (SOURCE / "0.png").rename(SOURCE / "3.png"),
        turn_a_byte,
    ],
)
def test_a_source_that_changes_meanwhile_is_one_line_and_no_receipt(
    toy: Path, edit: Callable[[], object]
) -> None:
    with pytest.raises(UserError) as error:
        prepare(edit)
    assert str(error.value) == f"{SOURCE}: changed while prepare@toy was reading it; run the stage again"
    assert not RECEIPT.exists()
    prepare()
    assert vouched() == anew()


def edit_params(old: str, new: str) -> None:
    text = Path("params.yaml").read_text("utf-8")
    assert old in text
    Path("params.yaml").write_text(text.replace(old, new), "utf-8")


@pytest.mark.parametrize(
    ("old", "new"), [('"on_error": "skip"', '"on_error": "stop"'), ('"toy": {', '"other": {')]
)
def test_parameters_of_the_stage_that_change_meanwhile_are_one_line_and_no_receipt(
    toy: Path, old: str, new: str
) -> None:
    """DVC reads them when the stage has ended: it would record the new ones beside results of the old ones."""
    with pytest.raises(
        UserError, match=r"^params\.yaml: datasets\.toy: changed while prepare@toy was at work"
    ):
        prepare(lambda: edit_params(old, new))
    assert not RECEIPT.exists()


def test_parameters_of_other_stages_may_change_meanwhile(toy: Path) -> None:
    prepare(lambda: edit_params('"splits": 10', '"splits": 20'))
    assert RECEIPT.exists()


def test_a_picture_that_was_another_while_it_was_read(toy: Path) -> None:
    """Names, sizes and times are at the end what they were at the start."""
    link = SOURCE / "1.png"
    link.rename(SOURCE / "first.png")
    link.symlink_to("first.png")

    def point_to(name: str) -> None:
        link.unlink()
        link.symlink_to(name)

    with pytest.raises(UserError, match=rf"^{link}: changed while prepare@toy was reading it; run the stage"):
        prepare(lambda: point_to("first.png"), lambda: point_to("2.png"))
    assert not RECEIPT.exists()


MEMORY = "memory ran out; give the stage more, or run fewer at once"


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("bytearray(1 << 60)", MEMORY),
        ("import torch; torch.empty(1 << 60)", MEMORY),
        ("open('no\x1b[2J')", "no\ufffd[2J: No such file or directory"),
    ],
)
def test_what_this_machine_lacks_is_told_and_a_bug_is_not(line: str, told: str) -> None:
    with pytest.raises((MemoryError, RuntimeError, OSError)) as error:
        exec(line)
    assert str(_told(error.value)) == f"{told}; nothing that looks whole was written"
    with pytest.raises(RuntimeError) as bug:
        exec("import torch; torch.ones(2) @ torch.ones(3)")
    assert _told(bug.value) is None


@pytest.mark.parametrize(
    ("line", "last", "traceback"),
    [
        ("bytearray(1 << 60)", f"vouch: {MEMORY}; nothing that looks whole was written", False),
        ("raise RuntimeError('of ours')", "RuntimeError: of ours", True),
    ],
)
def test_a_failed_stage_ends_with_one_line_a_bug_with_its_traceback(
    toy: Path, line: str, last: str, traceback: bool
) -> None:
    command = [sys.executable, "-c", ENDS, line]
    ran = subprocess.run(command, env=ENV, capture_output=True, text=True, check=False)
    assert ran.returncode == 1 and ran.stderr.splitlines()[-1] == last
    assert ("Traceback" in ran.stderr) == traceback and not RECEIPT.exists()


def test_a_stage_that_hashes_a_huge_source_stops_when_it_is_told(toy: Path) -> None:
    """A cluster's time limit, or Ctrl-C: threads that read on would keep the process for hours."""
    with (SOURCE / "huge").open("wb") as huge:
        try:
            huge.truncate(1 << 40)
        except OSError:
            pytest.skip("no file may be so long here")
    command = [sys.executable, "-m", "stages.prepare", "toy"]
    with subprocess.Popen(command, env=ENV, stderr=subprocess.PIPE, text=True) as stage:
        try:
            last = time.monotonic() + 60
            while not Path("data/published/toy.parquet").exists() and time.monotonic() < last:
                time.sleep(0.1)
            time.sleep(1)
            assert stage.poll() is None, "its source is being hashed"
            stage.terminate()
            _, said = stage.communicate(timeout=30)
        finally:
            stage.kill()
    assert stage.returncode == 1 and "told to stop (SIGTERM)" in said
    assert not RECEIPT.exists()


@pytest.mark.skipif(os.geteuid() == 0 and not shutil.which("setpriv"), reason="root may read everything")
def test_a_file_that_may_not_be_read_is_told_before_the_work(toy: Path) -> None:
    (SOURCE / "0.png").chmod(0)
    look = f"from vouch.pipeline.digests import fingerprint; fingerprint({str(SOURCE)!r})"
    bound = ["setpriv", "--bounding-set=-dac_override,-dac_read_search"] if os.geteuid() == 0 else []
    ran = subprocess.run([*bound, sys.executable, "-c", look], capture_output=True, text=True, check=False)
    message = f"{SOURCE}/0.png: you may not read it; change its permissions, or take it away"
    assert ran.stderr.splitlines()[-1].endswith(message)


NO_THREADS = "ulimit -s 40000000 && ulimit -v 30000000"  # a thread's stack would be larger than all memory
ONE_LINE = "vouch: no further thread may be started; end other programs, or allow more"


def python(project: Path, command: str, limit: str = "true") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["sh", "-c", f'{limit} && exec "$0" -m {command}', sys.executable],
        cwd=project,
        env=ENV | {"OPENBLAS_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.skipif(sys.platform != "linux", reason="as Linux limits threads")
def test_no_further_thread_is_one_line(project: Path) -> None:
    """Python says so of its own threads, Arrow of a table that it calls unreadable."""
    if subprocess.run(["sh", "-c", NO_THREADS], check=False, capture_output=True).returncode:
        pytest.skip("the limit of stacks cannot be raised here")
    dataset = next(iter(load(project / "params.yaml")["datasets"]))
    assert python(project, f"stages.prepare {dataset}").returncode == 0
    for command in (f"stages.prepare {dataset}", f"stages.embed {dataset}", "vouch.cli.main plan"):
        ran = python(project, command, NO_THREADS)
        assert ran.returncode == 1
        assert ran.stderr.splitlines()[-1].startswith(ONE_LINE) and "Traceback" not in ran.stderr, ran.stderr
    assert python(project, f"stages.embed {dataset}").returncode == 0, "nothing is damaged"
