"""How long work reports on itself: a function called with (done, total)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sized
from typing import TypeVar

Progress = Callable[[int, int], None]

T = TypeVar("T")


def tracked(items: Iterable[T], progress: Progress | None, total: int | None = None) -> Iterator[T]:
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
