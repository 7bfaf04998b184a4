"""Families asked through the engine: prompts come tokenised, everything after that is the real thing."""

from collections.abc import Mapping, Sequence
from typing import Any

import torch

from tests.models.families.family import EOS, ROWS, WORDS, Family, cast
from vouch.models.decoder.decoding import Decoder
from vouch.models.decoder.forward import Forward
from vouch.models.decoder.jobs import Mode
from vouch.models.decoder.preparing import Prepared
from vouch.models.decoder.shared_prefix import SharedPrefix
from vouch.models.requests.config import Config
from vouch.models.requests.engine import Answered, Pack, Question

CONFIG = Config(batch=3, bucket=8, threads=1, device="cpu", workers=1)


class Ready:
    """Stands where a processor would: prompts of a test by their id."""

    vocabulary = WORDS

    def __init__(self, prompts: Mapping[str, Prepared]) -> None:
        self._prompts = prompts

    def for_thread(self) -> "Ready":
        return self

    def one_shape(self) -> bool:
        return True

    def prepare(self, question: Question) -> Prepared:
        return self._prompts[question.id]

    def decode(self, ids: Sequence[int]) -> str:
        return " ".join(map(str, ids))


def forward_of(family: Family) -> Forward:
    return Forward(family.model, "cpu", WORDS, 0)


def asked(
    family: Family, output: str, packs: Sequence[Sequence[Prepared]], mode: Mode | None = None
) -> dict[str, Answered]:
    """Every answer by the prompt's id."""
    prompts = {one.question.id: one for pack in packs for one in pack}
    ready: Any = Ready(prompts)
    forward = forward_of(family)
    engine = SharedPrefix(forward, ready, CONFIG, mode or family.mode, Decoder(ready.decode, (EOS,)))
    found = engine.answer(Pack(output, [one.question for one in pack]) for pack in packs)
    return {answered.question: answered for answered in found}


@torch.no_grad()
def generated(family: Family, prepared: Prepared, tokens: int) -> tuple[list[int], torch.Tensor]:
    """What transformers itself generates, and the logits [tokens, WORDS] of each step."""
    ids = torch.tensor([prepared.ids])
    result = family.model.generate(
        input_ids=ids,
        attention_mask=torch.ones_like(ids),
        **cast(family.model, prepared.shown),
        **prepared.by_token,
        max_new_tokens=tokens,
        do_sample=False,
        eos_token_id=EOS,
        suppress_tokens=list(range(WORDS, ROWS)),
        return_dict_in_generate=True,
        output_logits=True,
    )
    logits = torch.stack(result.logits, dim=1)[0, :, :WORDS].float()
    return result.sequences[0, -len(logits) :].tolist(), logits
