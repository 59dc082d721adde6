"""Bytes of text looked at many at a time, from inside compiled loops: the machine's own instructions.

Eight digits are summed by three multiplications, and 64 bytes compared at once, so that a parser need not
branch on every character (the technique of Langdale and Lemire 2019, "Parsing gigabytes of JSON per
second"). All go by an address and check no bounds. Importing this module imports numba: do so inside
functions.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.extending import intrinsic

from marey._compiling import njit

OPTIONS = {"cache": True, "nogil": True, "error_model": "numpy"}


@intrinsic
def address_of(typing_context: Any, buffer: Any) -> Any:
    """Where an array's bytes are. Inner loops go by it: passing the array itself counts references."""

    def take(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        array = context.make_array(signature.args[0])(context, builder, values[0])
        return builder.ptrtoint(array.data, ir.IntType(64))

    return types.int64(buffer), take


def _load(bits: int) -> Any:
    def load(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        number = ir.IntType(bits)
        word = builder.load(builder.inttoptr(builder.add(*values), number.as_pointer()))
        word.align = 1
        return word if bits == 64 else builder.zext(word, ir.IntType(64))

    return load


@intrinsic
def byte(typing_context: Any, address: Any, position: Any) -> Any:
    return types.int64(types.int64, types.int64), _load(8)


@intrinsic
def eight_bytes(typing_context: Any, address: Any, position: Any) -> Any:
    """Eight bytes as an integer, the first byte lowest."""
    return types.uint64(types.int64, types.int64), _load(64)


def _compare(predicate: str) -> Any:
    def compare(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        vector = ir.VectorType(ir.IntType(8), 64)
        text = builder.load(builder.inttoptr(builder.add(*values[:2]), vector.as_pointer()))
        text.align = 1
        byte = builder.trunc(values[2], ir.IntType(8))
        first = builder.insert_element(ir.Constant(vector, ir.Undefined), byte, ir.IntType(32)(0))
        places = ir.Constant(ir.VectorType(ir.IntType(32), 64), [0] * 64)
        bits = builder.icmp_unsigned(predicate, text, builder.shuffle_vector(first, first, places))
        return builder.bitcast(bits, ir.IntType(64))

    return compare


@intrinsic
def bits_up_to(typing_context: Any, address: Any, position: Any, byte: Any) -> Any:
    """Which of the 64 bytes from `position` on are no larger than `byte`, the first byte lowest."""
    return types.uint64(types.int64, types.int64, types.int64), _compare("<=")


@intrinsic
def bits_equal(typing_context: Any, address: Any, position: Any, byte: Any) -> Any:
    """Which of the 64 bytes from `position` on are `byte`, the first byte lowest."""
    return types.uint64(types.int64, types.int64, types.int64), _compare("==")


@intrinsic
def count_ones(typing_context: Any, word: Any) -> Any:
    def count(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        return builder.ctpop(values[0])

    return types.int64(types.uint64), count


@intrinsic
def trailing_zeros(typing_context: Any, word: Any) -> Any:
    """Zero bits below the lowest one bit; 64 for zero."""

    def count(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        return builder.cttz(values[0], ir.Constant(ir.IntType(1), 0))

    return types.int64(types.uint64), count


@njit(**OPTIONS)
def leading_digits(word: np.uint64) -> int:
    """How many of eight bytes, from the first on, are digits."""
    # A byte that is no digit sets its top bit, and a carry spoils bytes after it alone.
    digits = word ^ np.uint64(0x3030303030303030)
    others = (digits | (digits + np.uint64(0x7676767676767676))) & np.uint64(0x8080808080808080)
    return trailing_zeros(others) >> 3


@njit(**OPTIONS)
def value_of_digits(word: np.uint64, count: int) -> np.uint64:
    """The number that the first `count` of eight bytes spell: sums of pairs, of fours, of all eight."""
    # In two steps: a shift by all 64 bits at once is not defined.
    half = np.uint64(32 - 4 * count)
    digits = ((word ^ np.uint64(0x3030303030303030)) << half) << half
    pairs = ((digits * np.uint64(10 * 2**8 + 1)) >> np.uint64(8)) & np.uint64(0x00FF00FF00FF00FF)
    fours = ((pairs * np.uint64(100 * 2**16 + 1)) >> np.uint64(16)) & np.uint64(0x0000FFFF0000FFFF)
    return (fours * np.uint64(10_000 * 2**32 + 1)) >> np.uint64(32)


@njit(**OPTIONS)
def number_length(address: int, position: int) -> int:
    """Bytes of a minus sign, digits and points from `position` on; 24 stands for more."""
    word = eight_bytes(address, position)
    minus = np.uint64((word & np.uint64(0xFF)) == np.uint64(45))
    stops = _no_digits_or_points(word) & ~(minus << np.uint64(7))
    more = _no_digits_or_points(eight_bytes(address, position + 8))
    if not stops | more:
        return 16 + (trailing_zeros(_no_digits_or_points(eight_bytes(address, position + 16))) >> 3)
    here, there = trailing_zeros(stops) >> 3, trailing_zeros(more) >> 3
    return here if stops else 8 + there


@njit(**OPTIONS)
def _no_digits_or_points(word: np.uint64) -> np.uint64:
    """Top bits of the bytes that are neither; right up to the first such byte."""
    digits = word ^ np.uint64(0x3030303030303030)
    points = word ^ np.uint64(0x2E2E2E2E2E2E2E2E)
    no_digits = digits | (digits + np.uint64(0x7676767676767676))
    no_points = points | ((points & np.uint64(0x7F7F7F7F7F7F7F7F)) + np.uint64(0x7F7F7F7F7F7F7F7F))
    return no_digits & no_points & np.uint64(0x8080808080808080)
