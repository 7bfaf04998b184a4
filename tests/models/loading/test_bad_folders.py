"""Model folders that are damaged, lie or ask for too much: one line, or answers. See bad_folders.py for what."""

import shutil
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from tests.bounds import bounded
from tests.models.engines import CONFIG, question
from tests.models.loading.bad_families import READ, SPOILT, USES
from tests.models.loading.bad_folders import ANSWERING, AT_THE_PIN, BAD
from vouch.models.decoder.engine import load
from vouch.models.engine import Pack
from vouch.models.pins import pinned
from vouch.pipeline.run import _told
from vouch.pipeline.terminal import warnings_aside
from vouch.tables.answered import Pin

TEMPLATE = (Path(__file__).parents[3] / "vouch/models/chat/templates/question_answer.jinja").read_text()
ASKED = [
    Pack("letters", [question(1, 4), question(2, 9)]),
    Pack("likelihood", [question(3, 3, labels=(), options=("a cat", "blue"))]),
]


def answers(pin: Pin) -> int:
    return len({one.question for one in load(pin, CONFIG).answer(ASKED)})


def refusal(folder: Path, use: Callable[[Pin], int], template: str | None = None) -> tuple[str | None, bool]:
    """The one line that a folder is refused with, if it is, and whether its pin came first."""
    has_pin = False
    try:
        with bounded(), warnings_aside():
            pin = pinned("tiny", str(folder), {})
            has_pin = True
            assert use(pin.model_copy(update={"template": template}))
    except Exception as error:
        said = str(_told(error) or pytest.fail(f"a traceback: {error!r}"))
        assert said.startswith(str(folder)) and "\n" not in said and len(said) < 600, said
        return said, has_pin
    return None, has_pin


@pytest.mark.parametrize("name", BAD)
def test_one_line_or_answers(
    name: str, tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    folder = Path(shutil.copytree(tiny, tmp_path / "model"))
    BAD[name](folder)
    said, has_pin = refusal(folder, answers)
    assert (said is None) == (name in ANSWERING), said
    assert has_pin == (name not in AT_THE_PIN), said
    assert capfd.readouterr().err == ""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The whole folder of a family."""

    @cache
    def make(family: str) -> Path:
        folder = tmp_path_factory.mktemp("families") / family
        folder.mkdir()
        USES[family][0](folder)
        return folder

    return make


@pytest.mark.parametrize(("family", "name"), [(family, name) for family in SPOILT for name in SPOILT[family]])
def test_other_families(
    family: str,
    name: str,
    made: Callable[[str], Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    whole = made(family)
    capfd.readouterr()
    monkeypatch.chdir(tmp_path)
    folder = Path(shutil.copytree(whole, tmp_path / "model"))
    SPOILT[family][name](folder)
    said, _ = refusal(folder, USES[family][1], TEMPLATE if family in ("blip", "instruct") else None)
    assert (said is None) == (name in READ.get(family, ())), said
    assert capfd.readouterr().err == ""
