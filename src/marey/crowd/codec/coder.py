"""One block of frames of a compressed series: bytes that decode by themselves.

Biorthogonal 9/7 wavelets (Daubechies and Sweldens 1998) along time, then along columns and rows of every
image, nearly orthonormal; their coefficients are rounded to one step. Where that leaves a vector further off
than allowed, it gets a correction in whole steps of its own. A decoder works on whole numbers alone, in units
of a power of two. Cost: linear, about 30 ns a sample and direction for the wavelets.
"""

from __future__ import annotations

import math
import struct
import zlib
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from marey._arrays import Array, BoolArray, Integers
from marey.crowd.fields import UNKNOWN, fill_masked, known_foreground
from marey.errors import FormatError
from marey.statistics.coding.range_coder import LARGEST_NUMBER, Coder
from marey.statistics.coding.wavelet import LIFTING_SCALE, LIFTING_STEPS


def levels_of(*lengths: int) -> int:
    """How often axes of these lengths are halved together: up to 6 times, while 4 samples are left.

    >>> levels_of(128), levels_of(60, 80), levels_of(1)
    (5, 3, 0)
    """
    levels = 0
    while levels < 6 and min(lengths) >= 8 << levels:
        levels += 1
    return levels


def forward(volume: Array) -> Array:
    """Coefficients of a volume `(frames, rows, columns, parts)`, each where its sample was."""
    from marey.crowd.codec import _kernels
    from marey.statistics.coding import _kernels as curves

    frames, rows, columns, _ = volume.shape
    work = np.array(volume, dtype=np.float64, order="C")
    factors = np.array(LIFTING_STEPS)
    curves.lift_curves(work.reshape(frames, -1), levels_of(frames), factors, LIFTING_SCALE, False)
    _kernels.forward_space(work, levels_of(rows, columns), factors, LIFTING_SCALE)
    return work


def backward(coefficients: Integers) -> Integers:
    """The volume of whole numbers that has these coefficients, up to rounding; the same on every machine."""
    from marey.crowd.codec import _kernels

    frames, rows, columns, _ = coefficients.shape
    work = np.array(coefficients, dtype=np.int64, order="C")
    one = 1 << _kernels.POINT
    factors = np.array([round(step * one) for step in LIFTING_STEPS], dtype=np.int64)
    scale = LIFTING_SCALE
    levels = levels_of(rows, columns)
    _kernels.backward_space(work, levels, factors, round(scale**2 * one), round(one / scale**2))
    curves = work.reshape(frames, rows, -1)
    _kernels.backward_time(curves, levels_of(frames), factors, round(scale * one), round(one / scale))
    return work


Fields = NDArray[np.float32]

# A step is a whole number of units between these two, so units are fine enough for its rounding.
FEWEST_UNITS, MOST_UNITS = 1024, 2048
FOREGROUND_STEP = 24.0

_HEAD = struct.Struct("<Hhi")


@dataclass(frozen=True)
class Step:
    """A quantisation step: `units` times 2 to the power of `exponent`."""

    units: int
    exponent: int

    @classmethod
    def near(cls, step: float) -> Step:
        """The largest of these steps that is not above `step`.

        >>> Step.near(0.1).size <= 0.1 < 1.001 * Step.near(0.1).size
        True
        """
        exponent = math.frexp(step)[1] - FEWEST_UNITS.bit_length()
        return cls(max(int(step / 2.0**exponent), FEWEST_UNITS), exponent)

    @property
    def unit(self) -> float:
        """The unit, a power of two."""
        return 2.0**self.exponent

    @property
    def size(self) -> float:
        """The step itself."""
        return self.units * self.unit


class VolumeCoder(Coder):
    """Writes volumes of whole numbers when made without data, reads them when made with it.

    >>> writer = VolumeCoder(room=1000)
    >>> _ = writer.coefficients(np.arange(16).reshape(2, 2, 2, 2) - 8)
    >>> VolumeCoder(writer.finish()).coefficients(np.zeros((2, 2, 2, 2), np.int64)).ravel()[:3].tolist()
    [-8, -7, -6]
    """

    def __init__(self, data: bytes | None = None, *, room: int = 1 << 16) -> None:
        from marey.crowd.codec import _kernels

        self._kernels = _kernels
        super().__init__(data, groups=_kernels.END, mixers=_kernels.MIXERS, room=room)

    def coefficients(self, numbers: Integers) -> Integers:
        """Rounded coefficients `(frames, rows, columns, parts)` of :func:`~.wavelets.forward`."""
        numbers = np.array(numbers, dtype=np.int64, order="C")
        frames, rows, columns, _ = numbers.shape
        levels = levels_of(frames), levels_of(rows, columns)
        self._kernels.visit(self.state, numbers, np.zeros((0, 0, 0, 0)), levels, 0.0, False)
        return self._plausible(numbers)

    def corrections(self, numbers: Integers, mask: BoolArray) -> Integers:
        """Numbers `(frames, rows, columns, parts)`, nearly all zero, where `mask` is true."""
        numbers = np.array(numbers, dtype=np.int64, order="C")
        self._kernels.code_corrections(self.state, numbers, mask.astype(np.int64))
        return self._plausible(numbers)

    def _plausible(self, numbers: Integers) -> Integers:
        if self.reading and numbers.size and np.abs(numbers).max() > LARGEST_NUMBER:
            raise FormatError("the compressed fields are damaged: a number is too large")
        return numbers


