"""How large what is read may be: one place to see what a damaged or hostile file can make marey take."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    """Sizes beyond anything recorded so far; more is damage, or an attempt to use up memory.

    Attributes:
        file: Bytes of a file that is read whole.
        table: Bytes of a text or JSON file that becomes Python objects, which take twenty times its size.
        small_json: Bytes of a file that people write by hand, and of a text in a database.
        ratio: Bytes in memory for each byte of a file, where compression or still joints explain it.
        allowance: Bytes in memory that are allowed whatever the size of the file.
        chunks: Chunks of a zarr array that may be missing.
        pixels: Of one image.
        joints: Of one skeleton, and columns of a table.
        vertices: Of one mesh.
        values: Numbers in one array made from what a file declares rather than holds.
        rows: Of a database.
        frames: Of an animation whose keys are sampled, where the keys are fewer.
        poses: Of joints or nodes over all frames of such an animation.
        series: Bytes of a field series that is read whole.
        chunk: Bytes of a chunk that is unpacked at once.
        name: Bytes of the name of a joint.
        length: Of anything, whatever its unit.
        line: Characters of a line of a table.
        seconds: Of an animation, to which constraints refer.
        deflate: Bytes that a byte of a deflated file can stand for.
        pixels_a_byte: Pixels that a byte of an image can stand for: PNG deflates eight in a byte.
    """

    file: int = 4 << 30
    table: int = 128 << 20
    small_json: int = 16 << 20
    ratio: int = 200
    allowance: int = 256 << 20
    chunks: int = 10_000
    pixels: int = 1 << 27
    joints: int = 20_000
    vertices: int = 1 << 24
    values: int = 1 << 28
    rows: int = 200_000_000
    frames: int = 100_000
    poses: int = 30_000_000
    series: int = 8 << 30
    chunk: int = 1 << 30
    name: int = 500
    length: float = 1e100
    line: int = 100_000
    seconds: float = 3600.0
    deflate: int = 1032
    pixels_a_byte: int = 8256


LIMITS = Limits()
