"""Images as footage: a folder of them, a numbered series such as `frame_%04d.png`, or a single one.

PNG and JPEG, 8 bits a channel; alpha is dropped, and so is a camera's note on how it was held. Nothing is
decoded before it is used, but sizes are compared at once (from the files' headers).
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from marey._work import Progress, tracked
from marey.crowd.fields import Footage, Image
from marey.errors import FormatError, InputError
from marey.io._files import check_readable, read_bytes, series_files, series_name, write_series
from marey.io._limits import LIMITS

ENDINGS = (".png", ".jpg", ".jpeg")


def read(path: Path, *, frame_rate: float = 25.0) -> Footage:
    """Footage of a folder's images in the order of their numbers, of a series, or of one image.

    frame_rate: frames per second, which images do not state
    """
    path = Path(path)
    files = series_files(path, ENDINGS)
    rows, columns = image_size(files[0])
    for file in files[1:]:
        if image_size(file) != (rows, columns):
            other_rows, other_columns = image_size(file)
            raise FormatError(
                f"is {other_columns} × {other_rows} pixels, {files[0].name} is {columns} × {rows}; "
                "footage has one size",
                path=file,
            )

    def open_images(start: int, stop: int, step: int) -> Iterator[Image]:
        for file in files[start:stop:step]:
            image = read_image(file)
            if image.shape[:2] != (rows, columns):
                raise FormatError(f"is no longer {columns} × {rows} pixels", path=file)
            yield image

    return Footage(len(files), rows, columns, frame_rate, open_images, series_name(path))


def write(footage: Footage, path: Path, *, progress: Progress | None = None) -> None:
    """A series such as `frames/%04d.png`, or one image for footage of one frame."""
    path = Path(path)
    images = (encode_image(image, path.suffix) for image in tracked(footage, progress, footage.frames))
    write_series(path, images, footage.frames)


def read_image(file: Path) -> Image:
    """One image, `(rows, columns, 3)` uint8, red green blue."""
    import cv2

    image_size(file)
    data = np.frombuffer(read_bytes(file), dtype=np.uint8)
    try:
        image = cv2.imdecode(data, cv2.IMREAD_COLOR | cv2.IMREAD_IGNORE_ORIENTATION)
    except cv2.error as error:
        raise FormatError(f"cannot be decoded ({error.err})", path=file) from error
    if image is None:
        raise FormatError("cannot be decoded: the image is damaged or cut off", path=file)
    return np.asarray(cv2.cvtColor(image, cv2.COLOR_BGR2RGB))


def encode_image(image: Image, ending: str) -> bytes:
    """A image as PNG or JPEG bytes, by file ending."""
    import cv2

    if ending.lower() not in ENDINGS:
        raise InputError(f"images are written as {', '.join(ENDINGS)}, not {ending!r}")
    if image.ndim != 3 or image.shape[2] != 3 or image.dtype != np.uint8:
        raise InputError(f"image: expected (rows, columns, 3) bytes, got {image.shape} {image.dtype}")
    options = [cv2.IMWRITE_JPEG_QUALITY, 95] if ending.lower() != ".png" else []
    return cv2.imencode(ending.lower(), cv2.cvtColor(image, cv2.COLOR_RGB2BGR), options)[1].tobytes()


def image_size(file: Path) -> tuple[int, int]:
    """Rows and columns from the header of a PNG or JPEG file."""
    check_readable(file)
    try:
        with file.open("rb") as stream:
            return encoded_size(stream.read(1 << 22), file.stat().st_size, file)
    except OSError as error:
        raise FormatError(f"cannot be read: {error.strerror}", path=file) from error


def encoded_size(head: bytes, size: int, path: Path | None = None) -> tuple[int, int]:
    """Rows and columns of a PNG or JPEG of `size` bytes that begins like this."""
    if head.startswith(b"\x89PNG\r\n\x1a\n") and head[12:16] == b"IHDR" and len(head) >= 24:
        columns, rows = np.frombuffer(head, dtype=">u4", offset=16, count=2).tolist()
    elif head.startswith(b"\xff\xd8"):
        rows, columns = _jpeg_size(head[2:])
    else:
        raise FormatError("is neither a PNG nor a JPEG image", path=path)
    if not 0 < rows * columns <= min(LIMITS.pixels, max(1 << 22, LIMITS.pixels_a_byte * size)):
        raise FormatError(f"declares {columns} × {rows} pixels in {size} bytes", path=path)
    return rows, columns


def _jpeg_size(segments: bytes) -> tuple[int, int]:
    """Rows and columns of the start-of-frame segment, (0, 0) if there is none (ITU-T T.81, annex B)."""
    at = 0
    while at + 9 <= len(segments) and segments[at] == 0xFF:
        kind = segments[at + 1]
        if kind == 0xFF or kind == 0x01 or 0xD0 <= kind <= 0xD7:
            at += 1 if kind == 0xFF else 2
        elif 0xC0 <= kind <= 0xCF and kind not in (0xC4, 0xC8, 0xCC):
            return int.from_bytes(segments[at + 5 : at + 7]), int.from_bytes(segments[at + 7 : at + 9])
        else:
            at += 2 + int.from_bytes(segments[at + 2 : at + 4])
    return 0, 0
