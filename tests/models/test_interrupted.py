"""Runs that do not go smoothly give the bytes of one that does.

They are killed and started again, run at once, or hold prompts without an answer beside the others.
"""

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from tests.models.project import BUSY, DATASET, HANGS, MODEL, PACE, ROOT, Project, prompt, quiz
from tests.refusals import refused
from vouch.models.work_cache import FLUSH_ANSWERS
from vouch.pipeline.dag import read_dag
from vouch.pipeline.locks import stage_lock
from vouch.pipeline.records import local_record
from vouch.tables.answered import RESPONSES
from vouch.tables.asked import LETTERS, OUTPUTS, TEXT


def start(quick: Project, hangs_after: int = -1, pace: float = 0) -> subprocess.Popen[str]:
    """Starts extract as its command does."""
    quick.save()
    run = (
        "import runpy; from tests.models.project import ENGINES, QUICK; ENGINES['transformers'] = QUICK; "
        "runpy.run_module('stages.extract', {}, '__main__')"
    )
    return subprocess.Popen(
        [sys.executable, "-c", run, MODEL, DATASET],
        cwd=quick.path,
        env={**os.environ, "PYTHONPATH": f"{quick.path}:{ROOT}", HANGS: str(hangs_after), PACE: str(pace)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def stored(quick: Project) -> int:
    return sum(pq.read_metadata(path).num_rows for path in quick.shards())


def stop_after(quick: Project, answers: int, number: int = signal.SIGKILL) -> tuple[int, str]:
    """Starts the stage, signals it once it hangs after so many answers; status and stderr."""
    hangs, deadline = Path("hangs"), time.monotonic() + 120
    hangs.unlink(missing_ok=True)
    process = start(quick, answers)
    while not hangs.exists() and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.01)
    assert process.poll() is None, process.communicate()
    os.kill(process.pid, number)
    _, error = process.communicate(timeout=120)
    return int(process.returncode), str(error)


def finish(quick: Project) -> dict[str, int]:
    """Runs the stage to its end in this process; how many answers it knew and asked."""
    answers: dict[str, int] = quick.extract().measured["answers"]
    return answers


def test_two_runs_at_once_share_the_work(quick: Project) -> None:
    prompts, images = quiz(60, outputs=(LETTERS, TEXT))
    for dataset in (DATASET, "other"):
        quick.ask(prompts, images, dataset)
    processes = [start(quick, pace=0.02) for _ in range(2)]
    errors = [process.communicate(timeout=120)[1] for process in processes]
    assert [process.returncode for process in processes] == [0, 0], errors
    assert stored(quick) == 120, "each prompt was answered once"
    quick.stage("extract", MODEL, "other")
    assert stored(quick) == 120, "the other dataset has the same prompts"
    assert quick.letters() == quick.letters("other")


def test_a_run_that_waited_for_another_does_not_repeat_it(quick: Project) -> None:
    """As after an engine was killed: its stage runs on, and the next command starts the same stage."""
    prompts, images = quiz(3, outputs=[LETTERS])
    quick.ask(prompts, images)
    process = start(quick)
    assert process.wait(120) == 0
    stage = read_dag()[f"extract@{MODEL}-{DATASET}"]
    record = local_record(stage)
    told = record.read_bytes()
    with stage_lock(stage):
        process = start(quick)
        assert process.stderr is not None
        assert "another run of it is busy" in next(
            line for line in process.stderr if line.startswith(stage.name)
        )
    _, error = process.communicate(timeout=120)
    assert process.returncode == 0 and "the other run has made everything" in error
    assert record.read_bytes() == told


def test_killed_runs_end_like_an_undisturbed_one(quick: Project) -> None:
    prompts, images = quiz(2 * FLUSH_ANSWERS + 17, outputs=OUTPUTS)
    for number, row in enumerate(prompts):
        row["outputs"] = [LETTERS] if number % 32 else OUTPUTS
    quick.ask(prompts, images)
    quick.extract()
    undisturbed, asked = quick.bytes(), stored(quick)
    shutil.rmtree(".vouch")
    shutil.rmtree("data/responses")

    for kept in (FLUSH_ANSWERS, 2 * FLUSH_ANSWERS):
        assert stop_after(quick, FLUSH_ANSWERS + 40)[0] == -signal.SIGKILL  # of them a few not of letters
        assert stored(quick) == kept and not RESPONSES[LETTERS].path(MODEL, DATASET).exists()
    assert finish(quick) == {"known": kept, "asked": asked - kept}
    assert quick.bytes() == undisturbed
    assert stored(quick) == asked  # nothing that was stored was asked again


@pytest.mark.parametrize(("number", "status"), [(signal.SIGTERM, 1), (signal.SIGINT, 130)])
def test_a_run_told_to_stop_keeps_what_is_finished(quick: Project, number: int, status: int) -> None:
    count = FLUSH_ANSWERS + 40
    quick.ask(*quiz(count, outputs=[LETTERS]))
    ended, error = stop_after(quick, FLUSH_ANSWERS + 9, number)
    assert ended == status, error
    assert error.splitlines()[-1].endswith("finished answers are kept")
    assert stored(quick) == FLUSH_ANSWERS + 9 and not RESPONSES[LETTERS].path(MODEL, DATASET).exists()
    done = finish(quick)
    assert done["known"] == FLUSH_ANSWERS + 9 and stored(quick) == sum(done.values()), (
        "nothing was asked twice"
    )


def test_a_dialogue_killed_between_its_turns_ends_like_an_undisturbed_one(quick: Project) -> None:
    questions, images = quiz(FLUSH_ANSWERS, outputs=[TEXT])
    prompts: list[dict[str, Any]] = []
    for first in questions:
        name = first["id"]
        turns = {"turns": [(first["text"], "{answer 1}")], "earlier": [[name]], "outputs": [TEXT]}
        prompts += [first, prompt(f"{name}/2", "why", **turns) | {"images": first["images"]}]
    quick.ask(prompts, images)
    quick.extract()
    undisturbed, asked = quick.bytes(), stored(quick)
    shutil.rmtree(".vouch")
    shutil.rmtree("data/responses")

    stop_after(quick, FLUSH_ANSWERS)  # the first turn's last answer ends its shard
    assert stored(quick) == FLUSH_ANSWERS < asked
    assert finish(quick) == {"known": FLUSH_ANSWERS, "asked": asked - FLUSH_ANSWERS}
    assert quick.bytes() == undisturbed and stored(quick) == asked


def test_no_answer_at_all_is_an_error(quick: Project) -> None:
    prompts, images = quiz(2, outputs=[LETTERS])
    quick.ask(prompts, images)
    quick.extract()
    before = quick.bytes()
    quick.ask([prompt("long/original", "what " * 300, [images[0]], outputs=[LETTERS, TEXT])], images)
    with refused(r"tiny\.letters\.parquet: none of 1 prompts has an answer; prompt long/"):
        quick.extract()
    assert quick.bytes() == before, "nothing was written"


def test_a_table_without_any_answer_does_not_take_the_others_along(quick: Project) -> None:
    prompts, images = quiz(2, outputs=[LETTERS])
    quick.ask([*prompts, prompt("long/original", "what " * 300, [images[0]], outputs=[TEXT])], images)
    assert quick.extract().notes["unanswered"] == {TEXT: 1}
    assert len(quick.letters()) == 2
    assert [row["problem"] is None for row in quick.rows(TEXT)] == [False]


def test_transient_trouble_keeps_the_rest_and_is_asked_again(
    quick: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    prompts, images = quiz(8, outputs=(LETTERS, TEXT))
    quick.ask(prompts, images)
    quick.extract()
    undisturbed = quick.bytes()
    shutil.rmtree(".vouch")
    shutil.rmtree("data/responses")

    with monkeypatch.context() as patched:
        for name in ("letters of q2/original", "text of q5/original"):
            patched.setitem(BUSY, name, None)
        with refused(r"^tiny quiz: 2 of 16 answers did not come \(\w+ of q\d/original: busy\)"):
            quick.extract()
    assert quick.extract().measured["answers"] == {"known": 14, "asked": 2}
    assert quick.bytes() == undisturbed
