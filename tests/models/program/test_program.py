"""Drivers as real children: what they answer, what they do wrong, and what is left of them."""

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from tests.models.program.conftest import CONFIG, entry_of, letters, odd, odd_pin, pin_of, python
from tests.models.project import MODEL, ROOT, Project, quiz
from tests.refusals import refused
from vouch.cli.lock import locked
from vouch.images import opening
from vouch.models.engine import Decoding, LetterAnswer, Pack, Question, Refusal, TextAnswer
from vouch.models.program.child import SCRATCH
from vouch.models.program.engine import load
from vouch.models.program.identity import commit
from vouch.pipeline.yaml12 import loads
from vouch.tables.answered import pin_path
from vouch.tables.asked import LIKELIHOOD, OUTPUTS, TEXT


def gone(pid: int, seconds: float = 10.0) -> bool:
    """Whether a process has ended, or ends soon."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            return True
        if state == "Z":
            return True
        time.sleep(0.05)
    return False


def left_over(folder: Path = Path()) -> list[str]:
    """Folders of drivers; logs stay."""
    return [path.name for path in (folder / SCRATCH).iterdir() if path.is_dir()]


TWICE = "odd.py ends at this question, twice"
ALIKE = (
    "leaks",
    "prints",
    "beats 4",
    "crashes",
    "fills",
    "closes",
    "stops_in_a_line",
    "mistypes",
    "refuses_wordlessly",
)

# The answers of the driver are those of the engine that it wraps.


def test_the_way_there_and_back_changes_no_byte(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    project.ask(*quiz(3, outputs=OUTPUTS))
    project.extract()
    built_in = {output: project.rows(output) for output in OUTPUTS}
    project.entry = entry_of("builtin", project.model, settings={"batch": 4, "bucket": 8})
    pin = pin_of(project.entry, MODEL)
    assert pin.program
    locked = {"driver": pin.program.driver_files, "packages": pin.program.packages}
    project.entry["program"]["locked"] = locked
    project.pin()
    assert project.extract().measured["answers"] == {"known": 0, "asked": 9}
    how = ("engine", "mode", "rows")  # by which engine, not what
    for output in OUTPUTS:
        plain = [{name: row[name] for name in row if name not in how} for row in project.rows(output)]
        assert plain == [{name: row[name] for name in row if name not in how} for row in built_in[output]]
    assert {row["engine"] for row in project.rows(TEXT)} == {f"program/1.{opening.REVISION}"}
    before = project.bytes()
    monkeypatch.delenv("VOUCH_ENV_HERE")  # stored answers need no environment
    assert project.extract().measured["answers"] == {"known": 9, "asked": 0}
    assert project.bytes() == before


OWN = """
import sys
import shared
from vouch_driver import Model as Base


class Model(Base):
    def letters(self, question):
        import own_code
        value = shared.VALUE + own_code.VALUE
        return {"logits": [value] * len(question.labels), "letter_mass": 1, "entropy": 0}
