"""How good the demo models are, and what hurts them: python -m tools.demo_grades NAME [NAME ...] [--items N]

Asks trained models about held-out pictures with nothing but transformers; prints a table of percentages, with
the 95 % interval of Wilson for the first column of accuracies.
"""

import argparse
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image, ImageEnhance, ImageFilter
from scipy.stats import binomtest
from transformers import AutoModelForImageTextToText, AutoProcessor

from vouch.datasets.loaders import pairs, shapes, shapes_dialog, shapes_text
from vouch.datasets.raw import RawItem
from vouch.datasets.read.files import Source
from vouch.demo.scenes.sampling import RENDERER
from vouch.prompts.build.template import Template, read_template

TRAINED = Path("data/trained")
BATCH = 50
LETTERS = "ABCDEF"
SEED, ALPHA, SPLITS, SAMPLES = 20261, 0.1, 50, 5
REVERSED = "options in reverse order"
REFORM = Template(
    body="{hint}{question} Options: {options}.", hint="{hint}\n", option="({mark}) {text};", added={}
)
Edit = Callable[[Image.Image], Image.Image]


@dataclass(frozen=True)
class Asked:
    """One prompt: earlier turns, text, picture, and the right option's index or texts."""

    text: str
    picture: Image.Image
    answer: int
    count: int
    texts: tuple[str, ...] = ()
    turns: tuple[tuple[str, str], ...] = ()


class Model:
    """A demo model. `letters` [N, 6] are logits, -inf where a letter is not on offer."""

    def __init__(self, name: str) -> None:
        folder = TRAINED / name
        self._processor = AutoProcessor.from_pretrained(folder, backend="pil", local_files_only=True)
        self._model = AutoModelForImageTextToText.from_pretrained(folder, local_files_only=True).eval()
        self._ids = self._processor.tokenizer.convert_tokens_to_ids(list(LETTERS))

    def _batches(self, asked: Sequence[Asked]) -> Iterator[tuple[Sequence[Asked], Any]]:
        for first in range(0, len(asked), BATCH):
            rows = asked[first : first + BATCH]
            prompts = [
                self._processor.apply_chat_template(messages(row), add_generation_prompt=True) for row in rows
            ]
            pictures = [[row.picture] for row in rows]
            yield (
                rows,
                self._processor(text=prompts, images=pictures, return_tensors="pt", padding=True),
            )

    @torch.inference_mode()
    def letters(self, asked: Sequence[Asked]) -> np.ndarray:
        found = []
        for rows, inputs in self._batches(asked):
            logits = self._model(**inputs, logits_to_keep=1).logits[:, -1, self._ids].numpy()
            offered = np.arange(len(LETTERS)) < np.array([[row.count] for row in rows])
            found.append(np.where(offered, logits, -np.inf))
        return np.concatenate(found)

    @torch.inference_mode()
    def texts(self, asked: Sequence[Asked], samples: int = 0) -> list[list[str]]:
        """The greedy answer to each, or so many samples at temperature 1."""
        torch.manual_seed(0)
        options: Mapping[str, Any] = (
            {"do_sample": True, "num_return_sequences": samples} if samples else {"do_sample": False}
        )
        found = []
        for rows, inputs in self._batches(asked):
            tokens = self._model.generate(**inputs, max_new_tokens=4, **options)
            new = tokens[:, inputs["input_ids"].shape[1] :]
            said = [t.strip() for t in self._processor.batch_decode(new, skip_special_tokens=True)]
            each = len(said) // len(rows)
            found += [said[first : first + each] for first in range(0, len(said), each)]
        return found


def messages(asked: Asked) -> list[dict[str, Any]]:
    """The conversation as chat templates expect it, the picture in its first turn."""
    result: list[dict[str, Any]] = []
    for question, answer in asked.turns:
        result.append({"role": "user", "content": [{"type": "text", "text": question}]})
        result.append({"role": "assistant", "content": [{"type": "text", "text": answer}]})
    result.append({"role": "user", "content": [{"type": "text", "text": asked.text}]})
    result[0]["content"].insert(0, {"type": "image"})
    return result


def opened(item: RawItem) -> Image.Image:
    """What an item shows, its pictures side by side."""
    parts = [Image.open(BytesIO(data)).convert("RGB") for data in item.images if isinstance(data, bytes)]
    return Image.fromarray(np.concatenate([np.asarray(part) for part in parts], axis=1))


