"""Loops over people shared by threads: each takes a run of them, so the result is that of one thread."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache

FEWEST = 2048
"""People below whom a second thread costs more than it helps."""


def shared(part: Callable[[int, int], None], count: int) -> None:
    """Call `part(start, stop)` for runs that cover `range(count)`.

    >>> seen = []
    >>> shared(lambda start, stop: seen.append((start, stop)), 100)
    >>> seen
    [(0, 100)]
    """
    runs = max(1, min(threads(), count // FEWEST))
    if runs == 1:
        part(0, count)
        return
    bounds = [count * run // runs for run in range(runs + 1)]
    waiting = [_pool(os.getpid()).submit(part, bounds[run], bounds[run + 1]) for run in range(1, runs)]
    part(bounds[0], bounds[1])
    for one in waiting:
        one.result()


@cache
def threads() -> int:
    """How many share the work."""
    return max(1, min(len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 2, 8))


@cache
def _pool(process: int) -> ThreadPoolExecutor:
    # A pool does not survive a fork, hence one for each process.
    return ThreadPoolExecutor(threads(), thread_name_prefix="marey-crowd")