"""


def test_what_was_edited_is_asked_anew_once_it_is_pinned(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("m", "mine", "clone", "site"):
        (tmp_path / name).mkdir()
    files = {
        "driver": (Path("mine/driver.py"), OWN),
        "module": (Path("mine/shared.py"), "VALUE = 1\n"),
        "code": (Path("clone/own_code.py"), "VALUE = 2\n"),
        "model": (Path("m/modeling.py"), "pass\n"),
        "package": (Path("site/extra-1.0.dist-info/METADATA"), "Name: extra\nVersion: 1.0\n"),
    }
    for path, text in files.values():
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    monkeypatch.setenv(
        "VOUCH_ENV_OURS", python(tmp_path / "ours", "-S", before=f"export PYTHONPATH={tmp_path}/site")
    )
    project = Project(tmp_path, Path("m"))
    project.entry = entry_of(Path("mine/driver.py"), "m", environment="ours", code="clone")
    project.ask(*quiz(2))

    def asked() -> int:
        """How many questions a run asks."""
        counts: dict[str, int] = project.extract().measured["answers"]
        assert sum(counts.values()) == 2
        return counts["asked"]

    def lock() -> None:
        project.save()
        text, _ = locked(Path("models.lock").read_text(), MODEL, None, None)
        project.entry = loads(text, "models.lock")["models"][MODEL]
        project.pin()

    lock()
    assert (asked(), asked()) == (2, 0)
    before, entry = pin_path(MODEL).read_bytes(), project.entry
    for name, (path, text) in files.items():
        path.write_text(text.replace("1.0", "2.0") + "# edited\n")
        assert asked() == 0, name  # stored answers serve
        lock()
        assert asked() == 2, name
        path.write_text(text)
        project.entry = entry
        project.pin()
        assert pin_path(MODEL).read_bytes() == before and asked() == 0, name
    monkeypatch.delenv("VOUCH_ENV_OURS")
    project.pin()  # neither needs the environment
    assert pin_path(MODEL).read_bytes() == before and asked() == 0


def test_a_question_comes_whole(tmp_path: Path) -> None:
    engine = odd(tmp_path)
    shown = Image.new("RGB", (3, 2), "red")
    question = Question(
        "q", "Be brief.", "fine", (("a é", "b"),), response="It", images=(shown, shown),
        max_tokens=3, decodings=(Decoding(), Decoding(0.5, 1, 2**64 - 1)), stop="</t>",
    )  # fmt: skip
    first, second = engine.answer([Pack(TEXT, [question])])
    assert first.answer == second.answer == TextAnswer(
        '["Be brief.", [["a \\u00e9", "b"]], "It", "</t>", ["\\u0089PNG", "\\u0089PNG"]]',
        [-0.5] * 3, [0.25] * 3, 0, stopped=True,
    )  # fmt: skip
    assert {first.decoding, second.decoding} == set(question.decodings)
    (none,) = engine.answer([Pack(LIKELIHOOD, [Question("l", None, "fine", options=("a", "b"))])])
    assert none.answer == Refusal("its program gives only letters, text", unsupported=True)


@pytest.mark.parametrize("batch", [1, 3])
@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("fine", None),
        ("prints", None),
        ("beats 4", None),
        ("refuses", Refusal("too long")),
        ("refuses_wordlessly", Refusal("its driver gives no reason")),
        ("again", Refusal("no memory", transient=True)),
        ("raises", Refusal("ValueError: a bug", transient=True)),
        ("mistypes", Refusal("TypeError: Object of type set is not JSON serializable", transient=True)),
        ("dies", f"{TWICE}: it ended with status 3 (the last words; "),
        ("fills", f"{TWICE}: it ended with status 3 (the last words; "),
        ("stops_in_a_line", f"{TWICE}: it ended with status 3"),
        ("closes", f"{TWICE}: it closed the pipe of its answers"),
        ("crashes", f"{TWICE}: it was ended by SIGSEGV"),
        ("dies_once MARK", None),
        ("leaks", f"{TWICE}: it took "),
        ("hangs", f"{TWICE}: it said nothing for 1 s"),
    ],
)
def test_one_question_in_trouble_leaves_the_others_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, batch: int, word: str, expected: Any
) -> None:
    if batch > 1 and word in ALIKE:
        return  # as with one
    monkeypatch.setenv("VOUCH_PROGRAM_GIGABYTES", "0.3")
    if word in ("hangs", "beats 4"):  # the beats take longer than the silence that they break
        monkeypatch.setenv("VOUCH_PROGRAM_SILENCE", "1")
    word = word.replace("MARK", str(tmp_path / "mark"))
    engine = odd(tmp_path, batch=batch)
    answers = letters(engine, "fine 1", "fine 2", word, "fine 3", "fine 4")
    for text in ("fine 1", "fine 2", "fine 3", "fine 4"):
        assert answers[text].answer == LetterAnswer([6.0, 7.0], letter_mass=0.9, entropy=0.5), text
    one = answers[word].answer
    if expected is None:
        assert isinstance(one, LetterAnswer)
    elif isinstance(expected, Refusal):
        assert one == expected
    else:
        assert isinstance(one, Refusal) and expected in one.problem and not one.transient
    died = 2 if isinstance(expected, str) else int(word.startswith("dies_once"))
    assert engine.notes["restarts"] == died
    del engine
    assert left_over() == []
    log = (SCRATCH / "m.log").read_bytes()
    if word == "fills":  # twice, the middle left out
        assert 1 << 20 < len(log) < 5 << 19 and log.startswith(b"the first words\nmore more ")
        assert log.count(b"\n[...]\n") == log.count(b"\nthe last words\n") == 2


@pytest.mark.parametrize(
    ("word", "why"),
    [
        ('says {"id": 2}', "`logits` has none numbers, not 2"),  # the other lines: test_protocol.py
        ('says {"id": 99}', "it answers 99, which it was not asked or has answered"),
        ('says {"id": 1}', "it answers 1, which it was not asked or has answered"),  # twice
        ('says {"id": true}', "it answers True, which it was not asked"),
        ('says {"id": [1]}', "it answers [1], which it was not asked"),
        ('says {"ready": 1}', "it answers None"),
        ("floods", "a line of more than 8 MiB"),
    ],
)
def test_a_broken_line_ends_the_run(tmp_path: Path, word: str, why: str) -> None:
    engine = odd(tmp_path)
    with refused(f"odd.py: breaks the protocol of programs \\({re.escape(why)}.*; correct the driver"):
        letters(engine, "fine", word)
    assert left_over() == []


@pytest.mark.parametrize(
    ("texts", "why"),
    [
        (["dies 1", "dies 2", "dies 3"], "it ended 4 times in a row without an answer"),
        ([f"raises {n}" for n in range(40)], r"32 questions in a row have no answer \(ValueError: a bug\)"),
        (["fine", 'says {"fatal": "no GPU left"}\n{"id": 2, "again": "x"}'], "odd.py: m: no GPU left; "),
    ],
)
def test_what_befalls_every_question_ends_the_run(tmp_path: Path, texts: list[str], why: str) -> None:
    engine, given = odd(tmp_path), []
    with refused(why):
        for one in engine.answer(
            [Pack("letters", [Question(text, None, text, labels=("A", "B"))]) for text in texts]
        ):
            given.append(one)
    assert not any(isinstance(one.answer, Refusal) and not one.answer.transient for one in given)


@pytest.mark.parametrize(
    ("begins", "why"),
    [
        ("raises", "odd.py: m: ValueError: a bug; .*m.log has what it printed"),  # the traceback
        ("dies", r"odd.py: m does not start: it ended with status 3 \(the last words"),
        ("beats 9", "odd.py: m does not start: it was not ready after 1 s"),
        ('says {"ready": 2}', r"odd.py: breaks the protocol of programs \(its second line has no `ready`: 1"),
        ('says {"fatal": 7}', r"odd.py: breaks the protocol of programs \(`fatal` gives no reason"),
    ],
)
def test_a_driver_that_does_not_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, begins: str, why: str
) -> None:
    monkeypatch.setenv("VOUCH_PROGRAM_START", "1" if begins == "beats 9" else "300")
    with refused(why):
        odd(tmp_path, start=begins)
    assert left_over() == []
    assert begins != "raises" or "in raises" in (SCRATCH / "m.log").read_text()


def test_another_environment_is_refused_before_any_code_of_the_model_runs(tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    engine = odd(tmp_path, start=f"touches {ran}")
    assert ran.exists() and engine.device == "cpu"
    ran.unlink()
    pin = odd_pin(tmp_path, start=f"touches {ran}")
    assert pin.program is not None
    pin.program.packages.append("torch==9.0")
    with refused(
        "the environment bare lacks torch==9.0, not as pinned; build it again with `vouch env bare`"
    ):
        load(pin, CONFIG)
    assert not ran.exists() and len(left_over()) == 1


def test_two_at_once_and_a_run_that_stops_early(tmp_path: Path) -> None:
    one, other = odd(tmp_path, batch=4), odd(tmp_path, batch=4)
    packs = [Pack("letters", [Question(f"fine {n}", None, f"fine {n}", labels=("A", "B"))]) for n in range(9)]
    both = list(zip(one.answer(packs), other.answer(packs), strict=True))
    assert len(both) == 9
    next(iter(one.answer(packs)))  # the others were sent, and nobody waits for them
    assert len(letters(one, "fine a", "fine b")) == 2


def test_a_driver_whose_guard_was_ended_is_started_again(tmp_path: Path) -> None:
    engine = odd(tmp_path)
    guard = vars(engine)["_child"]._process.pid
    (driver,) = map(int, Path(f"/proc/{guard}/task/{guard}/children").read_text().split())
    os.kill(guard, signal.SIGKILL)
    assert gone(driver)
    assert isinstance(letters(engine, "fine")["fine"].answer, LetterAnswer)
    assert engine.notes["restarts"] == 1 and len(left_over()) == 1


def test_nothing_is_left_of_what_a_driver_starts(tmp_path: Path) -> None:
    engine = odd(tmp_path)
    letters(engine, f"forks {tmp_path / 'pids'}")
    pids = list(map(int, (tmp_path / "pids").read_text().split()))
    assert len(pids) == 2
    del engine
    assert all(map(gone, pids)) and left_over() == []


ENDS = {  # what a Vouch does in its folder, and what ends it
    "kill -9": ("letters(odd(here), f'forks_and_hangs {pids}')", signal.SIGKILL),
    "kill -9 of a stubborn driver": (
        "letters(odd(here, stubborn=True), f'forks_and_hangs {pids}')",
        signal.SIGKILL,
    ),
    "kill -9 at the start": ("odd(here, start=f'forks_and_hangs {pids}')", signal.SIGKILL),
    "Ctrl-C": ("letters(odd(here), f'forks_and_hangs {pids}')", signal.SIGINT),
    "Ctrl-C at the start": ("odd(here, start=f'forks_and_hangs {pids}')", signal.SIGINT),
    "TERM": ("letters(odd(here), f'forks_and_hangs {pids}')", signal.SIGTERM),
}
EACH = """
import os, sys
from pathlib import Path
from tests.models.program.conftest import letters, odd

