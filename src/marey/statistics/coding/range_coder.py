"""The state around the compiled range coder: buffer, probabilities, mixing weights and their tables.

What is written must be read in the same order with the same shapes. A user of it adds the order in which its
numbers are coded (see `marey.body.codec.transform.segment`). Cost: about 0.2 µs a number.
"""

from __future__ import annotations

import math
from functools import cache

import numpy as np
from numpy.typing import NDArray

from marey._arrays import IntArray

Whole = NDArray[np.int64]

# Magnitudes that can be written.
LARGEST_NUMBER = 1 << 40

FIRST_ROOM = 1 << 16


class Coder:
    """Writes when made without data, reads when made with it.

    groups: contexts in groups of one for every step of a unary code; the first 48 are those of an expected
        magnitude in quarter octaves, which begin with the odds of a geometric distribution
    mixers: sets of mixing weights, one for every step of a unary code
    room: bytes that can be written
    """

    def __init__(self, data: bytes | None, *, groups: int, mixers: int, room: int = FIRST_ROOM) -> None:
        from marey.statistics.coding import _kernels

        self.reading = data is not None
        buffer = np.zeros(room, np.uint8) if data is None else np.frombuffer(data, np.uint8)
        registers = np.zeros(6, np.int64)
        registers[_kernels.HIGH] = 0xFFFFFFFF
        if data is not None:
            registers[_kernels.CODE] = int.from_bytes(data[:4].ljust(4, b"\0"), "big")
            registers[_kernels.PLACE], registers[_kernels.DECODING] = 4, 1
        probabilities, counts = first_probabilities(groups)
        weights = np.full((mixers * _kernels.SLOTS + 1, _kernels.INPUTS), int(0.1 * 65536), np.int64)
        weights[:, 0] = int(0.65 * 65536)
        weights[-1, 0] = 65536
        self._registers = registers
        self.state: tuple[IntArray, ...] = (
            registers,
            np.array(buffer),
            probabilities.copy(),
            counts.copy(),
            weights,
            *logistic_tables(),
            rates(),
        )

    def finish(self) -> bytes:
        """All that was written."""
        from marey.statistics.coding import _kernels

        size = int(self._registers[_kernels.PLACE])
        last = int(self._registers[_kernels.HIGH]) >> 24
        if self._registers[_kernels.OVERFLOW]:
            raise BufferError(f"{size} bytes did not fit")
        return bytes(self.state[1][:size].tobytes()) + bytes([last])


@cache
def logistic_tables() -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Probability (16 bits) of a logit (1/256 steps), and logit of a probability (12 bits).

    Rounded from functions whose values stay clear of halves, so that every machine gets the same tables.
    """
    logits = (np.arange(4096) - 2048) / 256
    squash = [round(65536 / (1 + math.exp(-x))) for x in logits]
    chances = (np.arange(4096) + 0.5) / 4096
    stretch = [round(256 * math.log(p / (1 - p))) for p in chances]
    return np.clip(squash, 16, 65519).astype(np.int32), np.clip(stretch, -2047, 2047).astype(np.int32)


@cache
def rates() -> Whole:
    """How fast a probability follows after so many observations: the first count most."""
    return np.array([65536 * 10 // (10 * n + 20) for n in range(256)], np.int64)


@cache
def first_probabilities(groups: int) -> tuple[NDArray[np.int32], NDArray[np.uint8]]:
    """Even odds, or where a magnitude is expected those of a geometric distribution with that mean."""
    from marey.statistics.coding import _kernels as kernels

    probabilities = np.full(groups * kernels.SLOTS + kernels.SINGLE, 32768, np.int32)
    counts = np.zeros(len(probabilities), np.uint8)
    for octave in range(kernels.OCTAVES):
        # The mean of what is left after the low bits are taken off, in 1024ths, on whole numbers alone.
        mean = 1024 * (9 + 2 * ((octave - 1) % 4) << (octave - 1) // 4) // (8 * 256) if octave else 2
        shift = 0
        while mean >> (shift + 12) > 0:
            shift += 1
        left = max(mean >> shift, 1)
        start = octave * kernels.SLOTS
        probabilities[start : start + kernels.SLOTS] = min(max(65536 * left // (1024 + left), 131), 64225)
        counts[start : start + kernels.SLOTS] = 6
    return probabilities, counts
