"""What is made once for all that want it."""

import copy
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import torch
from PIL import Image

from vouch.images.opening import ROOM, LruCache
from vouch.images.processed_images import ProcessedImages


def test_threads_that_want_the_same_wait_for_one(tmp_path: Path) -> None:
    recent, made, begun = LruCache[int](2), list[int](), threading.Event()

    def make() -> int:
        made.append(1)
        begun.wait(5)
        return 7

    with ThreadPoolExecutor(4) as pool:
        waiting = [pool.submit(recent.get, "key", make) for _ in range(4)]
        begun.set()
        assert [one.result() for one in waiting] == [7] * 4
    assert made == [1]


def test_the_least_recent_goes_first() -> None:
    recent, made = LruCache[str](2), list[str]()

    def get(key: str) -> str:
        return recent.get(key, lambda: made.append(key) or key)  # type: ignore[func-returns-value]

    assert [get(key) for key in "abacaba"] == [*"abacaba"]
    assert "".join(made) == "abcb"


def test_heavy_results_make_room() -> None:
    made = list[str]()
    recent = LruCache[str](9, {"a": ROOM // 2, "b": 1, "c": 2 * ROOM}.__getitem__)

    def get(key: str) -> str:
        return recent.get(key, lambda: made.append(key) or key)  # type: ignore[func-returns-value]

    assert [get(key) for key in "abacbaca"] == [*"abacbaca"]
    assert "".join(made) == "abcbaca", "while the heavy one is the last, it is kept alone"


def test_an_error_is_not_kept() -> None:
    recent = LruCache[int](2)
    with pytest.raises(ZeroDivisionError):
        recent.get("key", lambda: 1 // 0)
    assert recent.get("key", lambda: 1) == 1


def test_threads_share_a_processed_picture(tiny: Path) -> None:
    from transformers import AutoImageProcessor

    processor = AutoImageProcessor.from_pretrained(tiny, backend="pil")
    other = copy.deepcopy(processor)
    other.image_mean = [0.0, 0.0, 0.0]
    shown = Image.effect_noise((30, 20), 50).convert("RGB")
    first, second, third = (
        ProcessedImages(one)(shown, return_tensors="pt")["pixel_values"]
        for one in (processor, copy.deepcopy(processor), other)
    )
    assert first is second
    assert not torch.equal(first, third)
    assert torch.equal(first, processor(shown, return_tensors="pt")["pixel_values"])
