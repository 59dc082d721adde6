"""Meshes between two poses that keep lengths and volumes (Boukhayma 2017, section 2.4.3, eqs 2.45-2.49).

Each face turns along the shortest arc and stretches evenly; the mesh whose edges come nearest to those of the
turned faces, in the metric of one template, is the in-between; of a closed surface, the nearest that also
encloses the volume it should. The equations are those for gradients that act on columns, so both ends are met
exactly. Cost: operators and factor once for a subject (about 0.1 s for 10,000 vertices), then some 6 ms for
an in-between of 10,000 vertices and 20,000 faces, and 2 ms more where neighbours turn in opposite senses.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from marey._arrays import Array, BoolArray, FloatArray, Integers, checked, derived
from marey.errors import InputError
from marey.geometry import mesh, planar
from marey.geometry.mesh import FaceAdjacency
from marey.surface.distances import yaw_between
from marey.surface.sequence import checked_faces

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

METHODS = ("poisson", "linear", "two-sided")
STRETCHES = ("linear", "geometric")


@dataclass(frozen=True)
class InterpolationSettings:
    """Numbers of the volume correction.

    Attributes:
        volume: of the volume: a larger error is not corrected, since the first order would not do.
        holes: of the area of a piece: with larger holes it is a sheet, and encloses nothing.
    """

    volume: float = 0.1
    holes: float = 0.05


@dataclass(frozen=True, eq=False)
class Interpolator:
    """What in-betweens of one connectivity share; make it with `prepare`.

    Attributes:
        faces: `(faces, 3)`, doubled vertices along seams taken for one.
        couplings: `(faces, 3)`, half the template's cotangents.
        pieces: `(vertices,)`, connected piece of each vertex.
        sizes: `(pieces,)`, how many vertices each piece has.
        doubles: `(vertices,)`, the vertex each one stands beside; itself, if it is not doubled.
        factor: of the template's Laplacian.
        adjacency: which faces lie side by side.
        shell: `(faces + caps, 3)`, the faces and what closes their small holes.
        solid: `(pieces,)`, whether the shell of each piece encloses a volume, which in-betweens then keep.
        settings: of the volume correction.
    """

    faces: NDArray[np.int32]
    couplings: Array
    pieces: Integers
    sizes: Array
    doubles: Integers
    factor: LaplacianFactor
    adjacency: FaceAdjacency
    shell: NDArray[np.int32]
    solid: BoolArray
    settings: InterpolationSettings

    @classmethod
    def prepare(
        cls, template: ArrayLike, faces: ArrayLike, *, settings: InterpolationSettings | None = None
    ) -> Interpolator:
        """Factor the template once for all in-betweens of the subject.

        Args:
            template: `(vertices, 3)`, or several poses `(poses, vertices, 3)`, whose mean metric it is then.
            faces: `(faces, 3)`.
            settings: of the volume correction.

        >>> import marey
        >>> walk = marey.samples.mesh_sequence()
        >>> interpolator = Interpolator.prepare(walk.vertices[0], walk.faces)
        >>> interpolator.between(walk.vertices[0], walk.vertices[10], 0.5).shape == walk.vertices[0].shape
        True
        """
        settings = settings or InterpolationSettings()
        poses = np.asarray(template, np.float64)
        poses = checked("template", poses[None] if poses.ndim == 2 else poses, (None, None, 3))
        if poses.size == 0:
            raise InputError("template: there is no vertex")
        doubles = mesh.merge_doubles(poses)
        joined = doubles[checked_faces("faces", np.asarray(faces), poses.shape[1])].astype(np.int32)
        couplings = mesh.couplings(poses, joined)
        # A vertex that only faces without area hold has no neighbours: it moves alone.
        pieces = mesh.components(joined[couplings.any(axis=1)], poses.shape[1])
        laplacian = mesh.assembled(couplings, joined, poses.shape[1])
        return cls(
            joined,
            couplings,
            pieces,
            np.bincount(pieces).astype(np.float64),
            doubles,
            LaplacianFactor.of(laplacian, pieces),
            FaceAdjacency.of(joined),
            *_shell(poses[0], joined, pieces, settings.holes),
            settings,
        )

    vertices = derived(len, "doubles", "Number of vertices of every mesh.")

    def pair(self, first: ArrayLike, second: ArrayLike, *, unwrapped: bool = True) -> PosePair:
        """Two poses `(vertices, 3)` in one heading frame, measured for in-betweens at any weight.

        Args:
            first: `(vertices, 3)`.
            second: `(vertices, 3)`.
            unwrapped: parts that turn by more than half a turn follow their neighbours, not the shorter turn.
        """
        from marey.surface.interpolation import _kernels

        ends = [self._checked("first", first), self._checked("second", second)]
        # Doubled vertices go with the one they stand beside, and keep what they are apart from it.
        doubled = bool((self.doubles != np.arange(self.vertices)).any())
        here, there = (end[self.doubles] for end in ends) if doubled else ends
        count = len(self.faces)
        logs, flows, stretches = np.empty((count, 3)), np.empty((2, count, 6)), np.empty((count, 2))
        angle = _kernels.measure(here, there, self.faces, self.couplings, logs, *flows, stretches)
        residuals = np.zeros((0, 3))
        # Neighbours can only be apart by more than half a turn where one turned by over a quarter.
        if unwrapped and angle > np.pi / 2:
            logs, residuals = unwrap(logs, self.adjacency)
        dtype = np.result_type(_precision(first), _precision(second))
        apart = (ends[0] - here, ends[1] - there) if doubled else None
        volumes = (self.enclosed(here)[0], self.enclosed(there)[0]) if self.solid.any() else None
        return PosePair(self, here, there, logs, residuals, flows, stretches, volumes, apart, dtype)

    def between(
        self, first: ArrayLike, second: ArrayLike, weight: ArrayLike, *, stretch: str = "linear"
    ) -> FloatArray:
        """The mesh at `weight` between `first` and `second`, or one for each of several weights.

        Args:
            first: `(vertices, 3)`.
            second: `(vertices, 3)`, in one heading frame (see :func:`interpolate`).
            weight: from 0 to 1, or `(n,)` of them.
            stretch: of the faces, "linear" (eq. 2.45) or "geometric" (eq. 2.46).

        Returns:
            `(vertices, 3)` or `(n, vertices, 3)`, in the ends' precision. Centroids of connected pieces go
            straight.

        >>> import marey
        >>> walk = marey.samples.mesh_sequence()
        >>> interpolator = Interpolator.prepare(walk.vertices[0], walk.faces)
        >>> ends = interpolator.between(walk.vertices[0], walk.vertices[10], [0, 1])
        >>> bool(np.allclose(ends, walk.vertices[[0, 10]], atol=1e-6))
        True
        """
        return self.pair(first, second).at(weight, stretch=stretch)

    def enclosed(self, vertices: Array) -> tuple[Array, Array]:
        """Volume of each piece, `(pieces,)`, and how it grows with each vertex, `(vertices, 3)`."""
        from marey.surface.interpolation import _kernels

        volumes, growth = np.empty(len(self.sizes)), np.empty_like(vertices)
        _kernels.enclosed(vertices, self.shell, self.pieces, volumes, growth)
        return volumes, growth

    def _checked(self, name: str, vertices: ArrayLike) -> Array:
        if np.shape(vertices) != (self.vertices, 3):
            raise InputError(
                f"{name}: expected the template's shape ({self.vertices}, 3), got {np.shape(vertices)}; "
                "interpolation needs meshes of one connectivity"
            )
        return np.array(checked(name, vertices, (self.vertices, 3)), order="C")


@dataclass(frozen=True, eq=False)
class PosePair:
    """Two poses and what turns and stretches each face from one to the other; `at` gives meshes between.

    Attributes:
        interpolator: what all pairs share.
        first: `(vertices, 3)`.
        second: `(vertices, 3)`.
        logs: `(faces, 3)`, rotation vectors, unwrapped.
        residuals: `(faces, 3)`, rotations that come before those, where one axis would not do; or `(0, 3)`.
        flows: `(2, faces, 6)`, what either pose adds to the right-hand side, that of the second turned back.
        stretches: `(faces, 2)`, principal stretches.
        volumes: what each piece encloses in either pose, cubic metres, `(pieces,)`; None if none is solid.
        apart: how far doubled vertices stand from their others in either pose, or None.
        dtype: of the meshes.
    """

    interpolator: Interpolator
    first: Array
    second: Array
    logs: Array
    residuals: Array
    flows: Array
    stretches: Array
    volumes: tuple[Array, Array] | None
    apart: tuple[Array, Array] | None
    dtype: DTypeLike

    @property
    def angles(self) -> Array:
        """How far each face turns, radians, `(faces,)`."""
        return np.asarray(np.linalg.norm(self.logs, axis=1))

    def at(self, weight: ArrayLike, *, stretch: str = "linear") -> FloatArray:
        """The mesh at `weight`, `(vertices, 3)`, or `(n, vertices, 3)` for several.

        >>> import marey
        >>> walk = marey.samples.mesh_sequence()
        >>> pair = Interpolator.prepare(walk.vertices[0], walk.faces).pair(walk.vertices[0], walk.vertices[9])
        >>> pair.at([0.25, 0.5, 0.75]).shape[0]
        3
        """
        _check_choice("stretch", stretch, STRETCHES)
        weights = checked_weights(weight)
        out = np.empty((weights.size, *self.first.shape), self.dtype)
        for i, share in enumerate(weights.ravel()):
            out[i] = self._one(float(share), stretch == "geometric")
        return out.reshape(*weights.shape, *self.first.shape)

    def _one(self, weight: float, geometric: bool) -> Array:
        from marey.surface.interpolation import _kernels

        shared = self.interpolator
        sums = np.empty_like(self.first)
        measured = (self.logs, self.residuals, *self.flows, self.stretches)
        _kernels.gather(shared.faces, *measured, geometric, weight, sums)
        found = shared.factor.solve(sums)
        if self.volumes is not None:
            # The field of least gradients that brings volumes to what is wanted, to first order.
            wanted = (1 - weight) * self.volumes[0] + weight * self.volumes[1]
            volumes, growth = shared.enclosed(found)
            swelling = shared.factor.solve(growth)
            most = np.where(shared.solid, shared.settings.volume * np.abs(wanted), -1.0)
            _kernels.swell(shared.pieces, wanted - volumes, most, growth, swelling, found)
        _kernels.place_pieces(self.first, self.second, shared.pieces, shared.sizes, weight, found)
        if self.apart is None:
            return found
        return found[shared.doubles] + (1 - weight) * self.apart[0] + weight * self.apart[1]


def interpolate(
    first: ArrayLike,
    second: ArrayLike,
    faces: ArrayLike,
    weight: ArrayLike,
    *,
    method: str = "poisson",
    stretch: str = "linear",
    interpolator: Interpolator | None = None,
) -> FloatArray:
    """The mesh at `weight` between two meshes of one connectivity, wherever they stand.

    The second mesh is turned and shifted onto the first, blended, and the result stands and faces between
    both. Cost: the operators of this one pair (about 0.1 s for 10,000 vertices), so prepare an
    :class:`Interpolator` for more than one.

    Args:
        first: `(vertices, 3)`; where it stands on the ground and faces does not matter.
        second: `(vertices, 3)`, likewise.
        faces: `(faces, 3)`.
        weight: from 0 to 1, or `(n,)` for one mesh each.
        method: "poisson" keeps lengths and volumes, in the mean metric of both; "two-sided" (Boukhayma 2017,
            eq. 2.49) solves in the metric of either and averages, faces take the shorter turn and volumes are
            not kept; "linear" is quick and shrinks what turns.
        stretch: of the faces, "linear" (eq. 2.45) or "geometric" (eq. 2.46).
        interpolator: of "poisson", prepared before, of any template of the subject.

    >>> import marey
    >>> walk = marey.samples.mesh_sequence()
    >>> interpolate(walk.vertices[0], walk.vertices[12], walk.faces, [0.0, 0.5, 1.0]).shape[0]
    3
    """
    _check_choice("method", method, METHODS)
    _check_choice("stretch", stretch, STRETCHES)
    here, there, weights = np.asarray(first), np.asarray(second), checked_weights(weight)
    if here.shape != there.shape or here.ndim != 2 or here.shape[1] != 3 or not len(here):
        raise InputError(
            f"two meshes of {here.shape} and {there.shape}: they must have the same vertices, (vertices, 3)"
        )
    triangles = checked_faces("faces", np.asarray(faces), len(here))
    start, end = planar.centroid(here), planar.centroid(there)
    onto = planar.PlanarMotion.about(end, np.asarray(yaw_between(here, there, triangles)), start)
    aligned = onto.apply(there)
    if method == "linear":
        blended = linear_interpolation(here, aligned, weights)
    elif method == "poisson":
        shared = interpolator or Interpolator.prepare(np.stack([here, aligned]), faces)
        blended = shared.between(here, aligned, weights, stretch=stretch)
    else:
        plain = InterpolationSettings(volume=0.0)
        one, other = (
            Interpolator.prepare(side, faces, settings=plain)
            .pair(here, aligned, unwrapped=False)
            .at(weights, stretch=stretch)
            for side in (here, aligned)
        )
        share = weights[..., None, None]
        blended = ((1 - share) * one + share * other).astype(one.dtype)
    to = (1 - weights[..., None]) * start + weights[..., None] * end
    return planar.PlanarMotion.about(planar.centroid(blended), -weights * onto.angle, to).apply(blended)


@dataclass(frozen=True, eq=False)
class LaplacianFactor:
    """A Laplacian factored once, for any number of right-hand sides (Boukhayma 2017, eq. 2.48).

    One vertex of each connected piece is held, since the Laplacian leaves it free; of the symmetric factor
    L D Lᵀ only the lower triangle is kept, rows in the order that keeps it sparse, and substituted for the
    three coordinates together. Factoring 10,000 vertices takes about 40 ms, a solution less than 1 ms.

    Attributes:
        starts: `(free vertices + 1,)`, of the columns of L below its diagonal of ones.
        rows: of their entries.
        values: of their entries.
        inverse_diagonal: 1 / D.
        place: `(vertices,)`, each vertex's row, or -1 for those that are held.
    """

    starts: NDArray[np.int32]
    rows: NDArray[np.int32]
    values: Array
    inverse_diagonal: Array
    place: Integers

    @classmethod
    def of(cls, laplacian: csr_matrix, pieces: Integers) -> LaplacianFactor:
        """Of a Laplacian `(vertices, vertices)` whose vertex v lies in the connected piece `pieces[v]`."""
        free = np.ones(len(pieces), dtype=bool)
        free[np.unique(pieces, return_index=True)[1]] = False
        place = np.full(len(pieces), -1, np.int64)
        if not free.any():
            return cls(np.zeros(1, np.int32), np.zeros(0, np.int32), np.zeros(0), np.zeros(0), place)
        from scipy.sparse import tril
        from scipy.sparse.linalg import splu

        matrix = laplacian[free][:, free].tocsc()
        matrix.sort_indices()
        try:
            factors = splu(
                matrix, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True}
            )
        except RuntimeError as error:
            raise InputError(f"the template cannot be factored ({error}); give another pose") from error
        lower = tril(factors.L, -1, format="csc")
        lower.sort_indices()
        place[free] = factors.perm_r
        return cls(lower.indptr, lower.indices, lower.data, 1.0 / factors.U.diagonal(), place)

    def solve(self, sums: Array) -> Array:
        """The solution `(vertices, 3)` of right-hand sides `(vertices, 3)`; zero where vertices are held.

        >>> from marey.geometry import mesh
        >>> flat, faces = np.eye(3), np.array([[0, 1, 2]])
        >>> laplacian = mesh.laplacian(flat, faces)
        >>> factor = LaplacianFactor.of(laplacian, np.zeros(3, np.int64))
        >>> (factor.solve(laplacian @ flat) - (flat - flat[0])).round(12).tolist()
        [[0.0, 0.0, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]]
        """
        from marey.surface.interpolation import _kernels

        out = np.empty_like(sums)
        lower = (self.starts, self.rows, self.values, self.inverse_diagonal)
        _kernels.substitute(*lower, self.place, sums, out)
        return out


def unwrap(logs: Array, adjacency: FaceAdjacency) -> tuple[Array, Array]:
    """Rotation vectors `(faces, 3)` that agree between neighbours, and the residual rotations before them.

    The rotation of face m is exp(logs[m]) exp(residuals[m]). The residuals have no rows where none is
    needed, and the logarithms come back as they are if no two neighbours differ by more than π.

    >>> strip = FaceAdjacency.of(np.array([[0, 1, 2], [2, 1, 3], [2, 3, 4]]))
    >>> angles = np.array([2.0, 3.0, 4.0 - 2 * np.pi])
    >>> logs, residuals = unwrap(angles[:, None] * [0.0, 1.0, 0.0], strip)
    >>> (logs + residuals)[:, 1].round(9).tolist()
    [2.0, 3.0, 4.0]
    """
    from marey.surface.interpolation import _kernels as kernels

    none = np.zeros((0, 3))
    if not kernels.disagree(logs, adjacency.links):
        return logs, none
    agreed, residuals = logs.copy(), np.zeros_like(logs)
    beside = (adjacency.starts, adjacency.neighbours, adjacency.islands)
    changed = kernels.spread(logs, *beside, agreed, residuals)
    return agreed, residuals if changed else none


def linear_interpolation(first: ArrayLike, second: ArrayLike, weight: ArrayLike) -> FloatArray:
    """Every vertex on the straight line between its two places (eq. 2.23): quick, but limbs that turn shrink.

    >>> linear_interpolation([[0.0, 0.0, 0.0]], [[2.0, 0.0, 4.0]], 0.5).tolist()
    [[1.0, 0.0, 2.0]]
    """
    here, there = np.asarray(first), np.asarray(second)
    if here.shape != there.shape or here.shape[-1:] != (3,):
        raise InputError(f"two meshes of {here.shape} and {there.shape}: they must have the same vertices")
    dtype = np.result_type(_precision(here), _precision(there))
    weights = checked_weights(weight)[..., None, None]
    return np.asarray(((1 - weights) * here + weights * there).astype(dtype))


def checked_weights(weight: ArrayLike) -> Array:
    """Weights from 0 to 1, one or several."""
    try:
        weights = np.asarray(weight, np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"weight: not a number ({error})") from error
    if weights.ndim > 1 or not ((weights >= 0) & (weights <= 1)).all():
        raise InputError(f"weight: one or a list of numbers from 0 to 1, got {weight!r}")
    return weights


def _check_choice(name: str, value: str, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise InputError(f"{name} {value!r}: one of {', '.join(choices)}")


def _shell(
    vertices: Array, faces: NDArray[np.int32], pieces: Integers, largest_holes: float
) -> tuple[NDArray[np.int32], BoolArray]:
    """Faces and caps, and which pieces they enclose but for small holes."""
    caps = mesh.hole_fans(faces).astype(np.int32)
    shell, count = np.concatenate([faces, caps]), int(pieces.max()) + 1

    def area(triangles: NDArray[np.int32]) -> Array:
        sizes = mesh.face_areas(vertices, triangles).astype(np.float64)
        return np.asarray(np.bincount(pieces[triangles[:, 0]], sizes, count), np.float64)

    solid = area(caps) < largest_holes * area(faces)
    solid[pieces[mesh.boundary_edges(shell)]] = False
    return shell, solid


def _precision(vertices: object) -> type[np.floating]:
    return np.float32 if getattr(vertices, "dtype", None) == np.float32 else np.float64
