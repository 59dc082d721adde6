"""Temporal Fourier compression: a share of the frequencies of every pixel stands for its velocity over time.

Courty & Corpetti 2007, section 3.2 and table 1 (the lowest 10 %); Courty 2013, section 6.1 (the most
energetic 10 %). What is dropped is mostly noise, above all where nobody walks. Cost: one transform of the
series, or a product with a `(kept, frames)` matrix for the lowest.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from marey._arrays import BoolArray, FloatArray, assign, checked, checked_rate, handed_over
from marey.crowd.fields import FieldSeries
from marey.crowd.spectrum import bases
from marey.crowd.spectrum.bases import Basis, checked_basis
from marey.crowd.spectrum.information import Kept, information
from marey.errors import InputError

Select = Literal["low", "energy-shared", "energy-pixel"]
SELECTS: tuple[Select, ...] = get_args(Select)

Array = NDArray[np.float64]

# Values transformed at a time, so that temporary arrays stay small.
AT_A_TIME = 1 << 24
# Vectors decoded at once.
LARGEST_SERIES = 1 << 30


@dataclass(frozen=True, eq=False)
class FourierFields:
    """A field series as some of its temporal coefficients, known at any real time.

    coefficients: `(kept, rows, columns, 2)`, float32 or float16
    index: which function of the basis each is, `(kept,)`, or `(kept, rows, columns, 2)` if pixels differ
    frames, frame_rate: of the series
    basis: "dct" or "dft"
    information: per cent of the energy kept
    information_without_mean: the same of what is left when every pixel's mean is taken away
    mask, homography, name: as in :class:`~marey.crowd.fields.FieldSeries`; presence is not kept

    >>> import marey
    >>> small = compress(marey.samples.field(), keep=0.1)
    >>> len(small.coefficients), small.decode().frames, small.information > 99
    (5, 50, True)
    """

    coefficients: FloatArray
    index: NDArray[np.uint16]
    frames: int
    frame_rate: float
    basis: str = "dct"
    information: float = 100.0
    information_without_mean: float = 100.0
    mask: BoolArray | None = None
    homography: FloatArray | None = None
    name: str = ""

    def __post_init__(self) -> None:
        given = np.asarray(self.coefficients)
        dtype = np.float16 if given.dtype == np.float16 else np.float32
        found = checked("coefficients", given, (None, None, None, 2), dtype=dtype)
        index = np.asarray(self.index)
        wanted = found.shape if index.ndim > 1 else found.shape[:1]
        index = checked("index", index, wanted, dtype=np.uint16)
        frames = int(self.frames)
        if not (found.size and 0 < frames <= 1 << 16) or int(index.max()) >= frames:
            raise InputError(f"coefficients {found.shape} of {frames} frames: there is none, or one too many")
        mask = self.mask
        if mask is not None:
            mask = checked("mask", mask, found.shape[1:3], dtype=np.bool_)
        assign(
            self,
            coefficients=found,
            index=index,
            frames=frames,
            frame_rate=checked_rate(self.frame_rate),
            basis=checked_basis(self.basis),
            mask=mask,
            homography=None if self.homography is None else checked("homography", self.homography, (3, 3)),
        )

    @property
    def kept(self) -> Kept:
        """Per cent of the information, with and without the mean over time."""
        return Kept(self.information, self.information_without_mean)

    @property
    def bytes(self) -> int:
        """Size of the numbers that are stored."""
        return int(self.coefficients.nbytes + self.index.nbytes)

    def velocities_at(self, times: ArrayLike) -> NDArray[np.float32]:
        """Velocities `(n, rows, columns, 2)` at real times `(n,)`, in frames, pixels per frame.

        >>> import marey
        >>> small = compress(marey.samples.field(), keep=1.0)
        >>> bool(np.allclose(small.velocities_at([3.0])[0], marey.samples.field().velocities[3], atol=1e-5))
        True
        """
        at = np.asarray(times, dtype=np.float64)
        if at.ndim != 1 or not np.isfinite(at).all():
            raise InputError("times: one axis of finite numbers, in frames")
        _, rows, columns, _ = self.coefficients.shape
        if len(at) * rows * columns > LARGEST_SERIES:
            raise InputError(
                f"{self.name or 'the fields'}: {len(at)} frames would take "
                f"{8e-9 * len(at) * rows * columns:.3g} GB; take some of them with velocities_at"
            )
        values = np.zeros((len(at), rows, columns, 2), dtype=np.float32)
        basis = checked_basis(self.basis)
        if self.index.ndim == 1:
            matrix = bases.functions(basis, self.frames, self.index, at).astype(np.float32)
            flat = self.coefficients.astype(np.float32).reshape(len(self.index), -1)
            return np.asarray((matrix @ flat).reshape(values.shape))
        every = bases.functions(basis, self.frames, np.arange(self.frames), at)
        for part in _row_blocks(rows, self.frames * columns * 2):
            spread = np.zeros((self.frames, len(range(*part.indices(rows))), columns, 2))
            index = self.index[:, part].astype(np.int64)
            np.put_along_axis(spread, index, self.coefficients[:, part].astype(np.float64), axis=0)
            values[:, part] = np.tensordot(every, spread, axes=1)
        return values

    def decode(self) -> FieldSeries:
        """The series at its frames."""
        values = self.velocities_at(np.arange(self.frames))
        return FieldSeries(
            handed_over(values), self.frame_rate, mask=self.mask, homography=self.homography, name=self.name
        )


def compress(
    fields: FieldSeries,
    *,
    keep: float = 0.1,
    basis: Basis = "dct",
    select: Select = "low",
    precision: Literal["float32", "float16"] = "float32",
) -> FourierFields:
    """Keep a share of the temporal coefficients of every pixel.

    keep: share of the numbers, 0 to 1; the mean over time is always among them
    basis: "dct" mirrors the ends of the series; "dft" takes it for periodic, as the source, and rings
    select: the lowest frequencies, those with most energy over all pixels, or those of each pixel (whose
        index is then stored too, two bytes each)
    """
    basis = checked_basis(basis)
    if select not in SELECTS:
        raise InputError(f"select {select!r}: one of {', '.join(SELECTS)}")
    if precision not in ("float32", "float16"):
        raise InputError(f"precision {precision!r}: float32 or float16")
    if fields.frames > 1 << 16:
        raise InputError(f"{fields.frames} frames; at most {1 << 16} have their spectrum stored")
    count = kept_count(fields.frames, keep, basis)
    if select == "low":
        index: NDArray[Any] = np.arange(count)
        kept = _lowest(fields, count, basis)
    elif select == "energy-shared":
        index = np.sort(_with_mean(spectrum_energy(fields, basis))[:count])
        kept = np.concatenate([c[index] for _, c in spectrum_blocks(fields, basis)], axis=1)
    else:
        kept, index = _of_each_pixel(fields, count, basis)
    with np.errstate(over="ignore"):
        stored = kept.astype(precision)
    if not np.isfinite(stored).all():
        raise InputError("a coefficient is too large for float16; store float32")
    if fields.mask is not None:
        stored[:, ~fields.mask] = 0
    small = FourierFields(
        handed_over(stored),
        index.astype(np.uint16),
        fields.frames,
        fields.frame_rate,
        basis=basis,
        mask=fields.mask,
        homography=fields.homography,
        name=fields.name,
    )
    share = information(fields, small.decode())
    assign(small, information=share.whole, information_without_mean=share.without_mean)
    return small


def kept_count(frames: int, keep: float, basis: Basis) -> int:
    """How many numbers of `frames` are kept; odd for the Fourier basis: the mean and whole pairs.

    >>> kept_count(214, 0.1, "dct"), kept_count(641, 0.1, "dft")
    (21, 63)
    """
    if not 0.0 < keep <= 1.0:
        raise InputError(f"keep {keep:g}: a share above 0 and up to 1, e.g. 0.1")
    count = max(1, round(keep * frames))
    return count - (count % 2 == 0) if basis == "dft" and count < frames else count


def spectrum_blocks(fields: FieldSeries, basis: Basis) -> Iterator[tuple[slice, Array]]:
    """Coefficients `(frames, some rows, columns, 2)` of a few rows after the other."""
    for part in _row_blocks(fields.rows, fields.frames * fields.columns * 2):
        yield part, bases.coefficients(fields.velocities[:, part], basis)


def spectrum_energy(fields: FieldSeries, basis: Basis) -> Array:
    """Energy of each function of the basis over all pixels that count, `(frames,)`."""
    total = np.zeros(fields.frames)
    for part, found in spectrum_blocks(fields, basis):
        inside = found if fields.mask is None else found[:, fields.mask[part]]
        total += (inside.reshape(fields.frames, -1) ** 2).sum(axis=1)
    return total


def _lowest(fields: FieldSeries, count: int, basis: Basis) -> Array:
    matrix = bases.functions(basis, fields.frames, np.arange(count), np.arange(fields.frames)).T
    kept = np.empty((count, *fields.velocities.shape[1:]))
    for part in _row_blocks(fields.rows, fields.frames * fields.columns * 2):
        kept[:, part] = np.tensordot(matrix, fields.velocities[:, part].astype(np.float64), axes=1)
    return kept


def _of_each_pixel(fields: FieldSeries, count: int, basis: Basis) -> tuple[Array, NDArray[np.int64]]:
    kept = np.empty((count, *fields.velocities.shape[1:]))
    index = np.empty(kept.shape, dtype=np.int64)
    for part, found in spectrum_blocks(fields, basis):
        size = np.abs(found)
        size[0] = np.inf
        best = np.argpartition(-size, count - 1, axis=0)[:count]
        best.sort(axis=0)
        index[:, part] = best
        kept[:, part] = np.take_along_axis(found, best, axis=0)
    return kept, index


def _with_mean(energy: Array) -> NDArray[np.int64]:
    """Functions by falling energy, the constant first."""
    order = np.argsort(-energy[1:], kind="stable") + 1
    return np.concatenate([[0], order])


def _row_blocks(rows: int, values_per_row: int) -> Iterator[slice]:
    size = max(1, AT_A_TIME // max(values_per_row, 1))
    return (slice(start, min(start + size, rows)) for start in range(0, rows, size))
