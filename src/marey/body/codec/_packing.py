"""Small numbers, bits and text as few bytes: what the header of a compressed clip is written with.

Reading never trusts: every function raises :class:`FormatError` where the data ends too early or claims too
much, and unpacks no text beyond `LONGEST_TEXT`. Cost: linear, in plain Python; headers have a hundred bytes.
"""

from __future__ import annotations

import struct
import zlib

from marey.errors import FormatError, InputError

# Bytes of text: joint names of ten thousand joints.
LONGEST_TEXT = 1 << 20
# Numbers coded in bits are below this power of two.
LARGEST_BITS = 48


class Reader:
    """Bytes, and how far they are read."""

    def __init__(self, data: bytes) -> None:
        self.data, self.place = data, 0

    def take(self, count: int) -> bytes:
        """The next bytes."""
        start, self.place = self.place, self.place + count
        if self.place > len(self.data):
            raise FormatError("the compressed clip is cut off")
        return self.data[start : self.place]

    def byte(self) -> int:
        """The next byte."""
        return self.take(1)[0]

    def varint(self) -> int:
        """A whole number below 2⁶³, seven bits a byte, low ones first."""
        number = shift = 0
        while True:
            byte = self.byte()
            number |= (byte & 127) << shift
            if byte < 128:
                return number
            shift += 7
            if shift >= 63:
                raise FormatError("the compressed clip is damaged: a number in its header is too large")

    def float64(self) -> float:
        """A double precision number."""
        return float(struct.unpack("<d", self.take(8))[0])

    def text(self, dictionary: bytes) -> str:
        """Text that :func:`pack_text` wrote with the same dictionary."""
        length, deflated = divmod(self.varint(), 2)
        packed = self.take(length)
        if deflated:
            packed = _inflated(packed, dictionary)
        try:
            return packed.decode("utf-8", "surrogatepass")
        except UnicodeDecodeError as error:
            raise FormatError("the compressed clip is damaged: its names are no text") from error


def pack_varint(number: int) -> bytes:
    """A whole number, seven bits a byte.

    >>> pack_varint(5), pack_varint(300), Reader(pack_varint(300)).varint()
    (b'\\x05', b'\\xac\\x02', 300)
    """
    packed = bytearray()
    while number >= 128:
        packed.append(number & 127 | 128)
        number >>= 7
    packed.append(number)
    return bytes(packed)


def pack_float64(number: float) -> bytes:
    """A double precision number."""
    return struct.pack("<d", number)


def pack_text(text: str, dictionary: bytes) -> bytes:
    """Text as it is or deflated, whichever is shorter.

    >>> len(pack_text("LeftShoulder LeftArm LeftForeArm", b"LeftShoulder LeftArm LeftForeArm"))
    6
    """
    plain = text.encode("utf-8", "surrogatepass")
    if len(plain) > LONGEST_TEXT:
        raise InputError(f"names of {len(plain)} bytes are too long to be stored, at most {LONGEST_TEXT}")
    # Small memory levels choose the cheaper of the two code tables more often; both are tried.
    packers = (zlib.compressobj(9, zlib.DEFLATED, -15, level, zdict=dictionary) for level in (8, 9))
    deflated = min((packer.compress(plain) + packer.flush() for packer in packers), key=len)
    best = (deflated, 1) if len(deflated) < len(plain) else (plain, 0)
    return pack_varint(2 * len(best[0]) + best[1]) + best[0]


def _inflated(packed: bytes, dictionary: bytes) -> bytes:
    unpacker = zlib.decompressobj(-15, zdict=dictionary)
    try:
        text = unpacker.decompress(packed, LONGEST_TEXT + 1)
    except zlib.error as error:
        raise FormatError(f"the compressed clip is damaged ({error})") from error
    if len(text) > LONGEST_TEXT or not unpacker.eof or unpacker.unused_data:
        raise FormatError("the compressed clip is damaged: its names do not unpack")
    return text


class BitWriter:
    """Bits, most significant first."""

    def __init__(self) -> None:
        self._parts: list[str] = []

    def bits(self, value: int, count: int) -> None:
        """`value` in `count` bits."""
        if count:
            self._parts.append(format(value, f"0{count}b"))

    def golomb(self, value: int, order: int) -> None:
        """A number from 0 on in an exponential Golomb code; numbers of `order` bits take the fewest."""
        shifted = (value >> order) + 1
        length = shifted.bit_length()
        self.bits(shifted, 2 * length - 1)
        self.bits(value & ((1 << order) - 1), order)

    def tobytes(self) -> bytes:
        """All bits, filled up with zeros."""
        text = "".join(self._parts)
        count = -(-len(text) // 8)
        return int(text.ljust(8 * count, "0") or "0", 2).to_bytes(count, "big")


class BitReader:
    """Bits out of a :class:`Reader`, which stands at the next whole byte afterwards."""

    def __init__(self, reader: Reader) -> None:
        self._reader, self._held, self._count = reader, 0, 0

    def bits(self, count: int) -> int:
        """The next `count` bits as a number."""
        while self._count < count:
            self._held = self._held << 8 | self._reader.byte()
            self._count += 8
        self._count -= count
        value = self._held >> self._count
        self._held &= (1 << self._count) - 1
        return value

    def golomb(self, order: int) -> int:
        """Inverse of :meth:`BitWriter.golomb`."""
        length = 1
        while not self.bits(1):
            length += 1
            if length > LARGEST_BITS:
                raise FormatError("the compressed clip is damaged: a number in its header is too large")
        shifted = 1 << (length - 1) | self.bits(length - 1)
        return (shifted - 1) << order | self.bits(order)


def golomb_bits(value: int, order: int) -> int:
    """How many bits :meth:`BitWriter.golomb` takes."""
    return 2 * ((value >> order) + 1).bit_length() - 1 + order
