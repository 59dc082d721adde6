"""Work shared by threads, for functions that release Python's lock as NumPy and our kernels do.

Results come in order and do not depend on how many threads there are. An exception, also one raised by
`progress` or Ctrl-C, drops what has not begun and waits for what has. A function that is itself run by one
of the threads does its own sharing in that thread alone. `progress` is a function called with (done, total).
"""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sized
from concurrent.futures import Future, ThreadPoolExecutor, wait
from functools import cache
from itertools import islice
from typing import TypeVar

from marey.errors import InputError

Progress = Callable[[int, int], None]
Item = TypeVar("Item")
Result = TypeVar("Result")

_thread = threading.local()


def map(
    function: Callable[[Item], Result],
    items: Iterable[Item],
    *,
    jobs: int | None = None,
    progress: Progress | None = None,
    total: int | None = None,
) -> list[Result]:
    """The function of every item, by several threads.

    Args:
        jobs: Threads; None = one a core.
        progress: Called with the number of items done, and `total` or their number.

    >>> map(abs, [-1, -2, -3])
    [1, 2, 3]
    """
    if total is None:
        total = len(items) if isinstance(items, Sized) else 0
    return list(tracked(stream(function, items, jobs=jobs), progress, total))


def stream(
    function: Callable[[Item], Result], items: Iterable[Item], *, jobs: int | None = None
) -> Iterator[Result]:
    """As :func:`map`, each result as soon as it is there; only a few items are taken ahead.

    >>> next(stream(abs, iter([-1, -2, -3])))
    1
    """
    count = cores(jobs)
    if count == 1 or getattr(_thread, "is_ours", False) or (isinstance(items, Sized) and len(items) < 2):
        for item in items:
            yield function(item)
        return
    pool, waiting = _pool(os.getpid(), count), deque[Future[Result]]()
    left = iter(items)
    try:
        while True:
            waiting.extend(pool.submit(function, item) for item in islice(left, 2 * count - len(waiting)))
            if not waiting:
                return
            yield waiting.popleft().result()
    finally:
        wait([future for future in waiting if not future.cancel()])


def spread(
    function: Callable[[int, int], Result],
    count: int,
    *,
    least: int = 1,
    size: int | None = None,
    jobs: int | None = None,
    progress: Progress | None = None,
) -> list[Result]:
    """`function(start, stop)` of runs that cover `range(count)`, by several threads.

    Args:
        least: Length of a run below which a thread costs more than it helps.
        size: Length of the runs; None = four runs a thread, as some may take longer than others.
        jobs: Threads; None = one a core.
        progress: Called with the end of the last run and `count`.

    >>> spread(lambda start, stop: (start, stop), 10, size=4)
    [(0, 4), (4, 8), (8, 10)]
    """
    if size is None:
        size = max(1, -(-count // max(1, min(4 * cores(jobs), count // least))))
    starts = range(0, count, size)
    found = []
    for start, one in zip(
        starts, stream(lambda a: function(a, min(a + size, count)), starts, jobs=jobs), strict=True
    ):
        found.append(one)
        if progress is not None:
            progress(min(start + size, count), count)
    return found


def block_rows(bytes_per_row: int, most: int = 64 << 20) -> int:
    """How many rows to work on at a time so that temporary arrays stay below 64 MB; at least one.

    >>> block_rows(1 << 20), block_rows(1 << 40)
    (64, 1)
    """
    return max(1, most // max(bytes_per_row, 1))


def blocks(count: int, bytes_per_row: int) -> Iterator[slice]:
    """Slices of :func:`block_rows` rows that cover `range(count)`.

    >>> list(blocks(100, 1 << 20))
    [slice(0, 64, None), slice(64, 100, None)]
    """
    size = block_rows(bytes_per_row)
    return (slice(start, min(start + size, count)) for start in range(0, count, size))


def cores(jobs: int | None = None) -> int:
    """Threads to use: `jobs`, or as many as there are cores for this process, at most 16.

    >>> cores(3)
    3
    """
    if jobs is not None and jobs < 1:
        raise InputError(f"jobs {jobs}: at least one")
    return jobs or min(_cores(), 16)


@cache
def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@cache
def _pool(process: int, jobs: int) -> ThreadPoolExecutor:
    # A pool does not survive a fork, hence one for each process.
    return ThreadPoolExecutor(jobs, "marey", initializer=setattr, initargs=(_thread, "is_ours", True))


def tracked(items: Iterable[Item], progress: Progress | None, total: int | None = None) -> Iterator[Item]:
    """Iterate over `items`, reporting after each.

    >>> seen = []
    >>> list(tracked("ab", lambda done, total: seen.append((done, total)))), seen
    (['a', 'b'], [(1, 2), (2, 2)])
    """
    count = total if total is not None else len(items) if isinstance(items, Sized) else 0
    for done, item in enumerate(items, start=1):
        yield item
        if progress is not None:
            progress(done, count)
