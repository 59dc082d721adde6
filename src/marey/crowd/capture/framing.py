"""From a video's images to the working grid on which motion is measured, its pyramid, and the people in it.

Images are made grey, undistorted if the camera's lens is known, and shrunk by averaging the area of each new
pixel, which no fine pattern survives as a false coarse one. The mask is shrunk in the same manner; the
homography is scaled to the working grid (Courty & Corpetti 2007, section 4.1).

The background is the median over 41 images of a window of two minutes that moves along with the video (the
light may change), brought to one brightness first. Where a pixel is never at rest, as in a dense crowd, the
foreground is unknown and stored as 128. Each background depends on its own images only, so a video can be
entered anywhere with the same result. Cost: a median of 41 bytes a pixel every half minute of video, a few
passes over each image; memory: 41 bytes a pixel.

In a pyramid, what a mask hides is first filled smoothly from around it, so that neither blurring nor
differentiating carries an obstacle's edge into the image. Cost: about fifteen nanoseconds a pixel for the
whole pyramid, four times that with a mask.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from marey import _work
from marey._arrays import BoolArray, checked
from marey.crowd.cameras import Camera, Homography
from marey.crowd.fields import UNKNOWN, Footage, Image, known_foreground, pixel_map
from marey.errors import InputError

Grey = NDArray[np.float32]
"""`(rows, columns)`, grey levels 0 to 255, or several of them."""

Size = int | tuple[int, int] | None
Mask = ArrayLike | Sequence[ArrayLike] | None
View = Camera | Homography | ArrayLike | None


@dataclass(frozen=True, eq=False)
class WorkingGrid:
    """How images come to the working grid; made by :func:`frame_footage`.

    Attributes:
        source: (columns, rows) of the video.
        size: (columns, rows) of the working grid.
        mask: `(rows, columns)`, True where motion counts; None = everywhere.
        homography: `(3, 3)` or None, working pixels `(column, row, 1)` to ground `(x, y, 1)` metres.
        lens: Column and row in the video of each pixel of the undistorted image; None = a straight lens.
    """

    source: tuple[int, int]
    size: tuple[int, int]
    mask: BoolArray | None = None
    homography: NDArray[np.float64] | None = None
    lens: tuple[Grey, Grey] | None = None

    def grey(self, image: Image) -> Grey:
        """An image `(rows, columns, 3)` of the video on the working grid."""
        import cv2

        grey = cv2.cvtColor(image, cv2.COLOR_RGB2GRAY)
        if self.lens is not None:
            grey = cv2.remap(grey, *self.lens, cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE)
        return _shrunk(grey.astype(np.float32), self.size)


def frame_footage(
    footage: Footage,
    *,
    size: Size = None,
    mask: Mask = None,
    camera: View = None,
    plane_height: float = 0.0,
) -> WorkingGrid:
    """The working grid of some footage.

    Args:
        footage: The video.
        size: (columns, rows), or the length of the longer side; None = 320, or what there is.
        mask: Pixels that count, True or bright, of any size; or polygons `(corners, 2)` in `(column, row)` of
            the video, inside which they do.
        camera: A :class:`Camera`, whose images are undistorted, or a homography `(3, 3)` of video pixels.
        plane_height: Metres above the ground of what is seen, for a camera; about 0.9 for bodies.

    >>> from marey import samples
    >>> frame_footage(samples.video(), size=80).size
    (80, 24)
    """
    source = (footage.columns, footage.rows)
    working = working_size(source, size)
    lens, homography = None, None
    if isinstance(camera, Camera):
        homography = camera.homography_at(plane_height) @ pixel_map(source[::-1], camera.size[::-1])
        lens = _lens(camera, source)
    elif plane_height:
        raise InputError("plane height: only a calibrated camera knows other planes than the ground")
    elif camera is not None:
        given = camera.homography if isinstance(camera, Homography) else camera
        homography = np.asarray(checked("homography", given, (3, 3)))
    if homography is not None:
        homography = homography @ pixel_map(working[::-1], source[::-1])
    return WorkingGrid(source, working, _working_mask(mask, source, working, lens), homography, lens)


def working_size(source: tuple[int, int], size: Size) -> tuple[int, int]:
    """(columns, rows) of the working grid for a video of (columns, rows).

    >>> working_size((768, 576), None), working_size((768, 576), 80), working_size((100, 50), None)
    ((320, 240), (80, 60), (100, 50))
    """
    if size is None or isinstance(size, int):
        longest = min(320, max(source)) if size is None else size
        share = longest / max(source)
        wanted = (max(1, round(source[0] * share)), max(1, round(source[1] * share)))
    else:
        wanted = (int(size[0]), int(size[1]))
    asked = f"size {wanted[0]} × {wanted[1]}"
    if wanted[0] > source[0] or wanted[1] > source[1]:
        raise InputError(
            f"{asked}: larger than the video, {source[0]} × {source[1]}; nothing is gained by enlarging it"
        )
    if min(wanted) < 8:
        raise InputError(f"{asked}: too small to see motion in; at least 8 pixels along each side")
    return wanted


def _working_mask(
    mask: Mask, source: tuple[int, int], working: tuple[int, int], lens: tuple[Grey, Grey] | None
) -> BoolArray | None:
    """What counts of the working grid: a pixel does if more than half of its area does."""
    import cv2

    columns, rows = source
    counts = np.ones((rows, columns), dtype=np.float32) if mask is None else _painted(mask, source)
    if lens is not None:
        counts = cv2.remap(counts, *lens, cv2.INTER_LINEAR, borderMode=cv2.BORDER_CONSTANT, borderValue=0)
    working_mask = np.asarray(_shrunk(counts, working) > 0.5)
    if not working_mask.any():
        raise InputError("mask: nothing counts; what is white (or True, or inside a polygon) does")
    return None if working_mask.all() else working_mask


def _painted(mask: Mask, source: tuple[int, int]) -> Grey:
    """The mask in pixels of the video, 0 to 1."""
    import cv2

    columns, rows = source
    try:
        given = np.asarray(mask)
    except ValueError:  # polygons of different lengths
        given = np.empty(0, dtype=object)
    if given.ndim == 2 and given.dtype.kind in "bui" and given.shape[1] != 2:
        bright = given if given.dtype.kind == "b" else given > 127
        painted = np.asarray(bright, dtype=np.float32)
        shrinks = painted.shape[0] >= rows and painted.shape[1] >= columns
        method = cv2.INTER_AREA if shrinks else cv2.INTER_NEAREST
        return np.asarray(cv2.resize(painted, source, interpolation=method), dtype=np.float32)
    polygons = [mask] if given.ndim == 2 else list(mask)  # type: ignore[arg-type]
    painted = np.zeros((rows, columns), dtype=np.float32)
    if not polygons:
        raise InputError("mask: there is no polygon")
    for number, corners in enumerate(polygons):
        polygon = checked(f"mask polygon {number}", corners, (None, 2))
        if len(polygon) < 3:
            raise InputError(f"mask polygon {number}: three corners or more make an area")
        bounded = np.clip(polygon, -1e5, 1e5)
        cv2.fillPoly(painted, [np.round(bounded * 256).astype(np.int32)], 1.0, shift=8)
    return painted


def _lens(camera: Camera, source: tuple[int, int]) -> tuple[Grey, Grey] | None:
    """Where in the video each pixel of the undistorted image is seen."""
    if camera.distortion == (0.0, 0.0):
        return None
    columns, rows = source
    grid = np.stack(np.meshgrid(np.arange(columns), np.arange(rows)), axis=-1).astype(np.float64)
    to_camera = pixel_map(source[::-1], camera.size[::-1])
    scale, shift = np.diag(to_camera)[:2], to_camera[:2, 2]
    seen = (camera.bent(grid * scale + shift) - shift) / scale
    # A pixel no ray of the lens reaches is far outside.
    seen = np.where(np.isfinite(seen), np.clip(seen, -1e4, 1e5), -1e4).astype(np.float32)
    return np.ascontiguousarray(seen[..., 0]), np.ascontiguousarray(seen[..., 1])


def _shrunk(image: Grey, size: tuple[int, int]) -> Grey:
    import cv2

    if image.shape[::-1] == size:
        return image
    return np.asarray(cv2.resize(image, size, interpolation=cv2.INTER_AREA))


# The quarter of all deviations, in standard deviations of a Gaussian.
QUARTILE = 0.3186


@dataclass(frozen=True, kw_only=True)
class BackgroundSettings:
    """What a background is made from, and what differs from it.

    Attributes:
        samples: Images of a window.
        window: Its length, seconds.
        shortest: Seconds of video below which the foreground is unknown: those who stand or walk slowly
            are part of the background.
        noise: Grey levels: the least noise of an 8-bit camera after averaging, and the largest at rest.
        doubt: Deviations in standard deviations of the noise where foreground begins and where it is sure.
    """

    samples: int = 41
    window: float = 120.0
    shortest: float = 5.0
    noise: tuple[float, float] = (1.5, 9.0)
    doubt: tuple[float, float] = (3.0, 6.0)


SETTINGS = BackgroundSettings()


@dataclass(frozen=True, eq=False)
class Background:
    """A scene without people.

    Attributes:
        level: `(rows, columns)` grey levels.
        noise: `(rows, columns)` standard deviation of the pixel at rest.
        known: `(rows, columns)` whether the pixel is ever at rest.
    """

    level: Grey
    noise: Grey
    known: BoolArray

    def foreground(self, image: Grey) -> NDArray[np.uint8]:
        """How surely people are seen in each pixel of an image, `(rows, columns)`, 0 to 255.

        Brightness may have changed by a factor and a shift. 128 where the background is not known.
        """
        import cv2

        if not self.known.any():
            return np.full(image.shape, UNKNOWN, dtype=np.uint8)
        gain, shift = brightness(image, self.level)
        away = np.abs(image - (gain * self.level + shift)) / self.noise
        # A person is larger than a pixel: single ones are noise, small gaps are clothes.
        away = cv2.GaussianBlur(away, (0, 0), 0.8)
        away = cv2.morphologyEx(away, cv2.MORPH_CLOSE, np.ones((3, 3), np.uint8))
        low, high = SETTINGS.doubt
        sure = np.clip((away - low) * (255.0 / (high - low)), 0.0, 255.0)
        return np.where(self.known, known_foreground(sure.astype(np.uint8)), np.uint8(UNKNOWN))


def make_background(samples: NDArray[np.uint8]) -> Background:
    """The background of images `(samples, rows, columns)`, in any order.

    >>> empty = np.full((9, 16, 16), 100, np.uint8)
    >>> empty[4, 5:9, 5:9] = 180                   # a person in one of nine images
    >>> found = make_background(empty)
    >>> found.level[6, 6], found.foreground(empty[4].astype(np.float32))[[1, 6], [1, 6]]
    (np.float32(100.0), array([  0, 255], dtype=uint8))
    """
    count, rows, columns = samples.shape
    series = np.ascontiguousarray(samples.reshape(count, -1).T)
    middle = np.sort(series, axis=1)[:, count // 2].reshape(rows, columns).astype(np.float32)
    fits = np.array([brightness(sample, middle) for sample in samples], dtype=np.float32)
    level, noise = np.empty((2, rows * columns), dtype=np.float32)
    for part in _work.blocks(rows * columns, 32 * count):
        even = np.sort((series[part] - fits[:, 1]) / fits[:, 0], axis=1)
        level[part] = even[:, count // 2]
        away = np.sort(np.abs(even - level[part, None]), axis=1)
        # If people hide the pixel up to half of the time, this quarter is still background.
        noise[part] = away[:, count // 4] / QUARTILE
    level, noise = level.reshape(rows, columns), noise.reshape(rows, columns)
    return Background(level, np.clip(noise, *SETTINGS.noise), noise < SETTINGS.noise[1])


def unknown_background(rows: int, columns: int) -> Background:
    """Of a video too short to show its scene empty.

    >>> unknown_background(1, 2).foreground(np.zeros((1, 2), np.float32)).tolist()
    [[128, 128]]
    """
    level = np.zeros((rows, columns), dtype=np.float32)
    return Background(
        level, np.full_like(level, SETTINGS.noise[1]), np.zeros((rows, columns), dtype=np.bool_)
    )


def sampled_frames(frames: int, frame_rate: float, at: int) -> tuple[range, range]:
    """Which frames share the background of frame `at`, and which ones show it.

    >>> sampled_frames(100, 25.0, 7)
    (range(0, 100), range(0, 100, 3))
    >>> sampled_frames(90_000, 25.0, 40_000)
    (range(39750, 40500), range(38617, 41610, 73))
    """
    samples = SETTINGS.samples
    window = max(samples, round(SETTINGS.window * frame_rate))
    if frames <= window:
        return range(frames), range(0, frames, -(-frames // samples))
    # Four backgrounds a window.
    stride, span = window // samples, -(-window // 4)
    first = at - at % span
    earliest = min(max(first + span // 2 - window // 2, 0), frames - stride * samples)
    # On one raster, so that neighbouring windows share their images.
    earliest -= earliest % stride
    shared = range(first, min(first + span, frames))
    return shared, range(earliest, earliest + stride * samples, stride)


def brightness(image: NDArray[np.generic], reference: Grey) -> tuple[float, float]:
    """Gain and shift with `image ≈ gain · reference + shift` where most of the pixels agree.

    >>> stripes = np.tile(np.linspace(50, 150, 64, dtype=np.float32), (64, 1))
    >>> gain, shift = brightness(1.2 * stripes + 5, stripes)
    >>> round(gain, 3), round(shift, 2)
    (1.2, 5.0)
    """
    # Six thousand pixels are enough.
    step = max(1, round(np.sqrt(reference.size / 6_000)))
    x = reference[::step, ::step].ravel().astype(np.float64)
    y = image[::step, ::step].ravel().astype(np.float64)
    gain, shift = 1.0, float(np.median(y - x))
    for _ in range(6):
        away = np.abs(y - gain * x - shift)
        agree = away <= 2.5 * (1.4826 * np.median(away)) + 0.5
        x_mean, y_mean = x[agree].mean(), y[agree].mean()
        spread = np.mean((x[agree] - x_mean) ** 2)
        # In one shade, gain and shift cannot be separated.
        slope = np.mean((x[agree] - x_mean) * (y[agree] - y_mean)) / spread if spread > 4.0 else 1.0
        gain = float(np.clip(slope, 0.5, 2.0))
        shift = float(y_mean - gain * x_mean)
    return gain, shift


def pyramid_sizes(rows: int, columns: int) -> list[tuple[int, int]]:
    """Rows and columns of every level, finest first; halved until a side would fall below 16 pixels.

    >>> pyramid_sizes(60, 80)
    [(60, 80), (30, 40)]
    """
    found = [(rows, columns)]
    while min(half := ((found[-1][0] + 1) // 2, (found[-1][1] + 1) // 2)) >= 16:
        found.append(half)
    return found


def pyramid_images(image: Grey, shapes: list[tuple[int, int]]) -> list[Grey]:
    """The image at every size, blurred before it is made smaller."""
    import cv2

    found = [image]
    for rows, columns in shapes[1:]:
        # A Gaussian of 0.6 px at either size: what it takes to get from the finer to the coarser one.
        blurred = cv2.GaussianBlur(found[-1], (0, 0), 0.6 * math.sqrt(3.0))
        found.append(cv2.resize(blurred, (columns, rows), interpolation=cv2.INTER_LINEAR))
    return found


def pyramid_masks(mask: BoolArray, shapes: list[tuple[int, int]]) -> list[BoolArray]:
    """The mask at every size: True where at least half of a pixel counts."""
    return [np.asarray(share >= 0.5) for share in pyramid_weights(mask.astype(np.float32), shapes)]


def pyramid_weights(weight: Grey, shapes: list[tuple[int, int]]) -> list[Grey]:
    """The weight of the data at every size, averaged."""
    import cv2

    return [
        cv2.resize(weight, (columns, rows), interpolation=cv2.INTER_AREA)
        if (rows, columns) != weight.shape
        else weight
        for rows, columns in shapes
    ]


def resized_field(field: Grey, shape: tuple[int, int]) -> Grey:
    """A field `(2, rows, columns)` on another grid, its velocities in pixels of that grid."""
    import cv2

    rows, columns = field.shape[1:]
    if (rows, columns) == shape:
        return field
    how = cv2.INTER_AREA if shape[0] < rows else cv2.INTER_CUBIC
    ratios = (shape[1] / columns, shape[0] / rows)
    resized = [
        cv2.resize(plane, shape[::-1], interpolation=how) * ratio for plane, ratio in zip(field, ratios)
    ]
    return np.ascontiguousarray(np.stack(resized), dtype=np.float32)


def filled(plane: Grey, mask: BoolArray | None) -> Grey:
    """`plane` with what the mask hides replaced by a smooth continuation of what it shows.

    >>> filled(np.full((8, 8), 3, np.float32), np.eye(8, dtype=bool))[0, 4]
    np.float32(3.0)
    """
    if mask is None or mask.all() or not mask.any():
        return plane
    import cv2

    known = mask.astype(np.float32)
    result = np.where(mask, plane, np.float32(0.0))
    missing = ~mask
    total = result.copy()
    deviation = 1.0
    while missing.any():
        weight = cv2.GaussianBlur(known, (0, 0), deviation)
        near = missing & (weight > 0.02)
        result[near] = cv2.GaussianBlur(total, (0, 0), deviation)[near] / weight[near]
        missing &= ~near
        deviation *= 2.0
    return result
