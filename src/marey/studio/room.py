"""A room: what one kind of data offers in the studio, declared as tools and layers over one frozen state.

A :class:`Tool` is a group of controls whose methods return the next state, or a :class:`Task` that finds it
aside; a :class:`Layer` draws a part of the state and is drawn anew only when its key changes. The room keeps
the states for undo and redo, runs tasks and merges what they found into the state as it is by then.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

from marey._arrays import derived
from marey._work import Progress
from marey.errors import InputError
from marey.studio.controls import Control, declared
from marey.studio.jobs import LatestOnly
from marey.studio.layers.group import Group
from marey.studio.settings import LIMITS
from marey.studio.workspace import Workspace

if TYPE_CHECKING:
    from viser import GuiButtonHandle, GuiEvent, GuiFolderHandle

S = TypeVar("S")
Part = TypeVar("Part", bound="Layer[Any]")
Samples = dict[str, Callable[[], object]]


@dataclass(frozen=True)
class Export:
    """A file that can be made of what is shown.

    label: what it is, for users: "motion (BVH)"; name: file name with its ending
    write: makes it at a path, reporting progress
    """

    label: str
    name: str
    write: Callable[[Path, Progress], None]


@dataclass(frozen=True)
class Task(Generic[S]):
    """Work that finds another state aside.

    label: what is being done, for users: "drawing variants"
    work: from a progress to the state as it would be had nothing else changed
    needs: fields of the state that must not have changed meanwhile, or what was found is dropped
    gesture: tasks of one gesture replace each other's step, so that one undo takes all of them back
    on_done: called when the state is shown
    """

    label: str
    work: Callable[[Progress], S]
    needs: tuple[str, ...] = ()
    gesture: str = ""
    on_done: Callable[[], None] | None = None


class History(Generic[S]):
    """The states a room went through, newest last; the first is what was opened.

    >>> history = History("opened")
    >>> history.push("bent"); history.push("compressed")
    >>> history.undo(), history.redo(), history.undo(), history.reset()
    ('bent', 'compressed', 'bent', 'opened')
    """

    def __init__(self, first: S):
        self._states = [first]
        self._undone: list[S] = []

    @property
    def now(self) -> S:
        """The state that is shown."""
        return self._states[-1]

    @property
    def before(self) -> S:
        """The state that undo would show."""
        return self._states[max(len(self._states) - 2, 0)]

    @property
    def steps(self) -> int:
        """How many times one can undo."""
        return len(self._states) - 1

    undone = derived(len, "_undone", "How many times one can redo.")

    def push(self, state: S) -> None:
        """Go on to a new state; the oldest but the first are forgotten beyond the limit of steps."""
        self._undone.clear()
        self._states.append(state)
        if len(self._states) > LIMITS.steps + 1:
            del self._states[1]

    def undo(self) -> S:
        """Go back one step, if there is one."""
        if len(self._states) > 1:
            self._undone.append(self._states.pop())
        return self.now

    def redo(self) -> S:
        """Go forward to the state that was undone last, if there is one."""
        if self._undone:
            self._states.append(self._undone.pop())
        return self.now

    def reset(self) -> S:
        """Go back to what was opened."""
        while self.steps:
            self.undo()
        return self.now


class Layer(Generic[S]):
    """Something drawn of the states of a room, in a group of the scene; subclasses say which room it is.

    drawn_from: names of what in the state it is set from: it is set again when one of these is another
    """

    room: Any
    drawn_from: ClassVar[tuple[str, ...]] = ()

    def __init__(self, room: Room[S]):
        self.room, self.workspace = room, room.workspace
        self.group = room.group(type(self).__name__.lower())

    def opened(self, state: S) -> None:
        """Something else was opened; `state` is its first."""

    def set(self, state: S) -> None:
        """Draw what does not change from frame to frame."""

    def frame(self, state: S, frame: int) -> None:
        """Draw one frame."""


class Tool(Layer[S]):
    """Controls about one thing, and what they draw; see :mod:`marey.studio.controls`.

    title: of its folder, none for controls outside of folders; collapsible: whether it is closed at first
    """

    title: ClassVar[str] = ""
    collapsible: ClassVar[bool] = True
    folder: GuiFolderHandle

    def __init__(self, room: Room[S]):
        super().__init__(room)
        self.handles: dict[str, Any] = {}
        self.live: dict[str, LatestOnly[Any]] = {}
        for name, control in declared(type(self)).items():
            handle = self.handles[name] = control.build(self.workspace.gui)
            if control.kind != "button":
                setattr(self, name, handle)
            if control.on:
                self._connect(name, control, handle)

    @property
    def state(self) -> S:
        """What the room shows."""
        state: S = self.room.state
        return state

    def refresh(self, state: S) -> None:
        """Bring the controls in line with a state."""

    def redraw(self) -> None:
        """Draw again, with the controls as they are."""
        self.room.redraw(self)

    def _connect(self, name: str, control: Control, handle: Any) -> None:
        """Let the tool's method answer what a user does; nothing to do before something is open."""
        method = getattr(self, control.on)
        handles = handle if control.kind == "several" else [handle]
        if control.kind == "button":
            handle.on_click(self.workspace.callback(lambda _: method()))
        elif control.kind == "button_group":
            answer = self.workspace.callback(lambda event: self.room.perform(method(event.target.value)))
            handle.on_click(answer)
        elif control.live:

            def locked(value: object) -> None:
                with self.workspace.lock:
                    method(value)

            self.live[name] = LatestOnly(lambda value: self._follow(locked, value))

            async def moved(event: GuiEvent[Any]) -> None:
                if event.client is not None:
                    values = tuple(one.value for one in handles)
                    self.live[name].submit(values if control.kind == "several" else values[0])

            for one in handles:
                one.on_update(moved)
        else:
            for one in handles:
                one.on_update(self.workspace.callback(lambda _: self.room.perform(method())))

    def _follow(self, method: Callable[[Any], object], value: object) -> None:
        with self.workspace.reporting_errors():
            if not self.workspace.closed and self.room.history is not None:
                method(value)


