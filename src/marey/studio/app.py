"""The studio itself: one page with a panel a scale, served on this machine."""

from __future__ import annotations

import io
import secrets
import tempfile
import time
import warnings
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, redirect_stdout
from os import PathLike
from pathlib import Path
from typing import Any

from marey._work import Progress
from marey.errors import InputError, MareyWarning, require
from marey.studio.desk import Desk
from marey.studio.exporting import Exporter
from marey.studio.loopback import HOST, check_strangers_are_refused, strangers_refused
from marey.studio.panel import Panel
from marey.studio.plain import plain
from marey.studio.uploads import add_upload_button, check_limit

USUAL_PORT = 8080


class Studio:
    """A page in the browser to open, work on and export motion of the three scales.

    files: opened in turn, each in the panel it belongs to; without any, a sample
    port: where to serve; the next free one is taken if it is in use, 0 takes any

    >>> with Studio(port=0) as studio:  # doctest: +SKIP
    ...     print(studio.address)
    http://127.0.0.1:8080/?token=7mXQf0YxJ5w…
    """

    def __init__(self, files: Sequence[str | PathLike[str]] = (), *, port: int = USUAL_PORT):
        if not 0 <= port < 65536:
            raise InputError(f"--port {port}: a port is a number from 0 to 65535")
        viser = require("viser", extra="studio")
        self._token = secrets.token_urlsafe(24)
        with strangers_refused(self._token), _quietly():
            self.server = viser.ViserServer(host=HOST, port=port, label="marey", verbose=False)
        self._uploads = tempfile.TemporaryDirectory(prefix="marey-studio-")
        self.desk = Desk(self.server, own_folder=self._uploads.name)
        self._build_page()
        try:
            check_strangers_are_refused(self.server.get_port(), self._token)
            check_limit(self.desk, self.address.replace("http", "ws", 1))
        except BaseException:
            self.close()
            raise
        with self.desk.lock:
            self.activate(self.panels[0])
        if files:
            self.open(*map(Path, files))
        else:
            self.open_sample(next(iter(self.panels[0].samples())))

    def _build_page(self) -> None:
        from marey.studio.body import BodyPanel
        from marey.studio.crowd import CrowdPanel
        from marey.studio.surface import SurfacePanel

        desk, gui = self.desk, self.desk.gui
        kinds: tuple[type[Panel[Any]], ...] = (BodyPanel, SurfacePanel, CrowdPanel)
        self._scale = gui.add_button_group("Scale", [kind.title for kind in kinds])
        self._caption = gui.add_markdown("")
        with desk.drawer("Open"):
            add_upload_button(desk, Path(self._uploads.name), lambda path: self.open(path))
            self._sample = gui.add_dropdown("Sample", ("",))
            gui.add_button("Open the sample", color="gray").on_click(
                desk.guard(lambda _: self.open_sample(self._sample.value))
            )
        desk.add_jobs()
        desk.add_timeline()
        self.panels: list[Panel[Any]] = []
        self._folders = []
        for kind in kinds:
            folder = gui.add_folder(None, visible=False)
            with folder:
                self.panels.append(kind(desk))
            self._folders.append(folder)
        with gui.add_folder("Result"):
            self._undo = gui.add_button("Undo", icon="arrow-back-up", color="gray", hint="Ctrl+Z")
            self._redo = gui.add_button("Redo", icon="arrow-forward-up", color="gray", hint="Ctrl+Y")
            self._reset = gui.add_button("Reset", icon="rotate", color="gray", hint="Back to what was opened")
            self._exporter = Exporter(desk, lambda: self.active.exports())
        self._connect()

    def _connect(self) -> None:
        desk = self.desk
        self._scale.on_click(desk.guard(lambda event: self._switch(event.target.value)))
        undo, redo = desk.guard(lambda _: self.undo()), desk.guard(lambda _: self.redo())
        self._undo.on_click(undo)
        self._redo.on_click(redo)
        self._reset.on_click(desk.guard(lambda _: self.reset()))
        desk.gui.add_command("Undo", hotkey="Z", modifier="cmd/ctrl").on_trigger(undo)
        desk.gui.add_command("Redo", hotkey="Y", modifier="cmd/ctrl").on_trigger(redo)
        desk.changed = self._refresh

    @property
    def address(self) -> str:
        """Where to look, with the token that lets its reader in."""
        return f"http://{HOST}:{self.server.get_port()}/?token={self._token}"

    @property
    def active(self) -> Panel[Any]:
        """The panel that is shown."""
        return next((panel for panel in self.panels if panel.active), self.panels[0])

    def panel(self, title: str) -> Panel[Any]:
        """A panel by its title: `"Body"`."""
        return next(panel for panel in self.panels if panel.title == title)

    def open(self, *paths: Path) -> None:
        """Read files aside, and show each in the panel it belongs to."""
        from marey.io import load

        def read(progress: Progress) -> list[tuple[Path, Any]]:
            things = []
            with warnings.catch_warnings(record=True) as doubts:
                warnings.simplefilter("always", MareyWarning)
                for done, path in enumerate(paths):
                    progress(done, len(paths))
                    things.append((path, load(path)))
            for doubt in doubts:
                self.desk.say(str(doubt.message), "Please check")
            return things

        def show(things: list[tuple[Path, Any]]) -> None:
            for path, thing in things:
                self.show(thing, path.name)

        self.desk.jobs.start(f"opening {', '.join(path.name for path in paths)}", read, show)

    def open_sample(self, name: str) -> None:
        """Make a built-in thing aside, and show it."""
        makers: dict[str, Callable[[], Any]] = {}
        for panel in self.panels:
            makers |= panel.samples()
        if name not in makers:
            raise InputError("choose a sample first")
        self.desk.jobs.start(
            f"making the sample {name}", lambda _: makers[name](), lambda thing: self.show(thing, name)
        )

    def show(self, thing: Any, name: str) -> None:
        """Show something that was loaded in the panel it belongs to."""
        with self.desk.lock:
            for panel in self.panels:
                if panel.accepts(thing):
                    panel.open(thing, name)
                    panel.name = name
                    self.activate(panel)
                    return
        kind = type(thing).__name__
        raise InputError(
            f"{name}: the studio has no panel for a {kind}; try  marey view {name} -o picture.png"
        )

    def activate(self, chosen: Panel[Any]) -> None:
        """Turn to a panel."""
        for panel, folder in zip(self.panels, self._folders, strict=True):
            folder.visible = panel is chosen
            panel.activate(panel is chosen)
        self._sample.options = tuple(chosen.samples())
        self._refresh()

    def undo(self) -> None:
        """Take back the last change of the panel that is shown."""
        if not self.active.undo():
            self.desk.say("There is nothing to undo.")
        self._refresh()

    def redo(self) -> None:
        """Make the change again that was undone last."""
        if not self.active.redo():
            self.desk.say("There is nothing to redo.")
        self._refresh()

    def reset(self) -> None:
        """Back to what was opened."""
        if not self.active.reset():
            self.desk.say("This is what was opened.")
        self._refresh()

    def close(self) -> None:
        """Stop serving."""
        with self.desk.lock:
            if self.desk.closed:
                return
            self.desk.closed = True
            self.desk.jobs.cancel()
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

    def _switch(self, title: str) -> None:
        panel = self.panel(title)
        self.activate(panel)
        if panel.history is None:
            self.open_sample(next(iter(panel.samples())))

    def _refresh(self) -> None:
        panel = self.active
        self._caption.content = f"**{panel.title}**" + (f" · {plain(panel.name)}" if panel.name else "")
        history = panel.history
        self._undo.disabled = self._reset.disabled = history is None or not history.steps
        self._redo.disabled = history is None or not history.undone
        self._exporter.refresh()


def _quietly() -> AbstractContextManager[Any]:
    """The server prints banners, which would get between a command's lines."""
    return redirect_stdout(io.StringIO())
