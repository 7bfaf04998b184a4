"""Tiny models of random weights by table.py, and prompts for them: tokenised, everything after is the real thing."""

import copy
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

import torch
from transformers import AutoConfig, AutoModelForImageTextToText

from tests.models.families.table import EOS, FAMILIES, IMAGE, ROWS, TEXT, TOWER, WORDS, Kind, Tensors
from vouch.models.chat.chat import LetterIds
from vouch.models.config import ExtractConfig
from vouch.models.decoder.answering import SharedPrefix
from vouch.models.decoder.passes import TOKEN_KINDS, Forward, images_of
from vouch.models.decoder.preparing import Prepared
from vouch.models.decoder.rows import Mode
from vouch.models.engine import Answered, Decoding, Pack, Question

CONFIG = ExtractConfig(batch=3, bucket=8, threads=1, device="cpu", workers=1)
MOST = 6  # tokens that are generated
LETTERS = LetterIds("", (41, 42, 43, 44), (51, 52, 53, 54), (61,))

torch.set_num_threads(1)


@dataclass(frozen=True)
class Family:
    """A model with what the table says of it."""

    model: Any
    kind: Kind
    _written: dict[tuple[str, int], tuple[list[int], torch.Tensor]] = field(default_factory=dict)

    @property
    def mode(self) -> Mode:
        return self.kind.mode

    @property
    def forward(self) -> Forward:
        return Forward(self.model, "cpu", WORDS, 0)

    def image(self, number: int, count: int = 1) -> Tensors:
        """Tensors of one of several images, or of so many from that one on."""
        noise = torch.Generator().manual_seed(number)
        shown = [
            {
                name: torch.randn(value, generator=noise) if isinstance(value, tuple) else value
                for name, value in self.kind.shown.items()
            }
            for _ in range(count)
        ]
        if count > 1 and self.kind.joined == 0:
            return images_of(shown, self.model, "cpu")  # rows of one image each
        return {name: torch.cat([one[name] for one in shown], self.kind.joined or 0) for name in shown[0]}

    def beside(self, ids: Sequence[int], prompt: int) -> Tensors:
        """Tensors beside tokens, of which the first so many are the prompt's."""
        return {name: make(torch.tensor([ids]), prompt) for name, make in self.kind.beside.items()}

    def prepared(
        self,
        name: str,
        words: int,
        image: int = 0,
        options: Sequence[Sequence[int]] = (),
        max_tokens: int = 0,
        images: int = 1,
    ) -> Prepared:
        """A prompt of random words after images; the words before these belong to the first one."""
        before = random.Random(f"before {image}").choices(range(70, WORDS), k=5)
        after = random.Random(name).choices(range(70, WORDS), k=words)
        shown = [*[IMAGE] * self.kind.places, *self.kind.closing]
        ids = (1, *before, *[*shown, 70] * (images - 1), *shown, *after)  # a word between two images
        question = Question(
            name,
            None,
            name,
            labels="" if options or max_tokens else "ABCD",
            options=["" for _ in options],
            max_tokens=max_tokens,
            decodings=(Decoding(),) if max_tokens else (),
        )
        return Prepared(
            question=question,
            ids=ids,
            prefix=len(ids) - words,
            shown=self.image(image, images),
            by_token=self.beside(ids, len(ids)),
            letters=None if options or max_tokens else LETTERS,
            options=tuple(map(tuple, options)),
        )

    def bare(self, name: str, words: int) -> Prepared:
        """A prompt of random words without an image."""
        whole = self.prepared(name, words)
        ids = (1, *whole.ids[whole.prefix :])
        beside = {name: value for name, value in self.beside(ids, len(ids)).items() if name in TOKEN_KINDS}
        return replace(whole, ids=ids, prefix=0, shown={}, by_token=beside)

    def _inputs(self, prepared: Prepared, more: Sequence[int] = ()) -> Tensors:
        ids = [*prepared.ids, *more]
        given = dict(prepared.shown) | {
            name: value
            for name, value in self.beside(ids, len(prepared.ids)).items()
            if name in prepared.by_token
        }
        floating = {
            name: value.to(self.model.dtype) for name, value in given.items() if value.is_floating_point()
        }
        whole = torch.tensor([ids])
        return given | floating | {"input_ids": whole, "attention_mask": torch.ones_like(whole)}

    @torch.no_grad()
    def logits(self, prepared: Prepared, more: Sequence[int] = ()) -> torch.Tensor:
        """[n, WORDS] of a prompt and further tokens by themselves, float32, as anybody would call the model."""
        result = self.model(use_cache=False, **self._inputs(prepared, more))
        return torch.as_tensor(result.logits[0, :, :WORDS]).float()

    def generated(self, prepared: Prepared, tokens: int) -> tuple[list[int], torch.Tensor]:
        """What transformers itself generates, and the logits [tokens, WORDS] of each step."""
        key = prepared.question.id, prepared.prefix
        if key not in self._written:
            self._written[key] = self._generated(prepared, MOST)
        ids, logits = self._written[key]
        return ids[:tokens], logits[:tokens]

    @torch.no_grad()
    def _generated(self, prepared: Prepared, tokens: int) -> tuple[list[int], torch.Tensor]:
        result = self.model.generate(
            **self._inputs(prepared),
            max_new_tokens=tokens,
            do_sample=False,
            eos_token_id=EOS,
            suppress_tokens=list(range(WORDS, ROWS)),
            return_dict_in_generate=True,
            output_logits=True,
        )
        logits = torch.stack(result.logits, dim=1)[0, :, :WORDS].float()
        return result.sequences[0, -len(logits) :].tolist(), logits

    def asked(
        self, output: str, packs: Sequence[Sequence[Prepared]], mode: Mode | None = None
    ) -> dict[str, Answered]:
        """The engine's answers by the prompt's id."""
        ready: Any = _Ready({one.question.id: one for pack in packs for one in pack})
        engine = SharedPrefix(self.forward, ready, CONFIG, mode or self.mode, {EOS})
        found = engine.answer(Pack(output, [one.question for one in pack]) for pack in packs)
        return {answered.question: answered for answered in found}


