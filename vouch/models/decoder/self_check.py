"""The self-check: the fastest mode (trie, batch, plain) that reproduces a model's own logits.

A few fixed questions about images of noise are answered in every mode, and compared with whole prompts read
one at a time: position ids, logits, and logits while a text is generated. A mode that differs by more than
rounding explains is not used. The choice depends only on the model, never on data, and is kept in a file.
"""

import math
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from importlib.metadata import version
from itertools import chain, groupby
from pathlib import Path
from typing import Any

import torch
from PIL import Image
from psutil import virtual_memory

from vouch.models.batching import Bucket
from vouch.models.decoder.decoding import continued
from vouch.models.decoder.passes import CachedRow, Forward, Unsupported
from vouch.models.decoder.preparing import Prepared, Preparer
from vouch.models.decoder.rows import MODES, Mode, PassRow, jobs
from vouch.models.engine import Question
from vouch.pipeline.errors import UserError, out_of_memory
from vouch.pipeline.files import sealed, unsealed, write_json
from vouch.tables.asked import LIKELIHOOD, TEXT

TOP_TOKENS = 4  # the likeliest, whose shares are compared


@dataclass(frozen=True)
class Tolerances:
    """How much the results may change if the order of computation does.

    logits: in standard deviations of a prompt's logits. shares: of the likeliest tokens among themselves.
    noise: of logits, between a prompt alone and in a padded batch; more means that padding itself is wrong.
    most: the most that logits and shares may differ if that noise is large.
    """

    logits: float
    shares: float
    noise: float
    most: float


NOISIER = 1.5  # a mode may change the logits this many times as much as padding alone

FLOAT32 = Tolerances(logits=1e-3, shares=1e-4, noise=5e-3, most=5e-3)
# Smaller than the faults to be found: a lost sliding window moves logits by 0.07 to 0.2, lost token types
# by 0.18 to 0.26.
HALF = Tolerances(logits=0.05, shares=0.03, noise=0.5, most=0.15)


@dataclass
class Differences:
    """The largest differences so far. positions: whether all of them are equal."""

    positions: bool = True
    logits: float = 0.0
    shares: float = 0.0

    def add_logits(self, own: torch.Tensor, logits: torch.Tensor) -> None:
        """Compares logits [n, vocabulary] of a mode with the model's own."""
        own, logits = own.double().cpu(), logits.double().cpu()
        best = own.topk(min(TOP_TOKENS, own.shape[-1])).indices
        shares = (values.gather(-1, best).softmax(dim=-1) for values in (own, logits))
        self.logits = _worst(self.logits, ((logits - own).abs().amax(dim=-1) / own.std(dim=-1)).max())
        self.shares = _worst(self.shares, (next(shares) - next(shares)).abs().max())

    def within(self, limits: Tolerances, noise: "Differences | None" = None) -> str | None:
        """The excessive difference, or None. noise: of padded batches; modes may have somewhat more."""
        logits, shares = limits.logits, limits.shares
        if noise is not None:
            logits = max(logits, min(NOISIER * noise.logits, limits.most))
            shares = max(shares, min(NOISIER * noise.shares, limits.most))
        if not self.positions:
            return "positions differ"
        return None if self.logits <= logits and self.shares <= shares else "logits differ"

    @property
    def summary(self) -> dict[str, Any]:
        """The differences for the run record, without numbers that are not finite."""
        numbers = {"logits": self.logits, "shares": self.shares}
        rounded = {name: float(f"{value:.1e}") for name, value in numbers.items() if math.isfinite(value)}
        return {"positions": self.positions, **rounded}


def _worst(known: float, new: torch.Tensor) -> float:
    value = float(new)
    return value if value != value or value > known else known


ANSWER = 3  # tokens

# Errors that a model raises if it does not support a mode.
_FAILURES = (RuntimeError, ValueError, TypeError, LookupError, AttributeError, NotImplementedError)


def choose_mode(forward: Forward, asked: Sequence[Prepared], bucket: Bucket) -> tuple[Mode, dict[str, Any]]:
    """The fastest sound mode, and a report for the run record.

    Raises UserError if an input is missing without which the model misreads images, or if not even whole
    padded prompts give the model's own numbers.
    """
    for one in asked:
        missing = sorted(forward.token_kinds - one.by_token.keys()) if one.shown else ()
        if missing:
            raise UserError(
                f"the model's processor does not give {missing[0]}, without which it would read images "
                "wrongly; save the processor anew with the present version of transformers"
            )
    # An answer for the models to continue with: the prompt's own last tokens, so that it is text.
    asked = [
        replace(one, options=(one.ids[-ANSWER:],), question=replace(one.question, max_tokens=ANSWER))
        for one in asked
    ]
    for raising in (True, False):
        try:
            with (
                in_float32(forward.model) if raising else nullcontext(False) as raised,
                torch.inference_mode(),
            ):
                exact = raised or forward.model.dtype == torch.float32
                report: dict[str, Any] = {
                    "in": "float32" if exact else str(forward.model.dtype).split(".")[-1]
                }
                return _Check(forward, asked, bucket).chosen(FLOAT32 if exact else HALF, report), report
        except (RuntimeError, MemoryError) as error:
            if not out_of_memory(error):
                raise
    raise UserError(f"no memory left on {forward.device} for a few short prompts; choose another device")


