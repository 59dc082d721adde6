"""How much of a field series an approximation keeps, and how that grows with the number of coefficients.

The source counts information in per cent without defining it; here it is the share of the energy, with the
temporal mean and, harsher, without. Courty & Corpetti 2007, table 1 and figure 2. Cost: one pass, or one
transform of the series for the curve.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from marey.crowd.fields import FieldSeries
from marey.errors import InputError

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Kept:
    """Per cent of the information: of the whole, and of what changes over time."""

    whole: float
    without_mean: float


@dataclass(frozen=True)
class FieldError:
    """How far off velocities are, pixels per frame: root mean square, largest, and 99 % are within `most`."""

    rms: float
    largest: float
    most: float


def information(fields: FieldSeries, approximation: FieldSeries) -> Kept:
    """What `approximation` keeps of `fields`, where the mask of `fields` is true.

    >>> import marey
    >>> field = marey.samples.field()
    >>> information(field, field)
    Kept(whole=100.0, without_mean=100.0)
    """
    lost = whole = changing = 0.0
    mean = _inside(fields, fields.velocities.mean(axis=0, dtype=np.float64)[None])[0]
    for ours, theirs in _pairs(fields, approximation):
        lost += float(((theirs - ours) ** 2).sum())
        whole += float((ours**2).sum())
        changing += float(((ours - mean) ** 2).sum())
    return Kept(_per_cent(lost, whole), _per_cent(lost, changing))


def field_error(fields: FieldSeries, approximation: FieldSeries) -> FieldError:
    """Lengths of the error vectors of `approximation`, where the mask of `fields` is true."""
    lengths = np.concatenate(
        [
            np.hypot(*np.moveaxis(theirs - ours, -1, 0)).ravel()
            for ours, theirs in _pairs(fields, approximation)
        ]
    )
    if not len(lengths):
        return FieldError(0.0, 0.0, 0.0)
    rms = float(np.sqrt((lengths**2).mean()))
    return FieldError(rms, float(lengths.max()), float(np.quantile(lengths, 0.99)))


def error_curve(fields: FieldSeries, *, basis: str = "dct", select: str = "low") -> Array:
    """Relative squared error with 1, 2, … all numbers kept per pixel, `(frames,)`; its root is that of norms.

    >>> import marey
    >>> curve = error_curve(marey.samples.field())
    >>> bool((np.diff(curve) <= 1e-12).all()), bool(curve[-1] < 1e-12)
    (True, True)
    """
    from marey.crowd.spectrum import compression
    from marey.crowd.spectrum.bases import checked_basis

    known = checked_basis(basis)
    if select == "energy-pixel":
        energy = np.zeros(fields.frames)
        for part, found in compression.spectrum_blocks(fields, known):
            inside = found if fields.mask is None else found[:, fields.mask[part]]
            squares = inside.reshape(fields.frames, -1) ** 2
            squares[1:] = -np.sort(-squares[1:], axis=0)
            energy += squares.sum(axis=1)
    else:
        energy = compression.spectrum_energy(fields, known)
        if select == "energy-shared":
            energy[1:] = -np.sort(-energy[1:])
        elif select != "low":
            raise InputError(f"select {select!r}: one of {', '.join(compression.SELECTS)}")
    total = energy.sum()
    return np.asarray(np.maximum(1.0 - np.cumsum(energy) / total, 0.0) if total else np.zeros(len(energy)))


def _pairs(fields: FieldSeries, approximation: FieldSeries) -> list[tuple[Array, Array]]:
    if approximation.velocities.shape != fields.velocities.shape:
        raise InputError(
            f"fields {fields.velocities.shape} and {approximation.velocities.shape} cannot be compared"
        )
    size = max(1, (1 << 22) // (fields.rows * fields.columns))
    starts = range(0, fields.frames, size)
    series = (fields.velocities, approximation.velocities)
    return [
        (_inside(fields, series[0][a : a + size]), _inside(fields, series[1][a : a + size])) for a in starts
    ]


def _inside(fields: FieldSeries, velocities: NDArray[np.floating]) -> Array:
    values = velocities.astype(np.float64)
    return values if fields.mask is None else np.asarray(values[:, fields.mask])


def _per_cent(lost: float, whole: float) -> float:
    return 100.0 if lost == 0.0 else 100.0 * (1.0 - lost / whole) if whole else 0.0
