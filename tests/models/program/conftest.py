"""Models with programs of their own, whose environment is this Python."""

import sys
from collections.abc import Iterator, Sequence
from importlib.metadata import distributions
from pathlib import Path
from typing import Any

import pytest

from tests.models.project import ROOT
from vouch.models.config import ExtractConfig
from vouch.models.engine import Answered, Engine, Pack, Question, Refusal
from vouch.models.pins import pinned
from vouch.models.program.engine import load
from vouch.models.program.identity import driver_files, frozen
from vouch.tables.answered import Pin
from vouch.tables.asked import LETTERS

DRIVERS = ROOT / "tests/models/program/drivers"
VERSION = "{}.{}.{}".format(*sys.version_info[:3])
CONFIG = ExtractConfig(batch=4, bucket=8, threads=1, device="cpu")


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("VOUCH_ENV_HERE", sys.executable)
    monkeypatch.setenv("SECRET_KEY", "sk-planted")
    monkeypatch.setenv("VOUCH_PROGRAM_START", "300")
    monkeypatch.setenv("VOUCH_PROGRAM_SILENCE", "10")
    yield


def entry_of(driver: str | Path, folder: str | Path, **program: Any) -> dict[str, Any]:
    """An entry of models.lock. driver: a name of this folder's, or a path."""
    path = DRIVERS / f"{driver}.py" if isinstance(driver, str) else driver
    given = {"driver": str(path), "environment": "here", "trust_code": True, **program}
    return {"engine": "program", "source": {"kind": "folder", "path": str(folder)}, "program": given}


def pin_of(entry: dict[str, Any], name: str = "m", outputs: Sequence[str] | None = None) -> Pin:
    """The pin, as after `vouch lock`, but that no driver was started for it."""
    own, folder = entry["program"], entry["source"]["path"]
    packages = frozen({one.metadata["Name"]: one.version for one in distributions()} | {"python": VERSION})
    locked = {"driver": driver_files(own["driver"]), "packages": packages}
    return pinned(name, folder, {name: {**entry, "program": {**own, "locked": locked}, "outputs": outputs}})


def odd(folder: Path, **settings: Any) -> Engine:
    """The engine of the driver `odd`, of a model without weights."""
    model = folder / "model"
    model.mkdir(exist_ok=True)
    (model / "config.json").write_text("{}")
    pin = pin_of(entry_of("odd", model, settings=settings), outputs=["letters", "text"])
    return load(pin, CONFIG)


def letters(engine: Engine, *texts: str) -> dict[str, Answered]:
    """The answers to questions of these texts, by text."""
    questions = [Question(text, None, text, labels=("A", "B")) for text in texts]
    answers = list(engine.answer(Pack(LETTERS, [one]) for one in questions))
    assert sorted(one.question for one in answers) == sorted(texts)
    return {one.question: one for one in answers}


def problem(answered: Answered) -> str:
    assert isinstance(answered.answer, Refusal), answered
    return answered.answer.problem
