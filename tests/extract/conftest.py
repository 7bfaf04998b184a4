"""A tiny model per test session, and a project around it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from stages.extract.config import Config
from tests.extract.project import Project
from tests.extract.tiny import save_llava

CONFIG = Config(batch=4, bucket=8, threads=1, device="cpu")


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a tiny LLaVA; tests must not change it."""
    return save_llava(tmp_path_factory.mktemp("models") / "tiny")


@pytest.fixture
def project(tmp_path: Path, tiny: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    """A project in its own folder, which is the working folder; the model is pinned."""
    monkeypatch.chdir(tmp_path)
    made = Project(tmp_path, tiny)
    made.pin()
    return made


@pytest.fixture
def scorer() -> Callable[..., Any]:
    """Loads a model folder into a LetterScorer; keywords change the config, `dtype` the weights."""

    def load(folder: Path, dtype: str = "float32", **config: Any) -> Any:
        from stages.extract.letter_scorer import LetterScorer
        from stages.extract.model_loading import load_model

        settings = CONFIG.model_copy(update=config)
        return LetterScorer(load_model(folder, dtype, settings), settings)

    return load
