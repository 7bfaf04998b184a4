"""What the tests know of a family of models: a tiny one of random weights, its pictures, its inputs."""

import importlib
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import torch

from vouch.models.chat.letter_tokens import LetterIds
from vouch.models.decoder.jobs import Mode
from vouch.models.decoder.pass_inputs import TOKEN_KINDS
from vouch.models.decoder.preparing import Prepared
from vouch.models.requests.engine import Decoding, Question

ROWS = 320  # of the vocabulary's width; WORDS of them have a token
IMAGE, VIDEO, BEGIN, END, LOW, FRAME, FRAME_END = range(300, 307)
WORDS = 299
EOS = 2
WIDTH, HEADS = 64, 4
LETTERS = LetterIds("", (41, 42, 43, 44), (51, 52, 53, 54), (61,))

torch.set_num_threads(1)

Tensors = dict[str, torch.Tensor]


def text(**more: Any) -> dict[str, Any]:
    """Settings of a small text decoder."""
    given: dict[str, Any] = {
        "vocab_size": ROWS,
        "hidden_size": WIDTH,
        "intermediate_size": 2 * WIDTH,
        "num_hidden_layers": 2,
        "num_attention_heads": HEADS,
        "num_key_value_heads": 2,
        "max_position_embeddings": 512,
        "pad_token_id": 0,
        "bos_token_id": 1,
        "eos_token_id": EOS,
        "tie_word_embeddings": False,  # with tied ones of this strength a model repeats what it read
    }
    return given | more


def tower(**more: Any) -> dict[str, Any]:
    """Settings of a small vision tower: 56 x 56 pixels in patches of 14, so 16 of them."""
    given: dict[str, Any] = {
        "hidden_size": 32,
        "intermediate_size": 64,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "image_size": 56,
        "patch_size": 14,
    }
    return given | more


@dataclass(frozen=True)
class Family:
    """A model of random weights.

    places: tokens that a picture takes. shown: tensors of a picture, from a generator. mode: the fastest
    sound one. beside: tensors beside tokens [1, n], of which the first so many are the prompt's.
    """

    model: Any
    places: int
    shown: Callable[[torch.Generator], Tensors]
    mode: Mode = "trie"
    beside: Callable[[torch.Tensor, int], Tensors] = lambda ids, prompt: {}

    def picture(self, number: int) -> Tensors:
        """Tensors of one of several pictures."""
        return self.shown(torch.Generator().manual_seed(number))

    def prepared(
        self,
        name: str,
        words: int,
        picture: int = 0,
        options: Sequence[Sequence[int]] = (),
        max_tokens: int = 0,
    ) -> Prepared:
        """A prompt of random words after a picture; the words before it belong to the picture."""
        before = random.Random(f"before {picture}").choices(range(70, WORDS), k=5)
        after = random.Random(name).choices(range(70, WORDS), k=words)
        ids = (1, *before, *[IMAGE] * self.places, *after)
        question = Question(
            name,
            None,
            name,
            marks="" if options or max_tokens else "ABCD",
            options=["" for _ in options],
            max_tokens=max_tokens,
            decodings=(Decoding(),) if max_tokens else (),
        )
        return Prepared(
            question=question,
            ids=ids,
            prefix=6 + self.places,
            shown=self.picture(picture),
            by_token=self.beside(torch.tensor([ids]), len(ids)),
            letters=None if options or max_tokens else LETTERS,
            options=tuple(map(tuple, options)),
        )

    def bare(self, name: str, words: int) -> Prepared:
        """A prompt of random words without a picture."""
        whole = self.prepared(name, words)
        ids = (1, *whole.ids[whole.prefix :])
        beside = {
            key: value
            for key, value in self.beside(torch.tensor([ids]), len(ids)).items()
            if key in TOKEN_KINDS
        }
        return replace(whole, ids=ids, prefix=0, shown={}, by_token=beside)

    @torch.no_grad()
    def logits(self, prepared: Prepared, more: Sequence[int] = ()) -> torch.Tensor:
        """[n, WORDS] of a prompt and further tokens by themselves, float32, as anybody would call the model."""
        ids = torch.tensor([[*prepared.ids, *more]])
        beside = self.beside(ids, len(prepared.ids))
        result = self.model(
            input_ids=ids,
            attention_mask=torch.ones_like(ids),
            use_cache=False,
            **cast(self.model, prepared.shown),
            **{name: value for name, value in beside.items() if name in prepared.by_token},
        )
        return torch.as_tensor(result.logits[0, :, :WORDS]).float()


def cast(model: Any, tensors: Mapping[str, torch.Tensor]) -> Tensors:
    """Numbers in the model's type."""
    return {
        name: value.to(model.dtype) if value.is_floating_point() else value for name, value in tensors.items()
    }


def strong(model: Any) -> Any:
    """Weights so large that the logits show every position and every token that is looked at.

    With the usual small random weights attention is nearly even and wrong masks hide.
    """
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for name, value in model.named_parameters():
            if value.ndim == 1 and value.numel() == 1:
                value.fill_(0.5)  # a gate that starts closed would hide the picture
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


def noise(*shape: int) -> Callable[[torch.Generator], Tensors]:
    """Pixel values alone."""
    return lambda generator: {"pixel_values": torch.randn(shape, generator=generator)}


def fresh(name: str) -> Family:
    """A family of its own, which a test may change."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        made = importlib.import_module(f"tests.models.families.{name}").build()
    assert isinstance(made, Family)
    strong(made.model)
    return made


@cache
def family(name: str) -> Family:
    """A family that all tests of a session share; none may change it."""
    return fresh(name)
