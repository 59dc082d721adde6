"""Offsets of joints and end sites in few bits: whole numbers, each limb predicted by its mirror image.

A vector is written as what it differs by from its counterpart, reflected in x or, where a rig needs it, in
any axes; zeros cost a bit, other numbers an exponential Golomb code whose order fits the figure. Exact
numbers come as decimals of the file's unit where they are such, and as floats otherwise.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import numpy as np
from numpy.typing import NDArray

from marey._arrays import Array
from marey.body.codec._packing import BitReader, BitWriter, Reader, golomb_bits, pack_varint
from marey.errors import FormatError, InputError

Vector = tuple[int, int, int]

# Metres: quanta are multiples of this.
FINEST = 1e-5

_FLOAT64, _FLOAT32, _DECIMALS, _QUANTA = 0, 1, 2, 16
_MOST_DECIMALS = 9
_LARGEST = 1 << 40
_COARSEST = 1 << 32
_ORDER_BITS = 5
_SIGNS: tuple[Vector, ...] = ((-1, 1, 1), *(s for s in product((1, -1), repeat=3) if s != (-1, 1, 1)))  # type: ignore[arg-type]


def pack_offsets(offsets: Array, counterparts: Sequence[int], *, quantum: float | None, unit: float) -> bytes:
    """Offsets `(points, 3)` in metres as bytes.

    counterparts: for each, the index of an earlier one it is likely to mirror, or -1
    quantum: metres, rounded down to a multiple of 0.01 mm; None, or less than that, to keep every digit
    unit: metres, of the file the offsets came from
    """
    if quantum is not None and not 0 < quantum < np.inf:
        raise InputError(
            f"quantum: a positive number of metres, or None to keep every digit, got {quantum:g}"
        )
    if quantum is not None and quantum >= FINEST:
        multiple = min(int(quantum / FINEST * (1 + 1e-9)), _COARSEST)
        step = multiple * FINEST
        if (np.abs(offsets) < _LARGEST * step).all():
            numbers = np.rint(offsets / step).astype(np.int64)
            return pack_varint(_QUANTA + multiple - 1) + _coded(numbers, counterparts)
    for decimals in range(_MOST_DECIMALS + 1):
        scaled = offsets / unit * 10.0**decimals
        if not (np.abs(scaled) < _LARGEST).all():
            break
        numbers = np.rint(scaled).astype(np.int64)
        if np.array_equal(_of_decimals(numbers, decimals, unit), offsets):
            return pack_varint(_DECIMALS + decimals) + _coded(numbers, counterparts)
    single = offsets.astype("<f4")
    if np.array_equal(single, offsets):
        return pack_varint(_FLOAT32) + single.tobytes()
    return pack_varint(_FLOAT64) + offsets.astype("<f8").tobytes()


def unpack_offsets(reader: Reader, counterparts: Sequence[int], *, unit: float) -> Array:
    """Inverse of :func:`pack_offsets`."""
    kind, count = reader.varint(), len(counterparts)
    if kind in (_FLOAT64, _FLOAT32):
        dtype = np.dtype("<f8" if kind == _FLOAT64 else "<f4")
        values = np.frombuffer(reader.take(3 * count * dtype.itemsize), dtype).astype(np.float64)
        return _finite(values.reshape(count, 3))
    numbers = _decoded(reader, counterparts)
    if kind < _QUANTA:
        if kind - _DECIMALS > _MOST_DECIMALS:
            raise FormatError("the compressed clip is damaged: offsets of a kind that is not known")
        return _finite(_of_decimals(numbers, kind - _DECIMALS, unit))
    if kind - _QUANTA >= _COARSEST:
        raise FormatError("the compressed clip is damaged: its offsets are too coarse")
    return _finite(np.asarray(numbers * ((kind - _QUANTA + 1) * FINEST)))


def _of_decimals(numbers: NDArray[np.int64], decimals: int, unit: float) -> Array:
    return np.asarray(numbers / 10.0**decimals * unit)


def _finite(offsets: Array) -> Array:
    if not np.isfinite(offsets).all():
        raise FormatError("the compressed clip is damaged: an offset is not finite")
    return offsets


def _coded(numbers: NDArray[np.int64], counterparts: Sequence[int]) -> bytes:
    values: list[Vector] = [tuple(row) for row in numbers.tolist()]
    pairs = [(values[c] if c >= 0 else None) for c in counterparts]
    return min((_written(values, pairs, own_signs) for own_signs in (False, True)), key=len)


def _written(values: list[Vector], pairs: list[Vector | None], own_signs: bool) -> bytes:
    signs = [
        _likely_signs(v, p) if own_signs and p is not None else 0 for v, p in zip(values, pairs, strict=True)
    ]
    rest = [_less(v, p, s) for v, p, s in zip(values, pairs, signs, strict=True)]
    orders = [
        _best_order([v for v, p in zip(rest, pairs, strict=True) if (p is None) == alone])
        for alone in (True, False)
    ]
    writer = BitWriter()
    writer.bits(own_signs, 1)
    for order in orders:
        writer.bits(order, _ORDER_BITS)
    for vector, pair, sign in zip(rest, pairs, signs, strict=True):
        if own_signs and pair is not None:
            writer.bits(sign, 3)
        writer.bits(any(vector), 1)
        for number in vector if any(vector) else ():
            writer.bits(number != 0, 1)
            if number:
                writer.bits(number < 0, 1)
                writer.golomb(abs(number) - 1, orders[pair is not None])
    return writer.tobytes()


def _decoded(reader: Reader, counterparts: Sequence[int]) -> NDArray[np.int64]:
    bits = BitReader(reader)
    own_signs = bits.bits(1)
    orders = [bits.bits(_ORDER_BITS), bits.bits(_ORDER_BITS)]
    values: list[Vector] = []
    for counterpart in counterparts:
        pair = values[counterpart] if counterpart >= 0 else None
        sign = bits.bits(3) if own_signs and pair is not None else 0
        order = orders[pair is not None]
        rest = [0, 0, 0]
        for axis in range(3) if bits.bits(1) else ():
            if bits.bits(1):
                below = bits.bits(1)
                size = bits.golomb(order) + 1
                rest[axis] = -size if below else size
        x, y, z = (r + p for r, p in zip(rest, _reflected(pair, sign), strict=True))
        if max(abs(x), abs(y), abs(z)) >= 2 * _LARGEST:
            raise FormatError("the compressed clip is damaged: an offset is too large")
        values.append((x, y, z))
    return np.array(values, dtype=np.int64).reshape(-1, 3)


def _reflected(pair: Vector | None, sign: int) -> Vector:
    if pair is None:
        return (0, 0, 0)
    a, b, c = _SIGNS[sign]
    return (a * pair[0], b * pair[1], c * pair[2])


def _less(value: Vector, pair: Vector | None, sign: int) -> Vector:
    x, y, z = _reflected(pair, sign)
    return (value[0] - x, value[1] - y, value[2] - z)


def _likely_signs(value: Vector, pair: Vector) -> int:
    return min(range(8), key=lambda sign: sum(map(abs, _less(value, pair, sign))))


def _best_order(vectors: list[Vector]) -> int:
    sizes = [abs(number) - 1 for vector in vectors for number in vector if number]
    return min(range(1 << _ORDER_BITS), key=lambda order: sum(golomb_bits(size, order) for size in sizes))
