"""Work ahead of its use."""

import threading

import pytest

from vouch.images.opening import ROOM, prefetch


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
