"""How far apart two poses of a surface are, by how its triangles turn and stretch (Boukhayma 2017, eq. 2.14).

d(i, j) is the mean over the surface of angle + 0.01 ‖log S‖, where R and S take a triangle from pose i to
pose j: symmetric, in radians, and independent of how finely the surface is cut. The source prints a sum over
triangles and shows values that only a mean has; a mean it is here, each triangle weighted with its area.

All pairs cost 1 to 2 ns a triangle and pair on one core, exact ones some 100 ns: 2,600 frames of 10,000
triangles take about a minute of processor time. Triangles come in portions of 256 MB whatever the frames.
"""

from __future__ import annotations

import warnings
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from marey import _work
from marey._arrays import FloatArray, IntArray
from marey._progress import Progress
from marey.errors import InputError, MareyWarning
from marey.geometry import mesh
from marey.surface.distances import gradients
from marey.surface.distances.alignment import Alignment
from marey.surface.distances.headings import footprint_headings, heading, headings, ranges
from marey.surface.distances.template import SAMPLE, Template, described, measured_stretch
from marey.surface.library import Library

Array = NDArray[np.float64]
Heading = Literal["surface", "footprint"]
HEADINGS: tuple[Heading, ...] = ("surface", "footprint")

STRETCH_WEIGHT = 0.01
# Above this mean stretch the quick comparison may be off by more than half a percent.
MUCH_STRETCH = 0.1

PORTION_BYTES = 256_000_000
PAIRS_AT_ONCE = 64


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

    turn: radians by which the second turns about the vertical beforehand; to face as the first, if None
    areas: `(faces,)`, what each triangle counts; the mean of its areas in both poses, if None

    >>> import marey
    >>> walk = marey.samples.performance()
    >>> round(pose_distance(walk.vertices[0], walk.vertices[15], walk.faces), 2)
    0.25
    """
    if areas is None:
        areas = (mesh.face_areas(first, faces) + mesh.face_areas(second, faces)) / 2
    angle = heading(first, second, faces, areas=areas) if turn is None else turn
    found = gradients.deformation(first, _turned(second, angle), faces)
    weights = np.where(found.degenerate, 0.0, areas)
    if not weights.any():
        raise InputError("pose distance: every triangle is without area in one of the poses")
    return float(np.average(found.angles + stretch_weight * found.log_stretch, weights=weights))


def surface_distances(
    library: Library,
    alignment: Alignment,
    *,
    heading: Heading = "surface",
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
    if heading == "surface":
        turns = headings(library, sample)
    else:
        turns = footprint_headings(library, sample, alignment.turns, alignment.unclear)
    if not exact:
        _warn_of_stretch(library, sample)
    values = np.zeros((frames, frames), np.float32)
    size = max(1, PORTION_BYTES // (frames * (56 if exact else 28)))
    portions = list(ranges(len(template.faces), size))
    whole, kept = float(template.areas.sum()), 0.0
    for number, (start, stop) in enumerate(portions):
        found, areas = described(
            library, template.part(start, stop), exact=exact, scale=stretch_weight * np.sqrt(2)
        )
        kept += float(areas.sum())

        def moved(done: int, total: int, number: int = number) -> None:
            if progress is not None:
                progress(number * total + done, len(portions) * total)

        share = (areas / max(whole, np.finfo(float).tiny)).astype(np.float32)
        _add_distances(found, share, turns, values, stretch_weight, exact, moved)
        # The next portion needs the room.
        del found
    if not kept > 0:
        raise InputError("surface metric: every triangle is without area in some frame; repair the meshes")
    values *= np.float32(whole / kept)
    for row in range(frames):
        values[row + 1 :, row] = values[row, row + 1 :]
    return values, turns


def _warn_of_stretch(library: Library, template: Template) -> None:
    stretch = measured_stretch(library, template)
    if stretch > MUCH_STRETCH:
        warnings.warn(
            f"triangles stretch by {stretch:.0%} on average: single distances may be off by a percent; "
            "exact=True (--exact) computes them without approximation",
            MareyWarning,
            stacklevel=4,
        )


def _add_distances(
    found: NDArray[np.floating],
    share: NDArray[np.float32],
    turns: NDArray[np.float32],
    values: NDArray[np.float32],
    stretch_weight: float,
    exact: bool,
    progress: Progress,
) -> None:
    """Work on blocks of the upper triangle of `values`, each of which writes to its own."""
    from marey.surface.distances import _kernels

    def add(block: tuple[tuple[int, int], tuple[int, int]]) -> None:
        if exact:
            _kernels.add_distances_exactly(found, share, turns, stretch_weight, *block, values)
        else:
            _kernels.add_distances(found, share, turns, *block, values)

    sides = list(ranges(len(values), PAIRS_AT_ONCE))
    _work.map(
        add, [(rows, columns) for n, rows in enumerate(sides) for columns in sides[n:]], progress=progress
    )


def _turned(vertices: FloatArray, angle: float) -> Array:
    c, s = np.cos(angle), np.sin(angle)
    return np.asarray(vertices, np.float64) @ np.array([[c, 0, -s], [0, 1, 0], [s, 0, c]])
