"""Frame rates, exactly, in as few bytes as they need: one for whole numbers, nine at most.

A byte to 240 is the rate; a larger one says what kind of number follows. Files give rates as frames a
second (29.97, 30000/1001) or as seconds a frame (0.0083333), so these are the kinds.
"""

from __future__ import annotations

import math

from marey.body.codec._packing import Reader, pack_float64, pack_varint
from marey.errors import FormatError

_MOST_WHOLE = 240
_FRAME_TIME = 240  # and as many as the digits: a frame lasts a whole number of 10^-digits seconds
_NTSC = 250  # a whole number of frames in 1.001 seconds
_HUNDREDTHS, _THOUSANDTHS, _ANY = 251, 252, 255
_KINDS = (_HUNDREDTHS, _NTSC, _THOUSANDTHS, *range(_FRAME_TIME + 1, _FRAME_TIME + 10))
_LARGEST = 1 << 40


def pack_rate(rate: float) -> bytes:
    """Frames a second.

    >>> [len(pack_rate(rate)) for rate in (120.0, 29.97, 30000 / 1001, 1 / 0.0083333, 3.14159)]
    [1, 3, 2, 4, 9]
    """
    if rate in range(1, _MOST_WHOLE + 1):
        return bytes([int(rate)])
    for kind in _KINDS:
        number = _nearest(kind, rate)
        if number > 0 and _rate(kind, number) == rate and len(pack_varint(number)) < 8:
            return bytes([kind]) + pack_varint(number)
    return bytes([_ANY]) + pack_float64(rate)


def read_rate(reader: Reader) -> float:
    """Inverse of :func:`pack_rate`."""
    kind = reader.byte()
    rate = 0.0
    if kind <= _MOST_WHOLE:
        rate = float(kind)
    elif kind == _ANY:
        rate = reader.float64()
    elif kind in _KINDS and (number := reader.varint()):
        rate = _rate(kind, number)
    if not (math.isfinite(rate) and rate > 0):
        raise FormatError("the compressed clip is damaged: its frame rate makes no sense")
    return rate


def _rate(kind: int, number: int) -> float:
    if kind == _NTSC:
        return number * 1000 / 1001
    if kind in (_HUNDREDTHS, _THOUSANDTHS):
        return number / (100 if kind == _HUNDREDTHS else 1000)
    return 1.0 / (number / 10 ** (kind - _FRAME_TIME))


def _nearest(kind: int, rate: float) -> int:
    """The number of this kind nearest to `rate`, 0 if it is beyond use."""
    per_second = {_NTSC: 1.001, _HUNDREDTHS: 100.0, _THOUSANDTHS: 1000.0}.get(kind)
    number = rate * per_second if per_second is not None else 10 ** (kind - _FRAME_TIME) / rate
    return round(number) if number < _LARGEST else 0
