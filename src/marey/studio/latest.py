"""Work that follows the hand: only the newest value counts, older ones that are still waiting are dropped."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

Value = TypeVar("Value")


class Latest(Generic[Value]):
    """Calls `work` in a thread of its own with the newest value given, one call after another.

    A pointer may move faster than a pose is solved; what is shown must be the answer to where it is now.
    """

    def __init__(self, work: Callable[[Value], None]):
        self._work = work
        self._values: list[Value] = []
        self._given = threading.Condition()
        self._busy = False
        threading.Thread(target=self._run, daemon=True).start()

    def give(self, value: Value) -> None:
        """Replace the value that waits, if any; returns at once."""
        with self._given:
            self._values = [value]
            self._given.notify_all()

    def wait(self, seconds: float = 900.0) -> bool:
        """Until everything given has been worked on; false if that takes longer."""
        with self._given:
            return self._given.wait_for(lambda: not self._values and not self._busy, seconds)

    def _run(self) -> None:
        while True:
            with self._given:
                self._busy = False
                self._given.notify_all()
                self._given.wait_for(lambda: bool(self._values))
                value = self._values.pop()
                self._busy = True
            self._work(value)
