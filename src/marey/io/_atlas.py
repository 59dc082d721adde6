"""Several materials as one texture: their images, tinted, and plain colours side by side in one image.

An image that repeats across a face lies there as often as the face needs; images are made smaller where all
of them would not fit. Cost: a decoding of every image and an encoding of the atlas.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from marey._arrays import Array, Integers
from marey.errors import FormatError, MareyWarning
from marey.geometry.colour import from_srgb, to_srgb
from marey.io.images import encoded_size
from marey.surface.sequence import Texture

LARGEST = 8192
# A repeated image is this large at most, and repeats so often; more of a face is cut off.
LARGEST_REPEATED, MOST_REPEATS = 4096, 64
MARGIN = 2
PLAIN = 4
# Texture coordinates this far over the border of an image are rounding.
SLACK = 1e-3
# Larger images are JPEG.
LARGEST_PNG = 1 << 20
Image = NDArray[np.uint8]


@dataclass(frozen=True, eq=False)
class Look:
    """A material: an image, or none, times a colour of linear light `(3,)`."""

    image: Texture | None
    colour: Array

    @property
    def plain(self) -> Array:
        """The colour in sRGB."""
        return to_srgb(self.colour)


def atlas(corners: Array, look: Integers, looks: list[Look]) -> tuple[Array, Integers, Texture]:
    """Texture coordinates `(n, 2)`, those of each corner `(faces, 3)`, and the image they belong to.

    Args:
        corners: `(faces, 3, 2)`, coordinates in the images of the faces' looks, v up.
        look: `(faces,)`, which of the looks each face has.

    >>> red, blue = (Look(None, np.array(colour)) for colour in ([1.0, 0, 0], [0, 0, 1.0]))
    >>> uv, uv_faces, texture = atlas(np.zeros((2, 3, 2)), np.array([0, 1]), [red, blue])
    >>> len(uv), texture.read()[4, [4, 12]].tolist()
    (2, [[255, 0, 0], [0, 0, 255]])
    """
    placed = corners - np.floor(corners.min(axis=1, keepdims=True) + SLACK)
    tiles, times = [], np.ones((len(looks), 2), np.int64)
    for number, one in enumerate(looks):
        own = placed[look == number]
        if one.image is None:
            placed[look == number] = 0.5
        elif len(own):
            times[number] = np.clip(np.ceil(own.max(axis=(0, 1)) - SLACK), 1, MOST_REPEATS)
        tiles.append(_tile(one, times[number]))
    area = sum((tile.shape[0] + 2 * MARGIN) * (tile.shape[1] + 2 * MARGIN) for tile in tiles)
    if (share := 0.7 * LARGEST**2 / area) < 1:
        tiles = [_resized(tile, share**0.5) for tile in tiles]
    image, places = _packed(tiles)
    sizes = np.array([tile.shape[1::-1] for tile in tiles])
    # Pixels from the left and the top; the image's v is up.
    across = np.minimum(placed / times[look, None], 1.0)
    across[..., 1] = 1 - across[..., 1]
    uv = (places[look, None] + across * sizes[look, None]) / image.shape[1::-1]
    uv[..., 1] = 1 - uv[..., 1]
    keys, index = np.unique(uv[..., 0] + 1j * uv[..., 1], return_inverse=True)
    return np.stack([keys.real, keys.imag], axis=1), index.reshape(-1, 3), _encoded(image)


def _tile(look: Look, times: Integers) -> Image:
    """The pixels of a look, as often as it repeats."""
    if look.image is not None:
        try:
            data = look.image.encoded()
            encoded_size(data, len(data), look.image.path)
            image = look.image.read()
        except FormatError as error:
            warnings.warn(MareyWarning(f"{error}; its faces are of one colour"), stacklevel=4)
        else:
            most = np.where(times > 1, LARGEST_REPEATED, LARGEST) / times
            image = _resized(image, min(1.0, *(most / image.shape[1::-1])))
            if np.abs(look.colour - 1).max() > 1e-3:
                levels = from_srgb(np.arange(256)[:, None] / 255) * look.colour
                table = np.rint(to_srgb(levels) * 255).astype(np.uint8)
                image = table[image, np.arange(3)]
            return np.tile(image, (times[1], times[0], 1))
    return np.full((PLAIN, PLAIN, 3), np.rint(look.plain * 255).astype(np.uint8), np.uint8)


def _resized(image: Image, factor: float) -> Image:
    import cv2

    if factor >= 1:
        return image
    size = [max(1, int(side * factor)) for side in image.shape[1::-1]]
    return np.asarray(cv2.resize(image, size, interpolation=cv2.INTER_AREA))


def _packed(tiles: list[Image]) -> tuple[Image, Integers]:
    """The tiles in rows, tallest first, with margins of their own edges; where each begins `(tiles, 2)`."""
    padded = [np.pad(tile, ((MARGIN,) * 2, (MARGIN,) * 2, (0, 0)), mode="edge") for tile in tiles]
    area = sum(tile.shape[0] * tile.shape[1] for tile in padded)
    width = max(int(1.1 * area**0.5), *(tile.shape[1] for tile in padded), 2 * PLAIN * MARGIN)
    places = np.zeros((len(tiles), 2), np.int64)
    x = y = height = 0
    for number in sorted(range(len(tiles)), key=lambda number: -padded[number].shape[0]):
        rows, columns = padded[number].shape[:2]
        if x + columns > width:
            x, y, height = 0, y + height, 0
        places[number] = x, y
        x, height = x + columns, max(height, rows)
    image = np.zeros((y + height, width, 3), np.uint8)
    for tile, (left, top) in zip(padded, places, strict=True):
        image[top : top + tile.shape[0], left : left + tile.shape[1]] = tile
    return image, places + MARGIN


def _encoded(image: Image) -> Texture:
    import cv2

    if image.shape[0] * image.shape[1] <= LARGEST_PNG:
        return Texture.from_image(image)
    data = cv2.imencode(".jpg", image[..., ::-1], [cv2.IMWRITE_JPEG_QUALITY, 95])[1]
    return Texture(data=data.tobytes())
