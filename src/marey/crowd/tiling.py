"""Several captured flows become one: seams that keep vortices and sources, gaps filled, walls not crossed.

Courty & Corpetti 2007, section 4.2 (tiling crowd patterns). Patches are shifted, turned and scaled, their
vectors with them; sampling is a sparse matrix made once for each patch, applied to every frame. Where patches
overlap, where none lies and near walls the flow v minimises |Δv - g|² + |v - m|² / reach⁴. As Δv is the
gradient of the divergence less the rotated gradient of the curl, the first term says that those change as
they do in the patches (and not at all in gaps), the second that v stays near their mean m; elsewhere v is the
one patch there. The sparse system is factored once (40,000 unknown pixels: a second) and solved for every
frame (0.03 s).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from marey._arrays import Array, BoolArray, Integers, assign, read_only
from marey._work import Progress, tracked
from marey.crowd.analysis import divergence, vorticity
from marey.crowd.fields import FieldSeries, concatenate, mixed_foreground, pixel_centres
from marey.crowd.polygons import contains, polygon, wall_normals
from marey.errors import InputError

if TYPE_CHECKING:
    from scipy.sparse import csr_array

Masked = Literal["wall", "open"]


@dataclass(frozen=True, eq=False)
class Patch:
    """A captured flow and its place.

    Attributes:
        fields: The capture.
        column: Where in the environment its anchor lies, in pixels.
        row: As `column`.
        turn: Radians about the anchor, clockwise as seen in the image.
        scale: About the anchor; 2 makes it twice as large, and its people twice as fast in pixels.
        weight: How much it counts where patches overlap.
        centred: The anchor is the middle of the capture, not its first pixel.
        masked: What is outside its mask is "wall" in the environment, or "open" for other patches.
        start: Its first frame that is used.

    >>> patch = Patch(FieldSeries(np.ones((1, 3, 5, 2)), 25), 10, 4, turn=np.pi / 2)
    >>> patch.matrix().round(3).tolist()
    [[0.0, -1.0, 10.0], [1.0, 0.0, 4.0]]
    """

    fields: FieldSeries
    column: float = 0.0
    row: float = 0.0
    turn: float = 0.0
    scale: float = 1.0
    weight: float = 1.0
    centred: bool = False
    masked: Masked = "wall"
    start: int = 0

    def __post_init__(self) -> None:
        for name in ("column", "row", "turn"):
            if not abs(getattr(self, name)) < 1e6:
                raise InputError(f"{name}: a number, got {getattr(self, name)}")
        if not 0.01 <= self.scale <= 100:
            raise InputError(f"scale: from 0.01 to 100, got {self.scale:g}")
        if not 0 < self.weight < 1e6:
            raise InputError(f"weight: above 0, got {self.weight:g}")
        if self.masked not in ("wall", "open"):
            raise InputError(f"masked {self.masked!r}: wall or open")
        if not 0 <= self.start < self.fields.frames:
            raise InputError(f"start: a frame from 0 to {self.fields.frames - 1}, got {self.start}")

    def matrix(self) -> Array:
        """The map from its pixels `(column, row, 1)` to those of the environment, `(2, 3)`."""
        linear = self.scale * _rotation(self.turn)
        middle = 0.5 * self.centred * np.array([self.fields.columns - 1, self.fields.rows - 1])
        return np.column_stack([linear, np.array([self.column, self.row]) - linear @ middle])

    def corners(self) -> Array:
        """Its corner pixels in the environment, `(4, 2)`, in order around it."""
        right, bottom = self.fields.columns - 1.0, self.fields.rows - 1.0
        own = np.array([[0, 0, 1], [right, 0, 1], [right, bottom, 1], [0, bottom, 1]])
        return np.asarray(own @ self.matrix().T)


@dataclass(frozen=True, eq=False)
class PatchOnGrid:
    """A patch on the pixels of an environment of `rows` × `columns`; pixels are counted row by row."""

    patch: Patch
    rows: int
    columns: int

    @cached_property
    def footprint(self) -> BoolArray:
        """Where in the environment it lies, masked or not, `(pixels,)`."""
        own = self._own_places
        fields = self.patch.fields
        inside = (own > -1e-6) & (own < np.array([fields.columns, fields.rows]) - 1 + 1e-6)
        return np.asarray(inside.all(axis=1))

    @cached_property
    def cover(self) -> BoolArray:
        """Where it says something, `(pixels,)`."""
        column, row = np.rint(self._own_places[self.footprint]).astype(np.int64).T
        covered = np.zeros(self.rows * self.columns, dtype=np.bool_)
        covered[self.footprint] = self.patch.fields.valid[row, column]
        return covered

    def velocities(self, start: int, stop: int) -> Array:
        """Frames `(frames, pixels, 2)` in pixels of the environment; 0 where it says nothing."""
        first = self.patch.start
        part = self.patch.fields.velocities[first + start : first + stop]
        flat = np.asarray(part, dtype=np.float64).reshape(len(part), -1, 2)
        turned = flat @ (self.patch.scale * _rotation(self.patch.turn)).T
        columns = turned.transpose(1, 0, 2).reshape(turned.shape[1], -1)
        sampled = self._sampling @ columns
        return np.ascontiguousarray(sampled.reshape(-1, len(part), 2).transpose(1, 0, 2))

    def foreground(self, start: int, stop: int) -> NDArray[np.uint8]:
        """Who is seen, `(frames, pixels)`, at the nearest pixel; surely everywhere if it does not say."""
        seen = np.zeros((stop - start, self.rows * self.columns), dtype=np.uint8)
        column, row = np.rint(self._own_places[self.cover]).astype(np.int64).T
        known, first = self.patch.fields.foreground, self.patch.start
        seen[:, self.cover] = 255 if known is None else known[first + start : first + stop, row, column]
        return seen

    @cached_property
    def _own_places(self) -> Array:
        """Pixels of the environment in its own pixels, `(pixels, 2)`."""
        matrix = self.patch.matrix()
        pixels = pixel_centres((self.rows, self.columns)).reshape(-1, 2)
        places = (pixels - matrix[:, 2]) @ np.linalg.inv(matrix[:, :2]).T
        whole = np.rint(places)
        return np.where(np.abs(places - whole) < 1e-9, whole, places)

    @cached_property
    def _sampling(self) -> csr_array:
        """Bilinear weights of its own pixels, those outside its mask left out, `(pixels, own pixels)`."""
        from scipy.sparse import csr_array

        fields = self.patch.fields
        pixels = np.flatnonzero(self.cover)
        places = self._own_places[pixels]
        size = np.array([fields.columns, fields.rows])
        below = np.clip(np.floor(places), 0, np.maximum(size - 2, 0)).astype(np.int64)
        share = np.clip(places - below, 0.0, 1.0)
        rows, columns, weights = [], [], []
        for dx, dy in ((0, 0), (1, 0), (0, 1), (1, 1)):
            weight = np.where(dx, share[:, 0], 1 - share[:, 0]) * np.where(dy, share[:, 1], 1 - share[:, 1])
            column, row = np.minimum(below + np.array([dx, dy]), size - 1).T
            rows.append(pixels)
            columns.append(row * fields.columns + column)
            weights.append(weight * fields.valid[row, column])
        total = np.sum(weights, axis=0)
        shares = np.concatenate([weight / total for weight in weights])
        shape = (self.rows * self.columns, fields.rows * fields.columns)
        return csr_array((shares, (np.concatenate(rows), np.concatenate(columns))), shape=shape)


def _rotation(turn: float) -> Array:
    # Exact for quarter turns, so that pixels fall on pixels.
    quarters = turn / (math.pi / 2)
    if abs(quarters - round(quarters)) < 1e-12:
        cos, sin = ((1, 0), (0, 1), (-1, 0), (0, -1))[round(quarters) % 4]
    else:
        cos, sin = math.cos(turn), math.sin(turn)  # type: ignore[assignment]
    return np.array([[cos, -sin], [sin, cos]], dtype=np.float64)


REACH = 8.0
"""Pixels over which seams and walls change the flow around them."""
MOST_UNKNOWN = 150_000
"""Pixels in overlaps, gaps and near walls that are solved for at most; so many need about 1 GB."""


@dataclass(frozen=True, eq=False)
class Tiling:
    """An environment made of patches.

    Attributes:
        patches: Later ones do not lie above earlier ones; weights decide.
        rows: Height of the environment, pixels.
        columns: Its width.
        walls: Solid polygons `(corners, 2)`, `(column, row)`; masked pixels of patches are added.
        reach: Pixels over which seams and walls change the flow around them.
    """

    patches: tuple[Patch, ...]
    rows: int
    columns: int
    walls: tuple[Array, ...] = ()
    reach: float = REACH

    def __post_init__(self) -> None:
        if not self.patches:
            raise InputError("tiling: there is no patch")
        if self.rows < 1 or self.columns < 1 or self.rows * self.columns > 4_000_000:
            raise InputError(
                f"tiling: {self.columns} × {self.rows} pixels; at least 1 and at most 4,000,000 in all"
            )
        if not 1.0 <= self.reach <= 1000.0:
            raise InputError(f"reach: from 1 to 1000 pixels, got {self.reach:g}")
        rates = [patch.fields.frame_rate for patch in self.patches]
        if not np.allclose(rates, rates[0]):
            raise InputError(
                f"tiling: patches of {rates[0]:g} and {max(rates, key=lambda r: abs(r - rates[0])):g} frames "
                "per second; resample them first"
            )
        assign(self, walls=tuple(polygon(f"wall {n}", wall) for n, wall in enumerate(self.walls, 1)))
        for number, placed in enumerate(self.placed, 1):
            if not placed.cover.any():
                raise InputError(f"patch {number}: no pixel of it lies in the environment")

    @property
    def frames(self) -> int:
        """Of the patch that ends first."""
        return min(patch.fields.frames - patch.start for patch in self.patches)

    @cached_property
    def placed(self) -> tuple[PatchOnGrid, ...]:
        """The patches on the pixels of the environment."""
        return tuple(PatchOnGrid(patch, self.rows, self.columns) for patch in self.patches)

    @cached_property
    def free(self) -> BoolArray:
        """Where people can be, `(rows, columns)`."""
        free = ~polygons_to_walls(self.walls, self.rows, self.columns).ravel()
        for placed in self.placed:
            if placed.patch.masked == "wall":
                free &= placed.cover | ~placed.footprint
        if not free.any():
            raise InputError("tiling: there are walls everywhere")
        return free.reshape(self.rows, self.columns)

    @cached_property
    def coverage(self) -> Integers:
        """How many patches say something about a pixel, `(rows, columns)`; 0 at walls."""
        count = np.sum([placed.cover for placed in self.placed], axis=0)
        return np.where(self.free, count.reshape(self.rows, self.columns), 0)

    @cached_property
    def solved(self) -> BoolArray:
        """Pixels whose flow is solved for and not copied, `(rows, columns)`."""
        from scipy.ndimage import distance_transform_edt

        unknown = self.free & (self.coverage != 1)
        if not self.free.all():
            unknown |= self.free & (distance_transform_edt(self.free) <= self.reach)
        return np.asarray(unknown)

    @cached_property
    def weights(self) -> Array:
        """How much each patch counts at each pixel, `(patches, pixels)`; sums are 1 where there is any.

        A patch counts less towards its edge, and more where it turns or spreads: features of a flow should
        come from one capture, not from the mean of one that has them and one that has not.
        """
        from scipy.ndimage import distance_transform_edt

        shape = (self.rows, self.columns)
        weights = np.zeros((len(self.patches), self.rows * self.columns))
        features = [self._features(placed) for placed in self.placed]
        usual = float(np.mean([f[p.cover].mean() for f, p in zip(features, self.placed, strict=True)])) or 1.0
        for weight, placed, feature in zip(weights, self.placed, features, strict=True):
            there = (placed.cover | (placed.footprint & ~self.free.ravel())).reshape(shape)
            edge = np.ones(shape) if there.all() else distance_transform_edt(there)
            weight += placed.patch.weight * edge.ravel() * (0.05 + feature / usual) * placed.cover
        return np.asarray(np.divide(weights, weights.sum(axis=0), out=weights, where=weights.sum(axis=0) > 0))

    def blocks(self, size: int = 16) -> Iterator[FieldSeries]:
        """The environment's flow, `size` frames at a time."""
        for start in range(0, self.frames, size):
            yield self.part(start, min(start + size, self.frames))

    def part(self, start: int, stop: int) -> FieldSeries:
        """Frames start to stop - 1 of the environment."""
        flows = np.stack([placed.velocities(start, stop) for placed in self.placed])
        mean = self._mean(flows)
        self._system.solve(flows, mean)
        shape = (stop - start, self.rows, self.columns)
        single = all(patch.fields.velocities.dtype == np.float32 for patch in self.patches)
        first = self.patches[0].fields
        return FieldSeries(
            read_only(mean.astype(np.float32 if single else np.float64).reshape(*shape, 2)),
            first.frame_rate,
            mask=None if self.free.all() else self.free,
            homography=self._homography(),
            name=" + ".join(dict.fromkeys(p.fields.name for p in self.patches if p.fields.name)),
            foreground=self._foreground(start, stop, shape),
        )

    def mean(self, start: int, stop: int) -> Array:
        """The weighted mean of the patches before anything is solved, `(frames, pixels, 2)`; 0 in gaps."""
        return self._mean(np.stack([placed.velocities(start, stop) for placed in self.placed]))

    def _mean(self, flows: Array) -> Array:
        mean = np.einsum("pn,ptnd->tnd", self.weights, flows)
        mean[:, ~self.free.ravel()] = 0.0
        return np.asarray(mean)

    def _foreground(self, start: int, stop: int, shape: tuple[int, ...]) -> NDArray[np.uint8] | None:
        if all(patch.fields.foreground is None for patch in self.patches):
            return None
        parts = np.stack([placed.foreground(start, stop) for placed in self.placed])
        mean = mixed_foreground(parts, self.weights[:, None])
        mean[:, self.coverage.ravel() == 0] = 0
        return read_only(mean.reshape(shape))

    def _homography(self) -> Array | None:
        """The ground as the first calibrated patch sees it."""
        for patch in self.patches:
            if patch.fields.homography is not None:
                placing = np.vstack([patch.matrix(), [0.0, 0.0, 1.0]])
                return np.asarray(patch.fields.homography @ np.linalg.inv(placing))
        return None

    def _features(self, placed: PatchOnGrid) -> Array:
        """Squared divergence and curl, smoothed, mean over about 24 frames, `(pixels,)`."""
        from scipy.ndimage import binary_erosion, gaussian_filter

        shape = (self.rows, self.columns)
        total = np.zeros(shape)
        for frame in range(0, self.frames, max(1, -(-self.frames // 24))):
            flow = placed.velocities(frame, frame + 1)[0].reshape(*shape, 2)
            total += divergence(flow) ** 2 + vorticity(flow) ** 2
        # Beyond its edges a patch is 0: what turns there is the edge.
        whole = binary_erosion(placed.cover.reshape(shape), border_value=1)
        share = gaussian_filter(whole.astype(np.float64), 0.5 * self.reach)
        smooth = gaussian_filter(np.where(whole, total, 0.0), 0.5 * self.reach)
        return np.asarray(np.divide(smooth, share, out=np.zeros(shape), where=share > 1e-9).ravel())

    @cached_property
    def _system(self) -> _System:
        return _System(self)


class _System:
    """The equations of the unknown pixels, factored."""

    def __init__(self, tiling: Tiling) -> None:
        from scipy.sparse import block_diag, diags_array
        from scipy.sparse.linalg import splu

        unknown = np.flatnonzero(tiling.solved)
        if len(unknown) > MOST_UNKNOWN:
            raise InputError(
                f"tiling: {len(unknown):,} pixels lie in overlaps, gaps or near walls; at most "
                f"{MOST_UNKNOWN:,} can be solved for; make the environment smaller or lay the patches closer"
            )
        self.unknown = unknown
        if len(unknown) == 0:
            return
        laplacian = _laplacian(tiling.free)
        touched = np.flatnonzero(abs(laplacian[:, unknown]).sum(axis=1))
        self.rows = laplacian[touched].tocsr()
        self.unknown_part = self.rows[:, unknown].tocsr()
        known = np.ones(laplacian.shape[0], dtype=np.bool_)
        known[unknown] = False
        self.known_part = (self.rows @ diags_array(known.astype(np.float64))).tocsr()
        self.guides = self._guides(tiling, touched)
        self.pull = np.where(tiling.coverage.ravel()[unknown] > 0, tiling.reach**-4.0, 0.0)
        square = self.unknown_part.T @ self.unknown_part + diags_array(self.pull + 1e-10)
        # Without walls u and v have nothing to do with each other, and one matrix serves both.
        self.freedom = None if tiling.free.all() else _freedom(tiling, unknown)
        matrix = square
        if self.freedom is not None:
            matrix = self.freedom.T @ block_diag([square, square]) @ self.freedom
        symmetric = {"SymmetricMode": True}
        self.factor = splu(
            matrix.tocsc(), permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options=symmetric
        )

    @staticmethod
    def _guides(tiling: Tiling, touched: Integers) -> Array:
        """Share of each patch in the wanted Laplacian, `(patches, rows)`: of those whole about the pixel."""
        neighbours = abs(_laplacian(tiling.free)[touched])
        whole = np.stack([neighbours @ (~p.cover).astype(np.float64) == 0 for p in tiling.placed])
        guides = np.where(whole, tiling.weights[:, touched], 0.0)
        return np.asarray(np.divide(guides, guides.sum(axis=0), out=guides, where=guides.sum(axis=0) > 0))

    def solve(self, flows: Array, mean: Array) -> None:
        """Replace the mean `(frames, pixels, 2)` of flows `(patches, frames, pixels, 2)` where unknown."""
        if len(self.unknown) == 0:
            return
        frames = len(mean)
        wanted = np.zeros((len(self.rows.indptr) - 1, frames * 2))
        for guide, flow in zip(self.guides, flows, strict=True):
            wanted += guide[:, None] * (self.rows @ _by_pixel(flow))
        wanted -= self.known_part @ _by_pixel(mean)
        right = self.unknown_part.T @ wanted
        right += self.pull[:, None] * _by_pixel(mean)[self.unknown]
        if self.freedom is None:
            found = self.factor.solve(right)
            mean[:, self.unknown] = found.reshape(len(self.unknown), frames, 2).transpose(1, 0, 2)
            return
        # One column a frame, u of all pixels above v of all pixels.
        stacked = right.reshape(len(self.unknown), frames, 2).transpose(2, 0, 1).reshape(-1, frames)
        found = self.freedom @ self.factor.solve(np.ascontiguousarray(self.freedom.T @ stacked))
        mean[:, self.unknown] = found.reshape(2, len(self.unknown), frames).transpose(2, 1, 0)


def tile(
    patches: Sequence[Patch],
    rows: int,
    columns: int,
    *,
    walls: Sequence[ArrayLike] = (),
    reach: float = REACH,
    progress: Progress | None = None,
) -> FieldSeries:
    """Patches placed in one environment, as one series, as long as the shortest of them.

    Args:
        patches: The captures and their places.
        rows: Height of the environment, pixels.
        columns: Its width.
        walls: Solid polygons `(corners, 2)`, `(column, row)`.
        reach: Pixels over which seams and walls change the flow around them.
        progress: Called with the blocks of frames done and their number.

    >>> left = Patch(FieldSeries(np.full((2, 8, 12, 2), [1.0, 0.0]), 25))
    >>> right = Patch(FieldSeries(np.full((2, 8, 12, 2), [1.0, 0.2]), 25), column=8)
    >>> both = tile([left, right], 8, 20)
    >>> both.velocities[0, 4, [0, 7, 12, 19], 1].round(3).tolist()
    [0.0, 0.0, 0.2, 0.2]
    """
    tiling = Tiling(tuple(patches), rows, columns, tuple(walls), reach)  # type: ignore[arg-type]
    return concatenate(list(tracked(tiling.blocks(), progress, -(-tiling.frames // 16))))


def polygons_to_walls(polygons: Sequence[ArrayLike], rows: int, columns: int) -> BoolArray:
    """Pixels `(rows, columns)` whose centres lie in one of the polygons `(corners, 2)`, `(column, row)`.

    >>> polygons_to_walls([[[0.5, -1], [2.5, -1], [2.5, 1.5], [0.5, 1.5]]], 3, 4).astype(int).tolist()
    [[0, 1, 1, 0], [0, 1, 1, 0], [0, 0, 0, 0]]
    """
    walls = np.zeros((rows, columns), dtype=np.bool_)
    for corners in polygons:
        walls |= contains(np.asarray(corners, dtype=np.float64), pixel_centres(walls.shape))
    return walls


def leak(fields: FieldSeries, outlines: Sequence[ArrayLike] = ()) -> float:
    """The part of the motion beside walls that goes through them: mean normal speed over mean speed.

    >>> mask = np.ones((4, 4), dtype=bool)
    >>> mask[0] = False
    >>> leak(FieldSeries(np.full((1, 4, 4, 2), [3.0, 4.0]), 25, mask=mask))
    0.8
    """
    if fields.mask is None:
        return 0.0
    pixels, normals = wall_normals(fields.mask, outlines)
    flow = fields.velocities.reshape(fields.frames, -1, 2)[:, pixels]
    speed = float(np.linalg.norm(flow, axis=-1).sum(dtype=np.float64))
    through = float(np.abs((flow * normals).sum(axis=-1)).sum(dtype=np.float64))
    return through / speed if speed > 0 else 0.0


def _laplacian(free: BoolArray) -> csr_array:
    """Sum of the differences to the free neighbours, `(pixels, pixels)`; nothing flows over an edge."""
    from scipy.sparse import coo_array, diags_array

    rows, columns = free.shape
    index = np.arange(rows * columns).reshape(rows, columns)
    pairs = []
    for a, b in ((np.s_[:, :-1], np.s_[:, 1:]), (np.s_[:-1], np.s_[1:])):
        joined = free[a] & free[b]
        pairs.append(np.stack([index[a][joined], index[b][joined]]))
    i, j = np.concatenate(pairs, axis=1)
    links = coo_array((np.ones(len(i)), (i, j)), shape=(index.size, index.size)).tocsr()
    links = links + links.T
    laplacian: csr_array = (links - diags_array(links.sum(axis=1))).tocsr()
    return laplacian


def _freedom(tiling: Tiling, unknown: Integers) -> csr_array:
    """From what may be chosen to u of all unknown pixels above v of all: beside walls only along them."""
    from scipy.sparse import coo_array

    count = len(unknown)
    pixels, normals = wall_normals(tiling.free, tiling.walls)
    place = np.searchsorted(unknown, pixels)
    bound = np.zeros(count, dtype=np.bool_)
    bound[place] = True
    tangents = np.zeros((count, 2))
    tangents[place] = np.stack([-normals[:, 1], normals[:, 0]], axis=1)
    own_u = np.arange(count)
    loose = np.flatnonzero(~bound)
    own_v = count + np.arange(len(loose))
    u = np.where(bound, tangents[:, 0], 1.0)
    entries = np.concatenate([u, tangents[bound, 1], np.ones(len(loose))])
    into = np.concatenate([own_u, count + np.flatnonzero(bound), count + loose])
    of = np.concatenate([own_u, np.flatnonzero(bound), own_v])
    return coo_array((entries, (into, of)), shape=(2 * count, count + len(loose))).tocsr()


def _by_pixel(flow: Array) -> Array:
    """`(frames, pixels, 2)` as `(pixels, frames * 2)`."""
    return flow.transpose(1, 0, 2).reshape(flow.shape[1], -1)


def side_by_side(first: FieldSeries, second: FieldSeries, overlap: int | None = None) -> Tiling:
    """The second capture to the right of the first, level with its middle; a fifth overlaps if not given."""
    narrower = min(first.columns, second.columns)
    shared = min(max(1, narrower // 5), narrower - 1) if overlap is None else overlap
    if not 0 <= shared < narrower:
        raise InputError(f"overlap {shared}: from 0 to {narrower - 1} pixels")
    if not np.isclose(second.frame_rate, first.frame_rate):
        second = second.resample(first.frame_rate)
    rows, right = max(first.rows, second.rows), first.columns - shared
    patches = (
        Patch(first, 0, (rows - first.rows) // 2),
        Patch(second, right, (rows - second.rows) // 2),
    )
    return Tiling(patches, rows, right + second.columns)


class TilingReport:
    """What became of the captures, measured as the blocks of a tiling pass."""

    def __init__(self, tiling: Tiling) -> None:
        self.tiling = tiling
        self._kept = self._whole = self._crossed = 0.0
        self._blocks = 0

    def watched(self, blocks: Iterator[FieldSeries]) -> Iterator[FieldSeries]:
        """The blocks as they are."""
        start = 0
        covered = self.tiling.coverage.ravel() > 0
        for block in blocks:
            mean = self.tiling.mean(start, start + block.frames)[:, covered]
            off = block.velocities.reshape(block.frames, -1, 2)[:, covered] - mean
            self._whole += float(np.square(mean).sum())
            self._kept += float(np.square(mean).sum() - np.square(off, dtype=np.float64).sum())
            self._crossed += leak(block, self.tiling.walls)
            self._blocks += 1
            start += block.frames
            yield block

    def as_dict(self) -> dict[str, float | int]:
        """Information: per cent of the captures' motion kept; through_walls: share of motion beside walls."""
        tiling = self.tiling
        return {
            "information": max(0.0, 100 * self._kept / self._whole) if self._whole > 0 else 100.0,
            "frames": tiling.frames,
            "rows": tiling.rows,
            "columns": tiling.columns,
            "patches": len(tiling.patches),
            "overlap_pixels": int((tiling.coverage > 1).sum()),
            "gap_pixels": int(((tiling.coverage == 0) & tiling.free).sum()),
            "wall_pixels": tiling.rows * tiling.columns - int(tiling.free.sum()),
            "through_walls": self._crossed / max(self._blocks, 1),
        }