class _Ready:
    """Stands where a processor would: prompts of a test by their id."""

    vocabulary, folder = WORDS, Path("tiny")

    def __init__(self, prompts: Mapping[str, Prepared]) -> None:
        self._prompts = prompts

    def for_thread(self) -> "_Ready":
        return self

    def one_shape(self) -> bool:
        return True

    def prepare(self, question: Question) -> Prepared:
        return self._prompts[question.id]

    def decode(self, ids: Sequence[int], special: bool = False) -> str:
        return " ".join(map(str, ids))


def strong(model: Any) -> Any:
    """Weights so large that the logits show every position and every token that is looked at.

    With the usual small random weights attention is nearly even and wrong masks hide.
    """
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for name, value in model.named_parameters():
            if value.ndim == 1 and value.numel() == 1:
                value.fill_(0.5)  # a gate that starts closed would hide the image
            elif value.ndim == 1:
                if "bias" in name:
                    value.normal_(0, 0.02, generator=generator)
            elif "embed_tokens" in name:
                value.normal_(0, 1, generator=generator)
            elif value.ndim == 2:
                value.normal_(0, 2 / value.shape[1] ** 0.5, generator=generator)
            else:
                value.normal_(0, 0.05, generator=generator)
    return model.eval()


@cache
def family(name: str) -> Family:
    """A family that all tests of a session share; none may change it."""
    kind = FAMILIES[name]
    config = AutoConfig.for_model(
        kind.model_type,
        vision_config=TOWER | kind.vision,
        text_config=TEXT | kind.text,
        tie_word_embeddings=False,
        **kind.more,
    )
    for token in ("image_token_index", "image_token_id", "image_patch_id"):
        if token in vars(config):
            setattr(config, token, IMAGE)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return Family(strong(AutoModelForImageTextToText.from_config(config)), kind)


def fresh(name: str) -> Family:
    """A family of its own, which a test may change."""
    shared = family(name)
    return Family(copy.deepcopy(shared.model), shared.kind)
