"""Point caches, `.pc2` and `.mdd`: where the vertices of a mesh are at every frame, for Blender or Houdini.

A cache has no faces. They are those of a mesh beside it with the same name (`walk.obj` for `walk.pc2`), or of
the one that is named; we write that mesh, too, and note frame rate, unit and up axis in it. PC2 is
little-endian: `POINTCACHE2`, version, points, start, frames a sample, samples, float32 coordinates; MDD is
big-endian: frames, points, times in seconds, then coordinates. Cost: one pass over the file, in blocks.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from marey import _arrays, _work
from marey._arrays import read_only
from marey._work import Progress
from marey.errors import FormatError, InputError, MareyError
from marey.geometry.convention import UpAxis
from marey.io import obj, ply
from marey.io._files import atomic_write_files, check_readable, time_facts
from marey.surface.sequence import MeshSequence

PC2_MARK = b"POINTCACHE2\0"
PC2_HEADER = struct.Struct("<12siiffi")
MDD_HEADER = struct.Struct(">ii")
MESHES = {".obj": obj, ".ply": ply}


def read(
    path: Path,
    *,
    faces_from: Path | None = None,
    frame_rate: float | None = None,
    unit: str | float | None = None,
    up: UpAxis | None = None,
    progress: Progress | None = None,
) -> MeshSequence:
    """A mesh sequence: the points of the cache, and all else of the mesh it moves.

    faces_from: an OBJ or PLY file of that mesh, vertices in the order of the cache; else the one beside it
    frame_rate: if None, what the times of an MDD file say, then what the mesh notes, then 30
    unit, up: of both files; if None, what the mesh notes, then metres and y

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "triangle.pc2"
    >>> write(MeshSequence([[[0, 0, 0], [1, 0, 0], [0, 1, 0]]] * 2, [[0, 1, 2]], 25), path)
    >>> read(path).frame_rate
    25.0
    """
    path = Path(path)
    layout = _layout(path)
    mesh_file = _mesh_beside(path) if faces_from is None else Path(faces_from)
    if mesh_file.suffix.lower() not in MESHES:
        raise InputError(f"{mesh_file}: faces come from an .obj or .ply file")
    mesh = MESHES[mesh_file.suffix.lower()].read(mesh_file, unit=unit, up=up)
    if mesh.vertices.shape[1] != layout.points:
        raise FormatError(
            f"moves {layout.points} points, but {mesh_file.name} has {mesh.vertices.shape[1]} vertices",
            path=path,
        )
    rate = frame_rate if frame_rate is not None else layout.frame_rate or mesh.frame_rate
    vertices = _arrays.empty((layout.frames, layout.points, 3), np.float32)
    for rows, values in _blocks(path, layout):
        vertices[rows] = mesh.convention.vertices_to_marey(values)
        if progress is not None:
            progress(rows.stop, layout.frames)
    try:
        moved: MeshSequence = replace(
            mesh, vertices=read_only(vertices), frame_rate=rate, textures=mesh.textures[:1], name=path.stem
        )
    except MareyError as error:
        raise FormatError(str(error), path=path) from error
    return moved


def facts(path: Path) -> dict[str, object]:
    """What a cache holds: its header, and the mesh beside it."""
    layout, mesh = _layout(path), _mesh_beside(path)
    moved = MESHES[mesh.suffix.lower()].read(mesh)
    return {**moved.facts(), **time_facts(layout.frames, layout.frame_rate or moved.frame_rate)}


def write(
    sequence: MeshSequence,
    path: Path,
    *,
    unit: str | float | None = None,
    up: UpAxis | None = None,
    progress: Progress | None = None,
) -> None:
    """The points of all frames as float32, and beside them the first frame as OBJ: `walk.obj` for `walk.pc2`.

    Both are in the sequence's convention unless another is given.
    """
    path = Path(path)
    sequence = sequence.with_convention(unit=unit, up=up)
    vertices, frames, points = sequence.vertices, sequence.frames, sequence.vertices.shape[1]
    if path.suffix.lower() == ".pc2":
        order, header = "<f4", PC2_HEADER.pack(PC2_MARK, 1, points, 0.0, 1.0, frames)
    else:
        times = np.arange(frames) / sequence.frame_rate
        order, header = ">f4", MDD_HEADER.pack(frames, points) + times.astype(">f4").tobytes()
    mesh = path.with_suffix(".obj").name
    with atomic_write_files(path, [path.name, mesh]) as folder, (folder / path.name).open("wb") as file:
        file.write(header)
        for rows in _arrays.blocks(vertices):
            with np.errstate(over="ignore"):
                block = sequence.convention.vertices_from_marey(vertices[rows]).astype(order)
            if not np.isfinite(block).all():
                raise InputError(f"{path}: a coordinate is too large for 32-bit numbers")
            file.write(block.tobytes())
            if progress is not None:
                progress(rows.stop, frames)
        obj.write(sequence[0], folder / mesh)


@dataclass(frozen=True)
class _Layout:
    frames: int
    points: int
    start: int
    order: str
    frame_rate: float | None


def _layout(path: Path) -> _Layout:
    """What the header says, which must agree with the size of the file."""
    check_readable(path)
    size = path.stat().st_size
    with path.open("rb") as file:
        head = file.read(PC2_HEADER.size)
        if head.startswith(PC2_MARK[:11]):
            if len(head) < PC2_HEADER.size:
                raise FormatError("ends within its header", path=path)
            _, version, points, _, _, frames = PC2_HEADER.unpack(head)
            if version != 1:
                raise FormatError(f"PC2 version {version}; known is 1", path=path)
            layout = _Layout(frames, points, PC2_HEADER.size, "<f4", None)
        elif path.suffix.lower() == ".pc2":
            raise FormatError("does not begin with POINTCACHE2: not a PC2 file", path=path)
        else:
            if len(head) < MDD_HEADER.size:
                raise FormatError("ends within its header", path=path)
            frames, points = MDD_HEADER.unpack(head[: MDD_HEADER.size])
            layout = _Layout(frames, points, MDD_HEADER.size + 4 * frames, ">f4", None)
    if frames < 1 or points < 1 or layout.start + 12 * frames * points != size:
        raise FormatError(
            f"declares {frames} frames of {points} points, which do not make its {size} bytes", path=path
        )
    return replace(layout, frame_rate=_rate(path, frames)) if layout.order == ">f4" else layout


def _rate(path: Path, frames: int) -> float | None:
    """Frames per second of the times in an MDD file, if they are evenly spaced and in seconds."""
    times = np.fromfile(path, ">f4", frames, offset=MDD_HEADER.size).astype(np.float64)
    with np.errstate(all="ignore"):
        if frames < 2 or not np.isfinite(times).all() or times[-1] <= times[0]:
            return None
        rate = (frames - 1) / (times[-1] - times[0])
        uneven = np.abs(np.diff(times) * rate - 1).max()
    # Times a second or more apart are numbers of frames.
    if uneven > 0.1 or not 1 < rate < 1e4:
        return None
    return round(float(rate), 3)


def _blocks(path: Path, layout: _Layout) -> Iterator[tuple[slice, np.ndarray]]:
    step = _work.block_rows(12 * layout.points, _arrays.BLOCK_BYTES)
    with path.open("rb") as file:
        file.seek(layout.start)
        for start in range(0, layout.frames, step):
            stop = min(start + step, layout.frames)
            data = file.read(12 * layout.points * (stop - start))
            values = np.frombuffer(data, layout.order)
            if len(values) != 3 * layout.points * (stop - start):
                raise FormatError(f"ends within frame {start}", path=path)
            yield slice(start, stop), values.reshape(-1, layout.points, 3).astype(np.float32)


def _mesh_beside(path: Path) -> Path:
    for ending in MESHES:
        for candidate in (path.with_suffix(ending), path.with_suffix(ending.upper())):
            if candidate.is_file():
                return candidate
    raise FormatError(
        f"a point cache has no faces, and there is no {path.stem}.obj or {path.stem}.ply beside it; "
        "put the mesh it moves there, or name it with faces_from (--faces-from)",
        path=path,
    )