_SPARE = 2  # free memory, as a multiple of what float32 weights take


@contextmanager
def in_float32(model: Any) -> Iterator[bool]:
    """Raises all weights to float32 in place; afterwards every tensor is restored bit for bit.

    Yields False, and changes nothing, if there is too little memory.
    """
    tensors = chain(model.parameters(), model.buffers())
    coarse = [one for one in tensors if one.is_floating_point() and one.element_size() < 4]
    before = [one.dtype for one in coarse]
    raised = _fits(coarse)
    try:
        try:
            for one in coarse if raised else ():
                one.data = one.data.float()
        except (RuntimeError, MemoryError) as error:
            if not out_of_memory(error):
                raise
            raised = False
            _to(coarse, before)
        yield raised
    finally:
        _to(coarse, before)


def _to(tensors: Sequence[torch.Tensor], dtypes: Sequence[torch.dtype]) -> None:
    for one, dtype in zip(tensors, dtypes, strict=True):
        one.data = one.data.to(dtype)


def _fits(tensors: Sequence[torch.Tensor]) -> bool:
    more = Counter[torch.device]()
    for one in tensors:
        more[one.device] += one.numel() * (4 - one.element_size())
    return not any(one.is_meta for one in tensors) and all(
        _SPARE * size
        <= (torch.cuda.mem_get_info(device)[0] if device.type == "cuda" else virtual_memory().available)
        for device, size in more.items()
    )


class _Check:
    """Compares everything with whole prompts and their answers, read one at a time."""

    def __init__(self, forward: Forward, asked: Sequence[Prepared], bucket: Bucket) -> None:
        self._forward, self._asked, self._bucket = forward, asked, bucket
        self._positions: dict[str, torch.Tensor] = {}
        self._own: dict[str, torch.Tensor] = {}
        for one in asked:
            whole = (*one.ids, *one.options[0][:-1])
            wanted = tuple(range(len(one.ids) - 1, len(whole)))
            job = PassRow("plain", LIKELIHOOD, one, (), len(whole), wanted, sequence=whole)
            name = one.question.id
            self._own[name] = forward.chains([job], None).logits[0]
            self._positions[name] = self._received(1, len(whole))[:, 0]

    def chosen(self, limits: Tolerances, report: dict[str, Any]) -> Mode:
        """The first sound mode; differences of those tried go into the report."""
        if not all(bool(own.isfinite().all()) for own in self._own.values()):
            report["refused"] = dict.fromkeys(MODES[:-1], "the model's logits are not finite")
            return "plain"
        noise, why = self._tried("plain")
        if noise is None:
            raise UserError(f"the model fails at a few short prompts ({why}); choose another")
        problem = noise.within(replace(limits, logits=limits.noise, shares=limits.noise))
        if problem is not None:
            raise UserError(
                f"padding the model's prompts to one length changes its answers ({problem}, by "
                f"{noise.logits:.1g} standard deviations); this model cannot be asked, choose another"
            )
        report["plain"] = noise.summary
        if not all(one.prefix for one in self._asked):
            report["refused"] = dict.fromkeys(MODES[:-1], "no token is known to stand for images")
            return "plain"
        refused: dict[str, str] = {}
        for mode in MODES[:-1]:
            differences, why = self._tried(mode)
            if differences is not None:
                report[mode] = differences.summary
                why = differences.within(limits, noise)
            if why is None:
                break
            refused[mode] = why
        report["refused"] = refused
        return next(mode for mode in MODES if mode not in refused)

    def _tried(self, mode: Mode) -> tuple[Differences | None, str | None]:
        """The differences of a mode, or why there are none."""
        try:
            return self._differences(mode), None
        except Unsupported as error:
            return None, str(error)
        except _FAILURES as error:
            if out_of_memory(error):
                raise
            return None, f"{type(error).__name__}: {' '.join(str(error).split())[:120]}"

    def _differences(self, mode: Mode) -> Differences:
        differences = Differences()
        states = {} if mode == "plain" else self._prefixes(differences)
        for rows in self._passes(LIKELIHOOD, mode):
            self._read(rows, states, differences)
        for rows in self._passes(TEXT, mode):
            self._continued(rows, states, differences)
        return differences

    def _passes(self, output: str, mode: Mode) -> Iterator[list[PassRow]]:
        made = list(jobs(output, self._asked, mode, self._bucket, self._forward.may_pad))
        for shape in dict.fromkeys(job.shape for job in made):
            yield [job for job in made if job.shape == shape]

    def _prefixes(self, differences: Differences) -> dict[str, CachedRow]:
        """The state after each prefix; the next position is compared with that of a whole prompt."""
        firsts = {one.prefix_digest: one for one in self._asked}
        states: dict[str, CachedRow] = {}
        for _, group in groupby(firsts.values(), key=lambda one: (one.prefix, one.shown_shape)):
            rows = list(group)
            read = self._forward.prefixes(rows)
            states |= {one.prefix_digest: state for one, state in zip(rows, read, strict=True)}
        for one in self._asked:
            state = states[one.prefix_digest]
            if state.next != int(self._positions[one.question.id][:, one.prefix].max()):
                differences.positions = False
        return states

    def _read(self, rows: Sequence[PassRow], states: dict[str, CachedRow], differences: Differences) -> None:
        logits = self._forward.logits(rows, _states_of(rows, states))
        received = self._received(len(rows), rows[0].length)
        for row, job in enumerate(rows):
            for target in job.targets:
                positions = list(target.wanted[0])
                own = logits[row, [job.index_of[position] for position in positions]]
                self._compare(differences, target.prepared, 0, own, received[:, row, positions])

    def _continued(
        self, rows: Sequence[PassRow], states: dict[str, CachedRow], differences: Differences
    ) -> None:
        """Feeds the answer token by token, as a text would grow."""
        prepared = [job.prepared for job in rows]
        read = self._forward.chains(rows, _states_of(rows, states), keep=True)
        _, step = continued(self._forward, prepared, read)
        for number in range(1, ANSWER):
            tokens = [one.options[0][number - 1] for one in prepared]
            logits = step(torch.tensor(tokens, device=self._forward.device))
            # a model that counts by itself says nothing of the positions after its cache
            received = None if self._forward.positions is None else self._received(len(rows), 1)
            for row, one in enumerate(prepared):
                positions = None if received is None else received[:, row]
                self._compare(differences, one, number, logits[row : row + 1], positions)

    def _received(self, rows: int, length: int) -> torch.Tensor:
        """[1 or 3, r, t] the positions of the last pass; without any, the model counts from 0."""
        positions = self._forward.positions
        if positions is None:
            positions = torch.arange(length)[None]
        if positions.ndim == 2:
            positions = positions[None]
        return positions[-3:].expand(-1, rows, -1).cpu()

    def _compare(
        self,
        differences: Differences,
        one: Prepared,
        number: int,
        logits: torch.Tensor,
        received: torch.Tensor | None,
    ) -> None:
        """Compares logits [n, vocabulary] and positions [1 or 3, n], from token `number` of the answer on."""
        first, count = len(one.ids) - 1 + number, len(logits)
        differences.add_logits(self._own[one.question.id][number : number + count], logits)
        own = self._positions[one.question.id][:, first : first + count]
        same = received is None or bool((own == received).all())
        differences.positions = differences.positions and same


