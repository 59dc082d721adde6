"""Distances of all poses of a library to each other.

The surface metric (Boukhayma 2017, eq. 2.14) compares poses by how triangles turn and stretch: d(i, j) is the
mean over the surface of angle + 0.01 ‖log S‖, where R and S take a triangle from pose i to pose j. It is
symmetric, in radians, and independent of how finely the surface is cut. The publication prints a sum over
triangles and shows values that only a mean has; here it is a mean, each triangle weighted with its area. The
euclidean and the planar metric are the distances of vertices after the best planar motion (eqs 2.2-2.5).

All pairs cost 1 to 2 ns a triangle and pair on one core, exact ones some 100 ns: 2,600 frames of 10,000
triangles take about a minute of processor time. Triangles are processed in portions of 256 MB.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from marey import _work
from marey._arrays import Array, FloatArray, IntArray, checked, read_only
from marey._work import Progress
from marey.errors import InputError, MareyWarning
from marey.geometry import mesh
from marey.statistics.graphs.graph import DistanceMatrix
from marey.surface.distances.template import (
    SAMPLE,
    ReferencePose,
    deformation_features,
    least_area,
    mean_strain,
    yaw_between,
    yaw_offsets,
)
from marey.surface.sequence import Library

Metric = Literal["surface", "surface-2.13", "euclidean", "planar"]
Matrix = NDArray[np.float32]
METRICS: tuple[Metric, ...] = ("surface", "surface-2.13", "euclidean", "planar")

STRETCH_WEIGHT = 0.01
"""What the logarithm of the stretch counts beside a radian (Boukhayma 2017)."""

# The two matrices of more frames take over 2 GB.
MOST_FRAMES = 16_000


def distances(
    library: Library,
    *,
    metric: Metric = "surface",
    exact: bool = False,
    stretch_weight: float = STRETCH_WEIGHT,
    triangles: int | None = None,
    weights: FloatArray | None = None,
    progress: Progress | None = None,
) -> DistanceMatrix:
    """How far every frame's pose is from every other's, wherever it stands and faces.

    Args:
        library: of which all frames are compared.
        metric: "surface", mean angle by which the triangles turn plus `stretch_weight` times their
            log-stretch, radians; "surface-2.13", Boukhayma's first form, with ‖S − 1‖ from the earlier to the
            later frame, every triangle the same: eq. 2.13 over the number of triangles; "euclidean", root
            mean square distance of the vertices after alignment, metres (eq. 2.2 is its square times the
            number of vertices); "planar", the same without heights.
        exact: surface metric from the deformation of every pair instead of two deformations of a reference;
            a hundred times slower; at a tenth of stretch the means agree within half a percent, pairs
            within one.
        stretch_weight: what the logarithm of the stretch counts beside a radian.
        triangles: compare about so many triangles, spread over the surface, instead of all.
        weights: `(vertices,)`, what each vertex counts in the euclidean and planar metrics; all the same,
            if None.
        progress: called with pieces of work done and their number.

    >>> import marey
    >>> walk = marey.samples.mesh_sequence()
    >>> found = distances(Library((walk[:20], walk[20:40])), triangles=500)
    >>> found.frames, found.metric, bool(found.values[0, 1] < found.values[0, 10])
    (40, 'surface', True)
    """
    if metric not in METRICS:
        raise InputError(f"metric {metric!r}: there are {', '.join(METRICS)}")
    if triangles is not None and triangles < 1:
        raise InputError(f"triangles: at least 1, got {triangles}")
    if not (np.isfinite(stretch_weight) and stretch_weight >= 0):
        raise InputError(f"stretch weight: 0 or more, got {stretch_weight}")
    if library.frames > MOST_FRAMES:
        raise InputError(
            f"{library.frames} frames: distances of all pairs are for {MOST_FRAMES} at most; "
            "take fewer sequences, or every second frame (sequence[::2])"
        )
    if any(np.abs(sequence.vertices[0]).max() > 1e30 for sequence in library.sequences):
        raise InputError("coordinates beyond 1e30 metres, of which squares overflow; check the unit")
    if metric in ("surface", "surface-2.13"):
        logarithmic = metric == "surface"
        exact = exact or not logarithmic
        values, turns = _surface_distances(library, exact, stretch_weight, triangles, progress, logarithmic)
    else:
        values, turns = aligned_distances(
            library, weights=weights, heights=metric == "euclidean", progress=progress
        )
    return DistanceMatrix(read_only(values), read_only(turns), library.starts, library.names, metric)


def pose_distance(
    first: FloatArray,
    second: FloatArray,
    faces: IntArray,
    *,
    turn: float | None = None,
    stretch_weight: float = STRETCH_WEIGHT,
    areas: FloatArray | None = None,
) -> float:
    """Surface distance of two poses `(vertices, 3)`, radians, without any approximation.

    Args:
        first: `(vertices, 3)`.
        second: `(vertices, 3)`.
        faces: `(faces, 3)`.
        turn: radians by which the second turns about the vertical beforehand; to face as the first, if None.
        stretch_weight: what the logarithm of the stretch counts beside a radian.
        areas: `(faces,)`, what each triangle counts; the mean of its areas in both poses, if None.

    >>> import marey
    >>> walk = marey.samples.mesh_sequence()
    >>> round(pose_distance(walk.vertices[0], walk.vertices[15], walk.faces), 2)
    0.25
    """
    from marey.surface.distances import _kernels

    if areas is None:
        areas = (mesh.face_areas(first, faces) + mesh.face_areas(second, faces)) / 2
    angle = yaw_between(first, second, faces, areas=areas) if turn is None else turn
    poses, triangles = np.stack([first, second]).astype(np.float64), np.ascontiguousarray(faces, np.int32)
    found, flat = np.empty((2, 7, len(triangles))), np.zeros(len(triangles), np.bool_)
    _kernels.tangent_features(poses, triangles, least_area(poses), found, flat)
    weights = np.where(flat, 0.0, areas)
    if not weights.any():
        raise InputError("pose distance: every triangle is without area in one of the poses")
    values, turns = np.zeros((2, 2)), np.full((2, 2), float(angle))
    share = weights / weights.sum()
    _kernels.add_distances_exactly(found, share, turns, float(stretch_weight), (0, 1), (1, 2), True, values)
    return float(values[0, 1])


def aligned_distances(
    library: Library,
    *,
    weights: FloatArray | None = None,
    heights: bool = True,
    progress: Progress | None = None,
) -> tuple[Matrix, Matrix]:
    """Root mean square distances of the vertices, metres, once each frame (column) is laid onto each other.

    Args:
        library: of which all frames are aligned.
        weights: `(vertices,)`, what each vertex counts, e.g. more on the torso; all the same, if None.
        heights: whether the vertical coordinate counts in the distance; it never turns anything.
        progress: called with blocks done and their number.

    Returns:
        Distances and turns about the vertical, radians; `(frames, frames)` each.

    >>> import marey
    >>> walk = marey.samples.mesh_sequence()
    >>> library = Library((walk[:10], walk[:10].transform(rotation=[0.8, 0, 0.6, 0])))
    >>> round(float(np.rad2deg(aligned_distances(library)[1][0, 10])), 1)
    -73.7
    """
    count = library.vertices(0).shape[0]
    share = np.ones(count) if weights is None else checked("weights", weights, (count,))
    if (share < 0).any() or not share.sum() > 0:
        raise InputError("weights: one for each vertex, none negative and not all zero")
    values, turns = np.zeros((2, library.frames, library.frames), np.float32)
    for rows, columns, apart, turned in _aligned_blocks(library, share / share.sum(), heights, progress):
        values[rows, columns], values[columns, rows] = apart, apart.T
        turns[rows, columns], turns[columns, rows] = turned, -turned.T
    np.fill_diagonal(values, 0)
    np.fill_diagonal(turns, 0)
    return values, turns


def middle_frame(library: Library) -> int:
    """The frame nearest to all others, by some 300 of its vertices."""
    count = library.vertices(0).shape[0]
    share = np.zeros(count)
    share[:: -(-count // 300)] = 1
    sums = np.zeros(library.frames)
    for rows, columns, apart, _ in _aligned_blocks(library, share / share.sum(), True, None):
        sums[rows] += apart.sum(axis=1)
        if rows != columns:
            sums[columns] += apart.sum(axis=0)
    return int(np.argmin(sums))


def _surface_distances(
    library: Library,
    exact: bool,
    stretch_weight: float,
    triangles: int | None,
    progress: Progress | None,
    logarithmic: bool,
) -> tuple[Matrix, Matrix]:
    """Distances and turns of all pairs, `(frames, frames)` each; see :func:`distances`."""
    from marey.surface.distances import _kernels

    frames = library.frames
    middle = library.vertices(middle_frame(library))
    reference = ReferencePose.of(middle, library.faces, triangles=triangles)
    sample = ReferencePose.of(middle, library.faces, triangles=SAMPLE)
    turns = yaw_offsets(library, sample)
    if not exact and (strain := mean_strain(library, sample)) > 0.1:
        warnings.warn(
            f"triangles stretch by {strain:.0%} on average: single distances may be off by a percent; "
            "exact=True (--exact) computes them without approximation",
            MareyWarning,
            stacklevel=3,
        )
    values = np.zeros((frames, frames), np.float32)
    portions = _ranges(len(reference.faces), _work.block_rows(frames * (14 if exact else 7)))
    sides = _ranges(frames, 64)
    blocks = [(rows, columns) for n, rows in enumerate(sides) for columns in sides[n:]]
    whole, kept = float(reference.areas.sum() if logarithmic else len(reference.faces)), 0.0
    for number, (start, stop) in enumerate(portions):
        found, areas = deformation_features(
            library, reference.part(start, stop), exact=exact, scale=stretch_weight * np.sqrt(2)
        )
        if not logarithmic:
            areas = (areas > 0).astype(areas.dtype)
        kept += float(areas.sum())

        share = (areas / max(whole, np.finfo(float).tiny)).astype(np.float32)

        def add(
            block: tuple[tuple[int, int], tuple[int, int]], found: FloatArray = found, share: Matrix = share
        ) -> None:
            if exact:
                numbers = (share, turns, stretch_weight, *block, logarithmic)
                _kernels.add_distances_exactly(found, *numbers, values)
            else:
                _kernels.add_distances(found, share, turns, *block, values)

        def moved(done: int, total: int, number: int = number) -> None:
            if progress is not None:
                progress(number * total + done, len(portions) * total)

        _work.map(add, blocks, progress=moved)
        # The next portion needs the memory.
        del found, add
    if not kept > 0:
        raise InputError("surface metric: every triangle is without area in some frame; repair the meshes")
    values *= np.float32(whole / kept)
    for row in range(frames):
        values[row + 1 :, row] = values[row, row + 1 :]
    return values, turns


def _aligned_blocks(
    library: Library, share: Array, heights: bool, progress: Progress | None
) -> Iterator[tuple[slice, slice, Array, Array]]:
    """Rows, columns, distances and turns of blocks of the upper triangle of all pairs.

    With centred ground coordinates both are products of matrices: five multiplications and additions for
    each vertex and pair. Vertices without a share are left out.
    """
    chosen = np.flatnonzero(share)
    count = len(chosen)
    blocks = [slice(*ends) for ends in _ranges(library.frames, min(256, _work.block_rows(24 * count)))]
    pairs = [(rows, columns) for n, rows in enumerate(blocks) for columns in blocks[n:]]
    before = slice(0, 0)
    kept: tuple[Array, ...] = ()
    for done, (rows, columns) in enumerate(pairs):
        if rows != before:
            before, kept = rows, _centred(library, rows, chosen, share)
        ground, height, extent, rise = kept
        other = kept if columns == rows else _centred(library, columns, chosen, share)
        along = ground @ other[0].T
        across = ground[:, :count] @ other[0][:, count:].T - ground[:, count:] @ other[0][:, :count].T
        squared = extent[:, None] + other[2] - 2 * np.hypot(along, across)
        if heights:
            squared += rise[:, None] + other[3] - 2 * (height @ other[1].T)
        yield rows, columns, np.sqrt(np.maximum(squared, 0)), np.arctan2(across, along)
        if progress is not None:
            progress(done + 1, len(pairs))


def _centred(library: Library, frames: slice, chosen: IntArray, share: Array) -> tuple[Array, ...]:
    """Coordinates times the root of their share: x then z `(frames, 2 vertices)`, y `(frames, vertices)`;
    and the sums of their squares, `(frames,)` each.

    Heights are counted from one level for all frames, which loses no digits on a stage far above zero.
    """
    weights, count = share[chosen], len(chosen)
    level = float(library.vertices(0)[:, 1].mean())
    ground = np.empty((frames.stop - frames.start, 2 * count))
    height = np.empty((frames.stop - frames.start, count))
    for row, frame in enumerate(range(frames.start, frames.stop)):
        x, y, z = np.asarray(library.vertices(frame)[chosen].T, np.float64)
        ground[row, :count], ground[row, count:] = x - weights @ x, z - weights @ z
        height[row] = y - level
    ground *= np.sqrt(np.concatenate([weights, weights]))
    height *= np.sqrt(weights)
    return ground, height, np.einsum("fv,fv->f", ground, ground), np.einsum("fv,fv->f", height, height)


def _ranges(count: int, size: int) -> list[tuple[int, int]]:
    """0…count in pieces of `size`, the last one shorter."""
    return [(start, min(start + size, count)) for start in range(0, count, size)]
