"""The studio itself: one page with a room for each kind of data, served on this machine."""

from __future__ import annotations

import io
import secrets
import tempfile
import time
import warnings
from collections.abc import Sequence
from contextlib import AbstractContextManager, redirect_stdout
from os import PathLike
from pathlib import Path

from marey._work import Progress
from marey.errors import InputError, MareyWarning, require
from marey.studio.exports import Exporter
from marey.studio.room import AnyRoom, Export, Samples
from marey.studio.server import HOST, add_upload_button, check_limit, check_local_only, local_only
from marey.studio.text import escape_markdown
from marey.studio.workspace import Workspace


class Studio:
    """A page in the browser to open, work on and export motion of the three scales.

    files: opened in turn, each in the room it belongs to; without any, a sample
    port: where to serve; the next free one is taken if it is in use, 0 takes any

    >>> with Studio(port=0) as studio:  # doctest: +SKIP
    ...     print(studio.address)
    http://127.0.0.1:8080/?token=7mXQf0YxJ5w…
    """

    def __init__(self, files: Sequence[str | PathLike[str]] = (), *, port: int = 8080):
        if not 0 <= port < 65536:
            raise InputError(f"--port {port}: a port is a number from 0 to 65535")
        viser = require("viser", extra="studio")
        self._token = secrets.token_urlsafe(24)
        with local_only(self._token), _quietly():
            self.server = viser.ViserServer(host=HOST, port=port, label="marey", verbose=False)
        self._uploads = tempfile.TemporaryDirectory(prefix="marey-studio-")
        self.workspace = Workspace(self.server, own_folder=self._uploads.name)
        self._build_page()
        try:
            check_local_only(self.server.get_port(), self._token)
            check_limit(self.workspace, self.address.replace("http", "ws", 1))
        except BaseException:
            self.close()
            raise
        with self.workspace.lock:
            self.activate(self.rooms[0])
        if files:
            self.open(*map(Path, files))
        else:
            self.open_sample(next(iter(self.rooms[0].samples())))

    def _build_page(self) -> None:
        from marey.studio.balance import BalanceRoom
        from marey.studio.body.room import BodyRoom
        from marey.studio.crowd.room import CrowdRoom
        from marey.studio.direction import DirectionRoom
        from marey.studio.markers import MarkersRoom
        from marey.studio.physics import PhysicsRoom
        from marey.studio.surface.room import SurfaceRoom

        workspace, gui = self.workspace, self.workspace.gui
        kinds: tuple[type[AnyRoom], ...] = (
            BodyRoom, SurfaceRoom, CrowdRoom, DirectionRoom, PhysicsRoom, BalanceRoom, MarkersRoom,
        )  # fmt: skip
        self._choice = gui.add_button_group("Room", [kind.title for kind in kinds])
        self._choice.on_click(workspace.callback(lambda event: self._switch(event.target.value)))
        self._caption = gui.add_markdown("")
        with workspace.collapsible("Open"):
            add_upload_button(workspace, Path(self._uploads.name), lambda path: self.open(path))
            self._sample = gui.add_dropdown("Sample", ("",))
            gui.add_button("Open the sample", color="gray").on_click(
                workspace.callback(lambda _: self.open_sample(self._sample.value))
            )
        workspace.add_jobs()
        workspace.add_timeline()
        self.rooms: list[AnyRoom] = []
        self._folders = []
        for kind in kinds:
            folder = gui.add_folder(None, visible=False)
            with folder:
                self.rooms.append(kind(workspace))
            self._folders.append(folder)
        undo, redo = workspace.callback(lambda _: self.undo()), workspace.callback(lambda _: self.redo())
        with gui.add_folder("Result"):
            self._undo = gui.add_button("Undo", icon="arrow-back-up", color="gray", hint="Ctrl+Z")
            self._redo = gui.add_button("Redo", icon="arrow-forward-up", color="gray", hint="Ctrl+Y")
            self._reset = gui.add_button("Reset", icon="rotate", color="gray", hint="Back to what was opened")
            self._exporter = Exporter(workspace, self._exports)
        self._undo.on_click(undo)
        self._redo.on_click(redo)
        self._reset.on_click(workspace.callback(lambda _: self.reset()))
        gui.add_command("Undo", hotkey="Z", modifier="cmd/ctrl").on_trigger(undo)
        gui.add_command("Redo", hotkey="Y", modifier="cmd/ctrl").on_trigger(redo)
        workspace.changed = self._refresh

    @property
    def address(self) -> str:
        """Where to look, with the token that lets its reader in."""
        return f"http://{HOST}:{self.server.get_port()}/?token={self._token}"

    @property
    def active(self) -> AnyRoom:
        """The room that is shown."""
        return next((room for room in self.rooms if room.active), self.rooms[0])

    def room(self, title: str) -> AnyRoom:
        """A room by its title: `"Body"`."""
        return next(room for room in self.rooms if room.title == title)

    def open(self, *paths: Path) -> None:
        """Read files aside, and show each in the room it belongs to."""
        from marey.io import load

        def read(progress: Progress) -> list[tuple[Path, object]]:
            loaded = []
            with warnings.catch_warnings(record=True) as doubtful:
                warnings.simplefilter("always", MareyWarning)
                for done, path in enumerate(paths):
                    progress(done, len(paths))
                    loaded.append((path, load(path)))
            for warning in doubtful:
                self.workspace.notify(str(warning.message), "Please check")
            return loaded

        def show(loaded: list[tuple[Path, object]]) -> None:
            for path, data in loaded:
                self.show(data, path.name)

        self.workspace.jobs.run(f"opening {', '.join(path.name for path in paths)}", read, show)

    def open_sample(self, name: str) -> None:
        """Make a built-in sample aside, and show it."""
        makers: Samples = {}
        for room in self.rooms:
            makers |= room.samples()
        if name not in makers:
            raise InputError("choose a sample first")
        self.workspace.jobs.run(
            f"making the sample {name}", lambda _: makers[name](), lambda data: self.show(data, name)
        )

    def show(self, data: object, name: str) -> None:
        """Show data that was loaded in the room it belongs to: the one that is shown, if it takes it."""
        with self.workspace.lock:
            for room in (self.active, *self.rooms):
                if isinstance(data, room.accepts):
                    room.open(data, name)
                    room.name = name
                    self.activate(room)
                    return
        kind = type(data).__name__
        raise InputError(f"{name}: the studio has no room for a {kind}; try  marey view {name} -o image.png")

    def activate(self, chosen: AnyRoom) -> None:
        """Turn to a room."""
        for room, folder in zip(self.rooms, self._folders, strict=True):
            folder.visible = room is chosen
            room.activate(room is chosen)
        self._sample.options = tuple(chosen.samples())
        self._refresh()

    def undo(self) -> None:
        """Take back the last change of the room that is shown."""
        self._go(self.active.undo(), "There is nothing to undo.")

    def redo(self) -> None:
        """Make the change again that was undone last."""
        self._go(self.active.redo(), "There is nothing to redo.")

    def reset(self) -> None:
        """Back to what was opened."""
        self._go(self.active.reset(), "This is what was opened.")

    def close(self) -> None:
        """Stop serving."""
        with self.workspace.lock:
            if self.workspace.closed:
                return
            self.workspace.closed = True
            self.workspace.jobs.cancel()
        with _quietly():
            self.server.stop()
        self._uploads.cleanup()

    def wait(self) -> None:
        """Serve until interrupted."""
        try:
            while True:
                time.sleep(3600)
        finally:
            self.close()

    def __enter__(self) -> Studio:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _go(self, went: bool, otherwise: str) -> None:
        if not went:
            self.workspace.notify(otherwise)
        self._refresh()

    def _switch(self, title: str) -> None:
        room, before = self.room(title), self.active
        self.activate(room)
        shown = None if before.history is None else before.shared(before.state)
        if room.history is None and isinstance(shown, room.accepts):
            self.show(shown, before.name)
        elif room.history is None:
            self.open_sample(next(iter(room.samples())))

    def _exports(self) -> Sequence[Export]:
        return () if self.active.history is None else self.active.exports(self.active.state)

    def _refresh(self) -> None:
        room = self.active
        self._caption.content = f"**{room.title}**" + (
            f" · {escape_markdown(room.name)}" if room.name else ""
        )
        history = room.history
        self._undo.disabled = self._reset.disabled = history is None or not history.steps
        self._redo.disabled = history is None or not history.undone
        self._exporter.refresh()


def _quietly() -> AbstractContextManager[object]:
    """The server prints banners, which would get between a command's lines."""
    return redirect_stdout(io.StringIO())
