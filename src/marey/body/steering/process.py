"""The process that carries a displacement over an interval: smooth, and nothing outside.

White noise as jerk, with place, velocity and acceleration 0 at both ends. Its covariance is Green's function
of the sixth derivative, in closed form (Boggio's formula), so the displacement that is expected, given places
at some times, is the curve of least squared jerk through them. Costs O(frames²) for the covariance of an
interval, O(frames³) for its factor.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from marey._arrays import Array

# Directions are left out of the factor that carry less than this share of the largest variance.
NOTHING = 1e-13


class Span(NamedTuple):
    """An interval of time, in frames (also between them, and beyond the ends of a clip)."""

    start: float
    end: float

    def wider(self, factor: float) -> Span:
        """The same middle, so many times as long."""
        more = 0.5 * (factor - 1.0) * (self.end - self.start)
        return Span(self.start - more, self.end + more)


def covariance(one: ArrayLike, other: ArrayLike, span: Span) -> Array:
    """Covariances `(one, other)` between frames, 1 in the middle of the span and 0 outside.

    >>> covariance([0, 50, 100], [50], Span(0, 100)).round(3).ravel().tolist()
    [0.0, 1.0, 0.0]
    """
    middle, half = 0.5 * (span.start + span.end), 0.5 * (span.end - span.start)
    x = np.clip((np.asarray(one, dtype=np.float64) - middle) / half, -1.0, 1.0)[:, None]
    y = np.clip((np.asarray(other, dtype=np.float64) - middle) / half, -1.0, 1.0)[None]
    apart, near = np.abs(x - y), 1.0 - x * y
    green = near**5 / 5 - 2 * near**3 * apart**2 / 3 + near * apart**4 - 8 * apart**5 / 15
    return np.asarray(5.0 * np.maximum(green, 0.0))


def factor(frames: ArrayLike, spans: list[Span]) -> Array:
    """`F (frames, rank)` with `F Fᵀ` the covariance of a sum of independent processes, one a span.

    >>> F = factor(range(10, 91), [Span(0, 100), Span(40, 100)])
    >>> bool(np.allclose(F @ F.T, sum(covariance(range(10, 91), range(10, 91), s)
    ...                               for s in (Span(0, 100), Span(40, 100)))))
    True
    """
    total = np.sum([covariance(frames, frames, span) for span in spans], axis=0)
    values, vectors = np.linalg.eigh(total)
    kept = values > NOTHING * values[-1]
    return np.asarray(vectors[:, kept] * np.sqrt(values[kept]))


def merged(spans: Sequence[Span], frames: int) -> tuple[tuple[int, int], ...]:
    """First and last frames of the stretches that spans cover, overlapping ones as one.

    >>> merged([Span(10, 20), Span(15, 30), Span(40, 60)], 50)
    ((11, 29), (41, 49))
    """
    t = np.arange(frames)
    inside = np.any([(t > span.start) & (t < span.end) for span in spans], axis=0)
    edges = np.flatnonzero(np.diff(np.concatenate([[0], inside.astype(np.int8), [0]])))
    return tuple((int(a), int(b) - 1) for a, b in edges.reshape(-1, 2))
