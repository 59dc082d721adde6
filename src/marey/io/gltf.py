"""glTF 2.0, `.glb` and `.gltf`: motions, skinned characters and mesh sequences, in and out.

The container is plain JSON and NumPy: the format is small, every size must be checked before it is
believed, and vertices must not pass through Python objects. Lengths are metres, y up, right-handed, as
in marey itself. Cost: linear in the size of the file.
"""

from __future__ import annotations

import warnings
from contextlib import closing
from pathlib import Path

import numpy as np

from marey._arrays import checked_rate
from marey.body.motion import Motion
from marey.character import Character
from marey.errors import FormatError, InputError, MareyWarning
from marey.geometry.convention import unit_size
from marey.io._gltf_document import open_document
from marey.io._gltf_nodes import opened
from marey.io._gltf_read import read_scene
from marey.io._gltf_write import Builder, build_character, build_motion, build_sequence, build_shapes
from marey.surface.sequence import MeshSequence
from marey.surface.shapes import shapes_of

# Of a mesh sequence: more morph targets than this do not play in a browser. What is lost then is not seen.
MOST_EXACT_FRAMES, UNSEEN = 100, 0.001


def read(
    path: Path, *, clip: str | None = None, unit: str | float = "m", frame_rate: float | None = None
) -> Character | Motion | MeshSequence:
    """What a glTF file holds.

    A skinned mesh is a :class:`Character` with one motion for each animation; any other mesh is a
    :class:`MeshSequence`, moved by its morph targets and nodes (one frame if nothing moves); nodes
    that move without a mesh are a :class:`Motion`. Several meshes are merged into one. Frames are those
    of the file's keys where they are evenly spaced, else 30 a second.

    clip: only the animation of that name (default: all of a character, the first of anything else)
    unit: what a length of 1 in the file stands for, for files that are not in metres as they should be
    frame_rate: frames per second to sample the animations at, instead of the file's own

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "triangle.glb"
    >>> write(MeshSequence([[[0, 0, 0], [1, 0, 0], [0, 1, 0]]] * 2, [[0, 1, 2]], 25), path)
    >>> read(path).frame_rate, read(path, unit="cm").vertices.max() == np.float32(0.01)
    (25.0, np.True_)
    """
    path = Path(path)
    rate = None if frame_rate is None else checked_rate(frame_rate)
    with closing(open_document(path)) as document:
        scene = opened(document, clip=clip, unit=unit_size(unit), frame_rate=rate)
        try:
            # Absurd numbers overflow; what comes of them is refused as not finite by the data types.
            with np.errstate(all="ignore"):
                return read_scene(scene)
        except (InputError, np.linalg.LinAlgError) as error:
            raise FormatError(str(error), path=path) from error


def write(
    data: Character | Motion | MeshSequence,
    path: Path,
    *,
    normals: bool = True,
    max_error: float | None = None,
) -> None:
    """Write a glTF file, metres and y up; `.glb` is one binary, `.gltf` is JSON with everything inside.

    A motion is written as a skin of simple bones, so that other programs show it and import an armature;
    :func:`read` gives the motion back. A character keeps all its motions. A short mesh sequence becomes one
    morph target for every frame but the first, 12 bytes for each vertex and frame and as much again for its
    normals. A long one would be large and play nowhere: it becomes a few shapes, their weights over time
    and a node that goes along the ground, which a note says. Of several textures only the first is kept.

    normals: with False the frames of a sequence have none; viewers then shade its faces flat
    max_error: how far a vertex may be from its place for the sake of fewer shapes, metres; 0 keeps every
        frame as it is; if None, 0 up to 100 frames and 1 mm above

    >>> import marey, tempfile
    >>> path = Path(tempfile.mkdtemp()) / "arm.glb"
    >>> arm = marey.Skeleton(("shoulder", "elbow"), [-1, 0], [[0, 1.4, 0], [0.3, 0, 0]])
    >>> write(marey.Motion(arm, [[[1, 0, 0, 0]] * 2] * 3, [[0, 1.4, 0]] * 3, 30), path)
    >>> read(path).skeleton.names
    ('shoulder', 'elbow')
    """
    builder = Builder()
    if isinstance(data, Motion):
        roots = build_motion(builder, data)
    elif isinstance(data, Character):
        roots = build_character(builder, data)
    else:
        bound = _allowed(data, max_error)
        shapes = shapes_of(data, bound) if bound and data.frames > 2 else None
        if shapes is None:
            roots = build_sequence(builder, data, normals=normals)
        else:
            roots = build_shapes(builder, data, shapes, normals=normals)
            message = (
                f"{path}: {data.frames} frames are stored as {len(shapes.targets)} shapes, no vertex more "
                f"than {1000 * shapes.error:.2g} mm off; max_error=0 (--max-error 0) stores every frame"
            )
            if max_error is None:
                warnings.warn(MareyWarning(message), stacklevel=2)
    builder.save(Path(path), roots=roots)


def _allowed(sequence: MeshSequence, max_error: float | None) -> float:
    if max_error is None:
        return UNSEEN if sequence.frames > MOST_EXACT_FRAMES else 0.0
    if not (np.isfinite(max_error) and max_error >= 0):
        raise InputError(f"max_error: a length in metres, 0 or more, got {max_error}")
    return float(max_error)
