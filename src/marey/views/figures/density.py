"""Density and danger of a crowd: a figure of the most dangerous moment, and maps over the video."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from marey._arrays import AnyArray
from marey._work import Progress
from marey.crowd import cameras
from marey.crowd.density import DensityResult
from marey.crowd.fields import FieldSeries, Footage, pixel_centres
from marey.views import style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Image = NDArray[np.uint8]

ALARM = "#d6404e"
HIDDEN = 0.25
"""Share of the scale below which density does not show over a video."""


class DensityPainter:
    """Paints density and zones over images, or over the ground seen from above.

    Args:
        found: What to show.
        footage: The video; None or fields = the ground.
        longest: Pixels of the longer side at most.
    """

    def __init__(self, found: DensityResult, footage: Footage | FieldSeries | None, longest: int = 960):
        import cv2

        self.found, self.fields = found, found.fields
        self.density, self.zones = self.fields.maps["density"], self.fields.maps["zone"]
        self.footage = footage if isinstance(footage, Footage) else None
        to_ground = np.asarray(found.view if self.footage is not None else self.fields.homography)
        rows, columns = (self.footage or self.fields).rows, (self.footage or self.fields).columns
        factor = longest / max(rows, columns)
        factor = min(factor, 1.0) if self.footage is not None else max(round(factor), 1)
        self.size = max(2, 2 * round(columns * factor / 2)), max(2, 2 * round(rows * factor / 2))
        pixels = (pixel_centres(self.size[::-1]) + 0.5) * [columns / self.size[0], rows / self.size[1]] - 0.5
        facing = cameras.facing(to_ground, pixels)
        cells = cameras.apply(cameras.inverse(np.asarray(self.fields.homography)) @ to_ground, pixels)
        cells = np.where(facing[..., None], cells, -9.0).astype(np.float32)
        self.at = cells[..., 0].copy(), cells[..., 1].copy()
        level = found.alarms.settings.level
        self.largest = max(float(np.quantile(self.density, 0.999)), 0.5 * level, 1e-6)
        self.known = cv2.remap(self.fields.valid.astype(np.float32), *self.at, cv2.INTER_NEAREST) > 0.5

    def image(self, frame: int, below: Image | None = None) -> Image:
        """A frame; `below` is the video's, if it is at hand."""
        import cv2

        if self.footage is None:
            image = np.full((*self.size[::-1], 3), style.rgb(style.PAPER), np.uint8)
            image[~self.known] = style.rgb(style.WALL)
        else:
            shown = self.footage.read(frame) if below is None else below
            image = cv2.resize(shown, self.size, interpolation=cv2.INTER_AREA)
        # Values of cells in walls are none; the mean of those that are known is.
        valid = self.fields.valid.astype(np.float32)
        total, weight = (
            cv2.remap(one, *self.at, cv2.INTER_LINEAR) for one in (self.density[frame] * valid, valid)
        )
        share = np.where(self.known, total / np.maximum(weight, 1e-3), 0.0) / self.largest
        colours = style.colour_map()(share, bytes=True)[..., :3]
        over = np.clip((share - 0.5 * HIDDEN) / HIDDEN, 0.0, 1.0)[..., None]
        over = over * (0.6 if self.footage is not None else 1.0)
        image = np.rint((1 - over) * image + over * colours).astype(np.uint8)
        zones = cv2.remap(self.zones[frame], *self.at, cv2.INTER_NEAREST).astype(np.int32)
        ink = style.rgb(ALARM)
        for number in np.unique(zones[zones > 0]):
            part = (zones == number).astype(np.uint8)
            lines, _ = cv2.findContours(part, cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_SIMPLE)
            cv2.drawContours(image, lines, -1, ink, 2, cv2.LINE_AA)
            y, x = np.argwhere(part).mean(axis=0)
            cv2.putText(image, str(number), (round(x) - 6, round(y) + 6), 4, 0.7, ink, 2, cv2.LINE_AA)
        text = f"{frame / self.fields.frame_rate:.1f} s"
        for colour, width in ((style.PAPER, 3), (style.INK, 1)):
            cv2.putText(image, text, (8, 22), 4, 0.6, style.rgb(colour), width, cv2.LINE_AA)
        return np.asarray(image)

    def images(self) -> Iterator[Image]:
        """Every frame in turn."""
        below: Any = iter(self.footage) if self.footage is not None else None
        for frame in range(self.fields.frames):
            yield self.image(frame, None if below is None else next(below))


def worst_frame(found: DensityResult) -> int:
    """The frame with most in zones; without any, that with the densest place."""
    maps = found.fields.maps
    inside = (maps["zone"] > 0).sum(axis=(1, 2))
    return int(np.argmax(inside if inside.any() else maps["density"].max(axis=(1, 2))))


def density_map(
    found: DensityResult, source: Footage | FieldSeries | None = None, size: tuple[int, int] = (1280, 720)
) -> Figure:
    """The most dangerous moment over the video, the mean density, and density and alarms over time."""
    painter, frame, fields = DensityPainter(found, source), worst_frame(found), found.fields
    scale = np.asarray(fields.homography)
    spacing = abs(float(scale[0, 0]))
    place = (0.0, fields.columns * spacing, 0.0, fields.rows * spacing)
    times = np.arange(fields.frames) / fields.frame_rate
    densest = fields.maps["density"].max(axis=(1, 2))
    with style.figure(size) as figure:
        panels = figure.subplot_mosaic([["worst", "mean"], ["time", "time"]], height_ratios=(2, 1))
        panels["worst"].imshow(painter.image(frame))
        panels["worst"].set_title(f"{fields.name or 'crowd'} at {times[frame]:.1f} s")
        panels["worst"].set_axis_off()
        mean: AnyArray = fields.maps["density"].mean(axis=0)
        shown = np.where(fields.valid, mean, np.nan)
        drawn = panels["mean"].imshow(
            shown, extent=place, cmap=style.colour_map(("#ffffff", *style.SEQUENCE))
        )
        panels["mean"].set(title="mean", xlabel="x (m)", ylabel="y (m)")
        panels["mean"].grid(visible=False)
        style.colour_bar(figure, panels["mean"], drawn, "people/m²")
        panels["time"].plot(times, densest, color=style.PALETTE[0])
        panels["time"].axhline(found.alarms.settings.level, color=ALARM, linewidth=0.8)
        for alarm in found.alarms.alarms:
            panels["time"].axvspan(alarm.start, alarm.end + 1 / fields.frame_rate, color=ALARM, alpha=0.15)
            panels["time"].annotate(str(alarm.zone), (alarm.start, alarm.peak), color=ALARM)
        panels["time"].set(xlabel="time (s)", ylabel="densest place", xlim=(0, max(times[-1], 1e-9)))
    return figure


def write_map(
    found: DensityResult, source: Footage | FieldSeries, path: Path, *, progress: Progress | None = None
) -> None:
    """The map over the video: `.mp4` and `.gif` of all frames, `.png` of the most dangerous one."""
    painter = DensityPainter(found, source)
    if path.suffix.lower() == ".png":
        from marey.io._files import atomic_write
        from marey.io.images import encode_image

        with atomic_write(path) as draft:
            draft.write_bytes(encode_image(painter.image(worst_frame(found)), ".png"))
        return
    from marey.io.video import write_frames

    fields = found.fields
    write_frames(painter.images(), path, frame_rate=fields.frame_rate, progress=progress, total=fields.frames)
