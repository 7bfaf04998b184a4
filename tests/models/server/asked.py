"""Questions put to a server in the tests, and what the model behind it would say."""

import random
from collections.abc import Iterator
from typing import Any

from PIL import Image

from tests.models.loopback_server import NAME, Loopback, StandIn
from tests.models.tiny import sentence
from vouch.models.config import ExtractConfig
from vouch.models.engine import Answered, Pack, Question
from vouch.models.server.client import ServerSettings
from vouch.models.server.engine import ServerEngine

KEY = "sk-secret/of+the+test=0123456789"
CONFIG = ExtractConfig(batch=4, bucket=8, threads=1, device="cpu")


def engine(server: Loopback, **settings: Any) -> ServerEngine:
    return ServerEngine(server.url, NAME, ServerSettings(key=KEY, backoff=0.001, **settings))


def image(seed: int, size: tuple[int, int] = (40, 24)) -> Image.Image:
    return Image.frombytes("RGB", size, random.Random(seed).randbytes(3 * size[0] * size[1]))


def questions(count: int, labels: str = "ABCD", **more: Any) -> list[Question]:
    rng = random.Random(1)
    shown = [image(seed) for seed in range(3)]
    return [
        Question(f"q{n}", None, sentence(rng, 2 + n % 7), labels=labels, images=[shown[n % 3]], **more)
        for n in range(count)
    ]


def letters(asked: list[Question]) -> list[Pack]:
    return [Pack("letters", [one]) for one in asked]


def by_question(answers: Iterator[Answered]) -> dict[str, Any]:
    return {one.question: one.answer for one in answers}


def truth(model: StandIn, question: Question) -> dict[str, float]:
    """Log-probability of every spelling's token, from the model itself."""
    content = [{"type": "image"}] * len(question.images) + [{"type": "text", "text": question.text}]
    prompt = model.render([{"role": "user", "content": content}])
    return dict(zip(model.names, model.next(prompt, list(question.images), []), strict=True))


def spelled(row: dict[str, float], label: str) -> list[float]:
    return [row[name] for name in (label, f" {label}", f"{label}.") if name in row]
