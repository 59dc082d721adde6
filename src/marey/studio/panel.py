"""A panel: what one scale of the studio offers, the states it went through, and what can be taken away."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Generic, TypeVar

from marey._work import Progress
from marey.errors import InputError
from marey.studio.desk import Desk
from marey.studio.history import History

State = TypeVar("State")


@dataclass(frozen=True)
class Export:
    """A file that can be made of what is shown.

    label: what it is, for people: "motion (BVH)"
    name: file name with its ending
    write: makes it at a path, reporting on itself
    """

    label: str
    name: str
    write: Callable[[Path, Progress], None]


class Panel(ABC, Generic[State]):
    """Controls in the page and things in the scene under `/title`; a frozen state says all that is shown.

    Subclasses build their controls in `__init__` (after calling this one) where the page then is, open
    things, and draw states and frames. All methods are called holding the desk's lock.
    """

    title: ClassVar[str]

    def __init__(self, desk: Desk):
        self.desk = desk
        self.root = desk.scene.add_frame(self.path(), show_axes=False)
        self.history: History[State] | None = None
        self.active = False
        self.name = ""
        self._clock = (1, 30.0, 0)

    def path(self, name: str = "") -> str:
        """Where something of this panel is in the scene: `/body/ghosts`."""
        return f"/{self.title.lower()}/{name}".rstrip("/")

    @property
    def state(self) -> State:
        """What is shown now."""
        if self.history is None:
            raise InputError("nothing is open here yet: open a file or a sample first")
        return self.history.now

    @abstractmethod
    def accepts(self, thing: Any) -> bool:
        """Whether this panel can show what was loaded from a file."""

    @abstractmethod
    def open(self, thing: Any, name: str) -> None:
        """Show something else; undo does not go back before it. Call :meth:`begin` with the first state."""

    @abstractmethod
    def samples(self) -> dict[str, Callable[[], Any]]:
        """Built-in things to try, by name; the first is shown when there is no file."""

    @abstractmethod
    def restore(self, state: State) -> None:
        """Bring controls and scene in line with a state; call :meth:`retime` if its length differs."""

    @abstractmethod
    def show(self, frame: int) -> None:
        """Draw one frame of the state."""

    @abstractmethod
    def exports(self) -> Sequence[Export]:
        """The files that can be made of what is shown."""

    def begin(self, state: State) -> None:
        """The first state of what was opened."""
        self.history = History(state)
        self._shown(state)

    def change(self, state: State) -> None:
        """Go on to another state, which undo takes back."""
        if self.history is None:
            raise RuntimeError("nothing has been opened yet")
        self.history.push(state)
        self._shown(state)

    def undo(self) -> bool:
        """Back one step; false if there is none."""
        if self.history is None or not self.history.steps:
            return False
        self._shown(self.history.undo())
        return True

    def redo(self) -> bool:
        """Forward to what was undone last; false if there is nothing."""
        if self.history is None or not self.history.undone:
            return False
        self._shown(self.history.redo())
        return True

    def reset(self) -> bool:
        """Back to what was opened; false if it is already shown."""
        if self.history is None or not self.history.steps:
            return False
        self._shown(self.history.reset())
        return True

    def retime(self, frames: int, frame_rate: float, first: int = 0) -> None:
        """Tell the timeline how long what is shown lasts, and the number of its first frame in its file; it
        goes on at the frame where it is."""
        self._clock = (frames, frame_rate, first)
        if self.active:
            timeline = self.desk.timeline
            timeline.set(*self._clock, timeline.frame)

    def activate(self, active: bool) -> None:
        """Show or hide all of this panel's scene; its time takes over the timeline."""
        self.active = active
        self.root.visible = active
        if active:
            self.desk.show = self.show if self.history is not None else lambda frame: None
            self.desk.timeline.set(*self._clock)

    def _shown(self, state: State) -> None:
        self.restore(state)
        if self.active:
            self.desk.show = self.show
            self.desk.changed()
