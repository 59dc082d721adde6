"""DeepMimic-style JSON clips: `{"Loop": …, "Frames": [[dt, root position, rotations…], …]}`.

44 numbers a frame: duration, root position, quaternions `(w, x, y, z)` of ball joints and angles about z of
the hinges (knees, elbows), for the humanoid of Peng et al. 2018, "DeepMimic", whose proportions stand
below. Metres, y up, facing x.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import numpy as np
from msgspec import Meta, Struct

from marey._arrays import Array
from marey.body.motion import Motion
from marey.body.skeleton import Skeleton
from marey.errors import FormatError
from marey.geometry import resampling
from marey.geometry import rotations as so3
from marey.io._json import read_json
from marey.io._limits import LIMITS

# name, parent, offset in metres, numbers per frame (4: quaternion, 1: angle about z)
JOINTS: tuple[tuple[str, int, tuple[float, float, float], int], ...] = (
    ("root", -1, (0.0, 0.0, 0.0), 4),
    ("chest", 0, (0.0, 0.236151, 0.0), 4),
    ("neck", 1, (0.0, 0.223894, 0.0), 4),
    ("right_hip", 0, (0.0, 0.0, 0.084887), 4),
    ("right_knee", 3, (0.0, -0.421546, 0.0), 1),
    ("right_ankle", 4, (0.0, -0.40987, 0.0), 4),
    ("right_shoulder", 1, (-0.02405, 0.2435, 0.18311), 4),
    ("right_elbow", 6, (0.0, -0.274788, 0.0), 1),
    ("left_hip", 0, (0.0, 0.0, -0.084887), 4),
    ("left_knee", 8, (0.0, -0.421546, 0.0), 1),
    ("left_ankle", 9, (0.0, -0.40987, 0.0), 4),
    ("left_shoulder", 1, (-0.02405, 0.2435, -0.18311), 4),
    ("left_elbow", 11, (0.0, -0.274788, 0.0), 1),
)
ENDS: tuple[tuple[str, tuple[float, float, float]], ...] = (
    ("neck", (0.0, 0.278, 0.0)),
    ("right_ankle", (0.134, -0.05, 0.0)),
    ("right_elbow", (0.0, -0.258947, 0.0)),
    ("left_ankle", (0.134, -0.05, 0.0)),
    ("left_elbow", (0.0, -0.258947, 0.0)),
)
WIDTH = 4 + sum(joint[3] for joint in JOINTS)


class _Clip(Struct):
    Frames: Annotated[list[list[float]], Meta(min_length=1)]


def read(path: Path) -> Motion:
    """A clip of the DeepMimic humanoid; frames of unequal duration are resampled to the mean rate."""
    table = _frames(path)
    durations = table[:-1, 0] if len(table) > 1 else table[:, 0]
    if not (durations > 0).all():
        frame = int(np.flatnonzero(durations <= 0)[0])
        raise FormatError(f"frame {frame}: its duration {durations[frame]:g} s is not positive", path=path)
    rotations = np.empty((len(table), len(JOINTS), 4))
    column = 4
    for joint, (name, _, _, width) in enumerate(JOINTS):
        values = table[:, column : column + width]
        if width == 1:
            rotations[:, joint] = so3.exp(values * np.array([0.0, 0.0, 1.0]))
        else:
            rotations[:, joint] = _unit_quaternions(values, name, path)
        column += width
    rotations = so3.continuous(rotations)
    root, rate = table[:, 1:4], 1.0 / float(durations.mean())
    if abs(rate - round(rate)) < 1e-3 * rate:  # 0.016666 means 60
        rate = float(round(rate))
    if np.ptp(durations) > 1e-3 * durations.mean():
        rotations, root = _uniform(durations, rotations, root)
    return Motion(_skeleton(), rotations, root, rate, name=path.stem)


def _unit_quaternions(values: Array, joint: str, path: Path) -> Array:
    """Quaternions made unit: published clips hold averaged ones as short as 0.6."""
    norms = np.linalg.norm(values, axis=-1)
    if norms.min() < 0.1:
        frame = int(norms.argmin())
        raise FormatError(f"frame {frame}, joint {joint!r}: the quaternion is zero", path=path)
    return np.asarray(values / norms[:, None])


def _uniform(durations: Array, rotations: Array, root: Array) -> tuple[Array, Array]:
    times = np.concatenate([[0.0], np.cumsum(durations)])
    wanted = np.linspace(0.0, times[-1], len(times))
    positions = np.interp(wanted, times, np.arange(len(times)))
    before = np.minimum(positions.astype(int), len(times) - 2)
    share = (positions - before)[:, None]
    return so3.slerp(rotations[before], rotations[before + 1], share), resampling.linear(root, positions)


def _skeleton() -> Skeleton:
    names = tuple(joint[0] for joint in JOINTS)
    return Skeleton(
        names,
        np.array([joint[1] for joint in JOINTS]),
        np.array([joint[2] for joint in JOINTS]),
        np.array([names.index(name) for name, _ in ENDS]),
        np.array([offset for _, offset in ENDS]),
    )


def _frames(path: Path) -> Array:
    clip = read_json(path, _Clip, limit=LIMITS.table)
    for frame, row in enumerate(clip.Frames):
        if len(row) != WIDTH:
            raise FormatError(f"frame {frame}: expected {WIDTH} numbers, found {len(row)}", path=path)
    return np.array(clip.Frames)
