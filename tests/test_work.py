"""Claims about work that is shared by threads."""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator

import pytest

from marey import _work
from marey.errors import InputError


def test_results_come_in_order_whatever_takes_longest():
    def late(item: int) -> int:
        time.sleep(0.02 if item == 0 else 0.0)
        return 10 * item

    assert _work.map(late, range(20), jobs=4) == [10 * item for item in range(20)]


@pytest.mark.parametrize("jobs", [1, 3])
def test_progress_counts_items(jobs: int):
    seen: list[tuple[int, int]] = []
    _work.map(abs, [1, 2, 3], jobs=jobs, progress=lambda *at: seen.append(at))
    assert seen == [(1, 3), (2, 3), (3, 3)]
    _work.map(abs, iter([1, 2]), jobs=jobs, progress=lambda *at: seen.append(at), total=2)
    assert seen[3:] == [(1, 2), (2, 2)]


def test_no_more_threads_work_than_jobs():
    busy, most, lock = 0, 0, threading.Lock()

    def work(_: int) -> None:
        nonlocal busy, most
        with lock:
            busy += 1
            most = max(most, busy)
        time.sleep(0.002)
        with lock:
            busy -= 1

    _work.map(work, range(30), jobs=3)
    assert 1 < most <= 3


@pytest.mark.parametrize("jobs", [1, 2])
def test_an_error_ends_the_work_and_drops_what_has_not_begun(jobs: int):
    begun: list[int] = []

    def work(item: int) -> None:
        begun.append(item)
        if item == 3:
            raise ValueError("three")

    with pytest.raises(ValueError, match="three"):
        _work.map(work, range(1000), jobs=jobs)
    assert len(begun) < 20


def test_progress_that_raises_cancels_and_nothing_runs_on():
    running: set[int] = set()

    def work(item: int) -> None:
        running.add(item)
        time.sleep(0.01)
        running.remove(item)

    def stop(done: int, total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        _work.map(work, range(100), jobs=2, progress=stop)
    assert not running


def test_a_stream_takes_only_a_few_items_ahead():
    taken: list[int] = []

    def items() -> Iterator[int]:
        for item in range(1000):
            taken.append(item)
            yield item

    results = _work.stream(abs, items(), jobs=2)
    assert [next(results) for _ in range(3)] == [0, 1, 2]
    assert len(taken) < 10
    results.close()  # type: ignore[attr-defined]


def test_shared_work_within_shared_work_ends():
    def outer(item: int) -> list[int]:
        return _work.map(lambda inner: 10 * item + inner, range(3), jobs=2)

    assert _work.map(outer, range(8), jobs=2)[7] == [70, 71, 72]


@pytest.mark.parametrize(("least", "size"), [(1, None), (7, None), (100, None), (1, 4)])
def test_runs_cover_everything_once(least: int, size: int | None):
    seen: list[tuple[int, int]] = []
    found = _work.spread(
        lambda a, b: list(range(a, b)),
        23,
        least=least,
        size=size,
        jobs=2,
        progress=lambda *at: seen.append(at),
    )
    assert [number for run in found for number in run] == list(range(23))
    assert seen[-1] == (23, 23)
    assert all(len(run) >= least for run in found[:-1])
    assert _work.spread(lambda a, b: 1, 0) == []


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_a_forked_process_has_threads_of_its_own():
    _work.map(abs, range(4), jobs=2)
    context = multiprocessing.get_context("fork")
    child = context.Process(target=_work.map, args=(abs, range(4)), kwargs={"jobs": 2})
    child.start()
    child.join(20)
    assert child.exitcode == 0


def test_no_jobs_are_refused():
    with pytest.raises(InputError, match="jobs 0: at least one"):
        _work.map(abs, [1], jobs=0)


def test_commands_use_one_thread_of_linear_algebra_unless_told_otherwise():
    code = "import os, sys, marey.cli; print('numpy' in sys.modules, os.environ['OPENBLAS_NUM_THREADS'])"
    for given, expected in ((None, "False 1"), ("3", "False 3")):
        others = {name: value for name, value in os.environ.items() if name != "OPENBLAS_NUM_THREADS"}
        environment = others | ({"OPENBLAS_NUM_THREADS": given} if given else {})
        done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)
        assert done.stdout.strip() == expected
