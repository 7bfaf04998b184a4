"""Runs that are killed and started again, or run at once: same bytes, hardly any work twice."""

import os
import shutil
import signal
import time
from typing import Any

import pyarrow.parquet as pq
import pytest

from tests.models.project import DATASET, MODEL, Project, prompt, quiz
from vouch.models.work_cache import FLUSH_ANSWERS
from vouch.pipeline.dag import read_dag
from vouch.pipeline.locks import stage_lock
from vouch.pipeline.run_record import local_record
from vouch.tables.answered import RESPONSES
from vouch.tables.asked import LETTERS, OUTPUTS, TEXT


def stored(project: Project) -> int:
    return sum(pq.read_metadata(path).num_rows for path in project.shards())


def kill_after(project: Project, shards: int, number: int = signal.SIGKILL) -> tuple[int, str]:
    """Starts the stage, signals it by its process id once that many shards are there; status and stderr."""
    process = project.start("extract", MODEL, DATASET)
    deadline = time.monotonic() + 120
    while len(project.shards()) < shards and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.002)
    assert process.poll() is None, process.communicate()
    os.kill(process.pid, number)
    _, error = process.communicate(timeout=120)
    return int(process.returncode), str(error)


def finish(project: Project) -> dict[str, int]:
    """Runs the stage to its end in this process; how many answers it knew and asked."""
    answers: dict[str, int] = project.extract().measured["answers"]
    return answers


def test_two_runs_at_once_share_the_work(project: Project) -> None:
    prompts, images = quiz(60, outputs=(LETTERS, TEXT))
    for dataset in (DATASET, "other"):
        project.ask(prompts, images, dataset)
    processes = [project.start("extract", MODEL, DATASET) for _ in range(2)]
    errors = [process.communicate(timeout=120)[1] for process in processes]
    assert [process.returncode for process in processes] == [0, 0], errors
    assert stored(project) == 120, "each prompt was answered once"
    project.stage("extract", MODEL, "other")
    assert stored(project) == 120, "the other dataset has the same prompts"
    assert project.letters() == project.letters("other")


def test_a_run_that_waited_for_another_does_not_repeat_it(project: Project) -> None:
    """As after an engine was killed: its stage runs on, and the next command starts the same stage."""
    prompts, images = quiz(3, outputs=[LETTERS])
    project.ask(prompts, images)
    process = project.start("extract", MODEL, DATASET)
    assert process.wait(120) == 0
    stage = read_dag()[f"extract@{MODEL}-{DATASET}"]
    record = local_record(stage)
    told = record.read_bytes()
    with stage_lock(stage):
        process = project.start("extract", MODEL, DATASET)
        assert process.stderr is not None
        assert "another run of it is busy" in next(
            line for line in process.stderr if line.startswith(stage.name)
        )
    _, error = process.communicate(timeout=120)
    assert process.returncode == 0 and "the other run has made everything" in error
    assert record.read_bytes() == told


def test_killed_runs_end_like_an_undisturbed_one(project: Project) -> None:
    prompts, images = quiz(2 * FLUSH_ANSWERS + 17, outputs=OUTPUTS)
    for number, row in enumerate(prompts):
        row["outputs"] = [LETTERS] if number % 32 else OUTPUTS
    project.ask(prompts, images)
    project.extract()
    undisturbed, asked = project.bytes(), stored(project)
    shutil.rmtree(".vouch")
    shutil.rmtree("data/responses")

    assert kill_after(project, 1)[0] == -signal.SIGKILL
    kept = stored(project)
    assert kept >= FLUSH_ANSWERS and not RESPONSES[LETTERS].path(MODEL, DATASET).exists()
    kill_after(project, len(project.shards()) + 1)
    assert stored(project) >= kept + FLUSH_ANSWERS
    kept = stored(project)

    assert finish(project) == {"known": kept, "asked": asked - kept}
    assert project.bytes() == undisturbed
    assert stored(project) == asked  # nothing that was stored was asked again


@pytest.mark.parametrize(("number", "status"), [(signal.SIGTERM, 1), (signal.SIGINT, 130)])
def test_a_run_told_to_stop_keeps_what_is_finished(project: Project, number: int, status: int) -> None:
    prompts, images = quiz(4 * FLUSH_ANSWERS, outputs=[LETTERS])
    project.ask(prompts, images)
    ended, error = kill_after(project, 1, number)
    assert ended == status, error
    assert error.splitlines()[-1].endswith("finished answers are kept")
    kept = stored(project)
    assert kept >= FLUSH_ANSWERS and not RESPONSES[LETTERS].path(MODEL, DATASET).exists()
    done = finish(project)
    assert done["known"] == kept and stored(project) == kept + done["asked"], "nothing was asked twice"


def test_a_dialogue_killed_between_its_turns_ends_like_an_undisturbed_one(project: Project) -> None:
    questions, images = quiz(FLUSH_ANSWERS + 5, outputs=[TEXT])
    prompts: list[dict[str, Any]] = []
    for first in questions:
        name = first["id"]
        first["max_tokens"] = 2
        turns = {
            "turns": [(first["text"], "{answer 1}")],
            "earlier": [[name]],
            "outputs": [TEXT],
            "max_tokens": 2,
        }
        later = prompt(f"{name}/2", "why", **turns) | {"pictures": first["pictures"]}
        prompts += [first, later]
    project.ask(prompts, images)
    project.extract()
    undisturbed, asked = project.bytes(), stored(project)
    shutil.rmtree(".vouch")
    shutil.rmtree("data/responses")

    kill_after(project, 2)  # the second shard ends the first turn
    kept = stored(project)
    assert len(questions) <= kept < asked
    assert finish(project) == {"known": kept, "asked": asked - kept}
    assert project.bytes() == undisturbed and stored(project) == asked
