"""Paper, light and ground of the studio's scene, and where a camera has to be to see things whole.

In a narrow window, as of a telephone, the controls lie over its lower part: things are shown above them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from marey._arrays import Array
from marey.studio.settings import THEME
from marey.views.camera import nearest_position

if TYPE_CHECKING:
    from viser import GridHandle, ViserServer


@dataclass(frozen=True)
class Framing:
    """How much of a window is filled: parts of its half width and height, from its middle.

    shape: usual width over height; field: vertical field of view, radians
    narrow: width over height below which the controls cover the lower part
    width, band, narrow_band: what is filled; lowest: metres of a camera above the ground at least
    """

    shape: float = 1.3
    field: float = float(np.radians(75.0))
    narrow: float = 0.8
    width: float = 0.92
    band: tuple[float, float] = (-0.85, 0.8)
    narrow_band: tuple[float, float] = (0.28, 0.85)
    lowest: float = 0.15


FRAMING = Framing()


@dataclass(frozen=True)
class View:
    """A camera: where it is and what it looks at, `(3,)` metres each."""

    position: Array
    look_at: Array


def set_scene(server: ViserServer) -> GridHandle:
    """A pale room with a floor grid of a metre, which is returned; y is up."""
    gui, scene = server.gui, server.scene
    gui.configure_theme(show_logo=False, show_share_button=False, brand_color=THEME.accent)
    gui.set_panel_label("marey")
    gui.main_panel.dock_right()
    scene.set_up_direction("+y")
    scene.world_axes.visible = False
    scene.set_background_image(np.full((2, 2, 3), THEME.paper, dtype=np.uint8))
    scene.configure_environment_map(None)
    sky, below = (255, 255, 255), (214, 208, 200)
    scene.add_light_hemisphere("/light/sky", sky_color=sky, ground_color=below, intensity=1.6)
    return scene.add_grid(
        "/ground",
        plane="xz",
        infinite_grid=True,
        cell_size=0.5,
        cell_color=(226, 226, 223),
        section_size=1.0,
        section_color=(205, 207, 208),
        fade_distance=30.0,
        shadow_opacity=0.25,
    )


def fit_ground(grid: GridHandle, distance: float) -> None:
    """Lines as fine and seen as far as fits something at this distance in metres from the camera."""
    grid.cell_size, grid.section_size = (1.0, 5.0) if distance > 25.0 else (0.5, 1.0)
    grid.fade_distance = max(30.0, 2.5 * distance)


def around(points: ArrayLike, view_from: ArrayLike, shape: float, field: float = FRAMING.field) -> View:
    """The view from a direction, `(3,)`, that shows points, `(n, 3)`, as large as possible.

    shape: width over height of the window; field: vertical field of view, radians

    >>> square = [[-5, 0, -5], [5, 0, -5], [5, 0, 5], [-5, 0, 5]]
    >>> [round(float(np.linalg.norm(around(square, (0, 1, 1), shape).position)), 1) for shape in (2.0, 0.5)]
    [7.4, 19.6]
    """
    places = np.asarray(points, np.float64)
    direction = np.asarray(view_from, np.float64) / np.linalg.norm(view_from)
    view = _filling(places, direction, shape, field)
    for _ in range(8):
        # What is shown above the middle of a narrow window is seen from low down: not through the ground.
        if view.position[1] >= min(FRAMING.lowest, 0.5 * float(places[:, 1].max())):
            break
        direction = direction + np.array([0.0, 0.1, 0.0])
        view = _filling(places, direction, shape, field)
    return view


def from_afar(
    at: ArrayLike, size: float, view_from: ArrayLike, shape: float, field: float = FRAMING.field
) -> View:
    """The view of a place, `(3,)`, from `view_from` times the size; from further away in a narrow window."""
    back, _, up = _axes(view_from)
    distance = size * float(np.linalg.norm(view_from)) * max(1.0, FRAMING.narrow / shape)
    centre = np.asarray(at, np.float64)
    if shape < FRAMING.narrow:
        low, high = FRAMING.narrow_band
        distance = max(distance, 1.05 * size / ((high - low) * np.tan(field / 2)))
        centre = centre - 0.5 * (low + high) * distance * np.tan(field / 2) * up
    return View(centre + distance * back, centre)


def _filling(places: Array, view_from: Array, shape: float, field: float) -> View:
    """The nearest camera that sees all places within the part of the window that is filled."""
    back, right, up = _axes(view_from)
    slope = np.tan(field / 2)
    low, high = slope * np.array(FRAMING.narrow_band if shape < FRAMING.narrow else FRAMING.band)
    position = nearest_position(places, (right, up, back), (FRAMING.width * slope * shape, low, high), 0.25)
    depth = places @ back
    return View(position, position - (position @ back - 0.5 * (depth.min() + depth.max())) * back)


def _axes(view_from: ArrayLike) -> tuple[Array, Array, Array]:
    """Unit vectors back to the camera, to its right and upwards."""
    back = np.asarray(view_from, np.float64)
    back = back / np.linalg.norm(back)
    right = np.cross([0.0, 1.0, 0.0], back)
    length = float(np.linalg.norm(right))
    right = right / length if length > 1e-9 else np.array([1.0, 0.0, 0.0])
    return back, right, np.cross(back, right)
