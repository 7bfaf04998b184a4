"""The two sides of benchmarks/extract.py: the loop that evaluation scripts use, and the engine.

The loop is that of VLM-Uncertainty-Bench (Kostumov et al., 2024): the processor and one forward pass for
every prompt, logits of every place. For the likelihood of options the options of a prompt are the padded rows
of one pass. The engine gets the packs that `extract` makes.
"""

import random
from collections.abc import Sequence
from string import ascii_uppercase
from typing import Any

import torch
from PIL import Image

from benchmarks._llava import AFTER, Shape, sentence
from vouch.models.engine import Engine, LetterAnswer, LikelihoodAnswer, Pack, Question
from vouch.models.packs import PACK_PROMPTS
from vouch.tables.asked import LETTERS

PICTURE = (640, 480)
SUFFIX = (60, 100)  # tokens after the picture
OPTION = (1, 9)  # tokens of an option
OPTIONS = 4
MARKS = ascii_uppercase[:OPTIONS]

Values = list[list[float]]  # one number per mark or option of each prompt


def questions(shape: Shape, rng: random.Random, output: str, count: int) -> list[Question]:
    """`count` questions about one new picture, with no text in common."""
    picture = Image.frombytes("RGB", PICTURE, rng.randbytes(3 * PICTURE[0] * PICTURE[1]))
    found = []
    for _ in range(count):
        text = sentence(rng, shape, rng.randint(*SUFFIX) - len(AFTER))
        options = [sentence(rng, shape, rng.randint(*OPTION)) for _ in range(OPTIONS)]
        asked = {"labels": MARKS} if output == LETTERS else {"options": options}
        found.append(Question(str(rng.random()), None, text, images=(picture,), **asked))
    return found


def suffix_tokens(question: Question) -> int:
    """Tokens after the picture."""
    return len(question.text.split()) + len(AFTER)


def option_tokens(question: Question) -> list[int]:
    """Tokens of every option."""
    return [len(option.split()) for option in question.options]


class Loop:
    """model: as published. processor: of the model."""

    def __init__(self, model: Any, processor: Any) -> None:
        self._model, self._processor = model, processor
        self._marks = processor.tokenizer.convert_tokens_to_ids(list(MARKS))

    def inputs(self, question: Question) -> Any:
        """What the processor makes of a question, on the model's device."""
        content = [{"type": "image"}, {"type": "text", "text": question.text}]
        text = self._processor.apply_chat_template(
            [{"role": "user", "content": content}], add_generation_prompt=True
        )
        made = self._processor(text=text, images=list(question.images), return_tensors="pt")
        return made.to(self._model.device, self._model.dtype)

    @torch.no_grad()
    def answer(self, output: str, asked: Sequence[Question]) -> Values:
        """Logits of the marks, or nll of the options."""
        if output == LETTERS:
            return [
                self._model(**self.inputs(one)).logits[0, -1, self._marks].float().tolist() for one in asked
            ]
        return [self._likelihood(one) for one in asked]

    def _likelihood(self, question: Question) -> list[float]:
        inputs = self.inputs(question)
        prompt = inputs["input_ids"][0].tolist()
        options = [self._processor.tokenizer(text)["input_ids"] for text in question.options]
        longest = len(prompt) + max(map(len, options))
        ids = torch.zeros((len(options), longest), dtype=torch.long)
        for row, option in enumerate(options):
            ids[row, : len(prompt) + len(option)] = torch.tensor(prompt + option)
        inputs["input_ids"] = ids.to(self._model.device)
        inputs["attention_mask"] = (inputs["input_ids"] != 0).long()
        inputs["pixel_values"] = inputs["pixel_values"].expand(len(options), -1, -1, -1)
        log_probs = self._model(**inputs).logits.log_softmax(dim=-1)
        start = len(prompt) - 1
        return [
            -float(log_probs[row, range(start, start + len(option)), option].double().sum())
            for row, option in enumerate(options)
        ]


def by_engine(engine: Engine, output: str, pictures: Sequence[Sequence[Question]]) -> Values:
    """The same from the engine, the questions about every picture in packs as `extract` makes them."""
    packs = [
        Pack(output, asked[start : start + PACK_PROMPTS])
        for asked in pictures
        for start in range(0, len(asked), PACK_PROMPTS)
    ]
    found = {}
    for answered in engine.answer(packs):
        answer = answered.answer
        if isinstance(answer, LetterAnswer):
            found[answered.question] = list(answer.logits)
        elif isinstance(answer, LikelihoodAnswer):
            found[answered.question] = list(answer.nll)
        else:
            raise SystemExit(f"no answer: {answer}")
    return [found[one.id] for asked in pictures for one in asked]
