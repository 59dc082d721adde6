"""Colours and limits of the studio, in one place."""

from __future__ import annotations

from dataclasses import dataclass

from marey.views import style

Colour = tuple[int, int, int]


@dataclass(frozen=True)
class Theme:
    """Colours of controls and scene.

    accent: of controls, captured frames, the past; warm: of what is wrong, synthetic, grabbed or to come
    alternative: of variants; ink: of what is held; path: of lines on the ground
    """

    accent: Colour = (43, 106, 143)
    warm: Colour = (200, 85, 61)
    ink: Colour = (34, 38, 43)
    paper: Colour = (244, 244, 242)
    collapsible: Colour = (74, 84, 94)
    path: Colour = (143, 163, 176)
    request: Colour = (118, 124, 130)
    wall: Colour = (176, 180, 186)
    pale: Colour = (122, 146, 163)
    plain: Colour = (158, 172, 183)
    trousers: Colour = (52, 56, 64)
    alternative: Colour = (224, 139, 90)
    clay: Colour = (169, 185, 202)
    arrow: Colour = (47, 54, 64)


@dataclass(frozen=True)
class Limits:
    """How much the studio takes, shows and keeps.

    upload_bytes, upload_parts: of a file from the browser, which cuts it into parts of 0.5 MB or more
    download_bytes: of an export, which the browser holds whole
    steps: of undo; a clip of 20,000 frames weighs 20 MB and each change of it may keep one
    joints: of figures that methods learn from while a user waits; drawn_joints: of those drawn with limbs
    skin_vertices, light_vertices: of a skin that is sent as it is, and of the lighter one shown instead
    mesh_vertices: of the largest surface; cells: agents times frames of tracks that are shown
    bodies: pedestrians shown as whole bodies; figures: shown at one time; limbs: with limbs that swing
    """

    upload_bytes: int = 200 << 20
    upload_parts: int = 4096
    download_bytes: int = 512 << 20
    steps: int = 30
    joints: int = 300
    drawn_joints: int = 150
    skin_vertices: int = 20_000
    light_vertices: int = 8_000
    mesh_vertices: int = 200_000
    cells: int = 20_000_000
    bodies: int = 100
    figures: int = 4000
    limbs: int = 1200


THEME = Theme(alternative=style.rgb(style.PALETTE[1]), clay=style.rgb(style.CLAY), arrow=style.rgb(style.INK))
LIMITS = Limits()
