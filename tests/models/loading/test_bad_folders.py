"""Model folders that are damaged, lie or ask for too much: one line, or answers. See bad_folders.py for what."""

import shutil
from pathlib import Path

import pytest

from tests.models.engines import CONFIG, question
from tests.models.loading.bad_folders import ANSWERING, AT_THE_PIN, BAD
from vouch.models.engines.transformers import load
from vouch.models.pins.pinning import pinned
from vouch.models.requests.engine import Answered, Pack
from vouch.pipeline.stage import _told
from vouch.pipeline.terminal import warnings_aside

ONE = question(1, 4)
ASKED = [
    Pack("letters", [ONE, question(2, 9)]),
    Pack("likelihood", [question(3, 3, marks=(), options=("a cat", "blue"))]),
]


def answers(folder: Path) -> list[Answered]:
    """What a model answers, from its folder as `models` of params.yaml names it."""
    pin = pinned("tiny", str(folder), {})
    pinned_at.append(folder)
    return list(load(pin, CONFIG).answer(ASKED))


pinned_at: list[Path] = []


@pytest.mark.parametrize("name", BAD)
def test_one_line_or_answers(
    name: str, tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    folder = Path(shutil.copytree(tiny, tmp_path / "model"))
    BAD[name](folder)
    refusal = None
    try:
        with warnings_aside():
            found = answers(folder)
    except Exception as error:
        refusal = str(_told(error) or pytest.fail(f"a traceback: {error!r}"))
        assert refusal.startswith(str(folder)), refusal
    else:
        assert {one.question for one in found} == {"q1", "q2", "q3"}
    assert (refusal is None) == (name in ANSWERING), refusal
    assert (folder not in pinned_at) == (name in AT_THE_PIN), refusal
    assert capfd.readouterr().err == ""
