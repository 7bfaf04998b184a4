"""Work done ahead of its use, and results that are made once for all threads that want them."""

import copy
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import torch
from PIL import Image

from vouch.images.opening import ROOM, LruCache, prefetch
from vouch.images.processed_images import ProcessedImages


def test_results_come_in_order_and_items_are_drawn_by_the_caller_a_little_ahead() -> None:
    drawn: list[int] = []
    threads = set()

    def items() -> object:
        for number in range(50):
            drawn.append(number)
            threads.add(threading.get_ident())
            yield number

    barrier = threading.Barrier(2, timeout=20)

    def work(number: int) -> int:
        if number < 2:
            barrier.wait()  # passes only if both are worked on at once
        return number * number

    found = []
    for result in prefetch(work, items(), 2, 5):  # type: ignore[var-annotated, arg-type]
        found.append(result)
        assert len(drawn) <= len(found) + 5
    assert found == [number * number for number in range(50)]
    assert threads == {threading.get_ident()}


def test_light_items_are_done_by_the_caller_in_their_turn() -> None:
    here, threads = threading.get_ident(), list[tuple[int, bool]]()

    def work(number: int) -> int:
        threads.append((number, threading.get_ident() == here))
        return number

    assert list(prefetch(work, range(20), 2, 4, lambda number: number % 3 == 0)) == list(range(20))
    assert sorted(threads) == [(number, number % 3 == 0) for number in range(20)]


def test_a_failure_comes_where_its_result_would_have_and_nothing_is_left_running() -> None:
    def work(number: int) -> int:
        if number == 3:
            raise ValueError("three")
        return number

    running = prefetch(work, range(10), 2, 4)
    assert [next(running) for _ in range(3)] == [0, 1, 2]
    with pytest.raises(ValueError, match="three"):
        next(running)
    left = prefetch(work, range(3), 2, 1)
    next(left)
    left.close()
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("vouch-prefetch")]


def test_heavy_items_are_worked_on_a_few_at_a_time() -> None:
    drawn: list[int] = []
    found = 0
    for _ in prefetch(
        lambda item: item, (drawn.append(n) or n for n in range(9)), 2, 8, weigh=lambda _: ROOM // 2
    ):
        found += 1
        assert len(drawn) <= found + 2
    assert found == 9
    assert list(prefetch(lambda item: item, range(3), 2, 8, weigh=lambda _: 2 * ROOM)) == [0, 1, 2]


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


def test_threads_share_a_processed_image(tiny: Path) -> None:
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
