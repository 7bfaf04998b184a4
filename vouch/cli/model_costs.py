"""What each model costs, for `vouch plan`: GPU hours of one of the hub, the price of a server's."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from vouch.cli.counts import Count
from vouch.cli.printing import table
from vouch.models.pins.config import LockEntry
from vouch.models.requests.config import Config
from vouch.models.server.settings import OPENAI
from vouch.params.project import MODELS, Project, locked_models
from vouch.tables.prompts import LETTERS, LIKELIHOOD, TEXT

TEXT_TOKENS = 80  # of a prompt's words
PICTURE = (1024, 768)  # pixels that a picture is taken to have; each prompt is taken to show one
OPTIONS = 4  # that a prompt is taken to have
# Arithmetic of docs/internals/performance.md#gpu-hours; nothing of it was measured.
PROMPT_TOKENS = 576 + 80  # of its picture and its text
OPERATIONS, BYTES = 125e12, 1.5e12  # a second, of one GPU

Places = Sequence[tuple[str, str]]
"""Model and dataset of each cell that is to be asked."""


def model_costs(project: Project, counts: Mapping[str, Count], places: Places) -> list[dict[str, Any]]:
    """What each model will be asked: GPU hours of one of the hub, the price of a server's."""
    locked = locked_models()
    found = []
    for name, source in project.models.items():
        cells = [
            counts[dataset].of(project.extract, model, dataset) for model, dataset in places if model == name
        ]
        entry = locked[name] if source == str(MODELS) else None
        if not cells:
            continue
        asked: dict[str, Any] = {"model": name, "prompts": sum(cell.prompts for cell in cells)}
        cap = project.extract.max_tokens_of.get(name, project.extract.max_tokens)
        if entry and entry.source.kind == "hub":
            size, thought = entry.size, entry.thought_tokens
            hours = gpu_hours(size, cells, project.extract, cap, thought) if size else None
            asked |= {"parameters": size, "gpu_hours": hours}
        if entry and entry.prices:
            paid = cost(entry, cells, cap)
            asked |= zip(("requests", "tokens_in", "tokens_out", "price"), paid, strict=True)
        found.append(asked)
    return found


def gpu_hours(parameters: int, counts: Sequence[Count], config: Config, cap: int, thought: int = 0) -> float:
    """An estimate for one model: parameters times tokens, nothing shared between prompts, texts of `cap`.

    thought: tokens that it thinks before each answer; the answers to one prompt share the greedy thought.

    Reading takes two operations for each parameter and token; a pass that writes a token reads all weights of
    two bytes.
    """
    tokens = PROMPT_TOKENS * sum(sum(one.outputs.values()) for one in counts)
    texts = sum(math.ceil(one.outputs.get(TEXT, 0) / config.batch) for one in counts)
    greedy = sum(math.ceil(max(one.outputs.values(), default=0) / config.batch) for one in counts)
    samples = sum(one.sample_passes(config.batch) for one in counts)
    passes = cap * (texts + samples) + thought * (greedy + samples)
    return 2 * parameters * (tokens / OPERATIONS + passes / BYTES) / 3600


def cost(entry: LockEntry, counts: Sequence[Count], cap: int) -> tuple[int, int, int, float]:
    """Requests, tokens in and out, and their price, by an entry with prices.

    Letters are one token, and so is each request that scores a prompt or one of its options, of servers that
    do; texts `cap` tokens after the thought. A model that thinks is asked for texts alone.
    """
    prices, thought = entry.prices, entry.thought_tokens
    assert prices

    def asked(output: str) -> int:
        return sum(one.outputs.get(output, 0) for one in counts)

    texts = asked(TEXT) + sum(one.samples for one in counts)
    scored = entry.source.kind == "server" and entry.source.url != OPENAI
    short = 0 if thought else asked(LETTERS) + scored * (1 + OPTIONS) * asked(LIKELIHOOD)
    requests = short + texts
    read = requests * (TEXT_TOKENS + prices.picture_tokens(*PICTURE))
    written = short + texts * (cap + thought)
    return requests, read, written, (read * prices.input + written * prices.output) / 1e6


def hours_table(models: Sequence[Mapping[str, Any]]) -> str:
    """Prompts and GPU hours of each model of the hub."""
    rows = [
        [
            *(one["model"], f"{one['parameters'] / 1e9:.1f}" if one["parameters"] else "?"),
            *(str(one["prompts"]), "?" if one["gpu_hours"] is None else f"{one['gpu_hours']:.1f}"),
        ]
        for one in models
        if "gpu_hours" in one
    ]
    head = ["model", "billions", "prompts", "GPU hours"]
    said = "GPU hours: an estimate from parameters x tokens (docs/internals/performance.md), not measured\n"
    return table(head, rows, right={1, 2, 3}) + said if rows else ""


def prices_table(models: Sequence[Mapping[str, Any]]) -> str:
    """Requests and their price of each model of a server whose entry has prices."""
    rows = [
        [
            *(one["model"], str(one["requests"]), f"{one['tokens_in'] / 1e6:.1f}"),
            *(f"{one['tokens_out'] / 1e6:.1f}", f"{one['price']:.2f}"),
        ]
        for one in models
        if "price" in one
    ]
    head = ["model", "requests", "million tokens in", "out", "price"]
    said = (
        f"price: an estimate by {MODELS}, in its currency: {TEXT_TOKENS} tokens of words and a picture of "
        f"{PICTURE[0]} x {PICTURE[1]} pixels a request, {OPTIONS} options to score, texts of full length, no "
        "discount\n"
    )
    return table(head, rows, right={1, 2, 3, 4}) + said if rows else ""
