"""Point at things in the studio's scene: where they are on the page, and whether the page has them yet."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from marey.studio.app import Studio
from tests.browser import Tab, until

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

# Looks at a condition, some 50 ms each, before the same is done again: a page may only be slow.
PATIENCE = 100
CURSOR = "([x, y]) => getComputedStyle(document.elementFromPoint(x, y)).cursor"


class Eye:
    """The camera as the page reports it; what the server knows of it may only have been asked for.

    Made before the page is opened.
    """

    def __init__(self, studio: Studio):
        from viser._messages import ViewerCameraMessage

        self._studio = studio
        self._reported: Any = None

        def report(_client: int, message: Any) -> None:
            self._reported = message

        studio.server._websock_server.on_client_connect(
            lambda connection: connection.register_handler(ViewerCameraMessage, report)
        )

    def settle(self, tab: Tab) -> None:
        """Wait for the camera to be where the studio wants it for the page as it is shaped now."""
        looks = 0

        def arrived() -> bool:
            nonlocal looks
            workspace, seen = self._studio.workspace, self._reported
            clients = self._studio.server.get_clients().values()
            if seen is None or workspace._view is None or not clients:
                return False
            wanted = workspace._view(max(seen.image_width / seen.image_height, 0.1), seen.fov)
            there = np.allclose(
                [*seen.position, *seen.look_at], [*wanted.position, *wanted.look_at], atol=1e-3
            )
            if not there and looks % PATIENCE == 0:
                with workspace.lock:
                    workspace._turn_one(*clients)
            looks += 1
            return there

        until(tab, arrived)

    def pixel(self, tab: Tab, place: ArrayLike) -> tuple[float, float]:
        """Where on the page a place of the scene, `(3,)`, is seen."""
        seen = self._reported
        eye, target = np.array(seen.position), np.array(seen.look_at)
        ahead = (target - eye) / np.linalg.norm(target - eye)
        right = np.cross(ahead, [0.0, 1.0, 0.0])
        right /= np.linalg.norm(right)
        x, y, depth = np.stack([right, np.cross(ahead, right), ahead]) @ (np.asarray(place) - eye)
        box = tab.page.locator("canvas").first.bounding_box()
        assert box is not None and depth > 0
        scale = 0.5 * box["height"] / np.tan(0.5 * seen.fov) / depth
        return box["x"] + 0.5 * box["width"] + scale * x, box["y"] + 0.5 * box["height"] + scale * y

    def rest_on(self, tab: Tab, place: ArrayLike) -> tuple[float, float]:
        """Rest the pointer on a place of the scene once it can be taken there: the pixel of the page."""
        self.settle(tab)
        x, y = self.pixel(tab, place)
        self.drag_to(tab, place, lambda: tab.page.evaluate(CURSOR, [x, y]) == "pointer")
        return x, y

    def drag_to(self, tab: Tab, place: ArrayLike, done: Callable[[], bool]) -> None:
        """Move the pointer to a place of the scene, to and fro: only one that moves is heard of."""
        (x, y), looks = self.pixel(tab, place), 0

        def moved() -> bool:
            nonlocal looks
            looks += 1
            tab.page.mouse.move(x + looks % 2, y)
            return done()

        until(tab, moved)
        tab.page.mouse.move(x, y)

    def click(self, tab: Tab, place: ArrayLike, done: Callable[[], bool]) -> None:
        """Click a place of the scene, and again should it not have been there yet."""
        looks = 0

        def clicked() -> bool:
            nonlocal looks
            if looks % PATIENCE == 0:
                self.rest_on(tab, place)
                tab.page.mouse.click(*self.pixel(tab, place))
            looks += 1
            return done()

        until(tab, clicked)
