"""Models with programs of their own, whose environment is this Python."""

import sys
from collections.abc import Iterator, Sequence
from functools import cache
from importlib.metadata import distributions
from pathlib import Path
from typing import Any

import pytest

from tests.models.project import ROOT
from vouch.models.config import ExtractConfig
from vouch.models.engine import Answered, Engine, Pack, Question, Refusal
from vouch.models.pins import pinned
from vouch.models.program.engine import load
from vouch.models.program.identity import code_digest, driver_files, frozen
from vouch.tables.answered import Pin
from vouch.tables.asked import LETTERS

DRIVERS = ROOT / "tests/models/program/drivers"
HERE = "here"  # the environment of this Python
BARE = "bare"  # the same without its packages, which starts sooner
VERSION = "{}.{}.{}".format(*sys.version_info[:3])
CONFIG = ExtractConfig(batch=4, bucket=8, threads=1, device="cpu")


@pytest.fixture(scope="session", autouse=True)
def _environments(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    folder = tmp_path_factory.mktemp("environments")
    with pytest.MonkeyPatch.context() as patch:
        # packages that were installed without bytecode are compiled once for all drivers
        compiled = f"unset PYTHONDONTWRITEBYTECODE; export PYTHONPYCACHEPREFIX={folder}/compiled"
        patch.setenv("VOUCH_ENV_HERE", python(folder / HERE, before=compiled))
        patch.setenv("VOUCH_ENV_BARE", python(folder / BARE, "-S"))
        patch.setenv("SECRET_KEY", "sk-planted")
        patch.setenv("VOUCH_PROGRAM_START", "300")
        patch.setenv("VOUCH_PROGRAM_SILENCE", "20")
        yield


def python(path: Path, *options: str, before: str = ":") -> str:
    """A program that is this Python with some options; its path."""
    path.write_text(f'#!/bin/sh\n{before}\nexec {sys.executable} {" ".join(options)} "$@"\n')
    path.chmod(0o755)
    return str(path)


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def entry_of(driver: str | Path, folder: str | Path, **program: Any) -> dict[str, Any]:
    """An entry of models.lock. driver: a name of this folder's, or a path."""
    path = DRIVERS / f"{driver}.py" if isinstance(driver, str) else driver
    given = {"driver": str(path), "environment": HERE, "trust_code": True, **program}
    return {"engine": "program", "source": {"kind": "folder", "path": str(folder)}, "program": given}


def pin_of(entry: dict[str, Any], name: str = "m", outputs: Sequence[str] | None = None) -> Pin:
    """The pin, as after `vouch lock`, but that no driver was started for it."""
    own, folder = entry["program"], entry["source"]["path"]
    code = {"code": code_digest(Path(own["code"]))} if "code" in own else {}
    locked = {"driver": driver_files(own["driver"]), "packages": packages(own["environment"]), **code}
    return pinned(name, folder, {name: {**entry, "program": {**own, "locked": locked}, "outputs": outputs}})


@cache
def packages(environment: str) -> list[str]:
    """What an environment holds."""
    held = {} if environment == BARE else {one.metadata["Name"]: one.version for one in distributions()}
    return frozen({**held, "python": VERSION})


def odd_pin(folder: Path, **settings: Any) -> Pin:
    """The pin of the driver `odd`, of a model without weights."""
    model = folder / "model"
    model.mkdir(exist_ok=True)
    (model / "config.json").write_text("{}")
    return pin_of(entry_of("odd", model, environment=BARE, settings=settings), outputs=["letters", "text"])


def odd(folder: Path, **settings: Any) -> Engine:
    """Its engine."""
    return load(odd_pin(folder, **settings), CONFIG)


def letters(engine: Engine, *texts: str) -> dict[str, Answered]:
    """The answers to questions of these texts, by text."""
    questions = [Question(text, None, text, labels=("A", "B")) for text in texts]
    answers = list(engine.answer(Pack(LETTERS, [one]) for one in questions))
    assert sorted(one.question for one in answers) == sorted(texts)
    return {one.question: one for one in answers}


def problem(answered: Answered) -> str:
    assert isinstance(answered.answer, Refusal), answered
    return answered.answer.problem
