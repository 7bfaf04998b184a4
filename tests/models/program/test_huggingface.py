"""The driver of models of the hub with code of their own: three forms, against the forward pass itself.

The driver that docs/add-a-model.md shows is held against it as well, and so is how that page compares.
"""

import math
import re
import shutil
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import torch
from PIL import Image
from safetensors.torch import load_file

from tests.models.engines import image
from tests.models.program.conftest import CONFIG, entry_of, pin_of
from tests.models.program.folders import IMAGES, MODELING, PROMPT, own_model
from tests.models.project import ROOT
from tests.models.tiny import tokenizer
from vouch.models.engine import (
    Decoding,
    Engine,
    LetterAnswer,
    LikelihoodAnswer,
    Pack,
    Question,
    Refusal,
    TextAnswer,
)
from vouch.models.program.engine import load
from vouch.tables.answered import Pin

DRIVER = ROOT / "drivers/huggingface.py"
SHOWN = image(3)
ASKED: dict[str, Any] = {"system": None, "text": "the dog is red", "images": (SHOWN,)}


def forward(
    folder: Path, text: str, picture: Image.Image | None, brightness: float = 0.5, side: int = 8
) -> Any:
    """The log-probabilities of the model's own formula, written once more: (positions, vocabulary)."""
    import numpy as np

    weights = load_file(folder / "model.safetensors")
    ids = torch.tensor(tokenizer()(text)["input_ids"])
    hidden = weights["words.weight"][ids].cumsum(0) / torch.arange(1, len(ids) + 1)[:, None]
    if picture is not None:
        array = np.asarray(picture.convert("RGB"), dtype="float32")[:side, :side] / 255 * brightness
        mean = torch.tensor(array).permute(2, 0, 1).mean((1, 2))
        hidden = hidden + weights["colours.weight"] @ mean + weights["colours.bias"]
    return torch.tanh(hidden) @ weights["head.weight"].T + weights["head.bias"]


Ask = Callable[..., list[Any]]


FORMS = ("processor", "images", "chat", "page")
LOADED = ("vouch_driver", "driver", "their_model")
OWN_PROMPT = {
    "processor": "<image><image>the dog is red Answer",
    "images": "<image>the dog is red Answer",
    "page": "<image>USER: the dog is red ASSISTANT:",
}


def examples() -> list[str]:
    """The programs of the page: a driver, and a comparison."""
    page = (ROOT / "docs/add-a-model.md").read_text("utf-8")
    return re.findall(r"```python\n(.*?)```", page, re.DOTALL)


def their_repository(folder: Path) -> Path:
    """A clone of the authors' code, as the page has it."""
    package = folder / "their-repository/their_model"
    package.mkdir(parents=True)
    for name, text in (("modeling", MODELING), ("images", IMAGES)):
        (package / f"{name}.py").write_text(re.sub(r"\bOwn(Model|Images)", r"Their\1", text))
    return package.parent


@pytest.fixture(scope="module")
def engines(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Path, Engine]]:
    """The folder and the engine of each form; their drivers start at the same time, as most of it is imports."""
    folders, pins = list[Path](), list[Pin]()
    for form in FORMS:
        at = tmp_path_factory.mktemp(form)
        folder = own_model(at / "own", "images" if form == "page" else form)
        if form == "page":
            (at / "their_model.py").write_text(examples()[0])
            entry = entry_of(at / "their_model.py", folder, code=str(their_repository(at)))
        else:
            entry = entry_of(DRIVER, folder, settings={"prompt": PROMPT} if form != "chat" else {})
        folders.append(folder)
        pins.append(pin_of(entry))
        assert {"modeling_own.py", "model.safetensors", "tokenizer.json"} <= set(pins[-1].files)
    with ThreadPoolExecutor() as threads:
        started = threads.map(lambda pin: load(pin, CONFIG), pins)
        return dict(zip(FORMS, zip(folders, started, strict=True), strict=True))


