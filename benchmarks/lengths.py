"""Prompts of mixed length: `python -m benchmarks.lengths [REALDATA]` from the repository root.

How full passes are with the two kinds of `extract.bucket`, and the speed of asking for letters. The lengths
are those of 200 real questions with their options and hints, if ../shared holds them or a folder of such sets
is named, and else random ones of the same distribution. The model is a LLaVA of random weights, its image
left out, and words stand for tokens.

The peer works like lm-evaluation-harness: prompts sorted by length, the longest first, batches of 8 padded to
their longest, logits of every position. Its batches are full and hardly padded, but the last bits of an
answer depend on the other prompts of its batch.
"""

import json
import random
import statistics
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from benchmarks._asking import MARKS
from benchmarks._clock import seconds
from benchmarks._figure import figure
from benchmarks._llava import SMALL, as_published, load, sentence
from vouch.models.batching import Bucket, PlannedRow, TokenCounts, count_passes, padded_length, planned_rows
from vouch.models.config import ExtractConfig
from vouch.models.decoder.engine import shared_prefix
from vouch.models.engine import Engine, LetterAnswer, Pack, Question
from vouch.tables.asked import LETTERS, LIKELIHOOD, OUTPUTS

REALDATA = Path(__file__).resolve().parents[2] / "shared" / "reference" / "realdata"
SETS = {"ai2d_mini": 10, "mmbench_samples": 38, "puzzlevqa": 52, "scienceqa_test": 100}
QUESTIONS, BATCH, ROUNDS = sum(SETS.values()), 8, 2
BYTES = 3.7  # of a token
ADDED = 20  # tokens of an instruction and a chat template
TEMPLATE = 6  # of them, those that the template adds here
BUCKETS: tuple[Bucket, ...] = (32, "geometric")
PEER = "sorted by length, batches of 8, all logits"
TOLERANCE = 1e-4  # of the standard deviation of the numbers

Answers = dict[str, list[float]]  # a number for each mark, by a question's id


def prompts(folder: Path) -> list[tuple[int, list[int]]]:
    """Tokens of 200 prompts, and of the options of each."""
    rng = random.Random(5)
    if not folder.is_dir():
        made = (min(max(rng.lognormvariate(4.45, 0.55), 50), 400) for _ in range(QUESTIONS))
        return [(round(tokens), [rng.choice((1, 1, 2, 2, 3, 5, 9)) for _ in range(4)]) for tokens in made]
    rows = []
    for name, count in SETS.items():
        lines = (folder / name / "items.jsonl").read_text("utf-8").splitlines()
        for line in rng.sample(lines, count):
            item = json.loads(line)
            options = [tokens(option) for option in item["options"]]
            text = f"{item.get('hint') or ''}{item['question']}"
            rows.append((tokens(text) + sum(options) + 3 * len(options) + ADDED, options))
    rng.shuffle(rows)
    return rows


def tokens(text: str) -> int:
    """About as many as a text has."""
    return max(1, round(len(text.encode()) / BYTES))


def shares(asked: list[tuple[int, list[int]]], bucket: Bucket) -> tuple[float, float]:
    """Filling rows among all rows and padding among all tokens, each request type asked once."""
    rows = Counter[PlannedRow]()
    for prompt, options in asked:
        for output in OUTPUTS:
            scored = tuple(options) if output == LIKELIHOOD else ()
            rows.update(planned_rows(output, [TokenCounts(prompt, prompt, scored)], after_image=True))
    passes = count_passes(rows, BATCH, bucket)
    real = sum(row.tokens * number for row, number in rows.items())
    of_rows = sum(padded_length(row.tokens, bucket) * number for row, number in rows.items())
    return passes.filling / passes.rows, 1 - real / of_rows


class Sorted:
    """The peer. model: as published. processor: of the model."""

    def __init__(self, model: Any, processor: Any) -> None:
        self._model, self._processor = model, processor
        self._marks = processor.tokenizer.convert_tokens_to_ids(list(MARKS))

    @torch.no_grad()
    def answer(self, asked: Sequence[Question]) -> Answers:
        """Logits of the marks, by a question's id."""
        ids = {one.id: self._ids(one) for one in asked}
        order = sorted(ids, key=lambda name: -len(ids[name]))
        answers = {}
        for start in range(0, len(order), BATCH):
            part = order[start : start + BATCH]
            batch = torch.zeros((len(part), len(ids[part[0]])), dtype=torch.long)
            for row, name in enumerate(part):
                batch[row, : len(ids[name])] = torch.tensor(ids[name])
            logits = self._model(input_ids=batch, attention_mask=(batch != 0).long()).logits
            for row, name in enumerate(part):
                answers[name] = logits[row, len(ids[name]) - 1, self._marks].tolist()
        return answers

    def _ids(self, question: Question) -> list[int]:
        content = [{"type": "text", "text": question.text}]
        text = self._processor.apply_chat_template(
            [{"role": "user", "content": content}], add_generation_prompt=True
        )
        ids: list[int] = self._processor(text=text)["input_ids"][0]
        return list(ids)


def by_engine(engine: Engine, asked: Sequence[Question]) -> Answers:
    """The same from the engine."""
    answers = {}
    for one in engine.answer(Pack(LETTERS, [question]) for question in asked):
        assert isinstance(one.answer, LetterAnswer), one.answer
        answers[one.question] = list(one.answer.logits)
    return answers


def apart(mine: Answers, its: Answers) -> float:
    """Largest difference, in standard deviations of the peer's numbers."""
    sides = torch.tensor([(mine[name], its[name]) for name in its])
    return float((sides[:, 0] - sides[:, 1]).abs().max() / sides[:, 1].std())


def main() -> None:
    """Measures and prints every figure; fails if the two sides disagree."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else REALDATA
    lengths, kind = prompts(folder), "real" if folder.is_dir() else "generated"
    (filling, padding), (few, least) = (shares(lengths, bucket) for bucket in BUCKETS)
    figure(f"{kind}_filling_rows", 100 * few, "%", "bucket: 32", 100 * filling)
    figure(f"{kind}_padding", 100 * least, "%", "bucket: 32", 100 * padding)
    loaded, rng = load(SMALL, "cpu"), random.Random(1)
    peer = Sorted(as_published(loaded.model), loaded.processor)
    asked = [
        Question(str(number), None, sentence(rng, SMALL, length - TEMPLATE), labels=MARKS)
        for number, (length, _) in enumerate(lengths)
    ]
    config = ExtractConfig(batch=BATCH, threads=1, device="cpu", workers=1)
    engines = {
        bucket: shared_prefix(loaded, None, config.model_copy(update={"bucket": bucket}))
        for bucket in BUCKETS
    }
    times: dict[Bucket, list[tuple[float, float]]] = {bucket: [] for bucket in BUCKETS}
    for _ in range(ROUNDS):
        theirs, its = seconds(lambda: peer.answer(asked), "cpu")
        for bucket, engine in engines.items():
            ours, mine = seconds(lambda engine=engine: by_engine(engine, asked), "cpu")  # type: ignore[misc]
            times[bucket].append((ours, theirs))
            if not apart(mine, its) <= TOLERANCE:
                raise SystemExit("the engine and the peer disagree")
    for bucket, rounds in times.items():
        value, other = (1000 / len(asked) * statistics.median(side) for side in zip(*rounds, strict=True))
        ratio = statistics.median(its / ours for ours, its in rounds)
        figure(f"{kind}_letters_{bucket}", value, "ms/prompt", PEER, other, ratio)
        print(bucket, engines[bucket].notes, file=sys.stderr)


if __name__ == "__main__":
    main()
