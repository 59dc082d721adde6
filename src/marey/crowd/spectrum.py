"""Temporal Fourier compression: a share of the frequencies of every pixel stands for its velocity over time.

Courty & Corpetti 2007, section 3.2, table 1 (the lowest 10 %) and figure 2; Courty 2013, section 6.1 (the
most energetic 10 %). Orthonormal bases are cosines (mirrored ends) and Fourier pairs (periodic); function 0
is the constant, then frequencies rise, and any function has a value at any real time. The paper counts
information in per cent without defining it; here it is the share of the energy, with the temporal mean and,
harsher, without. Cost: one transform, O(frames log frames) a pixel, or a product with a `(kept, frames)`
matrix.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from marey import _work
from marey._arrays import AnyArray, Array, BoolArray, FloatArray, assign, checked, checked_rate, read_only
from marey.crowd.fields import FieldSeries, check_fields
from marey.errors import InputError

Basis = Literal["dct", "dft"]
BASES: tuple[Basis, ...] = get_args(Basis)


def checked_basis(basis: str) -> Basis:
    """`basis` if it is one."""
    if basis not in BASES:
        raise InputError(f"basis {basis!r}: one of {', '.join(BASES)}")
    return basis


def coefficients(values: AnyArray, basis: Basis) -> Array:
    """Coefficients `(frames, …)` of values `(frames, …)`, sorted by frequency.

    >>> coefficients(np.ones((4, 1)), "dct").ravel().round(12).tolist()
    [2.0, 0.0, 0.0, 0.0]
    """
    from scipy import fft

    if basis == "dct":
        return np.asarray(fft.dct(values.astype(np.float64), axis=0, norm="ortho"))
    frames = len(values)
    spectrum = fft.rfft(values.astype(np.float64), axis=0, norm="ortho")
    found = np.empty(values.shape)
    found[0] = spectrum[0].real
    pairs = (frames - 1) // 2
    found[1 : 2 * pairs : 2] = np.sqrt(2.0) * spectrum[1 : pairs + 1].real
    found[2 : 2 * pairs + 1 : 2] = -np.sqrt(2.0) * spectrum[1 : pairs + 1].imag
    if frames % 2 == 0:
        found[-1] = spectrum[-1].real
    return found


def values(coefficients: Array, basis: Basis) -> Array:
    """Inverse of :func:`coefficients`, at the frames."""
    from scipy import fft

    if basis == "dct":
        return np.asarray(fft.idct(coefficients, axis=0, norm="ortho"))
    frames = len(coefficients)
    pairs = (frames - 1) // 2
    spectrum = np.zeros((frames // 2 + 1, *coefficients.shape[1:]), dtype=np.complex128)
    spectrum[0] = coefficients[0]
    spectrum[1 : pairs + 1] = coefficients[1 : 2 * pairs : 2] - 1j * coefficients[2 : 2 * pairs + 1 : 2]
    spectrum[1 : pairs + 1] /= np.sqrt(2.0)
    if frames % 2 == 0:
        spectrum[-1] = coefficients[-1]
    return np.asarray(fft.irfft(spectrum, n=frames, axis=0, norm="ortho"))


def functions(basis: Basis, frames: int, index: ArrayLike, times: ArrayLike) -> Array:
    """Functions `index` `(kept,)` of a basis of `frames` at real `times` `(n,)` in frames: `(n, kept)`.

    >>> functions("dct", 4, [0, 1], [0.0, 1.5]).round(3).tolist()
    [[0.5, 0.653], [0.5, 0.0]]
    """
    number = np.asarray(index, dtype=np.int64)
    at = np.asarray(times, dtype=np.float64)[:, None]
    scale = np.where(number == 0, 1.0, np.sqrt(2.0)) / np.sqrt(frames)
    if basis == "dct":
        return np.asarray(scale * np.cos(np.pi * number * (at + 0.5) / frames))
    turns = (number + 1) // 2
    if frames % 2 == 0:
        scale = np.where(number == frames - 1, 1.0 / np.sqrt(frames), scale)
    angle = 2 * np.pi * turns * at / frames
    return np.asarray(scale * np.where(number % 2 == 1, np.cos(angle), np.sin(angle) + (number == 0)))


def frequencies(basis: Basis, frames: int, frame_rate: float) -> Array:
    """Frequency of each function, Hz `(frames,)`."""
    number = np.arange(frames)
    if basis == "dct":
        return np.asarray(number * frame_rate / (2 * frames))
    return np.asarray((number + 1) // 2 * frame_rate / frames)


Select = Literal["low", "energy-shared", "energy-pixel"]
SELECTS: tuple[Select, ...] = get_args(Select)

# Indices of functions are stored in two bytes.
MOST_FRAMES = 1 << 16


@dataclass(frozen=True, eq=False)
class FourierFields:
    """A field series as some of its temporal coefficients, known at any real time.

    Attributes:
        coefficients: `(kept, rows, columns, 2)`, float32.
        index: Which function of the basis each is, `(kept,)`, or `(kept, rows, columns, 2)` if pixels differ.
        frames: Of the series.
        frame_rate: Of the series.
        basis: "dct" or "dft".
        information: Per cent of the energy kept.
        information_without_mean: The same of what is left when every pixel's mean is taken away.
        mask: As in :class:`~marey.crowd.fields.FieldSeries`, and so are `homography` and `name`.

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
        found = checked("coefficients", self.coefficients, (None, None, None, 2), dtype=np.float32)
        wanted = found.shape if np.ndim(self.index) > 1 else found.shape[:1]
        index = checked("index", self.index, wanted, dtype=np.uint16)
        frames = int(self.frames)
        if not (found.size and 0 < frames <= MOST_FRAMES) or int(index.max()) >= frames:
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
        check_fields(len(at), rows, columns, "take some of them with velocities_at")
        basis = checked_basis(self.basis)
        if self.index.ndim == 1:
            matrix = functions(basis, self.frames, self.index, at).astype(np.float32)
            flat = self.coefficients.reshape(len(self.index), -1)
            return np.asarray((matrix @ flat).reshape(len(at), rows, columns, 2))
        values = np.empty((len(at), rows, columns, 2), dtype=np.float32)
        every = functions(basis, self.frames, np.arange(self.frames), at)
        for part in _work.blocks(rows, 16 * self.frames * columns):
            spread = np.zeros((self.frames, part.stop - part.start, columns, 2))
            index = self.index[:, part].astype(np.int64)
            np.put_along_axis(spread, index, self.coefficients[:, part].astype(np.float64), axis=0)
            values[:, part] = np.tensordot(every, spread, axes=1)
        return values

    def decode(self) -> FieldSeries:
        """The series at its frames."""
        values = self.velocities_at(np.arange(self.frames))
        return FieldSeries(
            read_only(values), self.frame_rate, mask=self.mask, homography=self.homography, name=self.name
        )


