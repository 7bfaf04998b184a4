"""The answers of a fixed model, so that a change of results cannot go unnoticed.

Where this fails because results were meant to change: raise REVISION in the engine's file (else old
answers stay in every work cache) and record the new numbers here.
"""

import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from stages.extract.engine import Question
from stages.extract.engines import transformers as engine
from tests.extract.tiny import save_llava

REVISION = 1
GOLDEN = {  # logits of A and B, letter mass, entropy
    "plain": [-0.557343, 0.838360, 0.038354, 3.824691],
    "system": [-0.608631, 0.718727, 0.035019, 3.838224],
    "two": [-0.760024, 0.550587, 0.029009, 3.850628],
}


@pytest.fixture(scope="module")
def fixed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Weights drawn by numpy from their names, so that no other library's defaults enter."""
    from safetensors.numpy import load_file, save_file

    folder = save_llava(tmp_path_factory.mktemp("models") / "fixed")
    file = folder / "model.safetensors"
    weights = {
        name: np.random.default_rng(zlib.crc32(name.encode())).normal(0, 0.3, value.shape).astype(np.float32)
        for name, value in load_file(file).items()
    }
    save_file(weights, file, metadata={"format": "pt"})
    return folder


def test_answers_of_this_revision(fixed: Path, scorer: Callable[..., Any]) -> None:
    values = np.arange(20 * 30 * 3, dtype=np.uint32).reshape(20, 30, 3)
    picture = Image.fromarray((values * 7 % 251).astype(np.uint8))
    questions = [
        Question("plain", None, "what is shown here ?\nA cat\nB dog", "AB", (picture,)),
        Question("system", "be brief", "what is shown here ?\nA cat\nB dog", "AB", (picture,)),
        Question(
            "two", None, "<image 1> is red , <image 2> is blue ?\nA one\nB two", "AB", (picture, picture)
        ),
    ]
    found = {
        id: [*answer.logits, answer.letter_mass, answer.entropy]
        for id, answer in scorer(fixed).letters(questions)
    }
    assert engine.REVISION == REVISION
    assert found.keys() == GOLDEN.keys()
    for id, expected in GOLDEN.items():
        assert found[id] == pytest.approx(expected, abs=1e-4), id
