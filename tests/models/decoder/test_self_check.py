"""The fastest sound way to ask is chosen for every family, and each planted fault is found."""

import json
from collections.abc import Sequence
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from tests.models.engines import CONFIG
from tests.models.families.family import Family, family, fresh
from tests.models.families.table import FAMILIES, WORDS
from tests.refusals import refused
from vouch.models.decoder import self_check
from vouch.models.decoder.engine import load_model, shared_prefix
from vouch.models.decoder.passes import CachedRow, Forward, PassResult
from vouch.models.decoder.preparing import Prepared
from vouch.models.decoder.rows import Mode, PassRow, Trie
from vouch.models.decoder.self_check import (
    FLOAT32,
    HALF,
    Differences,
    Tolerances,
    choose_mode,
    in_float32,
    keep_mode,
    known_mode,
    mode_path,
)

BUCKET = 8


def probes(one: Family) -> list[Prepared]:
    return [one.prepared("short", 5), one.prepared("long", 19), one.prepared("other", 9, image=1)]


def checked(one: Family, kind: type[Forward] = Forward) -> tuple[Mode, dict[str, Any]]:
    return choose_mode(kind(one.model, "cpu", WORDS, 0), probes(one), BUCKET)


@pytest.mark.parametrize("name", FAMILIES)
def test_every_family_in_its_mode(name: str) -> None:
    mode, report = checked(family(name))
    assert mode == family(name).mode
    assert report["in"] == "float32"
    assert report["plain"]["logits"] < 1e-4
    assert list(report["refused"]) == {"trie": [], "batch": ["trie"], "plain": ["trie", "batch"]}[mode]


# -- planted faults -----------------------------------------------------------------------------------


class StalePositions(Forward):
    """Without positions and a mask a Qwen goes on from the positions of the last forward."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self._text_model = self._forgetful

    def _forgetful(self, input_ids: torch.Tensor, attention_mask: Any, position_ids: Any, **more: Any) -> Any:
        if input_ids.shape[1] > 1:
            self.model.model.rope_deltas = torch.zeros((1, 1), dtype=torch.long)  # of a prompt of text
            return self.model(input_ids=input_ids, **more)
        return self.model(
            input_ids=input_ids, attention_mask=attention_mask, position_ids=position_ids, **more
        )


class SuffixWithoutCrossMask(Forward):
    def _beside(self, rows: Any, past: int, length: int, last: bool = False) -> Any:
        return {} if past and length > 1 else super()._beside(rows, past, length, last)


class PaddedWhateverFollows(Forward):
    def may_pad(self, tokens: int) -> bool:
        return True


class ShortPrefix(Forward):
    def prefixes(self, rows: Sequence[Prepared]) -> list[CachedRow]:
        return super().prefixes([replace(row, prefix=row.prefix - 1) for row in rows])


class LongPrefix(Forward):
    def prefixes(self, rows: Sequence[Prepared]) -> list[CachedRow]:
        return super().prefixes([replace(row, prefix=row.prefix + 1) for row in rows])


class PositionsWrongByOne(Forward):
    def prefixes(self, rows: Sequence[Prepared]) -> list[CachedRow]:
        return [replace(state, next=state.next + 1) for state in super().prefixes(rows)]


class StepWrongByOne(Forward):
    def step(self, rows: Any, tokens: Any, read: PassResult) -> PassResult:
        return super().step(rows, tokens, replace(read, next=read.next + 1))


class SiblingsSeen(Forward):
    def tries(self, rows: Sequence[PassRow], states: Any) -> torch.Tensor:
        def blind(trie: Trie | None) -> Trie | None:
            return trie and replace(trie, attends=np.tril(np.ones_like(trie.attends)))

        return super().tries([replace(row, trie=blind(row.trie)) for row in rows], states)


class AnotherImage(Forward):
    """All rows of a pass get the first one's image."""

    def _images(self, rows: Sequence[Prepared]) -> dict[str, torch.Tensor]:
        return super()._images([rows[0]] * len(rows))


# Faults after a prefix leave whole prompts, those of branches single ones; others are in every mode.
ANY, POSITIONS, LOGITS = r"", "positions differ", "logits differ"
FAULTS: list[tuple[type[Forward], str, str, str | None]] = [
    (StalePositions, "qwen2_vl qwen3_vl", POSITIONS, "plain"),
    (SuffixWithoutCrossMask, "mllama", ANY, "plain"),
    (ShortPrefix, "llava qwen2_vl gemma3 blip_2", ANY, "plain"),
    (LongPrefix, "llava qwen2_vl gemma3 blip_2", ANY, "plain"),
    (PositionsWrongByOne, "llava qwen2_5_vl blip_2 mllama", POSITIONS, "plain"),
    (SiblingsSeen, "llava qwen2_vl gemma3 gemma3_narrow mllama blip_2", LOGITS, "batch"),
    (PaddedWhateverFollows, "gemma3_narrow qwen3_5", r"padding the model's prompts .* \(logits differ", None),
    (StepWrongByOne, "llava", "this model cannot be asked", None),
    (AnotherImage, "llava", "this model cannot be asked", None),
]


@pytest.mark.parametrize(
    ("kind", "name", "problem", "mode"),
    [(kind, name, problem, mode) for kind, names, problem, mode in FAULTS for name in names.split()],
)
def test_planted_fault(kind: type[Forward], name: str, problem: str, mode: Mode | None) -> None:
    if mode is None:
        with refused(problem):
            checked(family(name), kind)
        return
    found, report = checked(family(name), kind)
    assert found == mode
    assert list(report["refused"]) == {"plain": ["trie", "batch"], "batch": ["trie"]}[mode]
    assert problem == ANY or set(report["refused"].values()) == {problem}


