"""How far apart two poses of a surface are, by how its triangles turn and stretch (Boukhayma 2017, eq. 2.14).

d(i, j) is the mean over the surface of angle + 0.01 ‖log S‖, where R and S take a triangle from pose i to
pose j: symmetric, in radians, and independent of how finely the surface is cut. The source prints a sum over
triangles and shows values that only a mean has; a mean it is here, each triangle weighted with its area.

All pairs cost about 2 ns a triangle and pair on one core: 2,600 frames of 10,000 triangles take about a
minute on two. Triangles come in portions small enough that memory stays below some 300 MB beside the result.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from marey._arrays import FloatArray, IntArray
from marey._progress import Progress
from marey.errors import InputError, MareyWarning
from marey.geometry import mesh
from marey.surface.distances import gradients
from marey.surface.distances.alignment import Alignment
from marey.surface.distances.sampling import stratified
from marey.surface.library import Library
from marey.surface.planar import align

Array = NDArray[np.float64]

STRETCH_WEIGHT = 0.01
# Above this mean stretch the quick comparison may be off by more than half a percent.
MUCH_STRETCH = 0.1

PORTION_BYTES = 256_000_000
FRAMES_AT_ONCE = 16
PAIRS_AT_ONCE = 64
# Triangles that show how much a surface stretches, and which way it faces where footprints do not tell.
SAMPLE = 500
STRETCH_FRAMES = 100


def pose_distance(
    first: FloatArray,
    second: FloatArray,
    faces: IntArray,
    *,
    turn: float | None = None,
    stretch_weight: float = STRETCH_WEIGHT,
    areas: FloatArray | None = None,
) -> float:
    """Distance of two poses `(vertices, 3)`, radians, without any approximation.

    turn: radians by which the second turns about the vertical beforehand; the best alignment's, if None
    areas: `(faces,)`, what each triangle counts; the mean of its areas in both poses, if None

    >>> import marey
    >>> walk = marey.samples.performance()
    >>> round(pose_distance(walk.vertices[0], walk.vertices[15], walk.faces), 2)
    0.23
    """
    angle = float(align(first, second).angle) if turn is None else turn
    found = gradients.deformation(first, _turned(second, angle), faces)
    if areas is None:
        areas = (mesh.face_areas(first, faces) + mesh.face_areas(second, faces)) / 2
    weights = np.where(found.degenerate, 0.0, areas)
    return float(np.average(found.angles + stretch_weight * found.log_stretch, weights=weights))


@dataclass(frozen=True, eq=False)
class Template:
    """The triangles that are compared, what each counts, and the pose from which they are measured.

    A captured frame, since in the mean of many poses the limbs that move are shrunken.

    vertices: `(vertices, 3)`
    faces: `(triangles, 3)`, all or the sampled ones
    areas: `(triangles,)`, square metres that each stands for; zero if it has no area
    """

    vertices: Array
    faces: NDArray[np.int32]
    areas: Array

    @classmethod
    def of(cls, vertices: ArrayLike, faces: IntArray, *, triangles: int | None = None) -> Template:
        """A pose as the template, with all its faces or about `triangles` of them."""
        pose = np.asarray(vertices, np.float64)
        if len(faces) == 0:
            raise InputError("surface metric: the mesh has no faces; the euclidean metric needs none")
        if triangles is not None and triangles < len(faces):
            chosen, areas = stratified(pose, faces, triangles)
            faces = faces[chosen]
        else:
            areas = np.asarray(mesh.face_areas(pose, faces), np.float64)
        kept = np.asarray(faces, np.int32)
        flat = gradients.tangent_frames(pose, kept)[2]
        return cls(pose, kept, np.where(flat, 0.0, areas))

    def part(self, start: int, stop: int) -> Template:
        """Some of the triangles."""
        return Template(self.vertices, self.faces[start:stop], self.areas[start:stop])


def surface_distances(
    library: Library,
    alignment: Alignment,
    *,
    exact: bool = False,
    stretch_weight: float = STRETCH_WEIGHT,
    triangles: int | None = None,
    progress: Progress | None = None,
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Distances and turns of all pairs, `(frames, frames)` each; see :func:`distances`."""
    frames = library.frames
    middle = library.vertices(alignment.middle)
    template = Template.of(middle, library.faces, triangles=triangles)
    sample = Template.of(middle, library.faces, triangles=SAMPLE)
    turns = _turns(library, alignment, sample)
    if not exact:
        _warn_of_stretch(library, sample)
    values = np.zeros((frames, frames), np.float32)
    size = max(1, PORTION_BYTES // (frames * (56 if exact else 28)))
    starts = range(0, len(template.faces), size)
    weight = 0.0
    for number, start in enumerate(starts):
        part = template.part(start, start + size)
        described, areas = _described(library, part, exact=exact, scale=stretch_weight * np.sqrt(2))
        weight += float(areas.sum(dtype=np.float64))
        share = (areas / template.areas.sum()).astype(np.float32)

        def moved(done: int, total: int, number: int = number) -> None:
            if progress is not None:
                progress(number * total + done, len(starts) * total)

        _in_parallel(_pair_tasks(described, share, turns, values, stretch_weight, exact), moved)
        del described
    if not weight > 0:
        raise InputError(
            "surface metric: every triangle is without area in some frame; repair the meshes first"
        )
    values *= np.float32(template.areas.sum() / weight)
    for row in range(frames):
        values[row + 1 :, row] = values[row, row + 1 :]
    return values, turns


def measured_stretch(library: Library, template: Template | None = None) -> float:
    """By how much triangles are longer or shorter than in the template; 0.1 is a tenth.

    The mean over the surface, and over a hundred frames, of each triangle's largest strain. Without
    a template it is counted from some triangles of the first frame.

    >>> import marey
    >>> walk = marey.samples.performance()
    >>> round(measured_stretch(Library((walk,))), 2)
    0.04
    """
    from marey.surface.distances import _kernels

    if template is None:
        template = Template.of(library.vertices(0), library.faces, triangles=SAMPLE)
    count = min(STRETCH_FRAMES, library.frames)
    chosen = np.unique(np.linspace(0, library.frames - 1, count).astype(int))
    axes, edges, _ = gradients.tangent_frames(template.vertices, template.faces)
    out = np.empty((1, 7, len(template.faces)), np.float32)
    total = 0.0
    for frame in chosen:
        pose = np.array(library.vertices(int(frame)), np.float64)[None]
        flat = np.zeros(len(template.faces), np.bool_)
        _kernels.describe(pose, template.faces, axes, edges, gradients.least_area(pose), 1.0, out, flat)
        strain = np.abs(out[0, 4]) + np.hypot(out[0, 5], out[0, 6])
        total += float(np.average(strain, weights=np.maximum(np.where(flat, 0, template.areas), 1e-300)))
    return total / len(chosen)


def _warn_of_stretch(library: Library, template: Template) -> None:
    stretch = measured_stretch(library, template)
    if stretch > MUCH_STRETCH:
        warnings.warn(
            f"triangles stretch by {stretch:.0%} on average: single distances may be off by a percent; "
            "exact=True (--exact) computes them without approximation",
            MareyWarning,
            stacklevel=4,
        )


def _described(
    library: Library, template: Template, *, exact: bool, scale: float
) -> tuple[NDArray[np.floating], Array]:
    """What a pair needs of every frame `(frames, 7, triangles)`; areas, zero where some frame has none."""
    from marey.surface.distances import _kernels

    axes, edges, flat = gradients.tangent_frames(template.vertices, template.faces)
    shape = (library.frames, 7, len(template.faces))
    out: NDArray[np.floating] = np.empty(shape, np.float64 if exact else np.float32)

    def task(number: int, first: int, last: int) -> Callable[[], None]:
        def describe() -> None:
            poses = np.array(library.sequences[number].vertices[first:last], np.float64, order="C")
            least = gradients.least_area(poses)
            start = int(library.starts[number]) + first
            rows = out[start : start + len(poses)]
            if exact:
                _kernels.describe_exactly(poses, template.faces, least, rows, flat)
            else:
                _kernels.describe(poses, template.faces, axes, edges, least, scale, rows, flat)

        return describe

    _in_parallel(
        [
            task(number, first, first + FRAMES_AT_ONCE)
            for number, sequence in enumerate(library.sequences)
            for first in range(0, sequence.frames, FRAMES_AT_ONCE)
        ]
    )
    return out, np.where(flat, 0.0, template.areas)


def _pair_tasks(
    described: NDArray[np.floating],
    share: NDArray[np.float32],
    turns: NDArray[np.float32],
    values: NDArray[np.float32],
    stretch_weight: float,
    exact: bool,
) -> list[Callable[[], None]]:
    from marey.surface.distances import _kernels

    def task(rows: tuple[int, int], columns: tuple[int, int]) -> Callable[[], None]:
        if exact:
            return lambda: _kernels.add_distances_exactly(
                described, share, turns, stretch_weight, rows, columns, values
            )
        return lambda: _kernels.add_distances(described, share, turns, rows, columns, values)

    blocks = list(_ranges(len(values), PAIRS_AT_ONCE))
    return [task(rows, columns) for row, rows in enumerate(blocks) for columns in blocks[row:]]


def _turns(library: Library, alignment: Alignment, template: Template) -> NDArray[np.float32]:
    """The alignment's turns; where footprints tell none, those that make the surface distance least."""
    first, second = np.nonzero(np.triu(alignment.unclear, 1))
    if len(first) == 0:
        return alignment.turns
    from marey.surface.distances import _kernels

    described, areas = _described(library, template, exact=False, scale=0.0)
    share = (areas / max(areas.sum(), 1e-300)).astype(np.float32)
    found = np.empty(len(first))

    def task(start: int, stop: int) -> Callable[[], None]:
        some = slice(start, stop)
        return lambda: _kernels.best_turns(described, share, first[some], second[some], found[some])

    _in_parallel([task(start, stop) for start, stop in _ranges(len(first), 256)])
    turns = alignment.turns.copy()
    turns[first, second], turns[second, first] = found, -found
    return turns


def _ranges(count: int, size: int) -> Iterator[tuple[int, int]]:
    for start in range(0, count, size):
        yield start, min(start + size, count)


def _in_parallel(tasks: Sequence[Callable[[], None]], progress: Progress | None = None) -> None:
    """Run independent tasks on all cores; an interruption ends after those that have begun."""
    workers = min(os.cpu_count() or 1, 16)
    with ThreadPoolExecutor(workers) as pool:
        pending: set[Future[None]] = {pool.submit(task) for task in tasks}
        try:
            while pending:
                finished, pending = wait(pending, return_when=FIRST_COMPLETED)
                for future in finished:
                    future.result()
                if progress is not None:
                    progress(len(tasks) - len(pending), len(tasks))
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _turned(vertices: FloatArray, angle: float) -> Array:
    c, s = np.cos(angle), np.sin(angle)
    return np.asarray(vertices, np.float64) @ np.array([[c, 0, -s], [0, 1, 0], [s, 0, c]])
