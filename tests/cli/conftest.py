"""A checkout to run commands in, and the `vouch` command in this process."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.cli.scored import build
from tests.models.project import ROOT
from vouch.cli.main import main
from vouch.pipeline.yaml12 import load

if TYPE_CHECKING:
    from tests.checkouts.checkout import Checkout

Vouch = Callable[..., str]


@pytest.fixture
def vouch(capsys: pytest.CaptureFixture[str]) -> Vouch:
    """Runs a command and gives what it printed; with `status` 1 that is one line, and the only one."""

    def run(*words: object, status: int = 0) -> str:
        capsys.readouterr()
        assert main([str(word) for word in words]) == status
        out, err = capsys.readouterr()
        assert all(char.isprintable() or char == "\n" for char in out + err), "nothing raw"
        if status:
            assert (out, err.count("\n"), err[:7]) == ("", 1, "vouch: ")
        return err if status else out

    return run


def flat(text: str) -> str:
    """A text without line ends, which depend on the width of the terminal."""
    return " ".join(text.split())


def lay_out(folder: Path, *further: str) -> None:
    """Makes a folder a checkout that has neither data nor models."""
    for name in ("stages", "vouch", *further):
        (folder / name).symlink_to(ROOT / name)
    shutil.copy(ROOT / "dvc.yaml", folder)
    (folder / "models.lock").write_text("models: {}\n", "utf-8")
    shutil.copy(ROOT / "profiles/small.yaml", folder / "params.yaml")


@pytest.fixture
def bare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A checkout without data, with the profile small; the present folder."""
    lay_out(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def enter(checkout: "Checkout", monkeypatch: pytest.MonkeyPatch) -> "Checkout":
    """Lets commands of this process run in a checkout."""
    monkeypatch.chdir(checkout.path)
    for name, value in checkout.env.items():
        monkeypatch.setenv(name, value)
    return checkout


def set_params(**changes: Any) -> None:
    """Changes values of params.yaml here."""
    path = Path("params.yaml")
    path.write_text(json.dumps({**load(path), **changes}), "utf-8")


@pytest.fixture(scope="session")
def scored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project that is scored and compared; tests leave it as it is."""
    folder = tmp_path_factory.mktemp("scored")
    lay_out(folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        build(folder)
    return folder