@pytest.mark.parametrize(
    ("name", "lost"),
    [("gemma3", "token_type_ids"), ("paligemma", "token_type_ids"), ("qwen2_vl", "mm_token_type_ids")],
)
def test_input_that_both_arms_would_lack(name: str, lost: str) -> None:
    one = family(name)
    without = [replace(prepared, by_token={}) for prepared in probes(one)]
    with refused(f"does not give {lost}, without which"):
        choose_mode(one.forward, without, BUCKET)


def test_no_place_of_an_image() -> None:
    one = family("llava")
    unknown = [replace(prepared, prefix=0) for prepared in probes(one)]
    assert choose_mode(one.forward, unknown, BUCKET)[0] == "plain"


# -- half precision -----------------------------------------------------------------------------------


def bits(model: Any) -> dict[str, torch.Tensor]:
    tensors = [*model.named_parameters(), *model.named_buffers()]
    return {name: value.detach().clone().reshape(-1).view(torch.uint8) for name, value in tensors}


@pytest.mark.parametrize("name", ["blip_2", "mllama", "paligemma"])
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_weights_are_raised_and_restored(name: str, dtype: torch.dtype) -> None:
    one = fresh(name)
    one.model.to(dtype)
    next(one.model.parameters()).data = next(one.model.parameters()).data.float()  # some models mix types
    before, dtypes = bits(one.model), [value.dtype for value in one.model.parameters()]
    with in_float32(one.model) as raised:
        assert raised
        assert {value.dtype for value in one.model.parameters()} == {torch.float32}
    next(one.model.parameters()).data = next(one.model.parameters()).data.float()
    mode, report = checked(one)
    assert (mode, report["in"]) == (one.mode, "float32")
    assert [value.dtype for value in one.model.parameters()] == dtypes
    after = bits(one.model)
    assert all(torch.equal(after[name], value) for name, value in before.items())


def test_weights_are_restored_after_an_error() -> None:
    one = fresh("llava")
    one.model.to(torch.bfloat16)
    with pytest.raises(ZeroDivisionError), in_float32(one.model):
        raise ZeroDivisionError
    assert one.model.dtype == torch.bfloat16


@pytest.mark.parametrize(
    ("kind", "mode"), [(Forward, "trie"), (PositionsWrongByOne, "plain"), (SiblingsSeen, "batch")]
)
def test_without_memory_for_float32(kind: type[Forward], mode: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(self_check, "_SPARE", 2**60)
    one = fresh("llava")
    one.model.to(torch.bfloat16)
    chosen, report = checked(one, kind)
    assert (chosen, report["in"]) == (mode, "bfloat16")
    assert one.model.dtype == torch.bfloat16


@pytest.mark.parametrize(
    ("limits", "noise", "logits", "sound"),
    [
        (HALF, 0.0, 0.04, True),
        (HALF, 0.0, 0.07, False),  # as a lost sliding window
        (HALF, 0.08, 0.11, True),
        (HALF, 0.3, 0.18, False),  # as lost token types, however loud the noise
        (FLOAT32, 0.0, 2e-3, False),
        (FLOAT32, 4e-3, 4.5e-3, True),
        (FLOAT32, 4e-3, 5.5e-3, False),
    ],
)
def test_noise_widens_limits_only_so_far(
    limits: Tolerances, noise: float, logits: float, sound: bool
) -> None:
    problem = Differences(logits=logits).within(limits, Differences(logits=noise))
    assert problem == (None if sound else "logits differ")


# -- with a real processor ----------------------------------------------------------------------------


def test_engine_notes_what_was_found(tiny: Path) -> None:
    loaded = load_model(tiny, "bfloat16", None, CONFIG)
    notes = [shared_prefix(loaded, None, CONFIG).notes for _ in range(2)]
    assert notes[0] == notes[1]
    assert (notes[0]["mode"], notes[0]["self_check"]["in"]) == ("trie", "float32")
    assert notes[0]["self_check"]["trie"]["positions"]
    json.dumps(notes[0])


def test_a_mode_is_found_once(tiny: Path, tmp_path: Path) -> None:
    """So that it cannot depend on how much memory a later run finds free."""
    path = mode_path(tmp_path / "modes", "ab" * 32, 3)
    assert path.name.startswith(f"{'ab' * 8}-3-torch{version('torch')}-transformers")
    loaded = load_model(tiny, "float32", None, CONFIG)
    found = shared_prefix(loaded, None, CONFIG, path).notes
    assert known_mode(path) == (found["mode"], found["self_check"])
    keep_mode(path, ("batch", {"in": "bfloat16"}))
    notes = shared_prefix(loaded, None, CONFIG, path).notes
    assert (notes["mode"], notes["self_check"]) == ("batch", {"in": "bfloat16"})
    path.write_bytes(path.read_bytes()[:-9])
    assert shared_prefix(loaded, None, CONFIG, path).notes == found
    assert known_mode(path) == (found["mode"], found["self_check"])


@pytest.mark.parametrize(
    "damaged",
    [b"", b"[]", b"{}", b"\xff", b'{"mode": "fast", "report": {}}', b'{"mode": "trie", "report": 1}'],
)
def test_a_damaged_mode_is_none(tmp_path: Path, damaged: bytes) -> None:
    (tmp_path / "mode.json").write_bytes(damaged)
    assert known_mode(tmp_path / "mode.json") is None
