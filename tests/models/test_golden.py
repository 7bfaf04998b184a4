"""The answers of a fixed model, so that a change of results cannot go unnoticed.

Where this fails because results were meant to change: raise REVISION in the engine's file (else old
answers stay in every work cache) and record the new numbers here.
"""

import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from tests.models.engines import answered, shared
from tests.models.tiny import save_llava
from vouch.models.engine import (
    ENGINES,
    Answered,
    Decoding,
    LetterAnswer,
    LikelihoodAnswer,
    Question,
    TextAnswer,
)

REVISION = 4
LETTERS = {
    "plain": [-0.557342, 0.83836, 0.038354, 3.824691],
    "turns": [-0.668555, 0.582838, 0.031753, 3.838237],
    "two": [-0.37534, 0.628308, 0.034147, 3.834343],
    "blind": [-0.470282, 0.301742, 0.028647, 3.845094],
}
LIKELIHOOD = {
    "plain": [3.969239, 13.930176],
    "turns": [3.554534, 13.42287],
    "two": [4.012509, 13.384144],
    "blind": [4.120238, 12.837607],
}
TEXT = {  # text, place of the end, sums of log-probabilities and entropies
    ("plain", 0.0, 0): ("Z R R R R R", None, -15.273647, 5.615591),
    ("plain", 1.5, 1): ("I R N X W M", None, -23.945184, 5.711517),
    ("plain", 1.5, 2): ("dog L N Y K :", None, -23.686581, 5.684249),
    ("turns", 0.0, 0): ("D E E E E E", None, -15.463644, 5.581438),
    ("turns", 1.5, 1): ("I R M X X N", None, -22.924182, 5.681747),
    ("turns", 1.5, 2): ("house I M Y K SYSTEM", None, -23.356582, 5.750779),
    ("two", 0.0, 0): ("Z R Z R Z R", None, -15.72091, 5.673263),
    ("two", 1.5, 1): ("I S O Y W O", None, -24.856023, 5.770829),
    ("two", 1.5, 2): ("dog L N Z N SYSTEM", None, -24.250243, 5.729979),
    ("blind", 0.0, 0): ("three E E R R R", None, -16.361176, 5.644206),
    ("blind", 1.5, 1): ("G R M X X N", None, -24.681542, 5.69486),
    ("blind", 1.5, 2): ("house I M Y J SYSTEM", None, -23.864886, 5.778055),
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


def packs(output: str) -> list[list[Question]]:
    values = np.arange(20 * 30 * 3, dtype=np.uint32).reshape(20, 30, 3)
    image = Image.fromarray((values * 7 % 251).astype(np.uint8))
    given: dict[str, Any] = {
        "letters": {"labels": "AB"},
        "likelihood": {"options": ("cat", "a red dog")},
        "text": {"max_tokens": 6, "decodings": (Decoding(), Decoding(1.5, 1, 11), Decoding(1.5, 2, 12))},
    }[output]
    text = "what is shown here ?\nA cat\nB dog"
    turns = (("is it blue ?", "one"),)
    questions = [
        Question("plain", None, text, images=(image,), **given),
        Question("turns", "be brief", text, turns, "it is", images=(image,), **given),
        Question("two", None, "<image 1> is red , <image 2> is blue ?", images=(image,) * 2, **given),
        Question("blind", None, text, **given),
    ]
    return [[one] for one in questions] if output == "text" else [questions]


def numbers(one: Answered) -> list[float]:
    """Of letters: logits of A and B, mass, entropy. Of likelihood: each option's."""
    answer = one.answer
    if isinstance(answer, LetterAnswer):
        return [*answer.logits, answer.letter_mass or 0, answer.entropy or 0]
    assert isinstance(answer, LikelihoodAnswer)
    return list(answer.nll)


def test_answers_of_this_revision(fixed: Path) -> None:
    loaded = shared(fixed)
    assert ENGINES["transformers"].revision == REVISION
    for output, golden in (("letters", LETTERS), ("likelihood", LIKELIHOOD)):
        answers = {id: numbers(one) for id, one in answered(loaded, output, packs(output)).items()}
        assert answers.keys() == golden.keys()
        for id, expected in golden.items():
            assert answers[id] == pytest.approx(expected, abs=1e-4), (output, id)


def test_texts_of_this_revision(fixed: Path) -> None:
    found = {}
    for key, one in answered(shared(fixed), "text", packs("text")).items():
        assert isinstance(one.answer, TextAnswer) and one.answer.entropies
        found[key] = one.answer.text, one.answer.eos, sum(one.answer.logprobs), sum(one.answer.entropies)
    assert found.keys() == TEXT.keys()
    for key, (text, eos, logprobs, entropies) in TEXT.items():
        assert found[key][:2] == (text, eos), key
        assert found[key][2:] == pytest.approx((logprobs, entropies), abs=1e-4), key
