"""Drivers as real children: what they answer, what they do wrong, and what is left of them."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from tests.models.program.conftest import entry_of, letters, odd, pin_of
from tests.models.project import MODEL, ROOT, Project, quiz
from tests.refusals import refused
from vouch.images import opening
from vouch.models.engine import Decoding, LetterAnswer, Pack, Question, Refusal, TextAnswer
from vouch.models.program.child import SCRATCH
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


def left_over() -> list[str]:
    """Folders of drivers; logs stay."""
    return [path.name for path in SCRATCH.iterdir() if path.is_dir()]


# The answers of the driver are those of the engine that it wraps.


def test_the_way_there_and_back_changes_no_byte(project: Project) -> None:
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
    os.environ.pop("VOUCH_ENV_HERE")  # stored answers need no environment
    assert project.extract().measured["answers"] == {"known": 9, "asked": 0}
    assert project.bytes() == before


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
        ("beats", None),
        ("refuses", Refusal("too long")),
        ("again", Refusal("no memory", transient=True)),
        ("raises", Refusal("ValueError: a bug", transient=True)),
        ("dies", "odd.py ends at this question, twice: it ended with status 3 (the last words; "),
        ("crashes", "odd.py ends at this question, twice: it was ended by SIGSEGV"),
        ("dies_once MARK", None),
        ("leaks", "odd.py ends at this question, twice: it took "),
        ("hangs", "odd.py ends at this question, twice: it said nothing for 1.5 s"),
    ],
)
def test_one_question_in_trouble_leaves_the_others_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, batch: int, word: str, expected: Any
) -> None:
    if batch > 1 and word in ("leaks", "prints", "beats", "crashes"):
        return  # as with one
    monkeypatch.setenv("VOUCH_PROGRAM_GIGABYTES", "0.4")
    if word == "hangs":
        monkeypatch.setenv("VOUCH_PROGRAM_SILENCE", "1.5")
    if word == "beats":  # takes longer than the silence that it breaks
        monkeypatch.setenv("VOUCH_PROGRAM_SILENCE", "2")
    word = word.replace("MARK", str(tmp_path / "mark"))
    engine = odd(tmp_path, batch=batch, stubborn=word == "hangs")
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


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("{", "a line that is not JSON"),
        ("[1]", "a line that is no mapping"),
        ("[" * 100_000, "a line that is not JSON"),
        ('{"id": 99}', "it answers 99, which it was not asked or has answered"),
        ('{"id": [1]}', "which it was not asked"),
        ('{"id": 1}', "it answers 1, which it was not asked or has answered"),  # twice
        ('{"id": 2}', "`logits` has none numbers, not 2"),
        ('{"id": 2, "logits": [1, 2, 3], "letter_mass": 1, "entropy": 0}', "`logits` has 3 numbers, not 2"),
        ('{"id": 2, "logits": [1, NaN], "letter_mass": 1, "entropy": 0}', "a number is NaN"),
        ('{"id": 2, "logits": [1, 1e999], "letter_mass": 1, "entropy": 0}', "`logits` has a value that cannot be"),
        ('{"id": 2, "logits": [1, true], "letter_mass": 1, "entropy": 0}', "`logits` has a value that cannot be"),
        ('{"id": 2, "logits": [1, ' + "9" * 400 + '], "letter_mass": 1, "entropy": 0}', "a value that cannot be"),
        ('{"id": 2, "logits": [1, 2], "letter_mass": 1.5, "entropy": 0}', "`letter_mass` is 1.5, not a number from 0 to 1"),
        ('{"id": 2, "logits": [1, 2], "letter_mass": 1}', "`entropy` is None"),
        ('{"id": 2, "logits": [1, 2], "letter_mass": 1, "entropy": 0, "flags": ["x"]}', "`flags` are others"),
        ('{"id": 2, "refused": ""}', "`refused` gives no reason"),
        ('{"ready": 1}', "it answers None"),
    ],
)  # fmt: skip
def test_a_broken_line_ends_the_run(tmp_path: Path, line: str, why: str) -> None:
    engine = odd(tmp_path)
    with refused(f"odd.py: breaks the protocol of programs \\(.*{_escaped(why)}.*; correct the driver"):
        letters(engine, "fine", f"says {line}")
    assert left_over() == []


def test_a_line_without_end_ends_the_run(tmp_path: Path) -> None:
    with refused("a line of more than 8 MiB"):
        letters(odd(tmp_path), "floods")


def _escaped(text: str) -> str:
    import re

    return re.escape(text)


@pytest.mark.parametrize(
    ("texts", "why"),
    [
        (["dies 1", "dies 2", "dies 3"], "it ended 4 times in a row without an answer"),
        ([f"raises {n}" for n in range(40)], r"32 questions in a row have no answer \(ValueError: a bug\)"),
        (["fine", 'says {"fatal": "no GPU left"}'], "odd.py: m: no GPU left"),
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
        ("raises", "odd.py: m: ValueError: a bug; .*m.log has what it printed"),
        ("dies", r"odd.py: m does not start: it ended with status 3 \(the last words"),
        ("hangs", "odd.py: m does not start: it said nothing for 1 s"),
    ],
)
def test_a_driver_that_does_not_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, begins: str, why: str
) -> None:
    monkeypatch.setenv("VOUCH_PROGRAM_START", "1" if begins == "hangs" else "300")
    with refused(why):
        odd(tmp_path, start=begins)
    assert left_over() == []


def test_two_at_once_and_a_run_that_stops_early(tmp_path: Path) -> None:
    one, other = odd(tmp_path, batch=4), odd(tmp_path, batch=4)
    packs = [Pack("letters", [Question(f"fine {n}", None, f"fine {n}", labels=("A", "B"))]) for n in range(9)]
    both = list(zip(one.answer(packs), other.answer(packs), strict=True))
    assert len(both) == 9
    next(iter(one.answer(packs)))  # the others were sent, and nobody waits for them
    assert len(letters(one, "fine a", "fine b")) == 2


def test_nothing_is_left_of_what_a_driver_starts(tmp_path: Path) -> None:
    engine = odd(tmp_path)
    letters(engine, f"forks {tmp_path / 'pids'}")
    pids = list(map(int, (tmp_path / "pids").read_text().split()))
    assert len(pids) == 2
    del engine
    assert all(map(gone, pids)) and left_over() == []


@pytest.mark.parametrize("stubborn", [False, True])
def test_kill_9_of_vouch_leaves_no_child(tmp_path: Path, stubborn: bool) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "from pathlib import Path\nfrom tests.models.program.conftest import letters, odd\n"
        f"letters(odd(Path('.'), stubborn={stubborn}), 'forks_and_hangs {tmp_path / 'pids'}')\n"
    )
    vouch = subprocess.Popen(
        [sys.executable, str(script)],
        env={**os.environ, "PYTHONPATH": str(ROOT), "VOUCH_PROGRAM_SILENCE": "600"},
    )
    deadline, pids = time.monotonic() + 60, list[int]()
    while len(pids) < 3 and time.monotonic() < deadline:
        time.sleep(0.05)
        pids = list(map(int, (tmp_path / "pids").read_text().split())) if (tmp_path / "pids").exists() else []
    vouch.send_signal(signal.SIGKILL)
    vouch.wait()
    assert len(pids) == 3 and all(map(gone, pids))
    deadline = time.monotonic() + 10
    while left_over() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert left_over() == []
