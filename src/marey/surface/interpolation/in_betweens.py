"""Many in-betweens of two poses, and their distortion beside that of linear interpolation."""

from __future__ import annotations

import time
from typing import Any, NamedTuple

import numpy as np

from marey._arrays import Array, FloatArray
from marey._work import Progress
from marey.surface.interpolation.distortion import Distortion, distortion
from marey.surface.interpolation.interpolator import Interpolator, interpolate

# Meshes computed at once; the time of one is the least of several, since others waited for something else.
AT_ONCE, REPEATS = 16, 3


class InBetweenMeshes(NamedTuple):
    """In-betweens of two meshes.

    Attributes:
        vertices: `(meshes, vertices, 3)`.
        linear: The same by linear interpolation.
        errors: Mean distortion.
        linear_errors: That of linear interpolation.
        milliseconds: Time of one in-between.
    """

    vertices: FloatArray
    linear: FloatArray
    errors: Distortion
    linear_errors: Distortion
    milliseconds: float


def in_betweens(
    start: FloatArray,
    end: FloatArray,
    faces: Any,
    weights: Array,
    *,
    method: str = "poisson",
    stretch: str = "linear",
    progress: Progress | None = None,
) -> InBetweenMeshes:
    """Interpolate two poses `(vertices, 3)` at weights from 0 to 1; see :func:`interpolate`."""
    shared = Interpolator.prepare(np.stack([start, end]), faces) if method == "poisson" else None
    meshes, lines = (np.empty((len(weights), *start.shape), start.dtype) for _ in range(2))

    def made(which: float | Array) -> FloatArray:
        return interpolate(start, end, faces, which, method=method, stretch=stretch, interpolator=shared)

    for done in range(0, len(weights), AT_ONCE):
        part = slice(done, done + AT_ONCE)
        meshes[part] = made(weights[part])
        lines[part] = interpolate(start, end, faces, weights[part], method="linear")
        if progress is not None:
            progress(min(done + AT_ONCE, len(weights)), len(weights))
    times = []
    for _ in range(REPEATS):
        began = time.perf_counter()
        made(float(weights[0]))
        times.append(time.perf_counter() - began)
    errors = []
    for kind in (meshes, lines):
        found = [distortion(mesh, start, end, faces, weight) for mesh, weight in zip(kind, weights)]
        volume, edges = (
            float(np.mean([getattr(one, name) for one in found])) for name in ("volume", "edges")
        )
        errors.append(Distortion(volume, edges))
    return InBetweenMeshes(meshes, lines, errors[0], errors[1], 1e3 * min(times))
