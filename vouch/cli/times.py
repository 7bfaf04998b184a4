"""What the last runs of the stages took on this machine, from their records in .vouch/runs."""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Annotated

from pydantic import BaseModel, Field

from vouch.cli.printing import Column, table, wrapped
from vouch.pipeline.dag import Stage
from vouch.pipeline.records import local_record

HEADS = ("stages", "time", "processor", "answers asked", "known before")
LONGEST = 3  # stages that are named
NOTHING = "no stage has run on this machine; results that were pulled took no time here"


Count = Annotated[int, Field(ge=0, lt=2**53)]


class _Engine(BaseModel, allow_inf_nan=False):
    """What a server's answers took; 0 for other engines."""

    input_tokens: Count = 0
    output_tokens: Count = 0
    cost: float = Field(default=0, ge=0, lt=1e11)


class _Known(BaseModel):
    known: Count = 0
    asked: Count = 0


class _Measured(BaseModel):
    answers: _Known = _Known()
    engine: _Engine = _Engine()


class StageTime(BaseModel, allow_inf_nan=False):
    """The record of a stage's last run (vouch/pipeline/records.py). Times are seconds.

    processor: of all its processes; None in records of earlier versions.
    """

    stage: str
    seconds: float = Field(ge=0, lt=1e11)
    processor: float | None = Field(default=None, ge=0, lt=1e11, alias="processor_seconds")
    measured: _Measured = _Measured()


def read(stages: Iterable[Stage]) -> Iterator[StageTime]:
    """The records that are here; any that is missing, damaged or of another stage is left out."""
    for stage in stages:
        path = local_record(stage)
        try:
            if not path.is_file():  # reading a pipe would never end
                continue
            one = StageTime.model_validate(json.loads(path.read_bytes()))
        except (OSError, ValueError, RecursionError):
            continue
        if one.stage == stage.name:
            yield one


def screen(times: Sequence[StageTime], duration: Callable[[float], str]) -> str:
    """A line for each kind of stage, and one for all. duration: writes a number of seconds."""
    if not times:
        return wrapped(NOTHING)
    kinds: dict[str, list[StageTime]] = {}
    for one in times:
        kinds.setdefault(one.stage.partition("@")[0], []).append(one)
    rows = [_row(kind, own, duration) for kind, own in kinds.items()]
    rows.append(_row("all", times, duration))
    columns = [Column("kind of stage"), *(Column(head, right=True) for head in HEADS)]
    text = table(columns, rows)
    longest = sorted(times, key=lambda one: -one.seconds)[:LONGEST]
    text += wrapped(f"longest: {', '.join(f'{one.stage} {duration(one.seconds)}' for one in longest)}")
    engines = [one.measured.engine for one in times]
    tokens = sum(each.input_tokens for each in engines), sum(each.output_tokens for each in engines)
    if any(tokens):
        cost = sum(each.cost for each in engines)
        price = f", for {cost:.2f} at VOUCH_PRICE_INPUT and VOUCH_PRICE_OUTPUT" if cost else ""
        text += wrapped(f"servers: {tokens[0]:,} tokens read, {tokens[1]:,} written{price}")
    return text + wrapped("The last run of each stage here; answers that were known were not asked again.")


def _row(kind: str, own: Sequence[StageTime], duration: Callable[[float], str]) -> list[str]:
    processor = [one.processor for one in own if one.processor is not None]
    answers = [one.measured.answers for one in own]
    counts = sum(one.asked for one in answers), sum(one.known for one in answers)
    return [
        kind,
        str(len(own)),
        duration(sum(one.seconds for one in own)),
        duration(sum(processor)) if processor else "n.a.",
        *(f"{count:,}" if any(counts) else "" for count in counts),
    ]
