"""NumPy archives of mesh sequences and of pose distances: quick to read, easy to make, small if quantised.

Arrays of a mesh sequence: `vertices` `(frames, vertices, 3)` or, quantised, whole numbers `vertices_q` with
`scale` and `offset` (vertices = vertices_q · scale + offset); `faces` `(faces, 3)`, from 0; and, if there,
`uv`, `uv_faces`, `colours`, `frame_rate`, `unit` (metres per unit), `up_axis` (1 for y, 2 for z). Textures
are not held; `.mry` holds them. Pose distances are the arrays of a `DistanceMatrix`. Never unpickles. Cost:
linear in the arrays.
"""

from __future__ import annotations

import warnings
import zipfile
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from marey import _arrays
from marey._arrays import AnyArray, read_only
from marey.errors import FormatError, InputError, MareyError, MareyWarning
from marey.geometry.convention import Convention, UpAxis
from marey.io import _meshes
from marey.io._files import atomic_write
from marey.io._zip import array_names, opened, read_array, store_array, store_blocks
from marey.statistics.graphs.graph import DistanceMatrix
from marey.surface.sequence import MeshSequence

MAYBE = ("uv", "uv_faces", "colours", "frame_rate", "unit", "up_axis")
NUMBERS = ("values", "yaw_offsets", "starts")
TEXTS = ("names", "metric")


def read(
    path: Path,
    *,
    frame_rate: float | None = None,
    unit: str | float | None = None,
    up: UpAxis | None = None,
) -> MeshSequence | DistanceMatrix:
    """A mesh sequence, or pose distances, for which the options make no difference.

    frame_rate: 30 if the file does not say
    unit: what the coordinates count, "cm" or metres; metres if the file does not say
    up: "y" or "z"; "y" if the file does not say

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "triangle.npz"
    >>> np.savez(file, vertices=[[[0, 0, 0], [1, 0, 0], [0, 1, 0]]], faces=[[0, 1, 2]])
    >>> read(file, unit="cm").vertices[0, 1].tolist()
    [0.01, 0.0, 0.0]
    """
    path = Path(path)
    with opened(path) as file:
        names = array_names(file)
        if {*NUMBERS, *TEXTS} <= set(names):
            return _read_distances(file, path)
        quantised = "vertices_q" in names and "vertices" not in names
        needed = ("vertices_q", "scale", "faces") if quantised else ("vertices", "faces")
        missing = [name for name in needed if name not in names]
        if missing:
            raise FormatError(
                f"holds no array {missing[0]!r}; a mesh sequence needs 'vertices' (or 'vertices_q', 'scale' "
                f"and 'offset') and 'faces', there are {', '.join(map(repr, names[:12])) or 'none'}",
                path=path,
            )
        wanted = [*needed, *(name for name in ("offset", *MAYBE) if name in names)]
        arrays = {name: read_array(file, name, path) for name in wanted}
    try:
        vertices = _dequantised(arrays) if quantised else _floating(arrays["vertices"])
        noted = _number(arrays, "frame_rate", _meshes.DEFAULT_RATE), _convention(arrays)
        rate, convention = _meshes.settings(noted, frame_rate, unit, up)
        return MeshSequence(
            read_only(convention.vertices_to_marey(vertices[None] if vertices.ndim == 2 else vertices)),
            arrays["faces"],
            rate,
            uv=arrays.get("uv"),
            uv_faces=arrays.get("uv_faces"),
            colours=arrays.get("colours"),
            convention=convention,
            name=path.stem,
        )
    except MareyError as error:
        raise FormatError(str(error), path=path) from error


