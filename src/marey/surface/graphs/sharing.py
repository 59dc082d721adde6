"""Rows of a problem shared among threads, for kernels that let go of Python's lock."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from marey._progress import Progress


def shared(
    work: Callable[[int, int], object], rows: int, size: int, *, progress: Progress | None = None
) -> None:
    """Call `work(begin, end)` for pieces of `size` rows; the result must not depend on their order.

    >>> seen = []
    >>> shared(lambda a, b: seen.append((a, b)), 5, 2)
    >>> sorted(seen)
    [(0, 2), (2, 4), (4, 5)]
    """
    pieces = [(begin, min(rows, begin + size)) for begin in range(0, rows, size)]
    with ThreadPoolExecutor(_threads()) as pool:
        waiting = [pool.submit(work, *piece) for piece in pieces]
        try:
            for (_, end), one in zip(pieces, waiting, strict=True):
                one.result()
                if progress is not None:
                    progress(end, rows)
        finally:
            pool.shutdown(cancel_futures=True)


def _threads() -> int:
    return max(1, len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1)
