"""What a captured flow says about a place, against true tracks: spread, turning, flux, circulation, outflow.

Velocities of people within reach, in space and time, are averaged by a kernel on the ground; those of the
field at the same people's places pass through the same kernel, so that the two differ by the field alone.
Divergence and vorticity (Courty & Corpetti 2007, section 3.1) are differences of these averages; flux is the
integral of presence times velocity across a line, circulation and outflow those along and out of a loop.
Each error is relative: 1 is that of a field without motion. Cost: a blur of cells of 25 cm every half second.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from marey._arrays import Array, BoolArray, checked
from marey._report import Report
from marey.crowd import cameras
from marey.crowd.animation.ground import WALKABLE, Flow
from marey.crowd.fields import UNKNOWN, FieldSeries
from marey.crowd.tracks import Tracks
from marey.errors import InputError


@dataclass(frozen=True, kw_only=True)
class FlowSettings:
    """How flows are averaged and where they are measured.

    Attributes:
        width: Standard deviation of the kernel, metres.
        seconds: Length of the box in time.
        density: People per square metre from which a cell counts.
        spacing: Width of a cell, metres.
        radii: Of the loops laid over the ground, metres.
        apart: Metres between their centres, and between lines.
        covered: Share of a loop or line that must lie in cells that count.
    """

    width: float = 1.0
    seconds: float = 0.5
    density: float = 0.2
    spacing: float = 0.25
    radii: tuple[float, ...] = (2.0, 3.0, 4.0)
    apart: float = 2.0
    covered: float = 0.95


SETTINGS = FlowSettings()


@dataclass(frozen=True)
class FlowErrors(Report):
    """Root mean square errors over those of the truth; None where nothing could be measured.

    Attributes:
        divergence, vorticity: Of the kernel average.
        flux: Of presence across lines of 4 m.
        circulation: Round loops.
        outflow: Out of them.
        no_motion: The same for a field without motion.
        flux_m2_s, circulation_m2_s, outflow_m2_s: What was measured for given lines and loops: true, found.
    """

    divergence: float | None
    vorticity: float | None
    flux: float | None
    circulation: float | None
    outflow: float | None
    no_motion: float
    flux_m2_s: list[tuple[float, float]]
    circulation_m2_s: list[tuple[float, float]]
    outflow_m2_s: list[tuple[float, float]]


def flow_errors(
    fields: FieldSeries, truth: Tracks, *, lines: Sequence[ArrayLike] = (), loops: Sequence[ArrayLike] = ()
) -> FlowErrors | None:
    """Errors of a field with a camera against true tracks; None where too few people are in the image.

    Args:
        fields: With a homography; frame 0 is that of the truth.
        truth: Where people truly went.
        lines: `(points, 2)` metres each; if neither lines nor loops are given, they are laid everywhere.
        loops: `(corners, 2)` metres each, counter-clockwise.

    >>> from marey.crowd.cameras import orthographic
    >>> east = FieldSeries(np.full((30, 60, 80, 2), [1.0, 0.0]), 10, homography=orthographic(0.1))
    >>> start = np.stack(np.meshgrid(np.arange(1, 4, 0.5), -np.arange(1, 5, 0.5)), -1).reshape(1, -1, 2)
    >>> path = start + np.arange(30)[:, None, None] * [0.1, 0.0]
    >>> flow_errors(east, Tracks(path, 10)).flux < 1e-6
    True
    """
    if fields.homography is None:
        raise InputError("fields: they have no homography, so there are no metres to compare in")
    averages = _Averages.of(fields, truth)
    if averages is None:
        return None
    true, found, where = averages.true, averages.found, averages.where
    errors: dict[str, float | None] = {}
    inner = where[:, 2:, 1:-1] & where[:, :-2, 1:-1] & where[:, 1:-1, 2:] & where[:, 1:-1, :-2]
    for name, sign in (("divergence", 1), ("vorticity", -1)):
        slopes = [_slopes(field, sign) for field in (true, found)]
        errors[name] = _relative(slopes[0][inner], slopes[1][inner])
    given = bool(lines or loops)
    straight = [checked(f"line {n}", line, (None, 2)) for n, line in enumerate(lines)]
    round_ = [checked(f"loop {n}", loop, (None, 2)) for n, loop in enumerate(loops)]
    if not given:
        straight, round_ = averages.lines(), averages.loops()
    across = [averages.along(line, closed=False, weighted=True) for line in straight]
    about = [averages.along(loop, closed=True) for loop in round_]
    flux = _kept([sums[1] for sums in across], given)
    circulation, outflow = (_kept([sums[k] for sums in about], given) for k in (0, 1))
    for name, pairs in (("flux", flux), ("circulation", circulation), ("outflow", outflow)):
        errors[name] = _relative(*np.reshape(pairs, (-1, 2)).T)
    shown = [[(float(a), float(b)) for a, b in pairs if given] for pairs in (flux, circulation, outflow)]
    return FlowErrors(
        **errors,
        no_motion=1.0,
        flux_m2_s=shown[0],
        circulation_m2_s=shown[1],
        outflow_m2_s=shown[2],
    )


@dataclass(frozen=True, eq=False)
class _Averages:
    """Kernel averages m/s `(times, rows, columns, 2)` on cells of the ground, row 0 at the lowest y."""

    low: Array
    true: Array
    found: Array
    where: BoolArray
    presence: Array

    @classmethod
    def of(cls, fields: FieldSeries, truth: Tracks) -> _Averages | None:
        from scipy.ndimage import gaussian_filter

        flow = Flow.of(fields)
        positions, velocities = np.asarray(truth.positions, np.float64), truth.velocities()
        length = min(fields.duration, (truth.frames - 1) / truth.frame_rate)
        frames = np.arange(int(length * truth.frame_rate))
        inside = np.stack([flow.ground.under(positions[frame]) == WALKABLE for frame in frames])
        inside &= np.isfinite(velocities[: len(frames)]).all(axis=-1)
        if not inside.any():
            return None
        places = positions[: len(frames)][inside]
        spacing = SETTINGS.spacing
        low = places.min(axis=0) - spacing
        columns, rows = ((places.max(axis=0) - low) / spacing).astype(int) + 2
        span = max(1, round(SETTINGS.seconds * truth.frame_rate))
        averages: list[tuple[Any, ...]] = []
        for begin in range(0, len(frames) - span + 1, span):
            sums = np.zeros((5, rows * columns))
            for frame in range(begin, begin + span):
                who = inside[frame]
                here = positions[frame, who]
                values = [velocities[frame, who], field_velocities(flow, frame / truth.frame_rate, here)]
                column, row = ((here - low) / spacing).astype(int).T
                cells = row * columns + column
                sums[0] += np.bincount(cells, minlength=rows * columns)
                for k, part in enumerate(np.concatenate(values, axis=1).T, 1):
                    sums[k] += np.bincount(cells, part, minlength=rows * columns)
            planes = sums.reshape(5, rows, columns)
            smooth = [gaussian_filter(part, SETTINGS.width / spacing, mode="constant") for part in planes]
            density = smooth[0] / (span * spacing**2)
            means = np.stack(smooth[1:], axis=-1) / np.maximum(smooth[0], 1e-12)[..., None]
            seen = flow.foreground((begin + 0.5 * span) / truth.frame_rate)
            averages.append((means[..., :2], means[..., 2:], density > SETTINGS.density, seen))
        if not averages:
            return None
        true, found, where = (np.stack(parts) for parts in list(zip(*averages, strict=True))[:3])
        return cls(low, true, found, where, _presence(flow, low, (rows, columns), [a[3] for a in averages]))

    def along(
        self, points: Array, *, closed: bool, weighted: bool = False
    ) -> tuple[Array | None, Array | None]:
        """Integrals m²/s along a path and across it, to its right: mean over time of the true, the found.

        None where the path leaves the cells that count.
        """
        from scipy.ndimage import map_coordinates

        corners = np.concatenate([points, points[:1]]) if closed else points
        middle, step = [], []
        for first, last in pairwise(corners):
            count = max(1, int(np.ceil(np.linalg.norm(last - first) / SETTINGS.spacing)))
            middle.append(first + (np.arange(count)[:, None] + 0.5) / count * (last - first))
            step.append(np.tile((last - first) / count, (count, 1)))
        at = ((np.concatenate(middle) - self.low) / SETTINGS.spacing - 0.5).T[::-1]
        steps = np.concatenate(step)
        sums, count = np.zeros((2, 2)), 0
        for true, found, where, presence in zip(
            self.true, self.found, self.where, self.presence, strict=True
        ):
            covered = map_coordinates(where.astype(float), at, order=1)
            if covered.mean() < SETTINGS.covered:
                continue
            count += 1
            share = map_coordinates(presence, at, order=1) if weighted else 1.0
            for k, field in enumerate((true, found)):
                u, v = (map_coordinates(part, at, order=1) * share for part in np.moveaxis(field, -1, 0))
                sums[0, k] += np.sum(u * steps[:, 0] + v * steps[:, 1])
                sums[1, k] += np.sum(u * steps[:, 1] - v * steps[:, 0])
        return (sums[0] / count, sums[1] / count) if count else (None, None)

    def loops(self) -> list[Array]:
        """Circles wherever there is room."""
        turn = np.linspace(0, 2 * np.pi, 49)[:-1]
        ring = np.stack([np.cos(turn), np.sin(turn)], axis=-1)
        return [centre + radius * ring for radius in SETTINGS.radii for centre in self._centres()]

    def lines(self) -> list[Array]:
        """Lines of 4 m across x and y."""
        half = [np.array([0.0, 2.0]), np.array([2.0, 0.0])]
        return [np.stack([centre - one, centre + one]) for one in half for centre in self._centres()]

    def _centres(self) -> Array:
        rows, columns = self.where.shape[1:]
        step = SETTINGS.apart
        x, y = np.meshgrid(
            np.arange(step, columns * SETTINGS.spacing, step), np.arange(step, rows * SETTINGS.spacing, step)
        )
        return np.asarray(self.low + np.stack([x.ravel(), y.ravel()], axis=-1), np.float64)


def _presence(flow: Flow, low: Array, cells: tuple[int, int], seen: list[Any]) -> Array:
    """How much of each cell is people, 0 to 1, `(times, rows, columns)`; 1 where the field does not tell."""
    if any(one is None for one in seen):
        return np.ones((len(seen), *cells))
    row, column = np.mgrid[: cells[0], : cells[1]]
    points = (low + (np.stack([column, row], axis=-1) + 0.5) * SETTINGS.spacing).reshape(-1, 2)
    unknown = np.float32(UNKNOWN / 255)
    shares = [np.where(np.isclose(one, unknown), 1.0, one) for one in seen]
    return np.asarray([flow.ground.at(share, points).reshape(cells) for share in shares], np.float64)


def field_velocities(flow: Flow, seconds: float, points: Array) -> Array:
    """Metres per second `(people, 2)` of the field at points `(people, 2)` metres."""
    from scipy.ndimage import map_coordinates

    pixels = cameras.apply(flow.ground.to_pixel, points)
    at, motion = pixels.T[::-1], np.moveaxis(flow.at(seconds), -1, 0)
    u, v = (map_coordinates(part, at, order=1, mode="nearest") for part in motion)
    moved: Array = cameras.ground_velocities(
        flow.ground.to_ground, pixels, np.stack([u, v], axis=-1), frame_rate=flow.fields.frame_rate
    )
    return moved


def _slopes(field: Array, sign: int) -> Array:
    """Divergence (1) or vorticity (-1) of `(times, rows, columns, 2)` in the inner cells."""
    a, b = (0, 1) if sign > 0 else (1, 0)
    along_x = field[:, 1:-1, 2:, a] - field[:, 1:-1, :-2, a]
    along_y = field[:, 2:, 1:-1, b] - field[:, :-2, 1:-1, b]
    return np.asarray((along_x + sign * along_y) / (2 * SETTINGS.spacing))


def _kept(pairs: list[Array | None], given: bool) -> list[Array]:
    if given and any(pair is None for pair in pairs):
        raise InputError("lines and loops: one of them lies where hardly anybody walks in the image")
    return [pair for pair in pairs if pair is not None]


def _relative(true: Array, found: Array) -> float | None:
    size = float(np.sum(np.square(true)))
    return float(np.sqrt(np.sum(np.square(found - true)) / size)) if size > 0 else None