def quantise(coefficients: Array, step: float) -> Integers:
    """Coefficients in multiples of `step`, so that error and bits balance."""
    from marey.crowd.codec import _kernels

    frames, rows, columns, _ = coefficients.shape
    numbers = np.zeros(coefficients.shape, np.int64)
    levels = levels_of(frames), levels_of(rows, columns)
    # In squared steps: the squared error that high-resolution quantisation pays for a bit.
    rate_weight = 0.12
    idle = VolumeCoder(room=1).state
    _kernels.visit(idle, numbers, coefficients / step, levels, rate_weight, True)
    return numbers


def encode(velocities: Fields, mask: BoolArray | None, step: Step, max_error: float | None) -> bytes:
    """A block of velocities `(frames, rows, columns, 2)` as bytes."""
    numbers = _quantised(velocities, mask, step)
    writer = VolumeCoder(room=8 * numbers.size + 4096)
    writer.coefficients(numbers)
    quantum = 0
    if max_error is not None:
        # A thousandth is kept for the rounding of what is decoded to single precision.
        allowed = (1 - 1e-3) * max_error
        quantum = min(max(int(math.sqrt(2.0) * allowed / step.unit), 1), 2**31 - 1)
        missing = velocities / step.unit - backward(numbers * step.units)
        off = np.hypot(missing[..., 0], missing[..., 1]) * step.unit > allowed
        inside = _everywhere(mask, velocities.shape)
        fixes = np.where((off & inside)[..., None], np.rint(missing / quantum), 0).astype(np.int64)
        writer.corrections(fixes, inside)
    return _HEAD.pack(step.units, step.exponent, quantum) + writer.finish()


def decode(data: bytes, shape: tuple[int, int, int], mask: BoolArray | None) -> Fields:
    """Velocities `(frames, rows, columns, 2)` of a block of `shape` (frames, rows, columns)."""
    if len(data) < _HEAD.size:
        raise FormatError("the compressed fields are damaged: a block is cut off")
    units, exponent, quantum = _HEAD.unpack(data[: _HEAD.size])
    if not (FEWEST_UNITS <= units <= MOST_UNITS and -200 < exponent < 100 and quantum >= 0):
        raise FormatError("the compressed fields are damaged: a block's step is out of bounds")
    step = Step(units, exponent)
    reader = VolumeCoder(data[_HEAD.size :])
    nothing = np.zeros((*shape, 2), np.int64)
    whole = backward(reader.coefficients(nothing) * step.units)
    if quantum:
        whole += quantum * reader.corrections(nothing, _everywhere(mask, shape))
    return _velocities(whole, step, mask)


def approximated(velocities: Fields, mask: BoolArray | None, step: Step) -> Fields:
    """What a block decodes to, without the coding and without corrections."""
    return _velocities(backward(_quantised(velocities, mask, step) * step.units), step, mask)


def encode_foreground(foreground: NDArray[np.uint8]) -> tuple[bytes, bytes]:
    """How surely people are there `(frames, rows, columns)`, within a few hundredths, and where unknown."""
    numbers = quantise(forward(foreground[..., None].astype(np.float64)), FOREGROUND_STEP)
    writer = VolumeCoder(room=8 * numbers.size + 4096)
    writer.coefficients(numbers)
    unknown = foreground == UNKNOWN
    return writer.finish(), zlib.compress(np.packbits(unknown).tobytes(), 9) if unknown.any() else b""


def decode_foreground(data: bytes, unknown: bytes, shape: tuple[int, int, int]) -> NDArray[np.uint8]:
    """Inverse of :func:`encode_foreground`."""
    step = Step.near(FOREGROUND_STEP)
    numbers = VolumeCoder(data).coefficients(np.zeros((*shape, 1), np.int64))
    values = backward(numbers * step.units)[..., 0] * step.unit
    foreground = known_foreground(np.asarray(np.clip(np.rint(values), 0, 255), dtype=np.uint8))
    try:
        packed = zlib.decompressobj().decompress(unknown, foreground.size // 8 + 1)
    except zlib.error as error:
        raise FormatError(f"the compressed fields are damaged: unknown foreground ({error})") from error
    bits = np.frombuffer(packed.ljust(foreground.size // 8 + 1, b"\0"), np.uint8)
    return np.where(np.unpackbits(bits, count=foreground.size).reshape(shape), np.uint8(UNKNOWN), foreground)


def _quantised(velocities: Fields, mask: BoolArray | None, step: Step) -> Integers:
    return quantise(forward(fill_masked(velocities.astype(np.float64), mask)), step.size)


def _velocities(whole: Integers, step: Step, mask: BoolArray | None) -> Fields:
    velocities = (whole * step.unit).astype(np.float32)
    if mask is not None:
        velocities[:, ~mask] = 0.0
    if not np.isfinite(velocities).all():
        raise FormatError("the compressed fields are damaged: a velocity is not finite")
    return velocities


def _everywhere(mask: BoolArray | None, shape: tuple[int, ...]) -> BoolArray:
    return np.ones(shape[1:3], dtype=np.bool_) if mask is None else mask