class Room(Generic[S]):
    """Controls on the page and things in the scene under `/title`; a frozen state says all that is shown.

    Subclasses name their layers and tools with :func:`part`, in the order in which they are drawn and placed
    on the page. All methods are called holding the workspace's lock.

    title: for users; accepts: types of data that it opens
    """

    title: ClassVar[str]
    accepts: ClassVar[tuple[type, ...]]

    def __init__(self, workspace: Workspace):
        self.workspace = workspace
        self.root = workspace.scene.add_frame(self.path(), show_axes=False)
        self.history: History[S] | None = None
        self.layers: list[Layer[S]] = []
        self.tools: list[Tool[S]] = []
        self.active = False
        self.name = ""
        self.gesture = ""
        self._keys: dict[Layer[S], tuple[object, ...]] = {}
        for name, kind in [(n, one.kind) for n, one in vars(type(self)).items() if isinstance(one, _Part)]:
            setattr(self, name, self._add(kind))

    def _add(self, kind: type[Layer[S]]) -> Layer[S]:
        """Build a layer, or a tool in its folder where the page then is."""
        if not issubclass(kind, Tool):
            self.layers.append(layer := kind(self))
            return layer
        make = self.workspace.collapsible if kind.collapsible else self.workspace.gui.add_folder
        folder = make(kind.title) if kind.title else self.workspace.gui.add_folder(None)
        with folder:
            tool = kind(self)
        tool.folder = folder
        self.tools.append(tool)
        return tool

    def group(self, name: str) -> Group:
        """Nodes of this room in the scene."""
        return Group(self.workspace.scene, self.path(name))

    def path(self, name: str = "") -> str:
        """Where something of this room is in the scene: `/body/ghosts`."""
        return f"/{self.title.lower()}/{name}".rstrip("/")

    @property
    def state(self) -> S:
        """What is shown now."""
        if self.history is None:
            raise InputError("nothing is open here yet: open a file or a sample first")
        return self.history.now

    @property
    def stem(self) -> str:
        """Name for files of what is shown, without an ending."""
        return Path(self.name).stem or self.title.lower()

    @property
    def frame(self) -> int:
        """The frame that is shown."""
        return min(self.workspace.timeline.frame, self.clock(self.state)[0] - 1)

    def open(self, data: Any, name: str) -> None:
        """Show something else; undo does not go back before it. Call :meth:`begin` with the first state."""
        raise NotImplementedError

    def samples(self) -> Samples:
        """Built-in data to try, by name; the first is shown when there is no file."""
        raise NotImplementedError

    def exports(self, state: S) -> Sequence[Export]:
        """The files that can be made of a state."""
        raise NotImplementedError

    def shared(self, state: S) -> object:
        """What another room, still empty, goes on with when one turns to it; None for its sample."""
        return None

    def clock(self, state: S) -> tuple[int, float, int]:
        """Frames, frames per second, and the number of the first frame in its file."""
        raise NotImplementedError

    def look(self) -> None:
        """Turn the camera to what is shown; called when the room is."""

    def begin(self, state: S) -> None:
        """The first state of what was opened."""
        self.history, self.gesture = History(state), ""
        for part in (*self.layers, *self.tools):
            part.opened(state)
        self._show(state)

    def change(self, state: S, gesture: str = "") -> None:
        """Go on to another state, which undo takes back; one gesture is one step."""
        if self.history is None:
            raise RuntimeError("nothing has been opened yet")
        if gesture and gesture == self.gesture and self.history.steps:
            self.history.undo()
        self.gesture = gesture
        self.history.push(state)
        self._show(state)

    def before(self, gesture: str) -> S:
        """The state that a gesture began with: the present one unless it is that gesture's."""
        same = self.history is not None and gesture == self.gesture and self.history.steps
        return self.history.before if same and self.history is not None else self.state

    def perform(self, result: S | Task[S] | None, pressed: GuiButtonHandle | None = None) -> bool:
        """Go on to the state that a tool returned, or run its task; false if another is still running."""
        if isinstance(result, Task):
            return self._run(result, pressed)
        if result is not None:
            self.change(result)
        return True

    def undo(self) -> bool:
        """Back one step; false if there is none."""
        return self._go(self.history is not None and self.history.steps > 0, "undo")

    def redo(self) -> bool:
        """Forward to what was undone last; false if there is nothing."""
        return self._go(self.history is not None and self.history.undone > 0, "redo")

    def reset(self) -> bool:
        """Back to what was opened; false if it is already shown."""
        return self._go(self.history is not None and self.history.steps > 0, "reset")

    def restore(self, state: S) -> None:
        """Bring controls and scene in line with a state."""
        for part in (*self.layers, *self.tools):
            key = tuple(attrgetter(name)(state) for name in part.drawn_from)
            if part not in self._keys or not _same(self._keys[part], key):
                self._keys[part] = key
                part.set(state)
            if isinstance(part, Tool):
                part.refresh(state)
        if self.active:
            self.workspace.timeline.set(*self.clock(state), self.workspace.timeline.frame)

    def show(self, frame: int) -> None:
        """Draw one frame of the state."""
        state = self.state
        frame = min(frame, self.clock(state)[0] - 1)
        with self.workspace.server.atomic():
            for part in (*self.layers, *self.tools):
                part.frame(state, frame)

    def redraw(self, *parts: Layer[S]) -> None:
        """Draw the present frame again, and what these draw besides."""
        if self.history is not None:
            for part in parts:
                part.set(self.state)
            self.show(self.workspace.timeline.frame)

    def activate(self, active: bool) -> None:
        """Show or hide all of this room's scene; its time takes over the timeline."""
        self.active = active
        self.root.visible = active
        if active:
            opened = self.history is not None
            self.workspace.show = self.show if opened else lambda frame: None
            self.workspace.timeline.set(*(self.clock(self.state) if opened else (1, 30.0, 0)))
            if opened:
                self.look()

    def _go(self, possible: bool, step: str) -> bool:
        if possible:
            self.gesture = ""
            self._show(getattr(self.history, step)())
        return possible

    def _show(self, state: S) -> None:
        self.restore(state)
        if self.active:
            self.workspace.show = self.show
            self.workspace.changed()

    def _run(self, task: Task[S], pressed: GuiButtonHandle | None) -> bool:
        begun = self.state

        def finished(found: S) -> None:
            now = self.state
            if any(getattr(now, name) is not getattr(begun, name) for name in task.needs):
                raise InputError(f"{task.label}: {task.needs[0]} has changed meanwhile; try again")
            self.change(merged(begun, found, now), task.gesture)
            if task.on_done is not None:
                task.on_done()

        return self.workspace.jobs.run(task.label, task.work, finished, pressed)


