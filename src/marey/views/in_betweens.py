"""Meshes between two poses as picture and clip: those that keep lengths beside those of straight lines.

All are seen by one camera, in clay, red where edges are longer or shorter than what lies between both poses.
Cost: that of the meshes drawn, about 50 ms each.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from marey._progress import Progress
from marey.surface.interpolation.distortion import distortion, strains
from marey.surface.sequence import MeshSequence
from marey.views import style
from marey.views.actors import Actor, actor
from marey.views.camera import FIELD_OF_VIEW, Camera, direction, framing
from marey.views.plots import blank, house_style, save
from marey.views.scene import Ground, Image, Look, Scene
from marey.views.shots import ELEVATION, TURN

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Array = NDArray[np.float64]

COLUMNS = 1280
# Pixels of a row, and of what is written around it.
LOWEST_ROW, HIGHEST_ROW, WORDS = 200, 480, 76
MOST_COLUMNS = 9
CLIP_RATE = 30.0
STRETCHED = "#d8483c"
# Mean deviation of the edges at a vertex from which on it is all red.
ALL_RED = 0.15
# Of the field of view: meshes in a row are seen from afar, so that all show the same side.
AFAR = 0.3


@dataclass(frozen=True, eq=False)
class InBetweens:
    """Meshes at some weights, and what they lie between.

    name: what made them
    meshes: at each weight one frame
    weights: `(n,)`, from 0 to 1
    first, second: `(vertices, 3)`, the poses
    """

    name: str
    meshes: MeshSequence
    weights: Array
    first: Array
    second: Array

    @property
    def title(self) -> str:
        """Name and mean errors."""
        ends = self.first, self.second, self.meshes.faces
        vertices = self.meshes.vertices
        found = [distortion(mesh, *ends, weight) for mesh, weight in zip(vertices, self.weights, strict=True)]
        volume, edges = np.mean([error.volume for error in found]), np.mean([error.edges for error in found])
        return f"{self.name} · volume off by {_percent(volume)}, edges by {_percent(edges)}"

    def at(self, frames: Sequence[int]) -> InBetweens:
        """Only some of them."""
        chosen = np.asarray(frames, np.int64)
        meshes = replace(self.meshes, vertices=self.meshes.vertices[chosen])
        return replace(self, meshes=meshes, weights=self.weights[chosen])

    def colours(self, frame: int) -> Array:
        """Linear colours of the vertices, `(vertices, 3)`: clay to red."""
        off = strains(
            self.meshes.vertices[frame],
            self.first,
            self.second,
            self.meshes.faces,
            float(self.weights[frame]),
        )
        share = np.clip(off / ALL_RED, 0.0, 1.0)[:, None]
        return np.asarray((1 - share) * style.linear(style.CLAY) + share * style.linear(STRETCHED))


def rows(kinds: Sequence[InBetweens], *, columns: int = COLUMNS) -> Figure:
    """A row for each kind of in-betweens, all at the same weights; of many weights some.

    columns: pixels

    >>> import marey
    >>> walk = marey.samples.mesh_sequence()
    >>> ends = walk.vertices[0], walk.vertices[15]
    >>> some = InBetweens("captured", walk[:16:5], np.linspace(0, 1, 4), *ends)
    >>> len(rows([some], columns=320).axes)
    1
    """
    count = len(kinds[0].weights)
    if count > MOST_COLUMNS:
        chosen = np.rint(np.linspace(0, count - 1, MOST_COLUMNS)).astype(int).tolist()
        kinds = [kind.at(chosen) for kind in kinds]
    looked, towards = _still(kinds[0].meshes), _towards()
    shifts = _shifts(kinds, towards)
    places = [kind.meshes.vertices.astype(np.float64) + shifts[:, None] for kind in kinds]
    around = np.concatenate([place.reshape(-1, 3) for place in places])
    pixels = columns, _height(around, towards, columns)
    camera = framing(around, towards, pixels, margin=0.94, field_of_view=AFAR * FIELD_OF_VIEW)
    ground = _ground(around, looked.size)
    figure = blank((columns, len(kinds) * (pixels[1] + WORDS)))
    with house_style():
        grid = figure.subplots(len(kinds), squeeze=False)[:, 0]
        for axes, kind, place in zip(grid, kinds, places, strict=True):
            colours = np.concatenate([kind.colours(i) for i in range(len(place))])
            look = _repeated(looked.look, colours)
            scene = Scene(look, ground, size=pixels, subject_size=looked.size)
            axes.imshow(scene.render(place.reshape(-1, 3), camera))
            axes.set_title(kind.title, pad=4)
            middles = [float(np.median(camera.project(mesh, pixels)[:, 0])) for mesh in place]
            axes.set_xticks(middles, [f"{weight:.3g}" for weight in kind.weights])
            axes.set_yticks([])
            axes.tick_params(length=0)
            axes.spines[:].set_visible(False)
            axes.grid(False)
        grid[-1].set_xlabel(f"weight; red where edges are {100 * ALL_RED:.0f} % too long or too short")
    return figure


def side_by_side(kinds: Sequence[InBetweens], *, size: tuple[int, int] = (1280, 720)) -> Iterator[Image]:
    """Pictures of a clip, one for each weight, with the kinds in columns."""
    looked = _still(kinds[0].meshes)
    towards = _towards()
    around = np.concatenate([kind.meshes.vertices[:, ::7].reshape(-1, 3) for kind in kinds]).astype(
        np.float64
    )
    header = _header([kind.title for kind in kinds], size)
    pixels = size[0] // len(kinds), size[1] - len(header)
    camera, ground = framing(around, towards, pixels, margin=0.9), _ground(around, looked.size)
    centre = around.mean(axis=0)
    for frame in range(len(kinds[0].weights)):
        panels = [_panel(kind, frame, looked, camera, ground, centre, pixels) for kind in kinds]
        yield np.concatenate([header, np.concatenate(panels, axis=1)])


def draw(kinds: Sequence[InBetweens], path: Path, *, progress: Progress | None = None) -> None:
    """Write rows (.png) or a clip (.mp4, .gif), as the ending of `path` asks."""
    if path.suffix.lower() == ".png":
        save(rows(kinds), path)
        return
    from marey.io.video import write_frames

    count = len(kinds[0].weights)
    write_frames(side_by_side(kinds), path, frame_rate=CLIP_RATE, progress=progress, total=count)


def _panel(
    kind: InBetweens,
    frame: int,
    looked: Actor,
    camera: Camera,
    ground: Ground,
    centre: Array,
    pixels: tuple[int, int],
) -> Image:
    look = replace(looked.look, colours=kind.colours(frame))
    scene = Scene(look, ground, size=pixels, subject_size=looked.size)
    return scene.render(np.asarray(kind.meshes.vertices[frame], np.float64), camera, centre=centre)


def _header(titles: Sequence[str], size: tuple[int, int]) -> Image:
    """A line of text over each of the columns."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    height = 2 * round(0.035 * size[1])
    figure = blank(size)
    figure.set_size_inches(size[0] / figure.dpi, height / figure.dpi)
    figure.set_facecolor(style.BACKDROP_TOP)
    canvas = FigureCanvasAgg(figure)
    with house_style():
        for i, title in enumerate(titles):
            middle = (i + 0.5) / len(titles)
            figure.text(middle, 0.4, title, ha="center", va="center", color=style.INK, fontsize=9)
        canvas.draw()
    # Rounding of inches may lose a pixel.
    drawn = np.asarray(canvas.buffer_rgba())[:height, : size[0], :3]
    missing = (0, height - drawn.shape[0]), (0, size[0] - drawn.shape[1]), (0, 0)
    return np.pad(drawn, missing, mode="edge")


