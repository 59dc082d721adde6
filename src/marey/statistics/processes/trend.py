"""What a series does on average over time: slow drift and a repeated cycle (Courty & Cuzol 2010, section 7).

A stationary model cannot hold trends and periodic parts. Here they are fitted by least squares, taken away
before the process is learnt and added back after simulation. The period is found where the series is most
similar to itself (squared differences at a lag, all components together), refined by least squares, and kept
only if cycles left out are predicted by the others. Cost: frames x log(frames) for the search, frames x
terms² for the fit.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from marey._arrays import Array, BoolArray
from marey.errors import InputError


@dataclass(frozen=True)
class PeriodSettings:
    """The search for a period.

    Args:
        harmonics: Of the cycle.
        shortest: Seconds; faster cycles are noise or tremor in motion.
        rate: Samples a second that are searched, at most.
        candidates: Lags that are refined.
        predicted: Share of the variance that cycles must predict of a cycle left out.
        predicted_of_few: More than that, over the number of further cycles: few may agree at random.
        nearly: A shorter period is preferred if it predicts less by no more than this.
    """

    harmonics: int = 4
    shortest: float = 0.2
    rate: float = 30.0
    candidates: int = 12
    predicted: float = 0.3
    predicted_of_few: float = 0.6
    nearly: float = 0.05


SETTINGS = PeriodSettings()


@dataclass(frozen=True)
class Trend:
    """A polynomial and a cycle for each component.

    Args:
        coefficients: `(degree + 1 + 2 harmonics, components)`: Legendre polynomials over the clip, then
            cosine and sine of each harmonic.
        duration: Seconds between the first and the last frame.
        degree: Of the polynomial; -1 for none at all.
        harmonics: How many; 0 without a period.
        period: Seconds, or None.
    """

    coefficients: Array
    duration: float
    degree: int
    harmonics: int
    period: float | None

    def __post_init__(self) -> None:
        coefficients = np.asarray(self.coefficients, dtype=float)
        terms = self.degree + 1 + 2 * self.harmonics
        if coefficients.ndim != 2 or len(coefficients) != terms or not np.isfinite(coefficients).all():
            raise InputError(
                f"a trend of degree {self.degree} with {self.harmonics} harmonics needs finite coefficients "
                f"({terms}, components), not {coefficients.shape}"
            )
        if self.degree < -1 or self.harmonics < 0 or not self.duration >= 0:
            raise InputError("a trend needs degree >= -1, harmonics >= 0 and duration >= 0")
        if self.harmonics and not (self.period is not None and self.period > 0):
            raise InputError("a trend with harmonics needs a period in seconds")
        object.__setattr__(self, "coefficients", coefficients)

    @classmethod
    def fit(
        cls,
        series: ArrayLike,
        frame_rate: float,
        *,
        degree: int = 1,
        harmonics: int = SETTINGS.harmonics,
        period: float | Literal["auto"] | None = "auto",
        mask: ArrayLike | None = None,
    ) -> Trend:
        """The trend of a series by least squares.

        Args:
            series: `(frames, components)`.
            frame_rate: Frames a second.
            degree: Of the polynomial.
            harmonics: Of the cycle, at most.
            period: Seconds; "auto" searches one and takes none if the series does not repeat; None for none.
            mask: `(frames,)` or `(frames, components)`, which values count; all if None.

        >>> seconds = np.arange(600) / 60
        >>> walk = np.c_[np.sin(2 * np.pi * seconds / 1.2), 0.1 * seconds]
        >>> trend = Trend.fit(walk, 60.0)
        >>> round(trend.period, 3), float(np.abs(trend.at(seconds) - walk).max()) < 1e-6
        (1.2, True)
        """
        values, valid = checked(series, mask)
        if not frame_rate > 0:
            raise InputError(f"the frame rate must be positive, not {frame_rate}")
        frames = len(values)
        times = np.arange(frames) / frame_rate
        duration = float(times[-1])
        degree = min(degree, int(valid.sum(0).min()) - 1)
        if period == "auto":
            period = find_period(values, frame_rate, degree=degree, harmonics=harmonics, mask=valid)
        elif period is not None and not period > 2 / frame_rate:
            raise InputError(f"a period of {period} s is below two frames; give it in seconds")
        harmonics = 0 if period is None else _resolvable(harmonics, period, frame_rate)
        if harmonics == 0:
            period = None
        design = _design(times, duration, degree, harmonics, period)
        return cls(_least_squares(design, values, valid), duration, degree, harmonics, period)

    def at(self, times: ArrayLike) -> Array:
        """Values `(times, components)` at seconds from the first frame of the clip.

        Before and after the clip the cycle goes on and the drift stays at its end values.
        """
        seconds = np.atleast_1d(np.asarray(times, dtype=float))
        return _design(seconds, self.duration, self.degree, self.harmonics, self.period) @ self.coefficients


def find_period(
    series: ArrayLike,
    frame_rate: float,
    *,
    degree: int = 1,
    harmonics: int = SETTINGS.harmonics,
    mask: ArrayLike | None = None,
) -> float | None:
    """The period in seconds with which `(frames, components)` repeats, or None if it does not.

    At least two whole cycles are needed.

    >>> seconds = np.arange(300) / 60
    >>> find_period(np.exp(-((seconds - 2.5) ** 2))[:, None], 60.0) is None
    True
    """
    values, valid = checked(series, mask)
    every = max(1, int(frame_rate / SETTINGS.rate))
    values, valid, rate = values[::every], valid[::every], frame_rate / every
    frames = len(values)
    times = np.arange(frames) / rate
    duration = float(times[-1])
    drift = _design(times, duration, degree, 0, None)
    rest = np.where(valid, values - drift @ _least_squares(drift, values, valid), 0.0)
    variance = float(np.sum(rest**2))
    if frames < 8 or variance <= 1e-20 * max(1.0, float(np.sum(values[valid] ** 2))):
        return None
    lags = _similar_lags(rest, valid, rate)
    if len(lags) == 0:
        return None
    refined = [_refined(lag / rate, times, rest, valid, rate, harmonics, 2) for lag in lags]
    whole = [period for period in refined if SETTINGS.shortest <= period <= duration / 2 + 1 / rate]
    if not whole:
        return None
    scores = np.array([_predicted(period, times, rest, valid, rate, harmonics) for period in whole])
    best = float(scores.max())
    period, score = min((p, s) for p, s in zip(whole, scores, strict=True) if s >= best - SETTINGS.nearly)
    cycles = duration / period
    if score < SETTINGS.predicted + SETTINGS.predicted_of_few / max(cycles - 1, 1):
        return None
    return _refined(period, times, rest, valid, rate, harmonics, 12)


def checked(series: ArrayLike, mask: ArrayLike | None) -> tuple[Array, BoolArray]:
    """Series `(frames, components)` and which of its values are known, or a plain error."""
    values = np.asarray(series, dtype=float)
    if values.ndim == 1:
        values = values[:, None]
    if values.ndim != 2 or len(values) < 2 or values.shape[1] < 1:
        raise InputError(f"a series must be (frames, components) with two frames or more, not {values.shape}")
    valid = np.ones(values.shape, dtype=bool)
    if mask is not None:
        given = np.asarray(mask, dtype=bool)
        given = given[:, None] if given.ndim == 1 else given
        if given.ndim != 2 or len(given) != len(values) or given.shape[1] not in (1, values.shape[1]):
            raise InputError(f"the mask {given.shape} does not fit the series {values.shape}")
        valid = np.broadcast_to(given, values.shape).copy()
    wrong = valid & ~np.isfinite(values)
    if wrong.any():
        frame, component = np.argwhere(wrong)[0]
        raise InputError(f"component {component} is not finite at frame {frame}; mask such frames")
    few = valid.sum(0) < 2
    if few.any():
        raise InputError(f"component {int(np.argmax(few))} has fewer than two known frames")
    return np.where(valid, values, 0.0), valid


def _resolvable(harmonics: int, period: float, frame_rate: float) -> int:
    """Harmonics below the highest frequency that the frames can show."""
    return max(0, min(harmonics, int(0.45 * frame_rate * period)))


def _design(times: Array, duration: float, degree: int, harmonics: int, period: float | None) -> Array:
    """Values `(times, terms)` of the polynomials and waves."""
    unit = np.clip(2 * times / duration - 1, -1, 1) if duration > 0 else np.zeros_like(times)
    parts = [np.polynomial.legendre.legvander(unit, degree)] if degree >= 0 else []
    if harmonics and period is not None:
        angle = 2 * np.pi / period * times[:, None] * np.arange(1, harmonics + 1)
        parts += [np.cos(angle), np.sin(angle)]
    return np.hstack(parts) if parts else np.empty((len(times), 0))


def _least_squares(design: Array, values: Array, valid: BoolArray) -> Array:
    """Coefficients `(terms, components)`; components with the same known frames are solved together."""
    if valid.all():
        # The columns are orthogonal but for the ends of the clip, so the squared condition number is small.
        inverse = np.linalg.pinv(design.T @ design, rcond=1e-12, hermitian=True)
        return np.asarray(inverse @ (design.T @ values))
    found = np.empty((design.shape[1], values.shape[1]))
    patterns, which = np.unique(valid, axis=1, return_inverse=True)
    for pattern, known in enumerate(patterns.T):
        columns = np.flatnonzero(which.ravel() == pattern)
        found[:, columns] = np.linalg.lstsq(design[known], values[np.ix_(known, columns)], rcond=1e-8)[0]
    return found


def _similar_lags(rest: Array, valid: BoolArray, rate: float) -> NDArray[np.int64]:
    """Lags in frames, at most half the series, where it differs least from itself; best first."""
    frames = len(rest)
    size = 1 << int(np.ceil(np.log2(2 * frames)))
    marks = valid.astype(float)
    of_rest, of_squares, of_marks = (np.fft.rfft(x, size, axis=0) for x in (rest, rest**2, marks))

    def correlated(a: NDArray[np.complex128], b: NDArray[np.complex128]) -> Array:
        return np.fft.irfft(np.sum(np.conj(a) * b, axis=1), size)[: frames // 2 + 2]

    pairs = np.maximum(correlated(of_marks, of_marks), 0.5)
    power = correlated(of_squares, of_marks) + correlated(of_marks, of_squares)
    difference = (power - 2 * correlated(of_rest, of_rest)) / pairs
    # Small differences at small lags only say that the series is smooth: compare with the mean up to the lag.
    running = np.cumsum(difference) / np.arange(1, len(difference) + 1)
    relative = difference / np.maximum(running, 1e-300)
    inner = np.arange(1, len(relative) - 1)
    lowest = inner[(relative[inner] <= relative[inner - 1]) & (relative[inner] < relative[inner + 1])]
    lowest = lowest[lowest >= SETTINGS.shortest * rate]
    return lowest[np.argsort(relative[lowest])][: SETTINGS.candidates]


def _refined(
    period: float, times: Array, rest: Array, valid: BoolArray, rate: float, harmonics: int, grids: int
) -> float:
    """The period near this one with the least squared residual: a grid, then finer grids around its best."""
    # Over the whole clip the highest harmonic shifts by less than 1/8 cycle between neighbours of the grid.
    reach = min(0.1, 1.5 / (period * rate))
    count = max(4, int(np.ceil(8 * reach * harmonics * times[-1] / period)))
    low, high, points = period * (1 - reach), period * (1 + reach), 2 * count + 1
    for _ in range(grids):
        grid = np.linspace(low, high, points)
        costs = [_residual(p, times, rest, valid, rate, harmonics) for p in grid]
        best = int(np.argmin(costs))
        low, high, points = grid[max(best - 1, 0)], grid[min(best + 1, points - 1)], 5
    return float(grid[best])


def _residual(
    period: float, times: Array, rest: Array, valid: BoolArray, rate: float, harmonics: int
) -> float:
    """Sum of squares that a cycle with a drift of its own leaves of the drift-free series."""
    design = _design(times, float(times[-1]), 1, _resolvable(harmonics, period, rate), period)
    fitted = design @ _least_squares(design, rest, valid)
    return float(np.sum(np.where(valid, rest - fitted, 0.0) ** 2))


def _predicted(
    period: float, times: Array, rest: Array, valid: BoolArray, rate: float, harmonics: int
) -> float:
    """Part of the variance of cycles left out that the other cycles predict."""
    design = _design(times, 0.0, 0, _resolvable(harmonics, period, rate), period)
    cycle = np.minimum(times // period, max(int(times[-1] / period + 0.1), 1) - 1).astype(int)
    folds = cycle % 8
    wrong = total = 0.0
    for fold in range(int(folds.max()) + 1):
        left_out = valid & (folds == fold)[:, None]
        others = valid & ~left_out
        enough = others.sum(0) >= design.shape[1]
        if not enough.any():
            continue
        fitted = design @ _least_squares(design, rest[:, enough], others[:, enough])
        wrong += float(np.sum(((rest[:, enough] - fitted) ** 2)[left_out[:, enough]]))
        total += float(np.sum((rest[:, enough] ** 2)[left_out[:, enough]]))
    return 1 - wrong / total if total > 0 else -np.inf
