"""The questions of the self-check: always the same, about pictures of noise."""

import random

from PIL import Image

from vouch.models.decoder.prepared import Prepared
from vouch.models.decoder.preparing import Preparer
from vouch.models.requests.engine import Question
from vouch.pipeline.errors import UserError

_SIDE = 224
_TEXTS = ("What is it?", "Is it day or night? A: day B: night", "How many colours are there?")


def probes(preparer: Preparer) -> list[Prepared]:
    """The questions: two about one picture, one about another of the same size."""
    noise = random.Random(0)
    pictures = [Image.frombytes("RGB", (_SIDE, _SIDE), noise.randbytes(3 * _SIDE**2)) for _ in range(2)]
    shown = (pictures[0], pictures[0], pictures[1])
    try:
        return [
            preparer.prepare(Question(f"probe {number}", None, text, pictures=(picture,)))
            for number, (text, picture) in enumerate(zip(_TEXTS, shown, strict=True))
        ]
    except (UserError, MemoryError) as error:
        why = str(error) or "no memory left"
        raise UserError(
            f"the model's processor or chat template fails at a plain question about a picture ({why}); "
            "correct chat_template.jinja in its folder, or name another one as `template` in models.lock"
        ) from None