def _still(meshes: MeshSequence) -> Actor:
    """How the first mesh looks in clay."""
    return actor(replace(meshes[0], uv=None, uv_faces=None, textures=(), colours=None))


def _towards() -> Array:
    return direction(TURN, ELEVATION)


def _height(points: Array, towards: Array, columns: int) -> int:
    """Pixels of a row that the points fill as well in height as in width; even."""
    seen = Camera(np.zeros(3), -towards)
    wide, tall = (float(np.ptp(points @ axis)) for axis in (seen.right, seen.up))
    share = columns / COLUMNS
    return 2 * round(
        0.5 * np.clip(1.1 * columns * tall / max(wide, 1e-9), LOWEST_ROW * share, HIGHEST_ROW * share)
    )


def _shifts(kinds: Sequence[InBetweens], towards: Array) -> Array:
    """Off their places and into a row without touching, `(n, 3)`, the same for every kind."""
    across = np.array([towards[2], 0.0, -towards[0]]) / np.hypot(towards[0], towards[2])
    shifts, edge = [], 0.0
    for i in range(len(kinds[0].weights)):
        meshes = [np.asarray(kind.meshes.vertices[i], np.float64) for kind in kinds]
        middle = np.concatenate(meshes).mean(axis=0) * [1.0, 0.0, 1.0]
        reach = np.concatenate([(mesh - middle) @ across for mesh in meshes])
        gap = 0.12 * float(np.ptp(reach)) if i else 0.0
        shift = edge + gap - float(reach.min())
        shifts.append(shift * across - middle)
        edge = shift + float(reach.max())
    return np.array(shifts)


def _repeated(look: Look, colours: Array) -> Look:
    count = len(colours) // len(look.colours)
    welded = np.arange(len(look.colours)) if look.welded is None else look.welded
    steps = len(look.colours) * np.arange(count)
    return Look(
        np.concatenate([look.faces + step for step in steps]),
        colours,
        welded=np.concatenate([welded + step for step in steps]),
        closed=look.closed,
    )


def _ground(points: Array, size: float) -> Ground:
    spacing = 10.0 ** np.floor(np.log10(max(size, 1e-6)) + 0.1)
    extent = float(np.ptp(points[:, [0, 2]], axis=0).max())
    return Ground(level=float(points[:, 1].min()), spacing=float(spacing), reach=4.0 * size + 0.8 * extent)


def _percent(share: np.floating[Any]) -> str:
    return "less than 0.01 %" if share < 1e-4 else f"{100 * share:.2g} %"
