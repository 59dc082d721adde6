"""One in-between of two meshes, wherever they stand (Boukhayma 2017, section 2.4).

The second mesh is turned and shifted onto the first, blended, and the result stands and faces between both.
Which way they face is told by all their faces, not by where vertices are: arms and legs that swing against
each other reach farthest, and would turn the body with them.
Cost: the operators of this one pair (about 0.1 s for 10,000 vertices), so prepare an
:class:`~marey.surface.interpolation.interpolator.Interpolator` for more than one.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from marey._arrays import FloatArray
from marey.errors import InputError
from marey.surface import planar
from marey.surface.interpolation.interpolator import (
    Interpolator,
    check_choices,
    checked_weights,
    straight,
)
from marey.surface.sequence import checked_faces

SIDES = ("one", "two")


def interpolate(
    first: ArrayLike,
    second: ArrayLike,
    faces: ArrayLike,
    weight: ArrayLike,
    *,
    method: str = "poisson",
    stretch: str = "linear",
    sides: str = "one",
    interpolator: Interpolator | None = None,
) -> FloatArray:
    """The mesh `weight` of the way between two meshes of one connectivity, or one for each weight.

    first, second: `(vertices, 3)`; where they stand on the ground and which way they face does not matter
    weight: from 0 to 1, or `(n,)`
    method: "poisson" keeps lengths and volumes, "linear" is quick and shrinks what turns
    sides: "one" solves in the mean metric of both, "two" in that of either, and averages (eq. 2.49)
    interpolator: prepared before, of any template of the subject; takes the place of the metric of `sides`

    >>> import marey
    >>> walk = marey.samples.performance()
    >>> interpolate(walk.vertices[0], walk.vertices[12], walk.faces, [0.0, 0.5, 1.0]).shape[0]
    3
    """
    check_choices(method, stretch)
    if sides not in SIDES:
        raise InputError(f"sides {sides!r}: one of {', '.join(SIDES)}")
    here, there, ways = np.asarray(first), np.asarray(second), checked_weights(weight)
    if here.shape != there.shape or here.ndim != 2 or here.shape[1] != 3 or not len(here):
        raise InputError(
            f"two meshes of {here.shape} and {there.shape}: they must have the same vertices, (vertices, 3)"
        )
    triangles = checked_faces("faces", np.asarray(faces), len(here))
    start, end = planar.centroid(here), planar.centroid(there)
    onto = planar.Planar.about(end, _heading(here, there, triangles), start)
    aligned = onto.apply(there)
    if method == "linear":
        blended = straight(here, aligned, ways)
    elif interpolator is not None:
        blended = interpolator.between(here, aligned, ways, stretch=stretch)
    elif sides == "one":
        shared = Interpolator.prepare(np.stack([here, aligned]), faces)
        blended = shared.between(here, aligned, ways, stretch=stretch)
    else:
        one, other = (
            Interpolator.prepare(side, faces).between(here, aligned, ways, stretch=stretch)
            for side in (here, aligned)
        )
        share = ways[..., None, None]
        blended = ((1 - share) * one + share * other).astype(one.dtype)
    to = (1 - ways[..., None]) * start + ways[..., None] * end
    return planar.Planar.about(planar.centroid(blended), -ways * onto.angle, to).apply(blended)


def _heading(here: NDArray[Any], there: NDArray[Any], faces: NDArray[Any]) -> NDArray[np.float64]:
    """Radians by which the second mesh must turn to face as the first."""
    from marey.surface.interpolation import _kernels

    ends = (np.array(end, np.float64, order="C") for end in (here, there))
    return np.asarray(_kernels.heading(*ends, np.array(faces, np.int32, order="C")))
