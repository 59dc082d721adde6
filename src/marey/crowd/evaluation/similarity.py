"""Similarity of two flows, place by place and on the whole: simulators against recordings.

Courty & Corpetti 2007, section 6, propose to compare simulators with reality through their flows, and leave
open how. Here: angle and endpoint where both have people, how differently speeds and directions are
distributed (Jensen–Shannon), how the motion is spread over frequencies, and where people are. The two need
not be of one moment or length. Cost: a few passes over the pixels and a Fourier transform in time.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from marey._arrays import Array, BoolArray
from marey._report import Report
from marey.crowd.evaluation.fields import angle_map, endpoint_map
from marey.crowd.evaluation.pedestrians import direction_histogram, jensen_shannon, speed_histogram
from marey.crowd.fields import UNKNOWN, FieldSeries
from marey.errors import InputError

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
    if series.presence is None:
        return series.valid
    mean = _mean_presence(series)
    return np.asarray(series.valid & ((mean > 0.05 * 255) | np.isnan(mean).all()))


def _mean_presence(series: FieldSeries) -> Array:
    """Over when it is known, 0 to 255; NaN where it never is."""
    assert series.presence is not None
    return np.ma.masked_equal(series.presence, UNKNOWN).mean(axis=0).filled(np.nan)


def _weights(series: FieldSeries, where: BoolArray) -> Array | None:
    return None if series.presence is None else series.presence[:, where].astype(np.float64) / 255


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
    if weights is None or series.presence is None:
        return motion.reshape(-1, 2)
    known = series.presence[:, where] != UNKNOWN
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
    if first.presence is None or second.presence is None:
        return None
    means = np.stack([_mean_presence(series) for series in (first, second)])
    means = means[:, np.isfinite(means).all(axis=0)]
    if not means.sum(axis=1).all():
        return None
    shares = means / means.sum(axis=1, keepdims=True)
    return float(0.5 * np.abs(shares[0] - shares[1]).sum())
