"""Paper, light and ground of the studio's scene."""

from __future__ import annotations

from typing import Any

import numpy as np

BRAND = (43, 106, 143)
PAPER = (244, 244, 242)


def set_scene(server: Any) -> None:
    """A pale room with a floor grid of a metre; y is up."""
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
    scene.add_grid(
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
