"""Whole-number volumes as bytes, and the rounding of coefficients to them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from marey.crowd.codec.transform import levels_of
from marey.errors import FormatError
from marey.statistics.coding.range_coder import LARGEST_NUMBER, Coder

Volume = NDArray[np.float64]
Whole = NDArray[np.int64]

# Squared error, in squared steps, that a bit is worth: what high-resolution quantisation pays for one.
THRIFT = 0.12


class VolumeCoder(Coder):
    """Writes volumes when made without data, reads them when made with it.

    >>> writer = VolumeCoder(room=1000)
    >>> _ = writer.coefficients(np.arange(16).reshape(2, 2, 2, 2) - 8)
    >>> VolumeCoder(writer.finish()).coefficients(np.zeros((2, 2, 2, 2), np.int64)).ravel()[:3].tolist()
    [-8, -7, -6]
    """

    def __init__(self, data: bytes | None = None, *, room: int = 1 << 16) -> None:
        from marey.crowd.codec import _volume_kernels

        self._kernels = _volume_kernels
        super().__init__(data, groups=_volume_kernels.END, mixers=_volume_kernels.MIXERS, room=room)

    def coefficients(self, numbers: Whole) -> Whole:
        """Rounded coefficients `(frames, rows, columns, parts)` of :func:`~.transform.forward`."""
        numbers = np.array(numbers, dtype=np.int64, order="C")
        frames, rows, columns, _ = numbers.shape
        self._kernels.code_volume(self.state, numbers, levels_of(frames), levels_of(rows, columns))
        return self._plausible(numbers)

    def corrections(self, numbers: Whole, mask: NDArray[np.bool_]) -> Whole:
        """Numbers `(frames, rows, columns, parts)`, nearly all zero, where `mask` is true."""
        numbers = np.array(numbers, dtype=np.int64, order="C")
        self._kernels.code_corrections(self.state, numbers, mask.astype(np.int64))
        return self._plausible(numbers)

    def _plausible(self, numbers: Whole) -> Whole:
        if self.reading and numbers.size and np.abs(numbers).max() > LARGEST_NUMBER:
            raise FormatError("the compressed fields are damaged: a number is too large")
        return numbers


def rounded(coefficients: Volume, step: float, *, thrift: float = THRIFT) -> Whole:
    """Coefficients in multiples of `step`, so that error and bits balance."""
    from marey.crowd.codec import _volume_kernels

    frames, rows, columns, _ = coefficients.shape
    numbers = np.zeros(coefficients.shape, np.int64)
    idle = VolumeCoder(room=1).state
    _volume_kernels.decide_volume(
        idle, coefficients / step, levels_of(frames), levels_of(rows, columns), thrift, numbers
    )
    return numbers
