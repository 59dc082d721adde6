"""Undo and redo: states are frozen, so remembering one costs a reference."""

from __future__ import annotations

from typing import Generic, TypeVar

State = TypeVar("State")

# A clip of 20,000 frames weighs 20 MB, and each change of it may keep one.
MOST_STEPS = 30


class History(Generic[State]):
    """The states a panel went through, newest last; the first is what was opened.

    >>> history = History("opened")
    >>> history.push("bent"); history.push("compressed")
    >>> history.undo(), history.redo(), history.undo(), history.reset()
    ('bent', 'compressed', 'bent', 'opened')
    """

    def __init__(self, first: State):
        self._states = [first]
        self._undone: list[State] = []

    @property
    def now(self) -> State:
        """The state that is shown."""
        return self._states[-1]

    @property
    def steps(self) -> int:
        """How many times one can undo."""
        return len(self._states) - 1

    @property
    def undone(self) -> int:
        """How many times one can redo."""
        return len(self._undone)

    def push(self, state: State) -> None:
        """Go on to a new state; the oldest but the first are forgotten beyond `MOST_STEPS`."""
        self._undone.clear()
        self._states.append(state)
        if len(self._states) > MOST_STEPS + 1:
            del self._states[1]

    def undo(self) -> State:
        """Go back one step, if there is one."""
        if len(self._states) > 1:
            self._undone.append(self._states.pop())
        return self.now

    def redo(self) -> State:
        """Go forward to the state that was undone last, if there is one."""
        if self._undone:
            self._states.append(self._undone.pop())
        return self.now

    def reset(self) -> State:
        """Go back to what was opened."""
        while self.steps:
            self.undo()
        return self.now
