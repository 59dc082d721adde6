"""What is inside a flow: derivatives, events, path lines, and its parts (Courty 2013, section 7.1.1).

Differences never look behind a wall: central where both neighbours count, one-sided where one does, nothing
where none does. In image axes (u right, v down) positive vorticity turns clockwise as seen. Events are
connected regions of space and time where divergence or vorticity stands out; turns also need rotation to
prevail over strain (Okubo 1970, Weiss 1991). Lines are classical Runge–Kutta steps of one frame in the
image, bilinear in space, linear in time (Courty & Corpetti 2007, section 4.1). Cost: a few passes over the
series; 0.2 µs a point and frame of a line.

The parts: v = grad(potential) + rot(stream) + harmonic. Velocities are at pixels, potential and stream at
pixel corners. Summed over pixels, the product of a gradient with a rotational field is then a sum over wall
edges alone, so the parts are orthogonal to rounding, whatever the mask (Bhatia et al. 2013 survey the
separation). The rotational part does not cross walls (the stream is constant on each); the border of the
image is open: there potential and stream are zero, and what passes through is in the harmonic part, as all
uniform motion is. One sparse factorisation a mask, then two solves a frame: about 10 ms for 80 × 60 pixels.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal, SupportsFloat

import numpy as np
from numpy.typing import ArrayLike

from marey import _work
from marey._arrays import AnyArray, Array, BoolArray, FloatArray, Integers, assign, checked, read_only
from marey.crowd.fields import UNKNOWN, FieldSeries
from marey.crowd.spectrum import error_curve
from marey.errors import InputError

if TYPE_CHECKING:
    from scipy.sparse import csc_matrix, csr_matrix
    from scipy.sparse.linalg import SuperLU


def divergence(velocities: AnyArray, mask: BoolArray | None = None) -> AnyArray:
    """`du/dx + dv/dy` per frame, `(…, rows, columns)`, of velocities `(…, rows, columns, 2)`.

    >>> y, x = np.mgrid[:4, :5]
    >>> float(divergence(np.stack([x, y], axis=-1).astype(float)).min())
    2.0
    """
    u, v = velocities[..., 0], velocities[..., 1]
    return along_columns(u, mask) + along_rows(v, mask)


def vorticity(velocities: AnyArray, mask: BoolArray | None = None) -> AnyArray:
    """`dv/dx - du/dy` per frame, `(…, rows, columns)`; positive = clockwise as seen in the image.

    >>> y, x = np.mgrid[:4, :5]
    >>> float(vorticity(np.stack([-y, x], axis=-1).astype(float)).max())
    2.0
    """
    u, v = velocities[..., 0], velocities[..., 1]
    return along_columns(v, mask) - along_rows(u, mask)


def okubo_weiss(velocities: AnyArray, mask: BoolArray | None = None) -> AnyArray:
    """Strain squared less vorticity squared, `(…, rows, columns)`: negative where rotation prevails.

    >>> y, x = np.mgrid[:4, :5]
    >>> float(okubo_weiss(np.stack([-y, x], axis=-1).astype(float)).max())
    -4.0
    """
    u, v = velocities[..., 0], velocities[..., 1]
    ux, uy = along_columns(u, mask), along_rows(u, mask)
    vx, vy = along_columns(v, mask), along_rows(v, mask)
    return np.asarray((ux - vy) ** 2 + (vx + uy) ** 2 - (vx - uy) ** 2)


def along_columns(values: AnyArray, mask: BoolArray | None = None) -> AnyArray:
    """Derivative to the right of `(…, rows, columns)`; 0 outside the mask."""
    steps = values[..., 1:] - values[..., :-1]
    known = np.ones(values.shape[-2:], np.bool_) if mask is None else mask
    both = known[:, 1:] & known[:, :-1]
    total, count = np.zeros_like(values), np.zeros(known.shape, dtype=values.dtype)
    steps = steps * both
    total[..., :-1] += steps
    total[..., 1:] += steps
    count[:, :-1] += both
    count[:, 1:] += both
    return np.asarray(total / np.maximum(count, 1))


def along_rows(values: AnyArray, mask: BoolArray | None = None) -> AnyArray:
    """Derivative downwards of `(…, rows, columns)`; 0 outside the mask."""
    turned = along_columns(np.swapaxes(values, -1, -2), None if mask is None else mask.T)
    return np.swapaxes(turned, -1, -2)


Kind = Literal["source", "sink", "clockwise", "anticlockwise"]


@dataclass(frozen=True)
class Event:
    """A region where people part (source), meet (sink) or turn.

    Attributes:
        name: Kind and rank by strength, "sink 1".
        kind: What happens; turns as seen in the image.
        frame: When it is strongest.
        row: Where it is strongest.
        column: Where it is strongest.
        strength: Divergence or vorticity there, per frame.
        radius: Pixels, of a disk as large as the region in that frame.
        first: Frame from which it lasts.
        last: Frame to which it lasts.
    """

    name: str
    kind: Kind
    frame: int
    row: int
    column: int
    strength: float
    radius: float
    first: int
    last: int


def find_events(fields: FieldSeries, *, most: int = 20, threshold: float | None = None) -> list[Event]:
    """The events of a series smoothed over 0.2 s and a pixel, strongest first.

    Args:
        fields: The series.
        most: Events of each kind.
        threshold: Per frame, what divergence or vorticity must exceed; if None, four robust standard
            deviations of the quantity over the series, and a tenth of its largest value.

    >>> y, x = np.mgrid[:20, :30] - np.array([10, 12]).reshape(2, 1, 1)
    >>> out = np.stack([x, y], axis=-1) * np.exp(-(x**2 + y**2) / 8.0)[..., None]
    >>> events = find_events(FieldSeries(np.tile(out, (5, 1, 1, 1)), 25))
    >>> events[0].kind, events[0].row, events[0].column
    ('source', 10, 12)
    """
    from scipy.ndimage import gaussian_filter

    blur = (0.2 * fields.frame_rate if fields.frames > 1 else 0.0, 1.0, 1.0, 0.0)
    smooth = gaussian_filter(fields.velocities.astype(np.float64), blur, mode="nearest")
    turning = vorticity(smooth, fields.mask)
    turning = np.where(okubo_weiss(smooth, fields.mask) < 0, turning, 0.0)
    spreading = divergence(smooth, fields.mask)
    found: list[Event] = []
    for values, kind in (
        (spreading, "source"),
        (-spreading, "sink"),
        (turning, "clockwise"),
        (-turning, "anticlockwise"),
    ):
        found += _regions(values, kind, most, threshold)  # type: ignore[arg-type]
    return sorted(found, key=lambda event: -abs(event.strength))


def _regions(values: Array, kind: Kind, most: int, threshold: float | None) -> list[Event]:
    from scipy import ndimage

    if threshold is None:
        spread = 1.4826 * float(np.median(np.abs(values)))
        threshold = max(4.0 * spread, 0.1 * float(values.max()), 1e-9)
    labels, count = ndimage.label(values > threshold)
    if not count:
        return []
    numbers = np.arange(1, count + 1)
    peaks = np.asarray(ndimage.maximum(values, labels, numbers))
    boxes = ndimage.find_objects(labels)
    events = []
    for rank, index in enumerate(np.argsort(-peaks, kind="stable")[:most], start=1):
        box = boxes[index]
        inside = labels[box[0]] == index + 1
        frame, row, column = np.unravel_index(
            int(np.where(inside, values[box[0]], -np.inf).argmax()), inside.shape
        )
        sign = -1.0 if kind in ("sink", "anticlockwise") else 1.0
        events.append(
            Event(
                f"{kind} {rank}",
                kind,
                int(frame) + box[0].start,
                int(row),
                int(column),
                sign * float(peaks[index]),
                float(np.sqrt(inside[frame].sum() / np.pi)),
                box[0].start,
                box[0].stop - 1,
            )
        )
    return events


def path_lines(fields: FieldSeries, starts: ArrayLike, *, first: int = 0, frames: int | None = None) -> Array:
    """Paths `(frames + 1, points, 2)`, (column, row), from `starts` `(points, 2)`; NaN once outside.

    Args:
        fields: The series.
        starts: Pixels (column, row).
        first: The frame at which they start.
        frames: How many frames they last; to the end of the series if None.

    >>> east = FieldSeries(np.full((3, 5, 9, 2), [2.0, 0.0]), 25)
    >>> path_lines(east, [[1.0, 2.0]])[:, 0].tolist()
    [[1.0, 2.0], [3.0, 2.0], [5.0, 2.0], [7.0, 2.0]]
    """
    span = _span(fields, first, frames)
    return np.stack(
        [points.copy() for points in _carried(fields, checked("starts", starts, (None, 2)), span)]
    )


def streak_lines(
    fields: FieldSeries, starts: ArrayLike, *, first: int = 0, frames: int | None = None
) -> Array:
    """Where everything is at last that left `starts` in each frame: `(frames + 1, points, 2)`, latest last.

    >>> east = FieldSeries(np.full((3, 5, 9, 2), [2.0, 0.0]), 25)
    >>> streak_lines(east, [[1.0, 2.0]])[:, 0].tolist()
    [[7.0, 2.0], [5.0, 2.0], [3.0, 2.0], [1.0, 2.0]]
    """
    origin, span = checked("starts", starts, (None, 2)), _span(fields, first, frames)
    thread = np.tile(origin, (len(span) + 1, 1, 1))
    for released, points in enumerate(_carried(fields, thread.reshape(-1, 2), span)):
        thread = points.reshape(thread.shape)
        # Those still to leave.
        thread[released:] = origin
    return thread


def grid_points(fields: FieldSeries, across: int) -> Array:
    """Points `(n, 2)`, (column, row), evenly over the pixels that count, `across` of them in a row."""
    if across < 1:
        raise InputError(f"across: at least 1 point in a row, not {across}")
    spacing = fields.columns / across
    down = max(1, round(fields.rows / spacing))
    columns = (np.arange(across) + 0.5) * fields.columns / across - 0.5
    rows = (np.arange(down) + 0.5) * fields.rows / down - 0.5
    points = np.stack(np.meshgrid(columns, rows), axis=-1).reshape(-1, 2)
    if fields.mask is None:
        return points
    column, row = np.rint(points).astype(int).T
    return np.asarray(points[fields.mask[row, column]])


def _span(fields: FieldSeries, first: int, frames: int | None) -> range:
    if not 0 <= first < fields.frames or (frames is not None and frames < 0):
        raise InputError(f"{frames} frames from frame {first} on: the series has {fields.frames}")
    return range(first, fields.frames if frames is None else min(first + frames, fields.frames))


def _carried(fields: FieldSeries, starts: Array, span: range) -> Iterator[Array]:
    """Points `(points, 2)` at the first of the frames and after each of them; they may be changed."""
    from marey.crowd.animation.agents import Agents, AgentSettings
    from marey.crowd.animation.ground import WALKABLE, Flow, WalkableGround

    image = replace(fields, homography=np.eye(3))
    # Points end at obstacles, where agents would pass by.
    ground = WalkableGround.of(image)
    agents = Agents(Flow.of(replace(image, mask=None)), starts, AgentSettings())
    yield agents.positions
    for frame in span:
        agents.step(frame / fields.frame_rate, (frame + 1) / fields.frame_rate)
        agents.positions[ground.under(agents.positions) != WALKABLE] = np.nan
        yield agents.positions


# Shares of the temporal frequencies whose energy is given, and frames whose derivatives are computed.
SHARES, SAMPLED_FRAMES = (0.01, 0.05, 0.1), 400


def summary(fields: FieldSeries) -> dict[str, object]:
    """Sizes, speeds (pixels a frame), direction, derivatives and compressibility of velocity fields."""
    inside = slice(None) if fields.mask is None else fields.mask
    speed = np.concatenate(
        [np.hypot(v[..., 0], v[..., 1])[inside].ravel() for v in fields.velocities[:: _step(fields)]]
    )
    speed = speed if len(speed) else np.zeros(1)
    mean = fields.velocities.mean(axis=0, dtype=np.float64)[inside].reshape(-1, 2)
    drift = mean.mean(axis=0) if len(mean) else np.zeros(2)
    sample = fields.velocities[:: _step(fields)].astype(np.float64)
    curve = error_curve(fields)
    return {
        "frames": fields.frames,
        "rows": fields.rows,
        "columns": fields.columns,
        "frame_rate": fields.frame_rate,
        "duration": round(fields.duration, 6),
        "raw_bytes": 8 * fields.frames * fields.rows * fields.columns,
        "masked_share": None if fields.mask is None else _rounded(1 - fields.mask.mean()),
        "calibrated": fields.homography is not None,
        "speed": {
            "mean": _rounded(speed.mean()),
            "median": _rounded(np.median(speed)),
            "p99": _rounded(np.quantile(speed, 0.99)),
            "max": _rounded(speed.max()),
        },
        # 0 is to the right, 90 downwards in the image.
        "direction_degrees": _rounded(np.degrees(np.arctan2(drift[1], drift[0]))) if drift.any() else None,
        "drift": [_rounded(part) for part in drift],
        "divergence": _extremes(divergence(sample, fields.mask)),
        "vorticity": _extremes(vorticity(sample, fields.mask)),
        "information": {
            f"{share:.0%}": round(100 * (1 - curve[max(1, round(share * fields.frames)) - 1]), 3)
            for share in SHARES
        },
        "foreground_share": _foreground_share(fields),
    }


def _foreground_share(fields: FieldSeries) -> float | None:
    """Over where foreground is known."""
    known = np.empty(0) if fields.foreground is None else fields.foreground[fields.foreground != UNKNOWN]
    return _rounded(known.mean() / 255) if known.size else None


def _step(fields: FieldSeries) -> int:
    return -(-fields.frames // SAMPLED_FRAMES)


def _extremes(values: AnyArray) -> dict[str, float]:
    return {"min": _rounded(values.min()), "max": _rounded(values.max())}


def _rounded(value: SupportsFloat) -> float:
    return round(float(value), 5)


@dataclass(frozen=True)
class Parts:
    """Parts of velocities `(…, rows, columns, 2)`, derived from `(…, rows+1, columns+1)` at corners."""

    compression: Array
    rotation: Array
    harmonic: Array
    potential: Array
    stream: Array

    def combined(self, *, compression: float = 1.0, rotation: float = 1.0, harmonic: float = 1.0) -> Array:
        """The parts put together again with a gain for each."""
        return compression * self.compression + rotation * self.rotation + harmonic * self.harmonic


@dataclass(frozen=True, eq=False)
class Helmholtz:
    """The separation on one pixel grid with walls; made once, used for all frames.

    Attributes:
        mask: `(rows, columns)`, False where walls are.

    >>> y, x = np.mgrid[:12, :16]
    >>> y, x = y - 5.5, x - 7.5
    >>> swirl = np.stack([-y, x], axis=-1) * np.exp(-(x**2 + y**2) / 9)[..., None]
    >>> parts = Helmholtz(np.ones((12, 16), bool)).split(swirl)
    >>> bool(np.allclose(parts.combined(), swirl)), float((parts.rotation**2).sum() / (swirl**2).sum()) > 0.99
    (True, True)
    """

    mask: BoolArray
    _gradient: _Derivative = field(init=False, repr=False)
    _rotation: _Derivative = field(init=False, repr=False)

    def __post_init__(self) -> None:
        mask = checked("mask", self.mask, (None, None), dtype=np.bool_)
        if not mask.any():
            raise InputError("mask: no pixel is free")
        gradient, rotation = _derivatives(mask)
        assign(self, mask=mask, _gradient=gradient, _rotation=rotation)

    def split(self, velocities: FloatArray) -> Parts:
        """Velocities `(rows, columns, 2)` or `(frames, rows, columns, 2)` as their parts; zero on walls."""
        given = np.asarray(velocities, dtype=np.float64)
        if given.shape[-3:] != (*self.mask.shape, 2):
            raise InputError(f"velocities {given.shape}: expected (…, {self.mask.shape}, 2)")
        flat = given.reshape(-1, *given.shape[-3:])[:, self.mask]
        vectors = np.ascontiguousarray(flat.transpose(2, 1, 0).reshape(-1, len(flat)))
        potential, stream = self._gradient.inverse(vectors), self._rotation.inverse(vectors)
        compression, rotation = self._gradient.matrix @ potential, self._rotation.matrix @ stream
        harmonic = vectors - compression - rotation
        rows, columns = self.mask.shape
        corners = (*given.shape[:-3], rows + 1, columns + 1)
        return Parts(
            self._pixels(compression, given.shape),
            self._pixels(rotation, given.shape),
            self._pixels(harmonic, given.shape),
            (self._gradient.scatter @ potential).T.reshape(corners),
            (self._rotation.scatter @ stream).T.reshape(corners),
        )

    def _pixels(self, vectors: Array, shape: tuple[int, ...]) -> Array:
        found = np.zeros((vectors.shape[1], *self.mask.shape, 2))
        found[:, self.mask] = vectors.reshape(2, -1, vectors.shape[1]).transpose(2, 1, 0)
        return found.reshape(shape)


def split(fields: FieldSeries) -> Parts:
    """The parts of all frames of a series; its mask is its walls."""
    return Helmholtz(fields.valid).split(fields.velocities)


def with_gains(fields: FieldSeries, *, compression: float = 1.0, rotation: float = 1.0) -> FieldSeries:
    """A series whose compression and rotation are stronger or weaker; uniform motion stays.

    >>> import marey
    >>> field = marey.samples.field()[:2].crop(slice(0, 20), slice(0, 30))
    >>> bool(np.allclose(with_gains(field).velocities, field.velocities))
    True
    """
    for part, gain in (("compression", compression), ("rotation", rotation)):
        if not abs(gain) <= 1000:
            raise InputError(f"{part} {gain:g}: a gain from -1000 to 1000, 1 is as it is")
    walls = Helmholtz(fields.valid)
    changed = np.array(fields.velocities)
    for block in _work.blocks(fields.frames, 16 * fields.rows * fields.columns):
        parts = walls.split(fields.velocities[block])
        change = (compression - 1.0) * parts.compression + (rotation - 1.0) * parts.rotation
        changed[block] += change.astype(changed.dtype)
    return replace(fields, velocities=read_only(changed))


@dataclass(frozen=True)
class _Derivative:
    """A derivative from unknowns to velocities of the free pixels, and its least-squares inverse.

    Attributes:
        matrix: `(2 pixels, unknowns)`.
        scatter: Unknowns to corners.
        normal: The normal equations.
        factors: Theirs; None without unknowns.
    """

    matrix: csr_matrix
    scatter: csr_matrix
    normal: csc_matrix
    factors: SuperLU | None

    @classmethod
    def of(cls, matrix: csr_matrix, group: Integers) -> _Derivative:
        """That of a matrix `(2 pixels, corners)`; corners of one group share an unknown, -1 = zero."""
        from scipy import sparse
        from scipy.sparse.linalg import splu

        corners = np.flatnonzero(group >= 0)
        known, unknown = np.unique(group[corners], return_inverse=True)
        ones = np.ones(len(corners))
        scatter = sparse.csr_matrix((ones, (corners, unknown)), shape=(len(group), len(known)))
        derivative = (matrix @ scatter).tocsr()
        normal = (derivative.T @ derivative).tocsc()
        if not len(known):
            return cls(derivative, scatter, normal, None)
        # Regular where a potential is free up to a constant; refinement takes the shift out again.
        shifted = (normal + 1e-10 * sparse.identity(len(known))).tocsc()
        factors = splu(shifted, permc_spec="MMD_AT_PLUS_A", options={"SymmetricMode": True})
        return cls(derivative, scatter, normal, factors)

    def inverse(self, vectors: Array) -> Array:
        """The unknowns whose derivative is nearest to `vectors` `(2 pixels, frames)`."""
        found = self._solve(self.matrix.T @ vectors)
        return found + self._solve(self.matrix.T @ (vectors - self.matrix @ found))

    def _solve(self, right: Array) -> Array:
        if self.factors is None or not right.size:
            return np.zeros(right.shape)
        found = self.factors.solve(right)
        for _ in range(2):
            found += self.factors.solve(right - self.normal @ found)
        return np.asarray(found)


def _derivatives(mask: BoolArray) -> tuple[_Derivative, _Derivative]:
    """Gradient of a potential and rotated gradient of a stream, both at pixel corners."""
    from scipy import sparse

    rows, columns = mask.shape
    row, column = np.nonzero(mask)
    corner = row * (columns + 1) + column
    # Corners clockwise from the upper left, and the signs of the two averaged differences.
    around = np.stack([corner, corner + 1, corner + columns + 2, corner + columns + 1], axis=1)
    pixels = np.repeat(np.arange(len(row)), 4)
    size = (len(row), (rows + 1) * (columns + 1))
    right, down = (
        sparse.csr_matrix((np.tile(signs, len(row)) / 2, (pixels, around.ravel())), shape=size)
        for signs in ([-1.0, 1.0, 1.0, -1.0], [-1.0, -1.0, 1.0, 1.0])
    )
    border = np.zeros((rows + 1, columns + 1), dtype=np.bool_)
    border[[0, -1]] = border[:, [0, -1]] = True
    inner = ~border.ravel()
    inner &= np.isin(np.arange(border.size), around)
    free = np.where(inner, np.arange(border.size), -1)
    gradient = _Derivative.of(sparse.vstack([right, down]).tocsr(), free)
    stream = _stream_groups(mask, free, border.ravel())
    return gradient, _Derivative.of(sparse.vstack([down, -right]).tocsr(), stream)


def _stream_groups(mask: BoolArray, free: Integers, border: BoolArray) -> Integers:
    """Which unknown each corner's stream is: its own inside, one for each wall, none where it is zero."""
    from scipy import ndimage

    group = free.copy()
    walls, count = ndimage.label(~mask, structure=np.ones((3, 3)))
    rows, columns = mask.shape
    wall = np.zeros((rows + 1, columns + 1), dtype=np.int64)
    for down in (0, 1):
        for right in (0, 1):
            corner = wall[down : rows + down, right : columns + right]
            np.maximum(corner, walls, out=corner)
    for number in range(1, count + 1):
        corners = np.flatnonzero(wall.ravel() == number)
        group[corners] = -1 if border[corners].any() else corners[0]
    return group
