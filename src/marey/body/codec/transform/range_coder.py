"""A stream of a clip's whole numbers in as few bytes as they need, and back.

What is written must be read in the same order with the same shapes. Numbers near zero, near their
neighbours in time or between curves cost less. Cost: about 0.2 µs a number.
"""

from __future__ import annotations

import numpy as np

from marey._arrays import Array, Integers
from marey.statistics.coding.range_coder import FIRST_ROOM, LARGEST_NUMBER, Coder


class RangeCoder(Coder):
    """Writes numbers when made without data, reads them when made with it.

    >>> writer = RangeCoder()
    >>> _ = writer.plain(np.array([3, -1, 0, 2]))
    >>> data = writer.finish()
    >>> RangeCoder(data).plain(np.zeros(4, np.int64)).tolist()
    [3, -1, 0, 2]
    """

    def __init__(self, data: bytes | None = None, *, room: int = FIRST_ROOM) -> None:
        from marey.body.codec.transform import _kernels

        self._kernels = _kernels
        super().__init__(data, groups=_kernels.END, mixers=_kernels.MIXERS // _kernels.SLOTS, room=room)

    def plain(self, numbers: Integers, *, family: int = 0, expected: float = 1.0) -> Integers:
        """Numbers one after the other, each about as large as those before it.

        Args:
            numbers: `(count,)`.
            family: 0…6, numbers of one kind that share what is learned about them.
            expected: size of the first.
        """
        numbers = np.array(numbers, dtype=np.int64)
        self._kernels.code_plain(self.state, numbers, family, int(256 * expected))
        return numbers

    def bands(self, numbers: Integers, sizes: list[int]) -> Integers:
        """Wavelet coefficients `(frames, curves)` in bands of `sizes`, coarse to fine."""
        numbers = np.array(numbers, dtype=np.int64)
        self._kernels.code_bands(self.state, numbers, np.array(sizes, np.int64))
        return numbers


def decide(
    values: Array,
    sizes: list[int],
    *,
    steps: Array | None = None,
    feedback: Array | None = None,
    lagrangian: float = 1.5,
) -> Integers:
    """Round coefficients `(frames, curves)` in multiples of `steps` so that error and bits balance.

    Args:
        values: the coefficients.
        sizes: of their bands.
        steps: what they are rounded to, broadcast to their shape; 1 if None.
        feedback: `(curves, curves)`, lower triangle: share of a curve's error that later ones take back.
        lagrangian: what a bit is worth in squared error, relative to fine quantisation.
    """
    from marey.body.codec.transform._encoder_kernels import decide_bands

    numbers = np.zeros(values.shape, np.int64)
    every = np.ascontiguousarray(np.broadcast_to(1.0 if steps is None else steps, values.shape))
    passed = np.zeros((0, 0)) if feedback is None else feedback
    decide_bands(np.ascontiguousarray(values), every, passed, np.array(sizes, np.int64), lagrangian, numbers)
    return numbers


__all__ = ["LARGEST_NUMBER", "RangeCoder", "decide"]
