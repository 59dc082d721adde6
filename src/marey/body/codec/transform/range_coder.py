"""A stream of whole numbers in as few bytes as they need, and back: the state around the compiled coder.

What is written must be read in the same order with the same shapes. Numbers near zero, near their
neighbours in time or between curves cost less. Cost: about 0.2 µs a number.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Whole = NDArray[np.int64]

# Magnitudes that can be written.
LARGEST_NUMBER = 1 << 40

_FIRST_ROOM = 1 << 16


class RangeCoder:
    """Writes numbers when made without data, reads them when made with it.

    >>> writer = RangeCoder()
    >>> _ = writer.plain(np.array([3, -1, 0, 2]))
    >>> data = writer.finish()
    >>> RangeCoder(data).plain(np.zeros(4, np.int64)).tolist()
    [3, -1, 0, 2]
    """

    def __init__(self, data: bytes | None = None, *, room: int = _FIRST_ROOM) -> None:
        from marey.body.codec.transform import _kernels

        self._kernels = _kernels
        self.reading = data is not None
        buffer = np.zeros(room, np.uint8) if data is None else np.frombuffer(data, np.uint8)
        registers = np.zeros(6, np.int64)
        registers[_kernels.HIGH] = 0xFFFFFFFF
        if data is not None:
            registers[_kernels.CODE] = int.from_bytes(data[:4].ljust(4, b"\0"), "big")
            registers[_kernels.PLACE], registers[_kernels.DECODING] = 4, 1
        probabilities, counts = _first_probabilities()
        weights = np.full((_kernels.MIXERS + 1, _kernels.INPUTS), int(0.1 * 65536), np.int64)
        weights[:, 0] = int(0.65 * 65536)
        weights[_kernels.ALONE, 0] = 65536
        self._registers = registers
        self._coder: Any = (
            registers,
            np.array(buffer),
            probabilities.copy(),
            counts.copy(),
            weights,
            *_logistic_tables(),
            _rates(),
        )

    def plain(self, numbers: Whole, *, family: int = 0, expected: float = 1.0) -> Whole:
        """Numbers `(count,)`, each about as large as those before it; `expected` for the first.

        family: 0…6, numbers of one kind that share what is learned about them
        """
        numbers = np.array(numbers, dtype=np.int64)
        self._kernels.code_plain(self._coder, numbers, family, int(256 * expected))
        return numbers

    def bands(self, numbers: Whole, sizes: list[int]) -> Whole:
        """Wavelet coefficients `(frames, curves)` in bands of `sizes`, coarse to fine."""
        numbers = np.array(numbers, dtype=np.int64)
        self._kernels.code_bands(self._coder, numbers, np.array(sizes, np.int64))
        return numbers

    def finish(self) -> bytes:
        """All that was written."""
        kernels = self._kernels
        size = int(self._registers[kernels.PLACE])
        last = int(self._registers[kernels.HIGH]) >> 24
        if self._registers[kernels.OVERFLOW]:
            raise BufferError(f"{size} bytes did not fit")
        return bytes(self._coder[1][:size].tobytes()) + bytes([last])


def decide(
    values: Array,
    sizes: list[int],
    *,
    steps: Array | None = None,
    feedback: Array | None = None,
    thrift: float = 1.5,
) -> Whole:
    """Round coefficients `(frames, curves)` in multiples of `steps` so that error and bits balance."""
    from marey.body.codec.transform._decision_kernels import decide_bands

    numbers = np.zeros(values.shape, np.int64)
    every = np.ascontiguousarray(np.broadcast_to(1.0 if steps is None else steps, values.shape))
    passed = np.zeros((0, 0)) if feedback is None else feedback
    decide_bands(np.ascontiguousarray(values), every, passed, np.array(sizes, np.int64), thrift, numbers)
    return numbers


@cache
def _logistic_tables() -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Probability (16 bits) of a logit (1/256 steps), and logit of a probability (12 bits).

    Rounded from functions whose values stay clear of halves, so that every machine gets the same tables.
    """
    logits = (np.arange(4096) - 2048) / 256
    squash = [round(65536 / (1 + math.exp(-x))) for x in logits]
    chances = (np.arange(4096) + 0.5) / 4096
    stretch = [round(256 * math.log(p / (1 - p))) for p in chances]
    return np.clip(squash, 16, 65519).astype(np.int32), np.clip(stretch, -2047, 2047).astype(np.int32)


@cache
def _rates() -> Whole:
    """How fast a probability follows after so many observations: the first count most."""
    return np.array([65536 * 10 // (10 * n + 20) for n in range(256)], np.int64)


@cache
def _first_probabilities() -> tuple[NDArray[np.int32], NDArray[np.uint8]]:
    """Even odds, except where a magnitude is expected: there those of a geometric law with that mean."""
    from marey.body.codec.transform import _kernels as kernels

    probabilities = np.full(kernels.CONTEXTS, 32768, np.int32)
    counts = np.zeros(kernels.CONTEXTS, np.uint8)
    for octave in range(48):  # of `quarter_octave`
        # The mean of what is left after the low bits are taken off, in 1024ths, on whole numbers alone.
        mean = 1024 * (9 + 2 * ((octave - 1) % 4) << (octave - 1) // 4) // (8 * 256) if octave else 2
        shift = 0
        while mean >> (shift + 12) > 0:
            shift += 1
        left = max(mean >> shift, 1)
        start = (kernels.EXPECTED + octave) * kernels.SLOTS
        probabilities[start : start + kernels.SLOTS] = min(max(65536 * left // (1024 + left), 131), 64225)
        counts[start : start + kernels.SLOTS] = 6
    return probabilities, counts