@pytest.mark.parametrize("form", FORMS)
def test_a_model_with_code_of_its_own(engines: dict[str, tuple[Path, Engine]], form: str) -> None:
    folder, engine = engines[form]

    def ask(output: str, **wanted: Any) -> list[Any]:
        question = Question("q", **{**ASKED, **wanted})
        return [one.answer for one in engine.answer([Pack(output, [question])])]

    if form == "chat":
        written = _greedy(folder, "the dog is red", SHOWN, 1.0, 64)
        expected = TextAnswer(tokenizer().decode(written), None, None, None)
        assert ask("text", max_tokens=4, decodings=[Decoding()]) == [expected]
        assert ask("text", max_tokens=4, decodings=[Decoding(0.7, 1, 5)]) == [
            Refusal("a chat function takes no beginning of an answer, and draws no samples")
        ]
        assert ask("letters", labels=("A", "B"))[0].unsupported
        return
    prompt, words = OWN_PROMPT[form], tokenizer()
    logits = forward(folder, prompt, SHOWN)[-1]
    (letters,) = ask("letters", labels=("A", "B", "C"))
    ids = words.convert_tokens_to_ids(["A", "B", "C"])
    assert isinstance(letters, LetterAnswer) and letters.entropy is not None
    assert letters.logits == pytest.approx(logits[ids].tolist(), abs=1e-5)
    known = logits.log_softmax(-1)
    assert letters.letter_mass == pytest.approx(float(known[ids].exp().sum()), abs=1e-6)
    assert letters.entropy == pytest.approx(-float((known.exp() * known).sum()), abs=1e-5)
    (scored,) = ask("likelihood", options=("red dog", "cat"))
    assert isinstance(scored, LikelihoodAnswer) and scored.tokens == [2, 1]
    for option, nll in zip(("red dog", "cat"), scored.nll, strict=True):
        tokens = words(option)["input_ids"]
        rows = forward(folder, f"{prompt} {option}", SHOWN).log_softmax(-1)[-len(tokens) - 1 : -1]
        assert nll == pytest.approx(
            -sum(float(row[one]) for row, one in zip(rows, tokens, strict=True)), abs=1e-4
        )
    (text,) = ask("text", max_tokens=4, decodings=[Decoding()])
    assert isinstance(text, TextAnswer) and text.logprobs and text.entropies
    written = _greedy(folder, prompt, SHOWN, 0.5, 8)
    assert text.text == words.decode([one for one in written if one != 2], skip_special_tokens=True)
    assert text.logprobs[0] == pytest.approx(float(known.max()), abs=1e-5)
    assert text.entropies[0] == pytest.approx(letters.entropy / math.log(len(words)), abs=1e-5)
    again = [ask("text", max_tokens=6, decodings=[Decoding(2.0, 1, seed)])[0] for seed in (5, 5, 6)]
    assert again[0] == again[1] != again[2]
    assert ask("letters", labels=("A", "nothing"))[0].problem.startswith("A, nothing are not one token each")


def _greedy(folder: Path, prompt: str, picture: Image.Image, brightness: float, side: int) -> list[int]:
    words, written = tokenizer(), list[int]()
    for _ in range(4):
        text = f"{prompt} {words.decode(written)}" if written else prompt
        written.append(int(forward(folder, text, picture, brightness, side)[-1].argmax()))
    return written


def test_the_page_compares_with_the_forward_pass(
    engines: dict[str, tuple[Path, Engine]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "drivers").mkdir()
    shutil.copy(ROOT / "drivers/vouch_driver.py", tmp_path / "drivers")
    (tmp_path / "drivers/their_model.py").write_text(examples()[0])
    program = examples()[1].replace("../weights/their-model", str(engines["page"][0]))
    program = program.replace("../their-repository", str(their_repository(tmp_path)))
    monkeypatch.setattr("sys.path", [*sys.path])
    threads = torch.get_num_threads()
    try:
        exec(compile(program, "compare.py", "exec"), {})
    finally:
        torch.set_grad_enabled(True)
        torch.set_num_threads(threads)
        for name in [name for name in sys.modules if name.partition(".")[0] in LOADED]:
            del sys.modules[name]
