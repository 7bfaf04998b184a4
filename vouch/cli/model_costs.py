"""What each model costs, for `vouch plan`: GPU hours of one of the hub, the price of a server's."""

from collections.abc import Mapping, Sequence
from typing import Any

from vouch.cli.counts import Count, gpu_hours
from vouch.cli.prices import OPTIONS, PICTURE, TEXT_TOKENS, cost
from vouch.cli.printing import table
from vouch.params.project import MODELS, Models, Project
from vouch.pipeline.yaml12 import load

Places = Sequence[tuple[str, str]]
"""Model and dataset of each cell that is to be asked."""


def model_costs(project: Project, counts: Mapping[str, Count], places: Places) -> list[dict[str, Any]]:
    """What each model will be asked: GPU hours of one of the hub, the price of a server's."""
    locked = Models.model_validate(load(MODELS)).models
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
