"""What every room of the studio works in: the page, its notices, and callbacks that never break it."""

from __future__ import annotations

import sys
import threading
import traceback
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from marey.errors import MareyError
from marey.studio.jobs import CancelledError, Jobs
from marey.studio.scene import FRAMING, View, around, fit_ground, from_afar, set_scene
from marey.studio.settings import THEME
from marey.studio.timeline import Timeline

if TYPE_CHECKING:
    from viser import ClientHandle, GuiFolderHandle, ViserServer

Callback = Callable[[Any], None]


class Notice(NamedTuple):
    """A message that users saw."""

    title: str
    text: str
    wrong: bool


class Workspace:
    """The page and what rooms share; everything that changes the page holds `lock`.

    server: the viser server; `gui` and `scene` are its own
    own_folder: where uploads are kept, which is left out of notices
    """

    def __init__(self, server: ViserServer, own_folder: str = ""):
        self.server, self.gui, self.scene = server, server.gui, server.scene
        self.lock = threading.RLock()
        self.closed = False
        self._own_folder = own_folder
        self.ground = set_scene(server)
        self._near = 0.01
        self._view: Callable[[float, float], View] | None = None
        server.on_client_connect(self._turn_one)
        self.notices: deque[Notice] = deque(maxlen=50)
        self.show: Callable[[int], None] = lambda frame: None
        self.changed: Callable[[], None] = lambda: None
        self.jobs: Jobs
        self.timeline: Timeline

    def add_jobs(self) -> None:
        """Place the bar of long work here on the page."""
        self.jobs = Jobs(self)

    def add_timeline(self) -> None:
        """Place the controls of time here on the page."""
        self.timeline = Timeline(self, lambda frame: self.show(frame))

    def collapsible(self, label: str) -> GuiFolderHandle:
        """A folder that is closed at first, as a context; its button can be reached by keys, too."""
        button = self.gui.add_button(label, color=THEME.collapsible, icon="chevron-down")
        folder = self.gui.add_folder(None, visible=False)

        def turn(_event: object) -> None:
            folder.visible = not folder.visible
            button.icon = "chevron-up" if folder.visible else "chevron-down"

        button.on_click(self.callback(turn))
        return folder

    def notify(self, text: str, title: str = "marey") -> None:
        """A short notice that goes away by itself."""
        self._add_notice(Notice(title, text, False))

    def notify_error(self, title: str, text: str) -> None:
        """A notice that something is wrong; it stays until it is closed."""
        self._add_notice(Notice(title, text, True))

    def callback(self, act: Callback) -> Callback:
        """A callback for the page: one at a time, only for what users do, errors shown as notices."""

        def answer(event: Any) -> None:
            # Values that are set by us call back, too, without a client.
            if event.client is None or self.closed:
                return
            with self.lock, self.reporting_errors():
                act(event)

        return answer

    @contextmanager
    def reporting_errors(self) -> Iterator[None]:
        """What goes wrong inside becomes a notice."""
        try:
            yield
        except CancelledError:
            raise
        except MareyError as error:
            self.notify_error("Not possible", str(error))
        except MemoryError:
            self.notify_error("Not enough memory", "Try fewer frames or a smaller file.")
        except Exception as error:
            traceback.print_exc(file=sys.stderr)
            self.notify_error("Internal error", f"{type(error).__name__}: {error}. Please report it.")

    def look(self, at: ArrayLike, size: float, *, view_from: ArrayLike = (0.75, 0.45, 1.25)) -> None:
        """Turn everybody's camera to a place, `(3,)`, so that something of this size in metres is seen.

        view_from: where the camera is from there, `(3,)`, times the size
        """
        self._turn(lambda shape, field: from_afar(at, size, view_from, shape, field))

    def frame(self, points: ArrayLike, view_from: ArrayLike) -> None:
        """Turn everybody's camera so that points, `(n, 3)`, fill the view from a direction, `(3,)`."""
        self._turn(lambda shape, field: around(points, view_from, shape, field))

    def _turn(self, view: Callable[[float, float], View]) -> None:
        self._view = view
        first = view(FRAMING.shape, FRAMING.field)
        self.server.initial_camera.look_at = first.look_at
        self.server.initial_camera.position = first.position
        distance = float(np.linalg.norm(first.position - first.look_at))
        # What is nearer than this is cut away: a hand of a few centimetres must not be.
        self._near = min(0.01, distance / 50)
        self.server.initial_camera.near = self._near
        fit_ground(self.ground, distance)
        for client in self.server.get_clients().values():
            self._turn_one(client)

    def _turn_one(self, client: ClientHandle) -> None:
        """A client's camera, as its window is shaped."""
        if self._view is None:
            return
        camera = client.camera
        seen = self._view(max(float(camera.aspect), 0.1), float(camera.fov))
        camera.near = self._near
        # A camera that is moved takes what it looks at along.
        camera.position = seen.position
        camera.look_at = seen.look_at

    def download(self, name: str, content: bytes) -> None:
        """Hand a file to the browser."""
        self.server.send_file_download(name, content, save_immediately=True)

    def _add_notice(self, notice: Notice) -> None:
        if self._own_folder:
            notice = notice._replace(text=notice.text.replace(f"{self._own_folder}/", ""))
        self.notices.append(notice)
        colour = THEME.warm if notice.wrong else THEME.accent
        seconds = None if notice.wrong else 8.0
        for client in self.server.get_clients().values():
            client.add_notification(notice.title, notice.text, color=colour, auto_close_seconds=seconds)
