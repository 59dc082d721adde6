"""BVH channels of all joints as one byte where they are as usual, and as a list of letters where not."""

from __future__ import annotations

from itertools import permutations

from marey.body.codec._packing import Reader, pack_text
from marey.errors import FormatError

Channels = tuple[tuple[str, ...], ...]

# The root moves and turns, the others turn; or all move and turn. Rotation orders by number, as listed here.
_ORDERS = tuple("".join(order) for order in permutations("xyz"))
_USUAL = len(_ORDERS) ** 2
_ALL_MOVE = _USUAL + len(_ORDERS)
_LISTED = 255
_DICTIONARY = b"XYZxyz XYZzyx XYZzxy XYZyxz zxy zyx zxy zyx zyx zyx"

# Small letters turn, capital letters move.
_LETTERS = {f"{axis}position": axis for axis in "XYZ"} | {f"{axis}rotation": axis.lower() for axis in "XYZ"}
_WORDS = {letter: word for word, letter in _LETTERS.items()}


def can_pack(channels: Channels | None) -> bool:
    """Whether these are channels as BVH has them, which can be stored."""
    return channels is not None and all(word in _LETTERS for joint in channels for word in joint)


def pack_channels(channels: Channels) -> bytes:
    """Channels of all joints, root first.

    >>> usual = (("Xposition", "Yposition", "Zposition", "Zrotation", "Yrotation", "Xrotation"),)
    >>> len(pack_channels(usual + (("Zrotation", "Yrotation", "Xrotation"),) * 30))
    1
    """
    letters = ["".join(_LETTERS[word] for word in joint) for joint in channels]
    root, others = letters[0], set(letters[1:] or [letters[0][3:]])
    if root[:3] == "XYZ" and root[3:] in _ORDERS and len(others) == 1:
        first, other = _ORDERS.index(root[3:]), others.pop()
        if other in _ORDERS:
            return bytes([first * len(_ORDERS) + _ORDERS.index(other)])
        if other == root:
            return bytes([_USUAL + first])
    return bytes([_LISTED]) + pack_text(" ".join(letters), _DICTIONARY)


def read_channels(reader: Reader) -> Channels:
    """Channels of all joints; only of the root and of one other where all others are alike."""
    code = reader.byte()
    if code < _USUAL:
        first, other = divmod(code, len(_ORDERS))
        return _spelt("XYZ" + _ORDERS[first]), _spelt(_ORDERS[other])
    if code < _ALL_MOVE:
        both = _spelt("XYZ" + _ORDERS[code - _USUAL])
        return both, both
    if code != _LISTED:
        raise FormatError("the compressed clip is damaged: channels of a kind that is not known")
    listed = reader.text(_DICTIONARY).split(" ")
    if not set("".join(listed)) <= set(_WORDS):
        raise FormatError("the compressed clip is damaged: channels that are none")
    return tuple(map(_spelt, listed))


def spread(channels: Channels, joints: int) -> Channels:
    """What :func:`read_channels` read, for each joint."""
    if len(channels) == joints:
        return channels
    if len(channels) != 2:
        raise FormatError(f"the compressed clip is damaged: channels of {len(channels)} joints for {joints}")
    return channels[:1] + channels[1:] * (joints - 1)


def _spelt(letters: str) -> tuple[str, ...]:
    return tuple(_WORDS[letter] for letter in letters)
