"""Captured fields against the truth, and the similarity of flows of different times.

The endpoint and angular errors are those of Baker et al., "A Database and Evaluation Methodology for Optical
Flow", 2011; divergence and vorticity are what crowds are about (Courty & Corpetti 2007, section 3.1).
Section 6 proposes to compare simulators with reality through their flows, and leaves open how. Here: angle
and endpoint where both have people, how differently speeds and directions are distributed (Jensen–Shannon),
how the motion is spread over frequencies, and where people are; the two need not be of one moment or length.
Cost: a few passes over the pixels and a Fourier transform in time.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, fields, replace

import numpy as np
from numpy.typing import ArrayLike

from marey._arrays import Array, BoolArray, FloatArray
from marey._report import Report
from marey.crowd.analysis import divergence, vorticity
from marey.crowd.animation.agents import BODY_RADIUS
from marey.crowd.evaluation.pedestrians import (
    crowd_errors,
    direction_histogram,
    flow_deviation,
    jensen_shannon,
    overlaps,
    speed_histogram,
    trajectory_errors,
)
from marey.crowd.fields import UNKNOWN, FieldSeries, on_grid, pixel_map
from marey.crowd.simulation.simulate import SimulatedCrowd
from marey.crowd.tracks import Tracks
from marey.errors import InputError, MareyWarning


@dataclass(frozen=True)
class FieldErrors(Report):
    """Over the pixels that count, of all frames.

    Attributes:
        endpoint: Mean length of the difference, pixels per frame.
        angular_degrees: Mean angle between `(u, v, 1)` vectors.
        divergence: Root mean square of the difference, per frame.
        vorticity: As `divergence`.
        relative_divergence: The same, over that of the truth; NaN if that has none.
        relative_vorticity: As `relative_divergence`.
        pixels: How many were counted.
    """

    endpoint: float
    angular_degrees: float
    divergence: float
    vorticity: float
    relative_divergence: float
    relative_vorticity: float
    pixels: int


def field_errors(estimated: ArrayLike, true: ArrayLike, mask: ArrayLike | None = None) -> FieldErrors:
    """Errors of fields against the true ones, both in pixels per frame.

    Args:
        estimated: Fields `([frames,] rows, columns, 2)`.
        true: As many of the same size.
        mask: `([frames,] rows, columns)`, True where pixels count. Divergence and vorticity count where the
            four neighbours do too.

    >>> still, moving = np.zeros((4, 5, 2)), np.full((4, 5, 2), [1.0, 0.0])
    >>> errors = field_errors(still, moving)
    >>> errors.endpoint, round(errors.angular_degrees, 6), errors.divergence
    (1.0, 45.0, 0.0)
    """
    sums = ErrorSums()
    for one, other, where in zip(*_checked(estimated, true, mask), strict=True):
        sums.add(one, other, where)
    return sums.errors()


class ErrorSums:
    """Errors of fields that come one by one: :meth:`add` each, then ask for the :meth:`errors`."""

    def __init__(self) -> None:
        self._endpoint = self._angle = 0.0
        self._pixels = self._stencils = 0
        self._squares = np.zeros((2, 2))

    def add(self, estimated: FloatArray, true: FloatArray, mask: BoolArray) -> None:
        """Fields `(rows, columns, 2)` and the pixels `(rows, columns)` that count."""
        from scipy.ndimage import binary_erosion

        one = np.where(mask[..., None], estimated, 0.0).astype(np.float64)
        other = np.where(mask[..., None], true, 0.0).astype(np.float64)
        self._endpoint += float(endpoint_map(one, other)[mask].sum())
        self._angle += float(angle_map(one, other)[mask].sum())
        self._pixels += int(mask.sum())
        # Pixels whose four neighbours count too.
        inner = binary_erosion(mask)
        self._stencils += int(inner.sum())
        for row, field in enumerate((one - other, other)):
            for column, part in enumerate((divergence(field), vorticity(field))):
                self._squares[row, column] += np.sum(part[inner] ** 2)

    def errors(self) -> FieldErrors:
        """Of all that was added."""
        if self._pixels == 0:
            raise InputError("fields: the mask leaves no pixel to compare")
        absolute = np.sqrt(self._squares[0] / self._stencils) if self._stencils else np.full(2, np.nan)
        truth = np.where(self._squares[1] > 0, self._squares[1], np.nan)
        relative = np.sqrt(self._squares[0] / truth)
        return FieldErrors(
            self._endpoint / self._pixels,
            self._angle / self._pixels,
            float(absolute[0]),
            float(absolute[1]),
            float(relative[0]),
            float(relative[1]),
            self._pixels,
        )


def endpoint_map(estimated: FloatArray, true: FloatArray) -> Array:
    """Length of the difference `(..., rows, columns)`, pixels per frame."""
    return np.asarray(np.hypot(estimated[..., 0] - true[..., 0], estimated[..., 1] - true[..., 1]))


def angle_map(estimated: FloatArray, true: FloatArray) -> Array:
    """Angle between `(u, v, 1)` vectors `(..., rows, columns)`, degrees."""
    a, b, c, d = estimated[..., 0], estimated[..., 1], true[..., 0], true[..., 1]
    # The angle by its tangent: that by its cosine is off by 1e-6 degrees where the fields agree.
    across = np.sqrt((b - d) ** 2 + (c - a) ** 2 + (a * d - b * c) ** 2)
    return np.asarray(np.degrees(np.arctan2(across, 1 + a * c + b * d)))


@dataclass(frozen=True, eq=False)
class Truth:
    """What is known: the motion in the image, and where people are on the ground; one of them may be missing.

    Attributes:
        all_pixels: Whether pixels without people count too.
    """

    fields: FieldSeries | None = None
    tracks: Tracks | None = None
    all_pixels: bool = False

    def counts(self, frame: int) -> BoolArray:
        """Pixels `(rows, columns)` whose motion is known."""
        assert self.fields is not None
        if self.fields.foreground is None or self.all_pixels:
            return self.fields.valid
        seen = self.fields.foreground[frame]
        # More than one half; a frame in which nothing is known is like a truth without foreground.
        return np.asarray(self.fields.valid & ((seen > UNKNOWN) | (seen == UNKNOWN).all()))

    def part(self, frames: slice) -> Truth:
        """The truth of some frames."""
        known = [one for one in (self.fields, self.tracks) if one is not None]
        if not known:
            raise InputError("frames: chooses those of a truth, and none is given")
        length = max(one.frames for one in known)
        chosen = range(*frames.indices(length))
        if not chosen or (self.fields is not None and chosen[0] >= self.fields.frames):
            raise InputError(f"frames: the truth has {length} frames")
        part = slice(chosen.start, chosen.stop)
        fields = None if self.fields is None else self.fields[part]
        return replace(self, fields=fields, tracks=None if self.tracks is None else self.tracks[part])


def error_map(series: FieldSeries, truth: Truth) -> Array:
    """Mean endpoint error of each pixel `(rows, columns)` of the truth; NaN where none counts."""
    assert truth.fields is not None
    check_comparable(series, truth.fields)
    total = np.zeros((truth.fields.rows, truth.fields.columns))
    count = np.zeros_like(total)
    for frame in range(min(series.frames, truth.fields.frames)):
        where = truth.counts(frame)
        found = on_grid(series.velocities[frame], *total.shape)
        total += np.where(where, endpoint_map(found, truth.fields.velocities[frame]), 0.0)
        count += where
    return np.where(count > 0, total / np.maximum(count, 1), np.nan)


def check_comparable(series: FieldSeries, truth: FieldSeries) -> None:
    """Refuse a series that shows another image than the truth, or at another rate."""
    ratio = (series.columns / truth.columns) / (series.rows / truth.rows)
    if not 0.95 < ratio < 1.05:
        raise InputError(
            f"a field of {series.columns} × {series.rows} pixels and a truth of {truth.columns} × "
            f"{truth.rows} do not show one image"
        )
    several = min(series.frames, truth.frames) > 1
    if several and not np.isclose(series.frame_rate, truth.frame_rate, rtol=1e-3):
        raise InputError(
            f"the field has {series.frame_rate:g} frames per second and the truth {truth.frame_rate:g}; "
            "resample one of them"
        )


def _checked(
    estimated: ArrayLike, true: ArrayLike, mask: ArrayLike | None
) -> tuple[FloatArray, FloatArray, BoolArray]:
    found, wanted = np.asarray(estimated), np.asarray(true)
    if found.shape != wanted.shape or found.ndim not in (3, 4) or found.shape[-1] != 2 or found.size == 0:
        raise InputError(f"fields: shapes {found.shape} and {wanted.shape} cannot be compared")
    if found.ndim == 3:
        found, wanted = found[None], wanted[None]
    shape = found.shape[:3]
    counts = np.ones(shape, dtype=bool) if mask is None else np.asarray(mask, dtype=bool)
    if counts.shape not in (shape, shape[1:]):
        raise InputError(f"mask: shape {counts.shape} does not fit fields of {shape}")
    return found, wanted, np.broadcast_to(counts, shape)


# Share of the typical speed below which a direction means nothing.
STILL = 0.05


@dataclass(frozen=True)
class FlowSimilarity(Report):
    """Differences of two flows; all are 0 for one and the same.

    Attributes:
        endpoint: Mean difference of the mean velocities, as a share of the second's mean speed.
        angular_degrees: Mean angle between the mean velocities, where both move.
        speeds: Jensen–Shannon distance of their histograms, 0 to 1.
        directions: As `speeds`.
        spectrum: Root mean square difference of the energy in frequency bands, decibels.
        density: Half the summed difference of where people are, 0 to 1; None if not known.
        covered: Share of the pixels that count in either that count in both.
    """

    endpoint: float
    angular_degrees: float
    speeds: float
    directions: float
    spectrum: float | None
    density: float | None
    covered: float


def flow_similarity(simulated: FieldSeries, real: FieldSeries) -> FlowSimilarity:
    """Differences of two series of one size; per second, so that rates may differ.

    >>> from marey import samples
    >>> flow = samples.field(rows=20, columns=30, seconds=1)
    >>> flow_similarity(flow, flow).speeds
    0.0
    >>> flow_similarity(flow, flow.mirror()).directions > 0.3
    True
    """
    if simulated.velocities.shape[1:] != real.velocities.shape[1:]:
        raise InputError(
            f"fields of {simulated.columns} × {simulated.rows} and {real.columns} × {real.rows} pixels "
            "cannot be compared; give both one grid"
        )
    ours, theirs = _counting(simulated), _counting(real)
    both, either = ours & theirs, ours | theirs
    if not both.any():
        raise InputError("fields: there is no pixel in which both have people")
    means = [_mean(series, both) for series in (simulated, real)]
    pace = float(np.linalg.norm(means[1], axis=-1).mean())
    moving = np.minimum(*(np.linalg.norm(mean, axis=-1) for mean in means)) > STILL * pace
    flat = [mean[moving] / max(pace, 1e-12) * 1e3 for mean in means]
    samples = [_samples(series, both) for series in (simulated, real)]
    top = max(float(np.percentile(np.linalg.norm(one, axis=-1), 99.5)) for one in samples)
    return FlowSimilarity(
        float(endpoint_map(*means).mean() / pace) if pace > 0 else 0.0,
        # Scaled up, (u, v, 1) vectors differ by the angle of (u, v) alone.
        float(angle_map(*flat).mean()) if moving.any() else 0.0,
        jensen_shannon(*(speed_histogram(one, top) for one in samples)),
        jensen_shannon(*(direction_histogram(one, STILL * max(pace, 1e-12)) for one in samples)),
        _spectrum(simulated, real, both),
        _density(simulated, real),
        float(both.sum() / either.sum()),
    )


def _counting(series: FieldSeries) -> BoolArray:
    """Pixels `(rows, columns)` that mean something and, if that is known, are ever walked in."""
    if series.foreground is None:
        return series.valid
    mean = _mean_foreground(series)
    return np.asarray(series.valid & ((mean > 0.05 * 255) | np.isnan(mean).all()))


def _mean_foreground(series: FieldSeries) -> Array:
    """Over when it is known, 0 to 255; NaN where it never is."""
    assert series.foreground is not None
    return np.asarray(np.ma.masked_equal(series.foreground, UNKNOWN).mean(axis=0).filled(np.nan))


def _weights(series: FieldSeries, where: BoolArray) -> Array | None:
    return None if series.foreground is None else series.foreground[:, where].astype(np.float64) / 255


def _mean(series: FieldSeries, where: BoolArray) -> Array:
    """Mean velocity of the pixels `(n, 2)` per second, over when people are there if that is known."""
    motion = series.velocities[:, where].astype(np.float64) * series.frame_rate
    weights = _weights(series, where)
    if weights is None:
        return np.asarray(motion.mean(axis=0))
    total = np.maximum(weights.sum(axis=0), 1e-9)[:, None]
    return np.asarray((motion * weights[..., None]).sum(axis=0) / total)


def _samples(series: FieldSeries, where: BoolArray) -> Array:
    """Velocities `(n, 2)` per second of pixels in which people are."""
    motion = series.velocities[:, where].astype(np.float64) * series.frame_rate
    weights = _weights(series, where)
    if weights is None or series.foreground is None:
        return motion.reshape(-1, 2)
    known = series.foreground[:, where] != UNKNOWN
    return motion[known & (weights > 0.5 * weights[known].max())] if known.any() else motion.reshape(-1, 2)


def _spectrum(first: FieldSeries, second: FieldSeries, where: BoolArray) -> float | None:
    """Decibels between the energies in bands of frequency up to the lower of the two limits."""
    limit = 0.5 * min(first.frame_rate, second.frame_rate)
    lowest = max(series.frame_rate / series.frames for series in (first, second))
    if min(first.frames, second.frames) < 4 or lowest >= limit:
        return None
    edges = np.geomspace(lowest, limit * 1.0001, 12 + 1)
    levels = [_levels(series, where, edges) for series in (first, second)]
    known = np.isfinite(levels[0]) & np.isfinite(levels[1])
    return float(np.sqrt(np.mean((levels[0] - levels[1])[known] ** 2))) if known.any() else None


def _levels(series: FieldSeries, where: BoolArray, edges: Array) -> Array:
    """Decibels of (units per second)² per hertz in each band; NaN where a band holds no frequency."""
    energy = np.zeros(series.frames // 2 + 1)
    pixels = np.flatnonzero(where)
    flat = series.velocities.reshape(series.frames, -1, 2)
    for start in range(0, len(pixels), 4096):
        motion = flat[:, pixels[start : start + 4096]].astype(np.float64) * series.frame_rate
        energy += np.sum(np.abs(np.fft.rfft(motion, axis=0)) ** 2, axis=(1, 2))
    energy /= len(pixels) * series.frames * series.frame_rate
    frequencies = np.fft.rfftfreq(series.frames, 1 / series.frame_rate)
    band = np.digitize(frequencies, edges) - 1
    levels = np.full(len(edges) - 1, np.nan)
    for one in range(len(levels)):
        inside = band == one
        if inside.any():
            levels[one] = 10 * np.log10(max(float(energy[inside].mean()), 1e-12))
    return levels


def _density(first: FieldSeries, second: FieldSeries) -> float | None:
    if first.foreground is None or second.foreground is None:
        return None
    means = np.stack([_mean_foreground(series) for series in (first, second)])
    means = means[:, np.isfinite(means).all(axis=0)]
    if not means.sum(axis=1).all():
        return None
    shares = means / means.sum(axis=1, keepdims=True)
    return float(0.5 * np.abs(shares[0] - shares[1]).sum())


MEASURES = ("endpoint", "angular_degrees", "divergence", "vorticity", "trajectory_m")


def evaluate(
    data: FieldSeries | Tracks | SimulatedCrowd,
    truth: Truth | FieldSeries | Tracks | None = None,
    *,
    statistics: bool = False,
) -> dict[str, object]:
    """Errors of captured motion against the truth; of people, also overlapping bodies.

    Args:
        data: A captured flow, tracks, or a simulated crowd.
        truth: What is known; of people alone, overlapping bodies are counted if None.
        statistics: Compare flow statistics instead of frame-by-frame errors.

    Returns:
        Measures by name, None where the truth does not say. Of fields: endpoint, angular_degrees, divergence,
        vorticity and more, in pixels of the truth's grid; `trajectory_m`, the mean distance after the longest
        of 1, 2 and 5 seconds that the series is long enough for.

    >>> from marey import samples
    >>> flow = samples.field(rows=20, columns=30, seconds=1)
    >>> evaluate(flow, flow)["endpoint"]
    0.0
    """
    if isinstance(truth, FieldSeries):
        truth = Truth(truth)
    elif isinstance(truth, Tracks):
        truth = Truth(None, truth)
    known = Truth() if truth is None else truth
    if isinstance(data, FieldSeries):
        return _of_fields(data, known, statistics)
    return _of_people(data, known, statistics)


def simulation_report(crowd: SimulatedCrowd) -> dict[str, object]:
    """How a simulated crowd fared: who left, how bodies overlap, how fast people walk."""
    touching = overlaps(crowd.tracks, crowd.radius, tolerance=1.0)
    speed = np.linalg.norm(crowd.velocities[round(crowd.scene.hold * crowd.frame_rate) :], axis=-1)
    return {
        "people": crowd.agents,
        "steps": crowd.steps,
        "frames": crowd.frames,
        "frame_rate": crowd.frame_rate,
        "left": crowd.departed,
        "collisions": overlaps(crowd.tracks, crowd.radius).as_dict(),
        "deepest_overlap": round(touching.deepest_share, 3),
        "mean_speed": round(float(np.nanmean(speed)), 3) if np.isfinite(speed).any() else 0.0,
    }


def _of_fields(series: FieldSeries, truth: Truth, statistics: bool) -> dict[str, object]:
    true = truth.fields
    if true is None and truth.tracks is None:
        raise InputError(
            "give a field and, after it, the truth; of tracks alone, overlapping bodies are counted"
        )
    if statistics:
        if true is None:
            raise InputError("statistics compares two field series, the truth holds tracks")
        return flow_similarity(series, true).as_dict()
    if true is None and series.homography is None:
        raise InputError("the truth holds tracks in metres, and the field has no camera; capture it with one")
    if true is not None and abs(series.frames - true.frames) > 1:
        shorter = min(series.frames, true.frames)
        _note(
            f"{series.frames} fields and {true.frames} of the truth: the first {shorter} of each are "
            "compared; --frames A:B chooses others of the truth"
        )
    row: dict[str, object] = dict.fromkeys(field.name for field in fields(FieldErrors))
    if true is not None:
        check_comparable(series, true)
        sums = ErrorSums()
        for frame in range(min(series.frames, true.frames)):
            found = on_grid(series.velocities[frame], true.rows, true.columns)
            sums.add(found, true.velocities[frame], truth.counts(frame))
        row |= sums.errors().as_dict()
        if true.homography is not None:
            shapes = (series.rows, series.columns), (true.rows, true.columns)
            series = replace(series, homography=true.homography @ pixel_map(*shapes))
    row |= {"trajectory_m": None, "trajectory_seconds": None, "trajectories": []}
    if truth.tracks is not None and series.homography is not None:
        errors = trajectory_errors(series, truth.tracks)
        row["trajectories"] = [error.as_dict() for error in errors]
        if errors:
            row["trajectory_m"], row["trajectory_seconds"] = errors[-1].mean, errors[-1].seconds
    return row


def _of_people(people: Tracks | SimulatedCrowd, truth: Truth, statistics: bool) -> dict[str, object]:
    # A simulated crowd knows its bodies; tracks alone are taken for people of usual size.
    if isinstance(people, SimulatedCrowd):
        tracks, collisions = people.tracks, overlaps(people.tracks, people.radius)
    else:
        tracks, collisions = people, overlaps(people, BODY_RADIUS)
    row: dict[str, object] = {"collisions": collisions.as_dict()}
    if truth.tracks is not None:
        found = crowd_errors(tracks, truth.tracks)
        if found.shared == 0:
            _note("the two have no person's number in common: they are compared as crowds only")
        return dict.fromkeys(MEASURES) | found.as_dict() | row
    if truth.fields is None:
        return row
    if statistics:
        raise InputError("statistics compares two field series, this holds tracks")
    if truth.fields.homography is None:
        raise InputError("the truth has no camera, and the tracks are in metres; capture it with a camera")
    return dict.fromkeys(MEASURES) | {"deviation": flow_deviation(tracks, truth.fields)} | row


def _note(text: str) -> None:
    warnings.warn(text, MareyWarning, stacklevel=4)
