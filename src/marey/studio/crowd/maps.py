"""Maps of a moment on the ground: flow, speed, density, divergence, vorticity, in metres and seconds.

Those of a captured flow are worked out on the floor's own grid after its camera is undone; those of people by
:class:`marey.crowd.density.DensityGrid`. Cost: some 10 ms a frame of either. A map's key is HTML: a bar with
its numbers, or the wheel of directions.
"""

from __future__ import annotations

import html
from dataclasses import replace
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from marey._arrays import BoolArray, Bytes
from marey.crowd import cameras as plane
from marey.crowd.analysis import divergence, vorticity
from marey.crowd.animation.ground import WALKABLE, WalkableGround
from marey.crowd.density import WIDTH, DensityFrame, DensityGrid
from marey.crowd.fields import UNKNOWN, FieldSeries, pixel_centres
from marey.crowd.scenes import Scene
from marey.crowd.tracks import Tracks
from marey.studio.crowd.floor import Floor
from marey.views import style
from marey.views.figures.fields import SIGNED, WHEEL, flow_colours

Kind = Literal["flow", "speed", "density", "divergence", "vorticity"]
Values = NDArray[np.float32]

# Metres of a floor beyond which maps of people say nothing: the unit is probably wrong.
LARGEST_FLOOR = 5000.0

UNITS: dict[Kind, str] = {
    "flow": "m/s",
    "speed": "m/s",
    "density": "people/m²",
    "divergence": "1/s",
    "vorticity": "1/s",
}


class Source(Protocol):
    """Something that has maps."""

    frames: int

    def values(self, kind: Kind, frame: int) -> tuple[Values, BoolArray]:
        """Values `(rows, columns)` and where they are known; flow is `(rows, columns, 2)`, right and down."""
        ...


def largest_value(source: Source, kind: Kind) -> float:
    """The end of the scale for all frames of a map: hardly any value exceeds it."""
    sizes = []
    for frame in np.unique(np.linspace(0, source.frames - 1, 8).astype(int)):
        values, known = source.values(kind, int(frame))
        size = np.linalg.norm(values, axis=-1) if kind == "flow" else np.abs(values)
        sizes.append(size[known])
    all_sizes = np.concatenate(sizes)
    return max(float(np.quantile(all_sizes, 0.995)) if len(all_sizes) else 0.0, 1e-3)


class FlowMaps:
    """Maps of a captured flow, which has a homography."""

    def __init__(self, fields: FieldSeries, floor: Floor):
        self.fields, self.frames = fields, fields.frames
        self.sheet = floor.sheet(200)
        self._camera = np.asarray(fields.homography, dtype=np.float64)
        region = WalkableGround.of(replace(fields, mask=None)).region == WALKABLE
        walkable = region if fields.mask is None else region & fields.mask
        slopes = plane.jacobian(self._camera, pixel_centres(region.shape))
        slopes[~region] = 0.0
        self._slopes = (slopes * fields.frame_rate).astype(np.float32)
        self.known: BoolArray = np.asarray(self.sheet.laid(walkable.astype(np.float32), self._camera)) > 0.5

    def velocity(self, frame: int) -> Values:
        """Metres a second `(rows, columns, 2)` to the right and down, seen from above."""
        moved = self.fields.velocities[frame].astype(np.float32)
        ground = (self._slopes @ moved[..., None])[..., 0]
        laid = self.sheet.laid(np.ascontiguousarray(ground), self._camera)
        return laid * np.array([1.0, -1.0], np.float32)

    def values(self, kind: Kind, frame: int) -> tuple[Values, BoolArray]:
        """Values of a map; the density of a flow is where people are detected."""
        if kind == "density":
            return self._seen(frame)
        velocity = self.velocity(frame)
        if kind == "flow":
            return velocity, self.known
        if kind == "speed":
            return np.asarray(np.hypot(*np.moveaxis(velocity, -1, 0)), np.float32), self.known
        derive = divergence if kind == "divergence" else vorticity
        across = float(self.sheet.spacing.mean())
        return (derive(velocity, self.known) / across).astype(np.float32), self.known

    def _seen(self, frame: int) -> tuple[Values, BoolArray]:
        density = self.fields.maps.get("density")
        if density is not None:
            return self.sheet.laid(np.ascontiguousarray(density[frame]), self._camera), self.known
        if self.fields.foreground is None:
            return np.zeros(self.known.shape, np.float32), self.known
        foreground = self.fields.foreground[frame]
        given = self.sheet.laid((foreground != UNKNOWN).astype(np.float32), self._camera) > 0.5
        # The foreground of 255 stands for half a person a square metre and more.
        seen = foreground.astype(np.float32) * np.float32(0.5 / 255)
        return self.sheet.laid(seen, self._camera), self.known & given


