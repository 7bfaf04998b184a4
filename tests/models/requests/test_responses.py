"""Response tables taken back into the work cache."""

import shutil
from pathlib import Path

from tests.models.project import DATASET, MODEL, Project, prompt, quiz
from tests.refusals import refused
from vouch.models.config import Config
from vouch.models.requests import DatasetRequests, Session, answer
from vouch.models.responses import restore
from vouch.tables.answered import RESPONSES, pin_path, read_pin
from vouch.tables.asked import LETTERS, OUTPUTS, TEXT


def asked(project: Project) -> DatasetRequests:
    config = Config.model_validate(project.params["extract"])
    return DatasetRequests(Session(read_pin(pin_path(MODEL)), config), DATASET)


def test_what_was_written_can_be_taken_over_and_written_again(project: Project) -> None:
    project.params["extract"]["sampling"] = [{"temperature": 0.7, "samples": 2}]
    prompts, images = quiz(14, outputs=OUTPUTS)
    repeats = {"outputs": OUTPUTS, "turns": [("what", "{answer 1}")]}
    prompts += [
        prompt("long/original", "what " * 300, [images[0]], outputs=OUTPUTS),
        prompt("damaged/original", "what", [b"no image"], outputs=OUTPUTS),
        prompt("unmarked/original", "what", [images[0]], marks="", outputs=[LETTERS]),
        prompt("talk/original", "why", [images[0]], earlier=[["q3/original"]], **repeats),
        prompt("mute/original", "why", [images[0]], earlier=[["long/original"]], **repeats),
        prompt("silent/original", "why", outputs=()),
    ]
    project.ask(prompts, [*images, b"no image"])
    asked_first = project.extract().measured["answers"]["asked"]
    before = project.bytes()
    assert restore(asked(project)) == 0, "all is known"
    shutil.rmtree(".vouch")
    assert restore(asked(project)) == asked_first
    shutil.rmtree("data/responses")
    run = project.extract()
    assert run.measured["answers"] == {"known": asked_first, "asked": 0} and "engine" not in run.measured
    assert project.bytes() == before


def test_rows_that_do_not_fit_are_one_line(project: Project) -> None:
    prompts, images = quiz(5, outputs=[TEXT])
    project.ask(prompts, images)
    project.extract()
    path = RESPONSES[TEXT].path(MODEL, DATASET)
    rows = project.rows(TEXT)
    for bad, reason in [
        (rows[:3], "prompt q3/original"),
        (rows[::-1], "prompt q0/original"),
        ([{**row, "engine": "transformers/1.1"} for row in rows], "prompt q0/original"),
    ]:
        shutil.rmtree(".vouch", ignore_errors=True)
        RESPONSES[TEXT].table.write(path, bad)
        with refused(rf"^{path}: not the answers of transformers/[0-9.]+ to {reason}"):
            restore(asked(project))
    path.write_bytes(path.read_bytes()[:-9])
    with refused(r"tiny\.text\.parquet: not readable"):
        restore(asked(project))
    assert not list(Path(".vouch").rglob("*.parquet"))


def test_a_text_of_another_revision_is_not_repeated(project: Project) -> None:
    prompts, images = quiz(3, outputs=[TEXT])
    talk = {"outputs": [TEXT], "turns": [("what", "{answer 1}")], "earlier": [["q1/original"]]}
    project.ask([*prompts, prompt("talk/original", "why", [images[0]], **talk)], images)
    project.extract()
    right = {row["prompt"]: row["text"] for row in project.rows(TEXT)}["q1/original"]
    rows = [
        {**row, "text": "other words", "engine": "transformers/1.1"}
        if row["prompt"] == "q1/original"
        else row
        for row in project.rows(TEXT)
    ]
    RESPONSES[TEXT].table.write(RESPONSES[TEXT].path(MODEL, DATASET), rows)
    shutil.rmtree(".vouch")
    dataset = asked(project)
    with refused("nothing further is taken"):
        restore(dataset)
    assert dataset.known_texts == {}
    answer(dataset, lambda answers, total, label: answers)
    assert dataset.known_texts == {"q1/original": right}
