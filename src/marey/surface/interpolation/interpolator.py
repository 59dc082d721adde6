"""Meshes between two poses that keep lengths and volumes (Boukhayma 2017, section 2.4.3, eqs 2.45-2.49).

Each face turns along the shortest arc and stretches evenly; the mesh whose edges come nearest to those of the
turned faces, in the metric of one template, is the in-between; of a closed surface, the nearest that also
encloses the volume it should. The equations are those for gradients that act on columns, so both ends are met
exactly. Cost: operators and factor once for a subject (about 0.1 s for 10,000 vertices), then some 6 ms for
an in-between of 10,000 vertices and 20,000 faces, and 1.5 ms more where neighbours turn by opposite ways.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from marey import _work
from marey._arrays import FloatArray
from marey.errors import InputError
from marey.geometry import mesh, mesh_operators
from marey.surface.interpolation.factor import Factor
from marey.surface.interpolation.unwrapping import FaceGraph, unwrapped
from marey.surface.sequence import checked_faces

Array = NDArray[np.float64]

METHODS = ("poisson", "linear")
STRETCHES = ("linear", "geometric")
# Of the volume: more than this is not put right, since the first order would not do.
MOST_VOLUME = 0.1
# Of the area of a piece: with larger holes it is a sheet, and encloses nothing.
LARGEST_HOLES = 0.05


@dataclass(frozen=True, eq=False)
class Interpolator:
    """What in-betweens of one connectivity share; make it with `prepare`.

    faces: `(faces, 3)`, doubled vertices along seams taken for one
    couplings: `(faces, 3)`, half the template's cotangents
    pieces: `(vertices,)`, connected piece of each vertex
    sizes: `(pieces,)`, how many vertices each piece has
    doubles: `(vertices,)`, the vertex each one stands beside; itself, if it is not doubled
    factor: of the template's Laplacian
    graph: which faces lie side by side
    shell: `(faces + caps, 3)`, the faces and what closes their small holes
    solid: `(pieces,)`, whether the shell of each piece encloses a volume, which in-betweens then keep
    """

    faces: NDArray[np.int32]
    couplings: Array
    pieces: NDArray[np.int64]
    sizes: Array
    doubles: NDArray[np.int64]
    factor: Factor
    graph: FaceGraph
    shell: NDArray[np.int32]
    solid: NDArray[np.bool_]

    @classmethod
    def prepare(cls, template: ArrayLike, faces: ArrayLike) -> Interpolator:
        """Factor the template once for all in-betweens of the subject.

        template: `(vertices, 3)`, or several poses `(poses, vertices, 3)`, whose mean metric it is then
        faces: `(faces, 3)`

        >>> import marey
        >>> walk = marey.samples.performance()
        >>> interpolator = Interpolator.prepare(walk.vertices[0], walk.faces)
        >>> interpolator.between(walk.vertices[0], walk.vertices[10], 0.5).shape == walk.vertices[0].shape
        True
        """
        poses = np.asarray(template, np.float64)
        poses = poses[None] if poses.ndim == 2 else poses
        if poses.ndim != 3 or poses.shape[-1] != 3 or not poses.shape[0] * poses.shape[1]:
            raise InputError(
                f"template: expected shape (vertices, 3) or (poses, vertices, 3), got {poses.shape}"
            )
        if not np.isfinite(poses).all():
            raise InputError("template: some of its vertices are not finite")
        doubles = mesh_operators.welded(poses)
        joined = doubles[checked_faces("faces", np.asarray(faces), poses.shape[1])].astype(np.int32)
        couplings = mesh_operators.couplings(poses, joined)
        # A vertex that only faces without area hold has no neighbours: it goes its own way.
        pieces = mesh_operators.components(joined[couplings.any(axis=1)], poses.shape[1])
        laplacian = mesh_operators.assembled(couplings, joined, poses.shape[1])
        return cls(
            joined,
            couplings,
            pieces,
            np.bincount(pieces).astype(np.float64),
            doubles,
            Factor.of(laplacian, pieces),
            FaceGraph.of(joined),
            *_shell(poses[0], joined, pieces),
        )

    @property
    def vertices(self) -> int:
        """Number of vertices of every mesh."""
        return len(self.doubles)

    def pair(self, first: ArrayLike, second: ArrayLike, *, unwrap: bool = True) -> Pair:
        """Two poses `(vertices, 3)` in one heading frame, measured for in-betweens at any weight.

        unwrap: parts that turn by more than half a turn follow their neighbours, not the shorter way
        """
        from marey.surface.interpolation import _kernels

        ends = [self._checked("first", first), self._checked("second", second)]
        # Doubled vertices go with the one they stand beside, and keep what they are apart from it.
        doubled = bool((self.doubles != np.arange(self.vertices)).any())
        here, there = (end[self.doubles] for end in ends) if doubled else ends
        count = len(self.faces)
        logs, flows, stretches = np.empty((count, 3)), np.empty((2, count, 6)), np.empty((count, 2))
        angle = _kernels.measure(here, there, self.faces, self.couplings, logs, *flows, stretches)
        rests = np.zeros((0, 3))
        # Neighbours can only be apart by more than half a turn where one has turned by over a quarter.
        if unwrap and angle > np.pi / 2:
            logs, rests = unwrapped(logs, self.graph)
        dtype = np.result_type(_precision(first), _precision(second))
        apart = (ends[0] - here, ends[1] - there) if doubled else None
        volumes = (self.enclosed(here)[0], self.enclosed(there)[0]) if self.solid.any() else None
        return Pair(self, here, there, logs, rests, flows, stretches, volumes, apart, dtype)

    def between(
        self,
        first: ArrayLike,
        second: ArrayLike,
        weight: ArrayLike,
        *,
        method: str = "poisson",
        stretch: str = "linear",
    ) -> FloatArray:
        """The mesh `weight` of the way from `first` to `second`, or one for each of several weights.

        first, second: `(vertices, 3)` in one heading frame (see :func:`marey.surface.planar.align`)
        weight: from 0 to 1, or `(n,)` of them
        method: "poisson", or "linear" for straight lines of the vertices
        stretch: of the faces, "linear" (eq. 2.45) or "geometric" (eq. 2.46)

        Centroids of connected pieces go straight. `(vertices, 3)` or `(n, vertices, 3)`, in the ends'
        precision.

        >>> import marey
        >>> walk = marey.samples.performance()
        >>> interpolator = Interpolator.prepare(walk.vertices[0], walk.faces)
        >>> ends = interpolator.between(walk.vertices[0], walk.vertices[10], [0, 1])
        >>> bool(np.allclose(ends, walk.vertices[[0, 10]], atol=1e-6))
        True
        """
        check_choices(method, stretch)
        if method == "linear":
            return straight(first, second, weight)
        return self.pair(first, second).at(weight, stretch=stretch)

    def between_pairs(
        self,
        firsts: ArrayLike,
        seconds: ArrayLike,
        weights: ArrayLike,
        *,
        method: str = "poisson",
        stretch: str = "linear",
    ) -> FloatArray:
        """In-betweens of several pairs, each at its own weight: `(n, vertices, 3)`, on all cores.

        firsts, seconds: `(n, vertices, 3)`; weights: `(n,)`

        >>> import marey
        >>> walk = marey.samples.performance()
        >>> interpolator = Interpolator.prepare(walk.vertices[0], walk.faces)
        >>> interpolator.between_pairs(walk.vertices[:4], walk.vertices[8:12], [0.2, 0.4, 0.6, 0.8]).shape[0]
        4
        """
        check_choices(method, stretch)
        ways = checked_weights(weights)
        sources, targets = np.asarray(firsts), np.asarray(seconds)
        if not (ways.ndim == 1 and sources.ndim == 3 and len(sources) == len(targets) == len(ways)):
            raise InputError(
                f"pairs: expected n first meshes, n second ones and n weights, got {sources.shape}, "
                f"{targets.shape} and {ways.shape}"
            )
        out = np.empty(sources.shape, np.result_type(_precision(sources), _precision(targets)))

        def fill(i: int) -> None:
            out[i] = self.between(sources[i], targets[i], ways[i], method=method, stretch=stretch)

        if len(ways) < 2 or method == "linear":
            for i in range(len(ways)):
                fill(i)
        else:
            _work.map(fill, range(len(ways)))
        return out

    def enclosed(self, vertices: Array) -> tuple[Array, Array]:
        """Volume of each piece, `(pieces,)`, and how it grows with each vertex, `(vertices, 3)`."""
        from marey.surface.interpolation import _kernels

        volumes, growth = np.empty(len(self.sizes)), np.empty_like(vertices)
        _kernels.enclosed(vertices, self.shell, self.pieces, volumes, growth)
        return volumes, growth

    def _checked(self, name: str, vertices: ArrayLike) -> Array:
        points = np.array(vertices, np.float64, order="C")
        if points.shape != (self.vertices, 3):
            raise InputError(
                f"{name}: expected the template's shape ({self.vertices}, 3), got {points.shape}; "
                "interpolation needs meshes of one connectivity"
            )
        if not np.isfinite(points.sum()):
            raise InputError(f"{name}: some of its vertices are not finite")
        return points


@dataclass(frozen=True, eq=False)
class Pair:
    """Two poses and what turns and stretches each face from one to the other; `at` gives meshes between.

    first, second: `(vertices, 3)`
    logs: `(faces, 3)`, rotation vectors, unwrapped
    rests: `(faces, 3)`, turns that come before those, where a single axis would not do; or `(0, 3)`
    flows: `(2, faces, 6)`, what either pose adds to the right-hand side, that of the second turned back
    stretches: `(faces, 2)`, principal stretches
    volumes: what each piece encloses in either pose, cubic metres, `(pieces,)`; None if none is solid
    apart: how far doubled vertices stand from their others in either pose, or None
    """

    interpolator: Interpolator
    first: Array
    second: Array
    logs: Array
    rests: Array
    flows: Array
    stretches: Array
    volumes: tuple[Array, Array] | None
    apart: tuple[Array, Array] | None
    dtype: Any

    @property
    def angles(self) -> Array:
        """How far each face turns, radians, `(faces,)`."""
        return np.asarray(np.linalg.norm(self.logs, axis=1))

    def at(self, weight: ArrayLike, *, stretch: str = "linear") -> FloatArray:
        """The mesh `weight` of the way, `(vertices, 3)`, or `(n, vertices, 3)` for several.

        >>> import marey
        >>> walk = marey.samples.performance()
        >>> pair = Interpolator.prepare(walk.vertices[0], walk.faces).pair(walk.vertices[0], walk.vertices[9])
        >>> pair.at([0.25, 0.5, 0.75]).shape[0]
        3
        """
        check_choices("poisson", stretch)
        ways = checked_weights(weight)
        out = np.empty((ways.size, *self.first.shape), self.dtype)
        for i, way in enumerate(ways.ravel()):
            out[i] = self._one(float(way), stretch == "geometric")
        return out.reshape(*ways.shape, *self.first.shape)

    def _one(self, weight: float, geometric: bool) -> Array:
        from marey.surface.interpolation import _kernels

        shared = self.interpolator
        sums = np.empty_like(self.first)
        measured = (self.logs, self.rests, *self.flows, self.stretches)
        _kernels.gather(shared.faces, *measured, geometric, weight, sums)
        found = shared.factor.solve(sums)
        if self.volumes is not None:
            self._keep_volume(found, (1 - weight) * self.volumes[0] + weight * self.volumes[1])
        _kernels.place_pieces(self.first, self.second, shared.pieces, shared.sizes, weight, found)
        if self.apart is None:
            return found
        return found[shared.doubles] + (1 - weight) * self.apart[0] + weight * self.apart[1]

    def _keep_volume(self, found: Array, wanted: Array) -> None:
        """Add the field of least gradients that brings volumes to what is wanted, to first order."""
        from marey.surface.interpolation import _kernels

        shared = self.interpolator
        volumes, growth = shared.enclosed(found)
        swelling = shared.factor.solve(growth)
        most = np.where(shared.solid, MOST_VOLUME * np.abs(wanted), -1.0)
        _kernels.swell(shared.pieces, wanted - volumes, most, growth, swelling, found)


def straight(first: ArrayLike, second: ArrayLike, weight: ArrayLike) -> FloatArray:
    """Every vertex on the straight line between its two places (eq. 2.23): quick, but limbs that turn shrink.

    >>> straight([[0.0, 0.0, 0.0]], [[2.0, 0.0, 4.0]], 0.5).tolist()
    [[1.0, 0.0, 2.0]]
    """
    here, there = np.asarray(first), np.asarray(second)
    if here.shape != there.shape or here.shape[-1:] != (3,):
        raise InputError(f"two meshes of {here.shape} and {there.shape}: they must have the same vertices")
    dtype = np.result_type(_precision(here), _precision(there))
    ways = checked_weights(weight)[..., None, None]
    return ((1 - ways) * here + ways * there).astype(dtype)


def checked_weights(weight: ArrayLike) -> Array:
    """Weights from 0 to 1, one or several."""
    try:
        ways = np.asarray(weight, np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"weight: not a number ({error})") from error
    if ways.ndim > 1 or not ((ways >= 0) & (ways <= 1)).all():
        raise InputError(f"weight: one or a list of numbers from 0 to 1, got {weight!r}")
    return ways


def check_choices(method: str, stretch: str) -> None:
    """Only what there is."""
    if method not in METHODS:
        raise InputError(f"method {method!r}: one of {', '.join(METHODS)}")
    if stretch not in STRETCHES:
        raise InputError(f"stretch {stretch!r}: one of {', '.join(STRETCHES)}")


def _shell(
    vertices: Array, faces: NDArray[np.int32], pieces: NDArray[np.int64]
) -> tuple[NDArray[np.int32], NDArray[np.bool_]]:
    """Faces and caps, and which pieces they enclose but for small holes."""
    caps = mesh_operators.caps(faces).astype(np.int32)
    shell, count = np.concatenate([faces, caps]), int(pieces.max()) + 1

    def area(triangles: NDArray[np.int32]) -> Array:
        sizes = mesh.face_areas(vertices, triangles).astype(np.float64)
        return np.asarray(np.bincount(pieces[triangles[:, 0]], sizes, count), np.float64)

    solid = area(caps) < LARGEST_HOLES * area(faces)
    solid[pieces[mesh_operators.rims(shell)]] = False
    return shell, solid


def _precision(vertices: Any) -> Any:
    return np.float32 if getattr(vertices, "dtype", None) == np.float32 else np.float64