class PeopleMaps:
    """Maps of people on tracks."""

    def __init__(self, tracks: Tracks, floor: Floor, scene: Scene | None = None):
        self.tracks, self.frames = tracks, tracks.frames
        width, depth = floor.size
        spacing = max(0.25, float(max(width, depth)) / 96)
        walls = () if scene is None else tuple(corners - floor.low for corners in scene.obstacles)
        self._low = floor.low
        place = Scene((float(width), float(depth)), obstacles=walls)
        self.ground = DensityGrid(place, spacing=spacing, width=max(WIDTH, spacing))
        # How crowded it is does not need averages of velocity by several kernels.
        self._plain = DensityGrid(place, spacing=spacing, width=max(WIDTH, spacing), adaptive=False)
        self._velocities = np.nan_to_num(tracks.velocities())
        self._latest: tuple[int, DensityFrame] | None = None

    def moment(self, frame: int) -> DensityFrame:
        """The crowd at a frame."""
        if self._latest is None or self._latest[0] != frame:
            self._latest = frame, self.ground.frame(*self._there(frame))
        return self._latest[1]

    def _there(self, frame: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Places and velocities of those who are there, `(people, 2)` each."""
        places = self.tracks.positions[frame] - self._low
        here = np.isfinite(places).all(axis=1)
        return places[here], self._velocities[frame, here]

    def values(self, kind: Kind, frame: int) -> tuple[Values, BoolArray]:
        """Values of a map, row 0 far away."""
        known = self.ground.free[::-1]
        if kind == "density":
            density = self._plain.frame(*self._there(frame)).density
            return np.nan_to_num(density[::-1]).astype(np.float32), known
        moment = self.moment(frame)
        if kind in ("flow", "speed"):
            velocity = np.nan_to_num(moment.velocity[::-1]) * [1.0, -1.0]
            flow = velocity if kind == "flow" else np.linalg.norm(velocity, axis=-1)
            return flow.astype(np.float32), known
        # Turning to the right is positive, as in images of flows.
        chosen = moment.divergence if kind == "divergence" else -moment.vorticity
        return np.nan_to_num(chosen[::-1]).astype(np.float32), known


SAID: dict[Kind, str] = {
    "flow": "where to, and how fast",
    "speed": "speed",
    "density": "how crowded it is",
    "divergence": "people meet (blue) or part (red)",
    "vorticity": "people turn left (blue) or right (red)",
}
# Kinds of maps whose values may be negative.
RELATIVE = ("divergence", "vorticity")


def map_image(kind: Kind, values: Values, known: BoolArray, largest: float) -> Bytes:
    """An image `(rows, columns, 3)`, or with transparency where nothing is known."""
    if kind == "flow":
        colours = flow_colours(values, largest)
    else:
        share = values / largest
        share = 0.5 + 0.5 * share if kind in RELATIVE else share
        colours = style.colour_map(_tones(kind))(share, bytes=True)[..., :3]
    if known.all():
        return colours
    return np.dstack([colours, np.where(known, np.uint8(255), np.uint8(0))])


def key(kind: Kind, largest: float, note: str = "") -> str:
    """The key of a map as HTML."""
    unit, most = UNITS[kind], f"{largest:.2g}"
    said = f"{SAID[kind]}{', ' + note if note else ''}"
    if kind == "flow":
        hues = ", ".join((*WHEEL, WHEEL[0]))
        # CSS turns clockwise from the top; our wheel clockwise from the right.
        bar = (
            '<div style="width:56px;height:56px;border-radius:50%;margin:2px auto;'
            "background:radial-gradient(#fff 0%,#fff0 72%),"
            f'conic-gradient(from 90deg,{hues});border:1px solid #d9dde2"></div>'
        )
        ends = f'<div style="text-align:center">edge: {most} {unit}</div>'
    else:
        tones = ", ".join(_tones(kind))
        bar = (
            f'<div style="height:12px;border-radius:3px;background:linear-gradient(90deg,{tones});'
            'border:1px solid #d9dde2"></div>'
        )
        low, middle = (f"−{most}", "0") if kind in RELATIVE else ("0", "")
        ends = (
            '<div style="display:flex;justify-content:space-between">'
            f"<span>{low}</span><span>{middle}</span><span>{most} {unit}</span></div>"
        )
    return _framed(f"<div>{html.escape(said)}</div>{bar}{ends}")


def remark(text: str) -> str:
    """A line of small print as HTML."""
    return _framed(html.escape(text))


def _tones(kind: Kind) -> tuple[str, ...]:
    return SIGNED if kind in RELATIVE else ("#ffffff", *style.SEQUENCE)


def _framed(inside: str) -> str:
    return (
        '<div style="padding:0 0.8em 0.4em;font-size:0.8em;line-height:1.35;color:#5b6470">'
        + inside
        + "</div>"
    )
