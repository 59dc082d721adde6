"""Zarr stores `.zarr`: velocity fields and mesh sequences, told apart by what is inside.

`marey.io.fields` and `marey.io.mesh_stores` do the work, and read and write captures longer than memory in
blocks.
"""

from __future__ import annotations

from pathlib import Path

from marey._progress import Progress
from marey.crowd.fields import FieldSeries
from marey.errors import InputError
from marey.io import fields, mesh_stores
from marey.surface.sequence import MeshSequence


def read(path: Path, *, progress: Progress | None = None) -> FieldSeries | MeshSequence:
    """A field series or a mesh sequence."""
    path = Path(path)
    return mesh_stores.read(path, progress=progress) if mesh_stores.is_mesh(path) else fields.read(path)


def write(
    thing: FieldSeries | MeshSequence,
    path: Path,
    *,
    precision: fields.Precision | None = None,
    progress: Progress | None = None,
) -> None:
    """Store it; the folder appears whole or not at all.

    precision: of a field series, see :func:`marey.io.fields.write`; meshes keep theirs
    """
    if isinstance(thing, FieldSeries):
        fields.write(thing, path, precision=precision, progress=progress)
        return
    if precision is not None:
        raise InputError(f"{path}: precision is for fields; meshes are stored as they are")
    mesh_stores.write(thing, path, progress=progress)
