"""Speed and memory of asking a model: `python -m benchmarks.extract` from the repository root.

A LLaVA of random weights (64 wide, 4 layers, 16 tokens a picture) on one thread. The peer is the loop
that evaluation scripts use: one prompt per forward pass, logits of every position, the last one read.
Both sides run the processor, in turn on the same prompts; the best of the rounds counts. Memory is the
peak of a process of its own, answering many prompts against few.
"""

import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from PIL import Image

from benchmarks._figure import figure
from stages.extract.config import Config
from stages.extract.engine import Question
from stages.extract.letter_scorer import LetterScorer
from stages.extract.model_loading import LoadedModel, load_model
from tests.extract.tiny import save_llava, sentence

CONFIG = Config(batch=32, bucket=32, threads=1, device="cpu")
SIDE, MARKS = 64, "ABCDEF"
PROMPTS, ROUNDS = 192, 5
MANY, FEW = 4000, 500


def questions(count: int) -> Iterator[Question]:
    """Prompts of 10 to 50 words, each with a picture of its own."""
    rng = random.Random(0)
    for index in range(count):
        picture = Image.frombytes("RGB", (SIDE, SIDE), rng.randbytes(3 * SIDE * SIDE))
        yield Question(f"q{index}", None, sentence(rng, rng.randint(10, 50)), MARKS, (picture,))


def one_by_one(loaded: LoadedModel, asked: list[Question]) -> list[list[float]]:
    """The peer."""
    import torch

    processor, found = loaded.processor, []
    ids = processor.tokenizer.convert_tokens_to_ids(list(MARKS))
    for question in asked:
        content = [{"type": "image"}, {"type": "text", "text": question.text}]
        text = processor.apply_chat_template(
            [{"role": "user", "content": content}], add_generation_prompt=True
        )
        inputs = processor(text=text, images=list(question.pictures), return_tensors="pt")
        with torch.no_grad():
            found.append(loaded.model(**inputs).logits[0, -1, ids].tolist())
    return found


def milliseconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return (time.perf_counter() - start) * 1000 / PROMPTS


def speed(folder: Path) -> None:
    loaded = load_model(folder, "float32", CONFIG)
    scorer = LetterScorer(loaded, CONFIG)
    asked = list(questions(PROMPTS))
    batched = dict(scorer.letters(asked))
    for question, logits in zip(asked, one_by_one(loaded, asked), strict=True):
        assert max(abs(a - b) for a, b in zip(batched[question.id].logits, logits, strict=True)) < 1e-4
    ours, peer = [], []
    for _ in range(ROUNDS):
        ours.append(milliseconds(lambda: list(scorer.letters(asked))))
        peer.append(milliseconds(lambda: one_by_one(loaded, asked)))
    value, peer_value = min(ours), min(peer)
    name = "one prompt per forward pass, all logits"
    figure("letters_batched_vs_batch1", value, "ms/prompt", name, peer_value, peer_value / value)


def peak(folder: Path, count: int) -> float:
    """MiB that a process needs at most to answer `count` prompts."""
    command = [sys.executable, "-m", "benchmarks.extract", str(folder), str(count)]
    return float(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def high_water() -> float:
    """Peak resident memory of this process, MiB; getrusage would count what its parent had."""
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    return int(status.partition("VmHWM:")[2].split()[0]) / 1024


def memory(folder: Path) -> None:
    few, many = peak(folder, FEW), peak(folder, MANY)
    figure("letters_peak_memory", many, "MiB", f"{FEW} prompts instead of {MANY}", few, few / many)


def main() -> None:
    if len(sys.argv) == 3:  # the process that `peak` measures
        scorer = LetterScorer(load_model(Path(sys.argv[1]), "float32", CONFIG), CONFIG)
        for _ in scorer.letters(questions(int(sys.argv[2]))):
            pass
        print(high_water())
        return
    with tempfile.TemporaryDirectory() as scratch:
        folder = save_llava(Path(scratch) / "model", width=64, layers=4, side=SIDE)
        speed(folder)
        memory(folder)


if __name__ == "__main__":
    main()