def _states_of(rows: Sequence[PassRow], states: dict[str, CachedRow]) -> list[CachedRow] | None:
    """The state after each row's prefix, None if rows are whole prompts."""
    return None if rows[0].mode == "plain" else [states[row.prepared.prefix_digest] for row in rows]


_SIDE = 224
_TEXTS = ("What is it?", "Is it day or night? A: day B: night", "How many colours are there?")


def probes(preparer: Preparer) -> list[Prepared]:
    """The questions of the check: two about one image, one about another of the same size; all without an
    image for a model that takes none."""
    noise = random.Random(0)
    images = [Image.frombytes("RGB", (_SIDE, _SIDE), noise.randbytes(3 * _SIDE**2)) for _ in range(2)]
    shown = [[images[0]], [images[0]], [images[1]]] if preparer.sees else [[], [], []]
    try:
        return [
            preparer.prepare(Question(f"probe {number}", None, text, images=images))
            for number, (text, images) in enumerate(zip(_TEXTS, shown, strict=True))
        ]
    except (UserError, MemoryError) as error:
        why = str(error) or "no memory left"
        raise UserError(
            "the model's processor or chat template fails at a plain question"
            f"{' about an image' * preparer.sees} ({why}); correct its processor or chat_template.jinja, or "
            "name another `template` in models.lock"
        ) from None


_LIBRARIES = ("torch", "transformers")

Choice = tuple[Mode, dict[str, Any]]


def mode_path(folder: Path, model: str, revision: int) -> Path:
    """The file of a model's mode. model: digest of its pin. revision: of the engine."""
    versions = "-".join(f"{name}{version(name)}" for name in _LIBRARIES)
    return folder / f"{model[:16]}-{revision}-{versions}.json"


def known_mode(path: Path) -> Choice | None:
    """The mode in a file with its report; None if there is no file, or it is damaged."""
    stored = unsealed(path) or {}
    mode, report = stored.get("mode"), stored.get("report")
    return (mode, report) if mode in MODES and isinstance(report, dict) else None


def keep_mode(path: Path, choice: Choice) -> None:
    """Writes a mode and its report."""
    write_json(path, sealed({"mode": choice[0], "report": choice[1]}))