@dataclass(frozen=True)
class Information:
    """Per cent of the energy kept: of the whole, and of what changes over time."""

    whole: float
    without_mean: float


@dataclass(frozen=True)
class FieldError:
    """How far off velocities are, pixels per frame: root mean square, largest, and 99 % are within `most`."""

    rms: float
    largest: float
    most: float


def compress(
    fields: FieldSeries, *, keep: float = 0.1, basis: Basis = "dct", select: Select = "low"
) -> FourierFields:
    """Keep a share of the temporal coefficients of every pixel; foreground is not kept.

    Args:
        fields: The series.
        keep: Share of the numbers, 0 to 1; the mean over time is always among them.
        basis: "dct" mirrors the ends of the series; "dft" takes it for periodic, as published, and rings.
        select: The lowest frequencies, those with most energy over all pixels, or those of each pixel (whose
            index is then stored too, two bytes each).
    """
    basis = checked_basis(basis)
    if select not in SELECTS:
        raise InputError(f"select {select!r}: one of {', '.join(SELECTS)}")
    if fields.frames > MOST_FRAMES:
        raise InputError(f"{fields.frames} frames; at most {MOST_FRAMES} have their spectrum stored")
    count = kept_count(fields.frames, keep, basis)
    kept = np.empty((count, *fields.velocities.shape[1:]))
    index: AnyArray = np.arange(count)
    if select == "low":
        matrix = functions(basis, fields.frames, index, np.arange(fields.frames)).T
        for part in _row_blocks(fields):
            kept[:, part] = np.tensordot(matrix, fields.velocities[:, part].astype(np.float64), axes=1)
    elif select == "energy-shared":
        strongest = np.argsort(-_energy(fields, basis, select)[1:], kind="stable") + 1
        index = np.sort([0, *strongest[: count - 1]])
        for part, found in _spectrum(fields, basis):
            kept[:, part] = found[index]
    else:
        index = np.empty(kept.shape, dtype=np.int64)
        for part, found in _spectrum(fields, basis):
            size = np.abs(found)
            size[0] = np.inf
            index[:, part] = np.sort(np.argpartition(-size, count - 1, axis=0)[:count], axis=0)
            kept[:, part] = np.take_along_axis(found, index[:, part], axis=0)
    stored = kept.astype(np.float32)
    if fields.mask is not None:
        stored[:, ~fields.mask] = 0
    small = FourierFields(
        read_only(stored),
        index.astype(np.uint16),
        fields.frames,
        fields.frame_rate,
        basis=basis,
        mask=fields.mask,
        homography=fields.homography,
        name=fields.name,
    )
    share = information(fields, small.decode())
    return replace(small, information=share.whole, information_without_mean=share.without_mean)


