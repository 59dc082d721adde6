"""How far apart the poses of a library are: rotation and stretch of triangles, relative headings, all pairs.

The surface metric (Boukhayma 2017, eq. 2.14) compares poses by how triangles turn and stretch: d(i, j) is the
mean over the surface of angle + 0.01 ‖log S‖, where R and S take a triangle from pose i to pose j. It is
symmetric, in radians, and independent of how finely the surface is cut. The publication prints a sum over
triangles and shows values that only a mean has; here it is a mean, each triangle weighted with its area. The
euclidean and the planar metric are the distances of vertices after the best planar motion (eqs 2.2-2.5).

Two poses are compared by what took one reference to each, which costs nothing like a decomposition for every
pair (section 2.3.2). The map that takes the edges and the unit normal of a triangle onto those of its other
pose (eqs 2.6-2.12) acts in the triangle's plane only, so its polar factors come from a 2x2 matrix in closed
form. Relative headings come from the same rotations. Footprints, by which Boukhayma 2017 aligns poses (eq.
2.3), mislead where the legs of two poses are crossed: those half a cycle of a walk apart match at a wrong
heading. The turn about the vertical that brings the rotations of all triangles nearest, in least squares, has
a closed form too, a product of matrices for all pairs, and is within some degrees of the one of the least
surface distance.

Cost: about 0.2 µs a triangle and frame, then 1 to 2 ns a triangle and pair on one core, exact ones some 100
ns: 2,600 frames of 10,000 triangles take about a minute of processor time. Triangles are processed in
portions of 256 MB.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from marey import _work
from marey._arrays import Array, BoolArray, FloatArray, IntArray, Integers, checked, read_only
from marey._work import Progress
from marey.errors import InputError, MareyWarning
from marey.geometry import mesh, rotations
from marey.statistics.graphs.graph import DistanceMatrix
from marey.surface.sequence import Library

Metric = Literal["surface", "surface-2.13", "euclidean", "planar"]
Matrix = NDArray[np.float32]
METRICS: tuple[Metric, ...] = ("surface", "surface-2.13", "euclidean", "planar")

STRETCH_WEIGHT = 0.01
"""What the logarithm of the stretch counts beside a radian (Boukhayma 2017)."""

# The two matrices of more frames take over 2 GB.
MOST_FRAMES = 16_000

SAMPLE = 1000
"""Triangles that say how much a surface stretches and where it faces."""


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
    from marey.surface import _distance_kernels as _kernels

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


@dataclass(frozen=True, eq=False)
class ReferencePose:
    """The triangles that are compared, what each counts, and the pose from which they are measured.

    A captured frame, since in the mean of many poses the limbs that move are shrunken.

    Attributes:
        vertices: `(vertices, 3)`.
        faces: `(triangles, 3)`, all or the sampled ones.
        areas: `(triangles,)`, square metres that each stands for; zero if it has no area.
    """

    vertices: Array
    faces: NDArray[np.int32]
    areas: Array

    @classmethod
    def of(cls, vertices: ArrayLike, faces: IntArray, *, triangles: int | None = None) -> ReferencePose:
        """A pose as the reference, with all its faces or about `triangles` of them."""
        pose = np.asarray(vertices, np.float64)
        if len(faces) == 0:
            raise InputError("surface metric: the mesh has no faces; the euclidean metric needs none")
        chosen, areas = sample_triangles(pose, faces, len(faces) if triangles is None else triangles)
        kept = np.asarray(faces[chosen], np.int32)
        return cls(pose, kept, np.where(tangent_frames(pose, kept)[2], 0.0, areas))

    def part(self, start: int, stop: int) -> ReferencePose:
        """Some of the triangles."""
        return ReferencePose(self.vertices, self.faces[start:stop], self.areas[start:stop])


def sample_triangles(vertices: FloatArray, faces: IntArray, count: int) -> tuple[Integers, Array]:
    """At most `count` triangles that stand for all, and the area of which each does.

    Triangles are sorted along a curve that fills space (Morton 1966), in the surface's principal axes so that
    its pose alone decides, and cut into runs of equal area; the triangle in its middle represents a run.

    Returns:
        Indices of faces, increasing, and areas in square metres.

    >>> import marey
    >>> human = marey.samples.mesh_sequence()[0]
    >>> chosen, areas = sample_triangles(human.vertices[0], human.faces, 500)
    >>> len(chosen), bool(np.isclose(areas.sum(), mesh.area(human.vertices[0], human.faces)))
    (500, True)
    """
    areas = np.asarray(mesh.face_areas(vertices, faces), np.float64)
    if count >= len(faces):
        return np.arange(len(faces)), areas
    order = np.argsort(_morton(np.asarray(vertices, np.float64)[faces].mean(axis=1)), kind="stable")
    sorted_areas = areas[order]
    reached = np.cumsum(sorted_areas) - 0.5 * sorted_areas
    runs = (reached * (count / max(float(areas.sum()), np.finfo(float).tiny))).astype(np.int64)
    starts = np.flatnonzero(np.diff(runs, prepend=-1))
    chosen = order[(starts + np.append(starts[1:], len(order))) // 2]
    by_number = np.argsort(chosen)
    return chosen[by_number], np.add.reduceat(sorted_areas, starts)[by_number]


def _morton(points: Array) -> Integers:
    """Places `(n,)` of points `(n, 3)` on a curve through 64 cells along their longest axis."""
    centred = points - points.mean(axis=0)
    axes = centred @ np.linalg.eigh(centred.T @ centred)[1]
    axes *= np.where((axes**3).sum(axis=0) < 0, -1, 1)
    cells = ((axes - axes.min(axis=0)) * (63 / max(np.ptp(axes, axis=0).max(), 1e-300))).astype(np.int64)
    bits = (cells[:, :, None] >> np.arange(6)) & 1
    return np.asarray((bits << (3 * np.arange(6) + np.arange(3)[:, None])).sum(axis=(1, 2)))


def deformation_features(
    library: Library, reference: ReferencePose, *, exact: bool = False, scale: float = 1.0
) -> tuple[FloatArray, Array]:
    """What the comparison of a pair needs of every frame.

    Args:
        library: of which all frames are measured.
        reference: from which they are.
        exact: tangent axes as quaternions and edges in them, instead of the two below.
        scale: of the stretch.

    Returns:
        `(frames, 7, triangles)`: the rotation from the reference as a quaternion, then the three entries of
        `scale` times the logarithm of the stretch; areas `(triangles,)`, zero where a frame has none.
    """
    from marey.surface import _distance_kernels as _kernels

    axes, edges, flat = tangent_frames(reference.vertices, reference.faces)
    shape = (library.frames, 7, len(reference.faces))
    out: FloatArray = np.empty(shape, np.float64 if exact else np.float32)

    def measure(block: tuple[int, int]) -> None:
        number, first = block
        poses = np.array(library.sequences[number].vertices[first : first + 16], np.float64, order="C")
        least = least_area(poses)
        start = int(library.starts[number]) + first
        rows = out[start : start + len(poses)]
        if exact:
            _kernels.tangent_features(poses, reference.faces, least, rows, flat)
        else:
            _kernels.features(poses, reference.faces, axes, edges, least, scale, rows, flat)

    _work.map(
        measure, [(n, first) for n, one in enumerate(library.sequences) for first in range(0, one.frames, 16)]
    )
    return out, np.where(flat, 0.0, reference.areas)


def mean_strain(library: Library, reference: ReferencePose | None = None) -> float:
    """By how much triangles are longer or shorter than in the reference; 0.1 is a tenth.

    The mean over the surface and over the frames of each triangle's largest strain. Without a reference it
    is that of some triangles of the first frame.

    >>> import marey
    >>> walk = marey.samples.mesh_sequence()
    >>> round(mean_strain(Library((walk,))), 2)
    0.04
    """
    if reference is None:
        reference = ReferencePose.of(library.vertices(0), library.faces, triangles=SAMPLE)
    found, areas = deformation_features(library, reference)
    strain = (np.abs(found[:, 4]) + np.hypot(found[:, 5], found[:, 6])).mean(axis=0, dtype=np.float64)
    return float(np.average(strain, weights=np.maximum(areas, 1e-300)))


def yaw_between(
    onto: FloatArray, moving: FloatArray, faces: IntArray, *, areas: FloatArray | None = None
) -> float:
    """Radians by which `moving` `(vertices, 3)` turns about the vertical to face as `onto` does.

    Args:
        onto: `(vertices, 3)`.
        moving: `(vertices, 3)`.
        faces: `(faces, 3)`.
        areas: `(faces,)`, what each triangle counts; its mean area in both poses, if None.

    >>> import marey
    >>> walk = marey.samples.mesh_sequence()
    >>> turned = walk.transform(rotation=[0.8, 0, 0.6, 0])
    >>> round(float(np.rad2deg(yaw_between(walk.vertices[0], turned.vertices[0], walk.faces))), 3)
    -73.74
    """
    from marey.surface import _distance_kernels as _kernels

    if areas is None:
        areas = (mesh.face_areas(onto, faces) + mesh.face_areas(moving, faces)) / 2
    poses = np.stack([onto, moving]).astype(np.float64)
    triangles = np.ascontiguousarray(faces, np.int32)
    return float(_kernels.yaw(poses, triangles, least_area(poses), np.array(areas, np.float64)))


def yaw_offsets(library: Library, reference: ReferencePose) -> NDArray[np.float32]:
    """The turn of each frame (column) to face as each other (row) does, `(frames, frames)`, antisymmetric."""
    found, areas = deformation_features(library, reference)
    frames = library.frames
    root = np.sqrt(areas / max(areas.sum(), np.finfo(float).tiny))
    matrices = rotations.to_matrix(np.moveaxis(found[:, :4], 1, 2)) * root[:, None, None]
    x, z = matrices[:, :, 0].reshape(frames, -1), matrices[:, :, 2].reshape(frames, -1)
    turns = np.zeros((frames, frames), np.float32)
    for start in range(0, frames, 128):
        rows, rest = slice(start, start + 128), slice(start, None)
        along = x[rows] @ x[rest].T + z[rows] @ z[rest].T
        across = x[rows] @ z[rest].T - z[rows] @ x[rest].T
        turns[rows, rest] = np.arctan2(across, along)
    turns = np.triu(turns, 1)
    return turns - turns.T


def tangent_frames(vertices: Array, faces: IntArray) -> tuple[Array, Array, BoolArray]:
    """Axes of each triangle's plane and its edges in them.

    Returns:
        The axes as columns `(..., faces, 3, 3)`: along the edge from the third corner to the first, across
        it, and the normal. The edges from the third corner to the first, `(x, 0)`, and to the second,
        `(y, z)`, as `(..., faces, 3)` x, y, z. Which triangles have no area: identity, edges of length 1.
    """
    a, b, c = (vertices[..., faces[:, corner], :] for corner in range(3))
    first, second = a - c, b - c
    normal = np.cross(first, second)
    length, area = np.linalg.norm(first, axis=-1), np.linalg.norm(normal, axis=-1)
    degenerate = ~(area > 2 * least_area(vertices)[..., None])
    length, area = np.where(degenerate, 1, length), np.where(degenerate, 1, area)
    along, up = first / length[..., None], normal / area[..., None]
    axes = np.stack([along, np.cross(up, along), up], axis=-1)
    edges = np.stack([length, (along * second).sum(axis=-1), area / length], axis=-1)
    axes[degenerate], edges[degenerate] = np.eye(3), (1, 0, 1)
    return axes, edges, degenerate


def least_area(vertices: FloatArray) -> Array:
    """Up to which area `(...)` a triangle has none: 1e-12 of the squared diagonal of `(..., vertices, 3)`."""
    extent = np.asarray(vertices.max(axis=-2) - vertices.min(axis=-2), np.float64)
    return np.asarray(1e-12 * np.einsum("...i,...i->...", extent, extent))
