"""Orthonormal bases in time: cosines (mirrored ends) and Fourier pairs (periodic), as T real numbers each.

Function 0 is the constant, then frequencies rise; any function has a value at any real time, so a series kept
as coefficients is known between its frames. Courty & Corpetti 2007, section 3.2. Cost of a transform:
O(frames log frames) a pixel.
"""

from __future__ import annotations

from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from marey._arrays import Array
from marey.errors import InputError

Basis = Literal["dct", "dft"]
BASES: tuple[Basis, ...] = get_args(Basis)


def checked_basis(basis: str) -> Basis:
    """`basis` if it is one."""
    if basis not in BASES:
        raise InputError(f"basis {basis!r}: one of {', '.join(BASES)}")
    return basis


def coefficients(values: NDArray[Any], basis: Basis) -> Array:
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
