"""Acclaim skeletons (`.asf`) and motion (`.amc`), as the CMU database holds them.

A bone turns about its start by `C M C⁻¹`: `C` from its `axis` line, `M` from the motion, both about fixed
axes in the order they are listed (Tournier 2011, chapter 4). A bone becomes the joint at its start, so its
offset is its parent's vector. Cost: that of `_amc`, and some 100 ns a bone and frame.
"""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from marey.body.motion import Motion
from marey.body.skeleton import Skeleton
from marey.errors import FormatError, MareyWarning
from marey.geometry import rotations as so3
from marey.geometry.convention import UNITS, Convention, unit_size
from marey.geometry.euler import from_euler
from marey.io._amc import read_amc
from marey.io._asf import TURNS, Asf, read_asf
from marey.io._sizes import check_poses_fit

Array = NDArray[np.float64]

CMU_FRAME_RATE = 120.0


def read(
    path: Path,
    *,
    skeleton: str | Path | None = None,
    unit: str | float | None = None,
    frame_rate: float | None = None,
) -> Motion:
    """A clip from an AMC file and its ASF skeleton; an ASF file alone gives its rest pose, one frame.

    skeleton: the ASF file; by default the one beside the AMC that shares the start of its name
    unit: metres per unit; by default an inch divided by the ASF's `length`, as CMU counts
    frame_rate: frames per second; by default what the file says, and 120 if, as usual, it does not
    """
    path = Path(path)
    is_rest = path.suffix.lower() == ".asf"
    asf = read_asf(path if is_rest else _skeleton_beside(path, skeleton))
    convention = Convention(UNITS["in"] / asf.unit if unit is None else unit_size(unit))
    if is_rest:
        return _motion(asf, {}, 1, asf.in_degrees, convention, frame_rate or CMU_FRAME_RATE, path)
    amc = read_amc(path, {bone.name: len(bone.freedoms) for bone in asf.bones})
    check_poses_fit(amc.frames, len(asf.bones), path)
    in_degrees = asf.in_degrees if amc.in_degrees is None else amc.in_degrees
    rate = frame_rate or amc.frame_rate or CMU_FRAME_RATE
    return _motion(asf, amc.values, amc.frames, in_degrees, convention, rate, path)


def _motion(
    asf: Asf,
    values: dict[str, Array],
    frames: int,
    in_degrees: bool,
    convention: Convention,
    frame_rate: float,
    path: Path,
) -> Motion:
    """values: by bone, `(frames, freedoms)`; bones without any stay at rest."""
    bones = asf.bones
    stretching = [bone.name for bone in bones[1:] if bone.name in values and set(bone.freedoms) - set(TURNS)]
    if stretching:
        message = f"{path}: bone {stretching[0]!r} also slides or stretches; only its turns are read"
        warnings.warn(message, MareyWarning, stacklevel=3)
    rotations = so3.identity((frames, len(bones)))
    root = np.zeros((frames, 3)) + asf.position
    for joint, bone in enumerate(bones):
        if bone.name not in values:
            continue
        columns = dict(zip(bone.freedoms, values[bone.name].T, strict=True))
        order = "".join(freedom[1] for freedom in bone.freedoms if freedom in TURNS)
        still = np.zeros(frames)
        angles = np.stack([columns.get(freedom, still) for freedom in TURNS], axis=1)
        frame = _turned(bone.axis, bone.axis_order, in_degrees=asf.in_degrees)
        turn = so3.multiply(frame, _turned(angles, order, in_degrees=in_degrees))
        rotations[:, joint] = so3.multiply(turn, so3.inverse(frame))
        if joint == 0:
            root += np.stack([columns.get(freedom, still) for freedom in ("TX", "TY", "TZ")], axis=1)
    vectors = np.array([bone.vector for bone in bones])
    parents = np.array([bone.parent for bone in bones])
    leaves = np.setdiff1d(np.arange(len(bones)), parents)
    offsets = np.where(parents[:, None] >= 0, vectors[parents], 0.0)
    return Motion(
        Skeleton(
            tuple(bone.name for bone in bones),
            parents,
            convention.to_marey(offsets),
            leaves,
            convention.to_marey(vectors[leaves]),
        ),
        so3.continuous(rotations),
        convention.to_marey(root),
        frame_rate,
        convention=convention,
        name=path.stem,
    )


def _turned(angles: Array, order: str, *, in_degrees: bool) -> Array:
    """Turns by angles `(..., 3)` about the fixed axes x, y, z, in this order: XYZ is `R_z R_y R_x`.

    Axes that are not in the order must have angle 0.
    """
    # About fixed axes is the same as about turned ones, in reverse.
    order = "".join(dict.fromkeys(order + "XYZ"))[::-1]
    listed = angles[..., ["XYZ".index(axis) for axis in order]]
    return from_euler(np.radians(listed) if in_degrees else listed, order)


def _skeleton_beside(path: Path, given: str | Path | None) -> Path:
    if given is not None:
        return Path(given)
    folder = path.parent
    candidates = sorted(p for p in folder.glob("*") if p.suffix.lower() == ".asf") if folder.is_dir() else []
    named = [p for p in candidates if _begins(path.stem.lower(), p.stem.lower())]
    if named:
        return max(named, key=lambda p: len(p.stem))
    if len(candidates) == 1:
        message = (
            f"{path}: read with the only skeleton beside it, {candidates[0].name}; skeleton= names another"
        )
        warnings.warn(message, MareyWarning, stacklevel=3)
        return candidates[0]
    raise FormatError(
        f"its skeleton is not beside it (looked for {path.stem.split('_')[0]}.asf); "
        "put the .asf file there (in the studio: open it first) or name it with skeleton=",
        path=path,
    )


def _begins(name: str, start: str) -> bool:
    """Whether a name begins with `start`, and not in the middle of a word or number: 11 of 11_01."""
    return name.startswith(start) and not name[len(start) : len(start) + 1].isalnum()