def write(
    sequence: MeshSequence | DistanceMatrix,
    path: Path,
    *,
    unit: str | float | None = None,
    up: UpAxis | None = None,
) -> None:
    """All frames to one file, in the sequence's own precision, and convention unless others are given.

    Textures are left out, which a warning says; a `.mry` or `.glb` file holds them. Pose distances have no
    convention.
    """
    if isinstance(sequence, DistanceMatrix):
        texts = {"names": np.array(sequence.names, np.str_), "metric": np.array([sequence.metric], np.str_)}
        with atomic_write(Path(path)) as draft, zipfile.ZipFile(draft, "w") as file:
            for name, values in {**{n: getattr(sequence, n) for n in NUMBERS}, **texts}.items():
                store_array(file, f"{name}.npy", values)
        return
    if sequence.textures:
        message = f"{path}: NumPy files hold no textures, they are left out; .mry and .glb keep them"
        warnings.warn(MareyWarning(message), stacklevel=2)
    sequence = sequence.with_convention(unit=unit, up=up)
    convention = sequence.convention
    arrays: dict[str, AnyArray | np.generic | None] = {
        "faces": sequence.faces,
        "uv": sequence.uv,
        "uv_faces": sequence.uv_faces,
        "colours": sequence.colours,
        "frame_rate": np.float64(sequence.frame_rate),
        "unit": np.float64(convention.unit),
        "up_axis": np.int64("xyz".index(convention.up)),
    }
    vertices = sequence.vertices
    with atomic_write(Path(path)) as draft, zipfile.ZipFile(draft, "w") as file:
        frames = (convention.vertices_from_marey(vertices[rows]) for rows in _arrays.blocks(vertices))
        store_blocks(file, "vertices.npy", vertices.shape, vertices.dtype, frames)
        for name, values in arrays.items():
            if values is not None:
                store_array(file, f"{name}.npy", np.asarray(values))


def _floating(values: AnyArray) -> AnyArray:
    """float32 and float64 as they are, half precision as float32, whole numbers as float64."""
    single = values.dtype.kind == "f" and values.dtype.itemsize <= 4
    dtype = np.dtype(np.float32 if single else np.float64)
    if values.dtype == dtype:
        return values
    return _arrays.mapped(lambda rows: rows.astype(dtype), np.atleast_1d(values), dtype)


def _dequantised(arrays: dict[str, AnyArray]) -> NDArray[np.float64]:
    vertices = arrays["vertices_q"]
    scale, offset = arrays["scale"], arrays.get("offset", np.zeros(()))
    for name, values in (("scale", scale), ("offset", offset)):
        if values.shape not in ((), (1,), (3,)) or vertices.shape[-1:] != (3,):
            raise InputError(f"{name}: expected one number or three, got shape {values.shape}")
    with np.errstate(over="ignore", invalid="ignore"):
        return _arrays.mapped(lambda rows: rows.astype(np.float64) * scale + offset, vertices, np.float64)


def _convention(arrays: dict[str, AnyArray]) -> Convention:
    axis = _number(arrays, "up_axis", 1)
    if axis not in (1, 2):
        raise InputError(f"up_axis: 1 (y) or 2 (z), got {axis:g}")
    return Convention(_number(arrays, "unit", 1.0), "y" if axis == 1 else "z")


def _number(arrays: dict[str, AnyArray], name: str, default: float) -> float:
    values = arrays.get(name)
    if values is None:
        return default
    if values.size != 1:
        raise InputError(f"{name}: expected one number, got shape {values.shape}")
    return float(values.reshape(()))


def _read_distances(file: zipfile.ZipFile, path: Path) -> DistanceMatrix:
    numbers = {name: read_only(read_array(file, name, path)) for name in NUMBERS}
    texts = {name: read_array(file, name, path, kinds="U") for name in TEXTS}
    if texts["names"].ndim != 1 or texts["metric"].size != 1:
        raise FormatError(
            f"'names' must be a row of texts and 'metric' one, got shapes {texts['names'].shape} "
            f"and {texts['metric'].shape}",
            path=path,
        )
    try:
        return DistanceMatrix(
            **numbers, names=tuple(texts["names"].tolist()), metric=str(texts["metric"].reshape(()))
        )
    except MareyError as error:
        raise FormatError(str(error), path=path) from error
