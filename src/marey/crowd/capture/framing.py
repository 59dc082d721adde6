"""From a video's images to the working grid, on which its motion is measured.

Images are made grey, undistorted if the camera's lens is known, and shrunk by averaging the area of each new
pixel, which no fine pattern survives as a false coarse one. The mask is shrunk in the same manner; the
homography is scaled to the working grid (Courty & Corpetti 2007, section 4.1). Cost: one pass over an image.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from marey._arrays import BoolArray, checked
from marey.crowd.cameras import Camera, Homography
from marey.crowd.footage import Footage, Image
from marey.crowd.grids import pixel_map
from marey.errors import InputError

Grey = NDArray[np.float32]
"""`(rows, columns)`, grey levels 0 to 255."""

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
        raise InputError(f"{asked}: too small to see motion in; at least 8 pixels each way")
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
