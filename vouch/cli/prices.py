"""What the work of a profile will cost: GPU hours of models of the hub, prices of models on servers."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from vouch.cli.counts import Cells, Count, take_images, unsupported_by_model
from vouch.cli.printing import Column, table, wrapped
from vouch.models.config import ExtractConfig
from vouch.models.lock_entry import LockEntry
from vouch.params.project import MODELS, Project, locked_models
from vouch.tables.asked import LETTERS, LIKELIHOOD, TEXT

IMAGE = (1024, 768)  # pixels of the one image that a prompt is assumed to show
OPTIONS = 4  # assumed for every prompt
# The arithmetic of docs/internals/performance.md#gpu-hours; none of it was measured.
IMAGE_TOKENS = 576  # beside the words, of a model that takes images
OPERATIONS, BYTES = 125e12, 1.5e12  # a second, of one GPU


def model_costs(project: Project, counts: Mapping[str, Count], cells_asked: Cells) -> list[dict[str, Any]]:
    """The work of each model, with GPU hours for models of the hub and prices for those on servers."""
    locked, sees, unsupported = locked_models(), take_images(project), unsupported_by_model(project)
    costs = []
    for name, source in project.models.items():
        datasets = [dataset for model, dataset in cells_asked if model == name]
        own = [
            counts[dataset].of(project.extract, name, dataset, sees[name], unsupported.get(name, ()))
            for dataset in datasets
        ]
        if not own:
            continue
        entry = locked[name] if source == str(MODELS) else None
        asked: dict[str, Any] = {"model": name, "prompts": sum(cell.prompts for cell in own)}
        cap = project.extract.max_tokens_of.get(name, project.extract.max_tokens)
        if entry and entry.source.kind == "hub":
            size, thought = entry.size, entry.thought_tokens
            hours = gpu_hours(size, own, project.extract, cap, thought, sees[name]) if size else None
            asked |= {"parameters": size, "gpu_hours": hours}
        if entry and entry.prices:
            paid = cost(entry, own, cap)
            asked |= zip(("requests", "tokens_in", "tokens_out", "price"), paid, strict=True)
        costs.append(asked)
    return costs


def gpu_hours(
    parameters: int,
    counts: Sequence[Count],
    config: ExtractConfig,
    cap: int,
    thought: int = 0,
    sees: bool = True,
) -> float:
    """An estimate for one model: parameters times the tokens of all rows, and of an image for each answer.

    cap: tokens of each text. thought: tokens of thinking before each answer; the answers to one prompt share
    the greedy thought. sees: whether the model takes images. Reading takes two operations for each parameter
    and token. A pass that writes tokens reads all weights, two bytes each.
    """
    words = sum(row.tokens * number for one in counts for row, number in one.rows.items())
    images = IMAGE_TOKENS * sees * sum(sum(one.outputs.values()) for one in counts)
    passes = 0
    for one in counts:
        read = replace(one, sampled=()).passes(config).texts
        samples = one.passes(config).texts - read
        greedy = max(read, math.ceil(max(one.outputs.values(), default=0) / config.batch))
        passes += cap * (read + samples) + thought * (greedy + samples)
    return 2 * parameters * ((words + images) / OPERATIONS + passes / BYTES) / 3600


def cost(entry: LockEntry, counts: Sequence[Count], cap: int) -> tuple[int, int, int, float]:
    """Requests, tokens in, tokens out, and their price, for an entry that has prices.

    Letters cost one output token, and so does each request in which a server scores a prompt or one of its
    options. Texts cost `cap` tokens after the thought. counts: without what the model has no answers to.
    """
    prices, thought = entry.prices, entry.thought_tokens
    assert prices
    short, texts, words = 0, 0, 0.0
    for one in counts:
        asked = {
            TEXT: one.outputs.get(TEXT, 0) + one.samples,
            LETTERS: one.outputs.get(LETTERS, 0),
            LIKELIHOOD: (1 + OPTIONS) * one.outputs.get(LIKELIHOOD, 0),
        }
        words += sum(number * one.prompt_tokens(output) for output, number in asked.items())
        texts, short = texts + asked.pop(TEXT), short + sum(asked.values())
    requests = short + texts
    image_tokens = 0 if entry.sees is False else prices.image_tokens(*IMAGE)
    read = round(words) + requests * image_tokens
    written = short + texts * (cap + thought)
    return requests, read, written, (read * prices.input + written * prices.output) / 1e6


def hours_table(models: Sequence[Mapping[str, Any]]) -> str:
    """A table of the models of the hub: prompts and GPU hours."""
    rows = [
        [
            *(one["model"], f"{one['parameters'] / 1e9:.1f}" if one["parameters"] else "?"),
            *(str(one["prompts"]), "?" if one["gpu_hours"] is None else f"{one['gpu_hours']:.1f}"),
        ]
        for one in models
        if "gpu_hours" in one
    ]
    columns = [Column("model", cut=True)]
    columns += [Column(name, right=True) for name in ("billions", "prompts", "GPU hours")]
    note = "GPU hours: an estimate from parameters x tokens (docs/internals/performance.md), not measured"
    return table(columns, rows) + wrapped(note) if rows else ""


def prices_table(models: Sequence[Mapping[str, Any]]) -> str:
    """A table of the models on servers whose entry has prices: requests, tokens and price."""
    rows = [
        [
            *(one["model"], str(one["requests"]), f"{one['tokens_in'] / 1e6:.1f}"),
            *(f"{one['tokens_out'] / 1e6:.1f}", f"{one['price']:.2f}"),
        ]
        for one in models
        if "price" in one
    ]
    columns = [Column("model", cut=True)]
    columns += [Column(name, right=True) for name in ("requests", "million tokens in", "out", "price")]
    note = (
        f"price: an estimate by {MODELS}, in its currency: lengths estimated, an image of "
        f"{IMAGE[0]} x {IMAGE[1]} pixels a request, {OPTIONS} options to score, texts of full length, no "
        "discount"
    )
    return table(columns, rows) + wrapped(note) if rows else ""