def choice(item: RawItem, template: Template, order: Sequence[int] | None = None, prefix: str = "") -> Asked:
    """The prompt of a multiple-choice item, its options in an order."""
    order = order if order is not None else range(len(item.options))
    texts = [*(str(item.options[i]) for i in order), *template.added.values()]
    text = template.render(None, prefix + item.question, list(zip(LETTERS, texts, strict=False)))
    return Asked(text, opened(item), list(order).index(item.answers[0]), len(texts))


def right(logits: np.ndarray, asked: Sequence[Asked]) -> np.ndarray:
    """[N]: whether the likeliest letter is the right one."""
    answers = np.array([row.answer for row in asked])
    correct: np.ndarray = logits.argmax(axis=1) == answers
    return correct


def set_size(logits: np.ndarray, asked: Sequence[Asked]) -> float:
    """Mean size of LAC sets over repeated splits into halves."""
    probs = np.exp(logits - logits.max(axis=1, keepdims=True))
    probs /= probs.sum(axis=1, keepdims=True)
    scores = 1 - probs[np.arange(len(asked)), [row.answer for row in asked]]
    sizes = []
    for seed in range(SPLITS):
        order = np.random.default_rng(seed).permutation(len(asked))
        fit, test = order[: len(order) // 2], order[len(order) // 2 :]
        level = min(1.0, np.ceil((len(fit) + 1) * (1 - ALPHA)) / len(fit))
        threshold = np.quantile(scores[fit], level, method="higher")
        sizes.append(float((1 - probs[test] <= threshold).sum(axis=1).mean()))
    return float(np.mean(sizes))


def wilson(share: float, count: int) -> str:
    """The 95 % interval of a share."""
    low, high = binomtest(round(share * count), count).proportion_ci(method="wilson")
    return f"{100 * share:.1f} ({100 * low:.1f} to {100 * high:.1f})"


def edited(asked: Sequence[Asked], edit: Edit) -> list[Asked]:
    """The same prompts with edited pictures."""
    return [replace(row, picture=edit(row.picture)) for row in asked]


def swapped(image: Image.Image) -> Image.Image:
    """The halves of a picture on the other side."""
    return Image.fromarray(np.roll(np.asarray(image), image.width // 2, axis=1))


EDITS: Mapping[str, Edit] = {
    "blur 1": lambda image: image.filter(ImageFilter.GaussianBlur(1)),
    "blur 2": lambda image: image.filter(ImageFilter.GaussianBlur(2)),
    "rotated by 10 degrees": lambda image: image.rotate(10, Image.Resampling.BILINEAR, fillcolor=(240,) * 3),
    "rotated by 90 degrees": lambda image: image.rotate(90),
    "half as bright": lambda image: ImageEnhance.Brightness(image).enhance(0.5),
    "no picture (grey)": lambda image: Image.new("RGB", image.size, (240,) * 3),
}


def items(module: Any, name: str, count: int, **settings: Any) -> list[RawItem]:
    """Items of a dataset of the demo."""
    return list(module.read(Source(RENDERER), name, module.Settings(seed=SEED, items=count, **settings)))


def grade_shapes(model: Model, count: int) -> Iterator[tuple[str, str]]:
    """Accuracy on `shapes`, by task and under everything that could harm it."""
    kostumov, plain = read_template("kostumov"), read_template("plain")
    made = items(shapes, "shapes", count, min_options=4)
    base = [choice(item, kostumov) for item in made]
    logits = model.letters(base)
    good = right(logits, base)
    yield "shapes", wilson(float(good.mean()), len(good))
    yield "shapes: options in a set (LAC, 90 %)", f"{set_size(logits, base):.2f}"
    yield from by_task("shapes", made, good)
    unseen = items(shapes, "shapes", count, min_options=4, phrasings="held_out")
    others = {
        "unseen wording": [choice(i, kostumov) for i in unseen],
        "“Not the star.” before the question": [choice(i, kostumov, prefix="Not the star. ") for i in made],
        REVERSED: [choice(i, kostumov, range(3, -1, -1)) for i in made],
        "without the two added options": [choice(i, plain) for i in made],
        "options in a row (ReForm-Eval)": [choice(i, REFORM) for i in made],
        **{name: edited(base, edit) for name, edit in EDITS.items()},
    }
    for name, asked in others.items():
        found = model.letters(asked)
        yield f"shapes, {name}", f"{100 * right(found, asked).mean():.1f}"
        if name == REVERSED:
            back = np.concatenate([found[:, 3::-1], found[:, 4:]], axis=1).argmax(axis=1)
            same = back == logits.argmax(axis=1)
            yield "shapes: the same answer in reverse order", f"{100 * same.mean():.1f}"


def by_task(name: str, made: Sequence[RawItem], good: np.ndarray) -> Iterator[tuple[str, str]]:
    """Accuracy on each category."""
    for task in dict.fromkeys(sorted(item.category for item in made)):
        chosen = np.array([item.category == task for item in made])
        yield f"{name}: {task}", f"{100 * good[chosen].mean():.1f}"


def grade_pairs(model: Model, count: int) -> Iterator[tuple[str, str]]:
    """Accuracy on `pairs`, and with the sides changed."""
    template = read_template("kostumov", "joined")
    made = items(pairs, "pairs", count)
    base = [choice(item, template) for item in made]
    good = right(model.letters(base), base)
    yield "pairs", wilson(float(good.mean()), len(good))
    yield from by_task("pairs", made, good)
    changed = [replace(row, answer=1 - row.answer) for row in edited(base, swapped)]
    yield "pairs, sides changed", f"{100 * right(model.letters(changed), changed).mean():.1f}"
    unseen = [choice(item, template) for item in items(pairs, "pairs", count, phrasings="held_out")]
    yield "pairs, unseen wording", f"{100 * right(model.letters(unseen), unseen).mean():.1f}"


def grade_text(model: Model, count: int) -> Iterator[tuple[str, str]]:
    """Greedy answers of `shapes_text`, and how often samples differ."""
    made = items(shapes_text, "shapes_text", count)
    asked = [Asked(i.question, opened(i), 0, 0, tuple(i.references)) for i in made]
    good = np.array([said[0] in row.texts for said, row in zip(model.texts(asked), asked, strict=True)])
    yield "shapes_text", wilson(float(good.mean()), len(good))
    yield from by_task("shapes_text", made, good)
    differ = np.array([len(set(said)) > 1 for said in model.texts(asked, SAMPLES)])
    counting = np.array([item.category == "count" for item in made])
    yield f"shapes_text: {SAMPLES} samples differ", f"{100 * differ.mean():.1f}"
    yield f"shapes_text: {SAMPLES} samples differ, count", f"{100 * differ[counting].mean():.1f}"


def grade_dialog(model: Model, count: int) -> Iterator[tuple[str, str]]:
    """Later turns of `shapes_dialog`, with the right answers before them and without any history."""
    template = read_template("kostumov")
    made = {item.id: item for item in items(shapes_dialog, "shapes_dialog", count)}
    later = [item for item in made.values() if item.turns]

    def turn(item: RawItem) -> tuple[str, str]:
        return item.question, str(item.options[item.answers[0]])

    alone = [choice(item, template) for item in later]
    after = [
        replace(row, turns=tuple(turn(made[id]) for id in item.turns))
        for row, item in zip(alone, later, strict=True)
    ]
    good = right(model.letters(after), after)
    yield "shapes_dialog, later turns", wilson(float(good.mean()), len(good))
    yield from by_task("shapes_dialog", later, good)
    bare = right(model.letters(alone), alone)
    yield "shapes_dialog, later turns without history", f"{100 * bare.mean():.1f}"


def main() -> None:
    """Prints a table in Markdown: a row for each condition, a column for each model."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="+")
    parser.add_argument("--items", type=int, default=1000)
    chosen = parser.parse_args()
    torch.set_num_threads(1)
    columns = []
    for name in chosen.names:
        model = Model(name)
        grades = (grade_shapes, grade_pairs, grade_text, grade_dialog)
        columns.append(dict(row for grade in grades for row in grade(model, chosen.items)))
    print("| | " + " | ".join(chosen.names) + " |\n|---|" + "---|" * len(columns))
    for row in columns[0]:
        print(f"| {row} | " + " | ".join(column[row] for column in columns) + " |")


if __name__ == "__main__":
    main()