AnyRoom = Room[Any]


@dataclass(frozen=True)
class _Part:
    kind: type[Layer[Any]]


def part(kind: type[Part]) -> Part:
    """A layer or tool of a room, declared in its class; it is built with the room."""
    declared: Any = _Part(kind)
    built: Part = declared
    return built


def merged(begun: S, found: S, now: S) -> S:
    """The present state with the fields that differ between two others: what was found from an earlier one.

    >>> from marey.studio.surface.state import State
    >>> begun = State(sequence=1)
    >>> both = merged(begun, replace(begun, at=5), replace(begun, sequence=2))
    >>> both.at, both.sequence
    (5, 2)
    """
    if now is begun:
        return found
    states: tuple[Any, Any, Any] = (begun, found, now)
    names = [field.name for field in fields(states[0])]
    changed = {n: getattr(found, n) for n in names if getattr(found, n) is not getattr(begun, n)}
    result: S = replace(states[2], **changed)
    return result


def _same(key: tuple[object, ...], other: tuple[object, ...]) -> bool:
    """Whether keys agree: data by identity, numbers and words by value."""
    plain = (int, float, str)
    return len(key) == len(other) and all(
        a is b or (isinstance(a, plain) and isinstance(b, plain) and a == b)
        for a, b in zip(key, other, strict=True)
    )