def kept_count(frames: int, keep: float, basis: Basis) -> int:
    """How many numbers of `frames` are kept; odd for the Fourier basis: the mean and whole pairs.

    >>> kept_count(214, 0.1, "dct"), kept_count(641, 0.1, "dft")
    (21, 63)
    """
    if not 0.0 < keep <= 1.0:
        raise InputError(f"keep {keep:g}: a share above 0 and up to 1, e.g. 0.1")
    count = max(1, round(keep * frames))
    return count - (count % 2 == 0) if basis == "dft" and count < frames else count


def information(fields: FieldSeries, approximation: FieldSeries) -> Information:
    """What `approximation` keeps of `fields`, where the mask of `fields` is true.

    >>> import marey
    >>> field = marey.samples.field()
    >>> information(field, field)
    Information(whole=100.0, without_mean=100.0)
    """
    lost = whole = changing = 0.0
    mean = _inside(fields, fields.velocities.mean(axis=0, dtype=np.float64)[None])[0]
    for ours, theirs in _pairs(fields, approximation):
        lost += float(((theirs - ours) ** 2).sum())
        whole += float((ours**2).sum())
        changing += float(((ours - mean) ** 2).sum())
    return Information(_per_cent(lost, whole), _per_cent(lost, changing))


def field_error(fields: FieldSeries, approximation: FieldSeries) -> FieldError:
    """Lengths of the error vectors of `approximation`, where the mask of `fields` is true."""
    pairs = _pairs(fields, approximation)
    lengths = np.concatenate([np.linalg.norm(theirs - ours, axis=-1).ravel() for ours, theirs in pairs])
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
    if select not in SELECTS:
        raise InputError(f"select {select!r}: one of {', '.join(SELECTS)}")
    energy = _energy(fields, checked_basis(basis), select)
    if select == "energy-shared":
        energy[1:] = -np.sort(-energy[1:])
    total = energy.sum()
    return np.asarray(np.maximum(1.0 - np.cumsum(energy) / total, 0.0) if total else np.zeros(len(energy)))


def _spectrum(fields: FieldSeries, basis: Basis) -> Iterator[tuple[slice, Array]]:
    """Coefficients `(frames, some rows, columns, 2)` of a few rows after the other."""
    for part in _row_blocks(fields):
        yield part, coefficients(fields.velocities[:, part], basis)


def _energy(fields: FieldSeries, basis: Basis, select: str) -> Array:
    """Energy over all pixels that count of each function, or of each pixel's functions by their energy."""
    total = np.zeros(fields.frames)
    for part, found in _spectrum(fields, basis):
        inside = found if fields.mask is None else found[:, fields.mask[part]]
        squares = inside.reshape(fields.frames, -1) ** 2
        if select == "energy-pixel":
            squares[1:] = -np.sort(-squares[1:], axis=0)
        total += squares.sum(axis=1)
    return total


def _row_blocks(fields: FieldSeries) -> Iterator[slice]:
    return _work.blocks(fields.rows, 16 * fields.frames * fields.columns)


def _pairs(fields: FieldSeries, approximation: FieldSeries) -> Iterator[tuple[Array, Array]]:
    if approximation.velocities.shape != fields.velocities.shape:
        raise InputError(
            f"fields {fields.velocities.shape} and {approximation.velocities.shape} cannot be compared"
        )
    for part in _work.blocks(fields.frames, 16 * fields.rows * fields.columns):
        yield _inside(fields, fields.velocities[part]), _inside(fields, approximation.velocities[part])


def _inside(fields: FieldSeries, velocities: FloatArray) -> Array:
    values = velocities.astype(np.float64)
    return values if fields.mask is None else np.asarray(values[:, fields.mask])


def _per_cent(lost: float, whole: float) -> float:
    return 100.0 if lost == 0.0 else 100.0 * (1.0 - lost / whole) if whole else 0.0
