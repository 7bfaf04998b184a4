"""Runs that do not go smoothly give the bytes of one that does.

They are killed and started again, run at once, or hold prompts without an answer beside the others.
"""

import os
import shutil
import signal
import time
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

import pyarrow.parquet as pq
import pytest

from tests.models.project import DATASET, MODEL, Project, prompt, quiz
from tests.refusals import refused
from vouch.models.config import Config
from vouch.models.decoder import engine
from vouch.models.engine import Answered, Engine, Pack, Refusal
from vouch.models.work_cache import FLUSH_ANSWERS
from vouch.pipeline.dag import read_dag
from vouch.pipeline.locks import stage_lock
from vouch.pipeline.records import local_record
from vouch.tables.answered import RESPONSES, Pin
from vouch.tables.asked import LETTERS, LIKELIHOOD, OUTPUTS, TEXT


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
        later = prompt(f"{name}/2", "why", **turns) | {"images": first["images"]}
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


BROKEN = b"not an image"


class Busy:
    """A real engine behind something that fails for some questions, by their ids."""

    def __init__(self, engine: Engine, failing: set[str]) -> None:
        self._engine, self._failing = engine, failing
        self.device: str = engine.device
        self.notes: dict[str, Any] = engine.notes

    def answer(self, packs: Iterable[Pack]) -> Iterator[Answered]:
        for answered in self._engine.answer(packs):
            if answered.question in self._failing:
                yield replace(answered, answer=Refusal("busy", transient=True))
            else:
                yield answered


def test_flagged_rows_beside_answers(project: Project, capsys: pytest.CaptureFixture[str]) -> None:
    prompts, images = quiz(4, outputs=OUTPUTS)
    bad = [
        prompt("long/original", "what " * 300, [images[0]], outputs=OUTPUTS),
        prompt("damaged/original", "what", [BROKEN], outputs=OUTPUTS),
        prompt("unmarked/original", "what", [images[0]], labels="", outputs=[LETTERS]),
        prompt("odd/original", "what", [images[0]], labels="AÄ", outputs=[LETTERS]),
    ]
    project.ask([*bad[:2], *prompts, *bad[2:]], [*images, BROKEN])
    project.extract()
    (line,) = [line for line in capsys.readouterr().err.splitlines() if "without an answer" in line]
    assert line.startswith(
        "tiny quiz: prompts without an answer: letters 4 of 8, likelihood 2 of 6, text 2 of 6; "
    )
    assert "prompt long/original: its 3" in line
    refused = {
        output: {row["prompt"]: row["problem"] for row in project.rows(output) if row["problem"] is not None}
        for output in OUTPUTS
    }
    names = ["long/original", "damaged/original"]
    assert {output: list(found) for output, found in refused.items()} == {
        LETTERS: [*names, "unmarked/original", "odd/original"],
        LIKELIHOOD: names,
        TEXT: names,
    }
    for output in OUTPUTS:
        assert "cannot be decoded" in refused[output]["damaged/original"]
    assert refused[LETTERS]["unmarked/original"] == "asks for letters but has no labels"
    assert "no distinct single token" in refused[LETTERS]["odd/original"]
    assert [row["logits"] for row in project.letters()[:2]] == [None, None]
    assert len([row for row in project.rows(LIKELIHOOD) if row["nll"] is None]) == 8
    before = project.bytes()
    assert project.extract().measured["answers"]["asked"] == 0, "a lasting refusal is remembered"
    assert project.bytes() == before
    project.ask(prompts, images)
    assert project.extract().measured["answers"]["asked"] == 0, "the others were kept"


def test_no_answer_at_all_is_an_error(project: Project) -> None:
    prompts, images = quiz(2, outputs=[LETTERS])
    project.ask(prompts, images)
    project.extract()
    before = project.bytes()
    project.ask([prompt("long/original", "what " * 300, [images[0]], outputs=[LETTERS, TEXT])], images)
    with refused(r"tiny\.letters\.parquet: none of 1 prompts has an answer; prompt long/"):
        project.extract()
    assert project.bytes() == before, "nothing was written"


def test_a_table_without_any_answer_does_not_take_the_others_along(project: Project) -> None:
    prompts, images = quiz(2, outputs=[LETTERS])
    project.ask([*prompts, prompt("long/original", "what " * 300, [images[0]], outputs=[TEXT])], images)
    assert project.extract().notes["unanswered"] == {TEXT: 1}
    assert len(project.letters()) == 2
    assert [row["problem"] is None for row in project.rows(TEXT)] == [False]


def test_transient_trouble_keeps_the_rest_and_is_asked_again(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    prompts, images = quiz(8, outputs=(LETTERS, TEXT))
    project.ask(prompts, images)
    project.extract()
    undisturbed = project.bytes()
    shutil.rmtree(".vouch")
    shutil.rmtree("data/responses")

    real = engine.load

    def load(pin: Pin, config: Config) -> Engine:
        return Busy(real(pin, config), {"letters of q2/original", "text of q5/original"})

    with monkeypatch.context() as patched:
        patched.setattr(engine, "load", load)
        with refused(r"^tiny quiz: 2 of 16 answers did not come \(\w+ of q\d/original: busy\)"):
            project.extract()
    assert project.extract().measured["answers"] == {"known": 14, "asked": 2}
    assert project.bytes() == undisturbed
