"""Small things to look at, one of each data type, and what to look for in their pictures."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from marey.body.markers import Markers
from marey.body.motion import Motion
from marey.body.skeleton import Skeleton
from marey.crowd.fields import FieldSeries, Footage
from marey.crowd.tracks import Tracks
from marey.geometry import rotations as so3
from marey.surface.sequence import MeshSequence, Texture

SMALL = (320, 180)
Image = NDArray[np.uint8]

HUMAN = {
    "Hips": ("", [0, 0.95, 0]),
    "LeftUpLeg": ("Hips", [0.09, -0.05, 0]),
    "LeftLeg": ("LeftUpLeg", [0, -0.42, 0]),
    "LeftFoot": ("LeftLeg", [0, -0.42, 0]),
    "LeftToeBase": ("LeftFoot", [0, -0.05, 0.13]),
    "RightUpLeg": ("Hips", [-0.09, -0.05, 0]),
    "RightLeg": ("RightUpLeg", [0, -0.42, 0]),
    "RightFoot": ("RightLeg", [0, -0.42, 0]),
    "RightToeBase": ("RightFoot", [0, -0.05, 0.13]),
    "Spine": ("Hips", [0, 0.2, 0]),
    "Chest": ("Spine", [0, 0.2, 0]),
    "Neck": ("Chest", [0, 0.12, 0]),
    "Head": ("Neck", [0, 0.1, 0]),
    "LeftShoulder": ("Chest", [0.03, 0.08, 0]),
    "LeftArm": ("LeftShoulder", [0.15, 0, 0]),
    "LeftForeArm": ("LeftArm", [0.28, 0, 0]),
    "LeftHand": ("LeftForeArm", [0.25, 0, 0]),
    "RightShoulder": ("Chest", [-0.03, 0.08, 0]),
    "RightArm": ("RightShoulder", [-0.15, 0, 0]),
    "RightForeArm": ("RightArm", [-0.28, 0, 0]),
    "RightHand": ("RightForeArm", [-0.25, 0, 0]),
}


def human() -> Skeleton:
    names = list(HUMAN)
    parents = [names.index(parent) if parent else -1 for parent, _ in HUMAN.values()]
    return Skeleton(tuple(names), parents, [offset for _, offset in HUMAN.values()], [12], [[0, 0.2, 0]])


def walking(frames: int = 12, *, speed: float = 1.2, frame_rate: float = 30.0) -> Motion:
    """Legs that swing about x while the body moves along +z."""
    skeleton = human()
    rotations = so3.identity((frames, skeleton.joints))
    phase = 2 * np.pi * np.arange(frames) / frame_rate
    for name, sign in (("LeftUpLeg", 1.0), ("RightUpLeg", -1.0)):
        turn = np.stack([0.5 * sign * np.sin(phase), 0 * phase, 0 * phase], axis=1)
        rotations[:, skeleton.index(name)] = so3.exp(turn)
    root = np.stack([0 * phase, 0.95 + 0 * phase, speed * np.arange(frames) / frame_rate], axis=1)
    return Motion(skeleton, rotations, root, frame_rate, name="walking")


def box(width: float = 1.0, *, at: tuple[float, float, float] = (0.0, 0.0, 0.0)) -> tuple[Any, Any]:
    """Vertices and outward faces of a cube that stands on the ground at `at`."""
    corners = np.array([[x, y, z] for x in (-0.5, 0.5) for y in (0.0, 1.0) for z in (-0.5, 0.5)])
    quads = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
    faces = [f for a, b, c, d in quads for f in ((a, b, c), (a, c, d))]
    return corners * width + at, np.array(faces)


def sliding_box(frames: int = 6, *, textured: bool = False, colours: Any = None) -> MeshSequence:
    vertices, faces = box()
    path = np.linspace([0.0, 0, 0], [3.0, 0, 0], frames)
    uv = vertices[:, [0, 1]] + [0.5, 0.0] if textured else None
    return MeshSequence(
        vertices + path[:, None],
        faces,
        25.0,
        uv=uv,
        colours=colours,
        textures=(Texture.from_image(half_red_half_blue()),) if textured else (),
    )


def half_red_half_blue() -> Image:
    image = np.zeros((64, 64, 3), dtype=np.uint8)
    image[:, :32] = [230, 30, 30]
    image[:, 32:] = [30, 30, 230]
    return image


def some_markers(frames: int = 5) -> Markers:
    rng = np.random.default_rng(3)
    positions = rng.uniform(0, 1, (1, 12, 3)) + np.linspace([0, 0, 0], [2, 0, 0], frames)[:, None]
    positions[2, 4:9] = np.nan
    positions[3] = np.nan
    return Markers(tuple(f"m{i}" for i in range(12)), positions, 60.0)


def two_people(frames: int = 20) -> Tracks:
    there = np.linspace([0, 0], [4, 0.5], frames)
    back = np.linspace([4, 2], [0, 1.5], frames)
    positions = np.stack([there, back], axis=1)
    positions[12:, 1] = np.nan
    return Tracks(positions, 10.0)


def whirl(frames: int = 3, rows: int = 30, columns: int = 40) -> FieldSeries:
    y, x = np.mgrid[:rows, :columns]
    flow = np.stack([-(y - rows / 2), x - columns / 2], axis=-1) / 10.0
    return FieldSeries(np.repeat(flow[None], frames, axis=0), 12.5)


def grey_ramp(frames: int = 5, rows: int = 48, columns: int = 64) -> Footage:
    def open_frames(start: int, stop: int, step: int) -> Any:
        return (np.full((rows, columns, 3), 40 * i + 20, dtype=np.uint8) for i in range(start, stop, step))

    return Footage(frames, rows, columns, 12.5, open_frames)


def read_png(path: Path) -> Image:
    image = cv2.imread(str(path))
    assert image is not None
    return np.ascontiguousarray(image[..., ::-1])


def coloured(image: Image, *, threshold: int = 18) -> NDArray[np.bool_]:
    """Where a picture is not grey: the stage is, most subjects are not."""
    spread = image.max(axis=-1).astype(int) - image.min(axis=-1)
    return np.asarray(spread > threshold)


def centroid(mask: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Mean (row, column) of a mask."""
    assert mask.any()
    return np.argwhere(mask).mean(axis=0)
