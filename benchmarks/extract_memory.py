"""Memory of asking a model: `python -m benchmarks.extract_memory` from the repository root.

A LLaVA of random weights (64 wide, 4 layers, 16 tokens a picture) on one thread. `letters_peak_memory`: the
peak of a process of its own that answers many prompts, each with a picture of its own, against few.
`no_full_logits`: the largest tensor that the last projection gives, against what all places of the same
prompts would take; places are padded, so it holds up to two places of each prompt, whatever its length.
"""

import random
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from PIL import Image

from benchmarks._figure import figure
from tests.models.tiny import save_llava, sentence
from vouch.models.config import ExtractConfig
from vouch.models.decoder.answering import SharedPrefix
from vouch.models.decoder.engine import load_model, shared_prefix
from vouch.models.engine import Pack, Question
from vouch.tables.asked import LETTERS

SIDE, MARKS = 64, "ABCDEF"
MANY, FEW = 4000, 500
BATCH, PROMPTS = 8, 12
SHORT, LONG = 20, 70  # words of a prompt; PROMPTS long ones still fit one trie
NUMBER = 4  # bytes in float32


def engine(folder: Path, batch: int) -> tuple[SharedPrefix, Any]:
    """The engine of the model in a folder, and the model."""
    config = ExtractConfig(batch=batch, bucket=32, threads=1, device="cpu")
    loaded = load_model(folder, "float32", None, config)
    return shared_prefix(loaded, None, config), loaded.model


def questions(rng: random.Random, count: int, words: int) -> list[Question]:
    """`count` questions about one new picture."""
    picture = Image.frombytes("RGB", (SIDE, SIDE), rng.randbytes(3 * SIDE * SIDE))
    return [
        Question(str(rng.random()), None, sentence(rng, words), labels=MARKS, images=(picture,))
        for _ in range(count)
    ]


def packs(count: int) -> Iterator[Pack]:
    """Prompts of 10 to 50 words, each with a picture of its own."""
    rng = random.Random(0)
    for _ in range(count):
        yield Pack(LETTERS, questions(rng, 1, rng.randint(10, 50)))


def largest_logits(asked: SharedPrefix, model: Any, words: int) -> int:
    """Bytes of the largest result of the last projection."""
    seen: list[int] = []
    hook = model.get_output_embeddings().register_forward_hook(
        lambda _module, _inputs, output: seen.append(output.numel() * output.element_size())
    )
    rng = random.Random(words)
    answers = list(asked.answer(Pack(LETTERS, questions(rng, PROMPTS, words)) for _ in range(BATCH)))
    hook.remove()
    assert len(answers) == BATCH * PROMPTS
    return max(seen)


def logits(folder: Path) -> None:
    """The figure no_full_logits; fails if more than two places of each prompt are projected."""
    asked, model = engine(folder, BATCH)
    short, long = (largest_logits(asked, model, words) for words in (SHORT, LONG))
    rows = model.get_output_embeddings().out_features
    most = 2 * BATCH * PROMPTS * rows * NUMBER
    if max(short, long) > most:
        raise SystemExit(f"logits take {short} and {long} bytes, more than {most}, two places of each prompt")
    every = BATCH * PROMPTS * LONG * rows * NUMBER
    name = f"logits of every place of {BATCH * PROMPTS} prompts"
    largest = max(short, long)
    figure("no_full_logits", largest / 2**20, "MiB", name, every / 2**20, every / largest)


def peak(folder: Path, count: int) -> float:
    """MiB that a process needs at most to answer `count` prompts."""
    command = [sys.executable, "-m", "benchmarks.extract_memory", str(folder), str(count)]
    return float(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def high_water() -> float:
    """Peak resident memory of this process, MiB; getrusage would count what its parent had."""
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    return int(status.partition("VmHWM:")[2].split()[0]) / 1024


def main() -> None:
    """Measures and prints every figure."""
    if len(sys.argv) == 3:  # the process that `peak` measures
        asked, _ = engine(Path(sys.argv[1]), 32)
        for _ in asked.answer(packs(int(sys.argv[2]))):
            pass
        print(high_water())
        return
    from transformers.utils.logging import disable_progress_bar

    disable_progress_bar()
    with tempfile.TemporaryDirectory() as scratch:
        folder = save_llava(Path(scratch) / "model", width=64, layers=4, side=SIDE)
        logits(folder)
        few, many = peak(folder, FEW), peak(folder, MANY)
    figure("letters_peak_memory", many, "MiB", f"{FEW} prompts instead of {MANY}", few, few / many)


if __name__ == "__main__":
    main()
