"""Drivers of the authors' code against that code itself: the letters and the text of a tiny random model.

Each row needs a clone of the authors' repository and an environment, which are not part of this project:

    git clone REPOSITORY ../LLaVA; vouch env llava
    VOUCH_CODE_LLAVA=../LLaVA pytest tests/drivers
"""

import argparse
import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.drivers.tiny_imagebind import SIZES as IMAGEBIND
from tests.models.engines import image
from tests.models.project import ROOT
from vouch.cli.convert import run as convert
from vouch.models.config import ExtractConfig
from vouch.models.engine import Decoding, LetterAnswer, LikelihoodAnswer, Pack, Question, TextAnswer
from vouch.models.lock_entry import LockEntry
from vouch.models.pins import pinned
from vouch.models.program.engine import examined, load
from vouch.models.program.identity import ENVIRONMENTS

TEXT = "Which animal is shown?\nA. cat\nB. dog"
PROBED = "Which?\nA. one\nB. two"
LABELS = ("A", "B")
SHARED = {
    **dict.fromkeys(("minigpt4", "cheetor", "bliva"), "lavis"),
    **dict.fromkeys(("multimodal_gpt", "pandagpt", "llama_adapter_v2"), "adapters"),
    **{"molmo": "prismatic", "sharegpt4v": "mplug_owl2", "yi_vl": "llava"},
}
"""Driver -> the environment that it shares with another."""
SMALL = {"embed_dim": 32, "depth": 3, "num_heads": 2}  # as in tiny_lavis


def python_of(environment: str) -> Path | None:
    """The Python of an environment of this machine."""
    named = os.environ.get(f"VOUCH_ENV_{environment.upper()}")
    path = Path(named) if named else ROOT / ENVIRONMENTS / environment / "bin/python"
    return path if path.exists() else None


@pytest.mark.parametrize(
    ("driver", "parts", "settings"),  # driver, or driver:form if its recipe makes several forms of a model
    [
        ("llava", ["vision_tower"], {}),
        ("llava:first", ["vision_tower"], {"conversation": "llava_v0", "im_start_end": True}),
        ("llava:llama_2", ["vision_tower"], {"conversation": "llava_llama_2"}),
        ("sharegpt4v", ["vision_tower"], {}),
        ("mplug_owl", [], {}),
        ("mplug_owl2", [], {}),
        ("mobilevlm:v1", ["vision_tower"], {}),
        ("mobilevlm:v2", ["vision_tower"], {}),
        ("yi_vl", [], {}),
        ("shikra", ["vision_tower"], {}),
        ("lynx", ["llm", "vision"], {"vit": {"embed_dim": 88, "depth": 2, "num_heads": 1}}),
        ("prismatic", ["llm", "vision", "dino"], {"vit": {"embed_dim": 48, "depth": 3, "num_heads": 2}}),
        ("molmo", ["tokenizer"], {}),
        ("minigpt4", ["bert", "weights"], {"vision": SMALL}),
        ("cheetor", ["bert", "weights"], {"vision": SMALL, "language": "vicuna"}),
        ("cheetor", ["bert", "weights"], {"vision": SMALL, "language": "llama2"}),
        ("bliva", ["bert", "weights"], {"vision": SMALL}),
        ("multimodal_gpt", ["clip", "weights"], {}),
        ("llama_adapter_v2", ["clip", "weights"], {"vision": {"v_embed_dim": 32, "v_depth": 2, "v_num_heads": 2}}),
        ("pandagpt", ["weights"], {"lora_r": 4, "vision": IMAGEBIND}),
    ],
)
def test_letters_and_texts_are_those_of_the_authors_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, driver: str, parts: list[str], settings: dict[str, Any]
) -> None:
    name, _, form = driver.partition(":")
    environment = SHARED.get(name, name)
    python, code = python_of(environment), os.environ.get(f"VOUCH_CODE_{name.upper()}")
    if python is None or code is None:
        needed = f"a clone of the authors' code, and `vouch env {environment}`"
        pytest.skip(f"needs VOUCH_CODE_{name.upper()}, {needed}")
    code = str(Path(code).absolute())
    shown = tmp_path / "shown.png"
    image(5).save(shown)
    recipe = [str(python), str(ROOT / f"tests/drivers/recipe_{name}.py"), code, str(tmp_path)]
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    subprocess.run([*recipe, "make", form or json.dumps(settings)], check=True, capture_output=True)
    asked = json.dumps({"text": TEXT, "labels": LABELS, "image": str(shown), "settings": settings})
    done = subprocess.run([*recipe, "ask", asked], check=True, capture_output=True, text=True)
    own = json.loads(done.stdout.strip().split("\n")[-1])

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(f"VOUCH_ENV_{environment.upper()}", str(python))
    if Path("pickled").is_dir():
        convert(argparse.Namespace(folder="pickled", target="weights"))
    program: dict[str, Any] = {
        "driver": str(ROOT / f"drivers/{name}.py"),
        "environment": environment,
        "trust_code": True,
    }
    program |= {"code": code, "settings": settings}
    program["parts"] = {part: {"kind": "folder", "path": part} for part in parts}
    entry = {
        "engine": "program",
        "source": {"kind": "folder", "path": "model"},
        "dtype": "float32",
        "program": program,
    }
    folders = {part: Path(part) for part in parts}
    locked, outputs = examined(name, LockEntry.model_validate(entry), Path("model"), folders)
    program["locked"] = locked.model_dump()
    engine = load(pinned(name, "model", {name: entry}), ExtractConfig(device="cpu", threads=1))

    def answer(output: str, **wanted: Any) -> Any:
        question = Question("q", None, TEXT, images=(image(5),), **wanted)
        (one,) = engine.answer([Pack(output, [question])])
        return one.answer

    if "letters" in outputs:
        letters = answer("letters", labels=LABELS)
        assert isinstance(letters, LetterAnswer), letters
        assert letters.logits == pytest.approx([own["letters"][label] for label in LABELS], abs=2e-4)
        assert locked.probe is not None
        prompt = locked.probe.prompt.replace(PROBED, TEXT)
        assert prompt.replace(PROBED.lower(), TEXT.lower()) == own["prompt"]
    if "likelihood" in outputs:
        scored = answer("likelihood", options=("cat", "dog"))
        assert isinstance(scored, LikelihoodAnswer) and min(scored.tokens) >= 1
    if "text" in outputs:
        text = answer("text", max_tokens=6, decodings=(Decoding(),))
        assert isinstance(text, TextAnswer) and text.text.strip() == own["text"].strip()
