"""Paper, light and ground of the studio's scene."""

from __future__ import annotations

from typing import Any

import numpy as np

BRAND = (43, 106, 143)
PAPER = (244, 244, 242)


# Metres from the camera at which the ground fades, at least, and by distance to what is looked at.
NEAR_FADE, FADE = 30.0, 2.5
# Metres to what is looked at from which the grid is of five metres.
FAR = 25.0


def set_scene(server: Any) -> Any:
    """A pale room with a floor grid of a metre, which is returned; y is up."""
    gui, scene = server.gui, server.scene
    gui.configure_theme(show_logo=False, show_share_button=False, brand_color=BRAND)
    gui.set_panel_label("marey")
    gui.main_panel.dock_right()
    scene.set_up_direction("+y")
    scene.world_axes.visible = False
    scene.set_background_image(np.full((2, 2, 3), PAPER, dtype=np.uint8))
    scene.configure_environment_map(None)
    scene.add_light_hemisphere(
        "/light/sky", sky_color=(255, 255, 255), ground_color=(214, 208, 200), intensity=1.6
    )
    return scene.add_grid(
        "/ground",
        plane="xz",
        infinite_grid=True,
        cell_size=0.5,
        cell_color=(226, 226, 223),
        section_size=1.0,
        section_color=(205, 207, 208),
        fade_distance=NEAR_FADE,
        shadow_opacity=0.25,
    )


def fit_ground(grid: Any, distance: float) -> None:
    """Lines as fine and seen as far as fits something at this distance in metres from the camera."""
    far = distance > FAR
    grid.cell_size, grid.section_size = (1.0, 5.0) if far else (0.5, 1.0)
    grid.fade_distance = max(NEAR_FADE, FADE * distance)