for folder, does in zip(sys.argv[1::2], sys.argv[2::2]):
    process = os.fork()
    if not process:
        os.chdir(folder)
        eval(does, {**globals(), "here": Path(folder), "pids": Path(folder) / "pids"})
    print(process, flush=True)
while True:
    os.wait()
"""


def test_the_end_of_vouch_leaves_no_child(tmp_path: Path) -> None:
    folders = {name: tmp_path / name.replace(" ", "_") for name in ENDS}
    for folder in folders.values():
        folder.mkdir()
    words = [word for name, (does, _) in ENDS.items() for word in (str(folders[name]), does)]
    script = subprocess.Popen(
        [sys.executable, "-c", EACH, *words],
        env={**os.environ, "PYTHONPATH": str(ROOT), "VOUCH_PROGRAM_SILENCE": "600"},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    assert script.stdout is not None
    vouches = {name: int(script.stdout.readline()) for name in ENDS}
    pids = {name: _pids(folder / "pids") for name, folder in folders.items()}
    for name, process in vouches.items():
        os.kill(process, ENDS[name][1])
    script.wait()
    for name, folder in folders.items():
        assert len(pids[name]) == 3 and all(map(gone, pids[name])), name
        deadline = time.monotonic() + 10
        while left_over(folder) and time.monotonic() < deadline:
            time.sleep(0.05)
        assert left_over(folder) == [], name


def _pids(path: Path, seconds: float = 60.0) -> list[int]:
    """The three process ids that a driver writes there."""
    deadline, pids = time.monotonic() + seconds, list[int]()
    while len(pids) < 3 and time.monotonic() < deadline:
        time.sleep(0.05)
        pids = list(map(int, path.read_text().split())) if path.exists() else []
    return pids


def test_programs_of_a_clone_see_no_secret(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Git itself runs what a clone's configuration names."""
    clone, hook, seen = tmp_path / "clone", tmp_path / "hook", tmp_path / "seen"
    clone.mkdir()
    hook.write_text(f"#!/bin/sh\nenv > {seen}\n", "utf-8")
    hook.chmod(0o755)
    author = ["-c", "user.name=me", "-c", "user.email=me@host"]
    for words in (
        ["init", "--quiet"],
        [*author, "commit", "--quiet", "--allow-empty", "--message=x"],
        ["config", "core.fsmonitor", str(hook)],
    ):
        subprocess.run(["git", "-C", str(clone), *words], check=True)
    monkeypatch.setenv("HF_TOKEN", "hf_planted")
    assert commit(clone, changed=True)
    assert "PATH=" in seen.read_text("utf-8") and "hf_planted" not in seen.read_text("utf-8")
