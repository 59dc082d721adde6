"""What every panel of the studio works at: the page, its notices, and callbacks that never break it."""

from __future__ import annotations

import sys
import threading
import traceback
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from marey.errors import MareyError
from marey.studio.framing import FIELD, USUAL_SHAPE, View, around, from_afar
from marey.studio.jobs import CancelledError, Jobs
from marey.studio.setting import fit_ground, set_scene
from marey.studio.timeline import Timeline

SECONDS_OF_A_NOTICE = 8.0
# Metres from the camera.
NEAREST_SEEN = 0.01
DRAWER = (74, 84, 94)


class Notice(NamedTuple):
    """What people were told."""

    title: str
    text: str
    wrong: bool


class Desk:
    """The page and what panels share; everything that changes the page holds `lock`.

    server: the viser server; `gui` and `scene` are its own
    own_folder: where uploads are kept; nobody needs to read of it in notices
    """

    def __init__(self, server: Any, own_folder: str = ""):
        self.server, self.gui, self.scene = server, server.gui, server.scene
        self.lock = threading.RLock()
        self.closed = False
        self._own_folder = own_folder
        self.ground = set_scene(server)
        self._near = NEAREST_SEEN
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

    def drawer(self, label: str) -> Any:
        """A folder that is closed at first, as a context; its button can be reached by keys, too."""
        button = self.gui.add_button(label, color=DRAWER, icon="chevron-down")
        folder = self.gui.add_folder(None, visible=False)

        def turn(_event: Any) -> None:
            folder.visible = not folder.visible
            button.icon = "chevron-up" if folder.visible else "chevron-down"

        button.on_click(self.guard(turn))
        return folder

    def say(self, text: str, title: str = "marey") -> None:
        """A short notice that goes away by itself."""
        self._tell(Notice(title, text, False))

    def complain(self, title: str, text: str) -> None:
        """A notice that something is wrong; it stays until it is closed."""
        self._tell(Notice(title, text, True))

    def guard(self, act: Callable[[Any], None]) -> Callable[[Any], None]:
        """A callback for the page: one at a time, for people's own doing only, errors told as notices."""

        def guarded(event: Any) -> None:
            # Values that are set by us call back, too, without a client.
            if event.client is None or self.closed:
                return
            with self.lock, self.errors_told():
                act(event)

        return guarded

    @contextmanager
    def errors_told(self) -> Iterator[None]:
        """What goes wrong inside becomes a notice."""
        try:
            yield
        except CancelledError:
            raise
        except MareyError as error:
            self.complain("That did not work", str(error))
        except MemoryError:
            self.complain("Not enough memory", "Try fewer frames or a smaller file.")
        except Exception as error:
            traceback.print_exc(file=sys.stderr)
            self.complain("This is marey's mistake", f"{type(error).__name__}: {error}. Please report it.")

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
        first = view(USUAL_SHAPE, FIELD)
        self.server.initial_camera.look_at = first.look_at
        self.server.initial_camera.position = first.position
        distance = float(np.linalg.norm(first.position - first.look_at))
        # What is nearer than this is cut away: a hand of a few centimetres must not be.
        self._near = min(NEAREST_SEEN, distance / 50)
        self.server.initial_camera.near = self._near
        fit_ground(self.ground, distance)
        for client in self.server.get_clients().values():
            self._turn_one(client)

    def _turn_one(self, client: Any) -> None:
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

    def _tell(self, notice: Notice) -> None:
        if self._own_folder:
            notice = notice._replace(text=notice.text.replace(f"{self._own_folder}/", ""))
        self.notices.append(notice)
        colour = (200, 85, 61) if notice.wrong else (43, 106, 143)
        for client in self.server.get_clients().values():
            client.add_notification(
                notice.title,
                notice.text,
                color=colour,
                auto_close_seconds=None if notice.wrong else SECONDS_OF_A_NOTICE,
            )
