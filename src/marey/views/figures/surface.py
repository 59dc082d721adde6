"""Figures of captured surfaces: distances, graphs, in-betweens, blends and new motion.

Each function returns a matplotlib `Figure`, to be shown, changed, or written with `style.save`.
Captured frames are green, synthetic ones red, as in Boukhayma 2017 (figures 3.11, 3.15, 3.17).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from marey._arrays import AnyArray, checked, runs
from marey._work import Progress
from marey.errors import InputError
from marey.geometry.planar import PlanarMotion, centroid
from marey.statistics.graphs.graph import DistanceMatrix, MotionGraph
from marey.statistics.graphs.transitions import Transition
from marey.statistics.matrix_comparison import Correlogram, Mantel
from marey.surface.interpolation.distortion import distortion, strains
from marey.surface.sequence import Library, MeshSequence
from marey.surface.synthesis.animation import Animation
from marey.views import style
from marey.views.actors import ELEVATION, TURN, Actor, actor
from marey.views.camera import FIELD_OF_VIEW, Camera, direction, framing
from marey.views.renderer import Ground, Image, Renderer
from marey.views.shots import in_row, repeated

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


WIDE = (1280, 720)
UNITS = {
    "surface": "mean turn of the triangles (rad)",
    "euclidean": "distance of the vertices (m)",
    "skeleton": "sum of joint angles (rad)",
    "euler": "difference of Euler angles (rad)",
}
# Cells beyond the image's pixels are averaged before they are drawn.
MAX_CELLS = 1400
# Sequences shorter than this share of the whole get no name.
NARROWEST = 0.022
# Width of a letter as a share of a matrix: names wider than their sequence are slanted.
LETTER = 0.017
# With more sequences than this names are small and stand upright.
MAX_SLANTED = 12


def distance_map(distances: DistanceMatrix, *, size: tuple[int, int] = WIDE) -> Figure:
    """All pose distances as a square, dark where poses are similar.

    >>> from marey.statistics.graphs.graph import DistanceMatrix
    >>> apart = np.abs(np.subtract.outer(np.arange(9), np.arange(9)))
    >>> figure = distance_map(DistanceMatrix(apart, np.zeros((9, 9)), [0, 4, 9], ("walk", "run"), "surface"))
    >>> figure.axes[0].get_title(loc="left")
    'Pose distances: 9 frames of 2 sequences, surface metric'
    """
    with style.figure(size) as figure:
        axes = figure.subplots()
        _square(figure, axes, distances, UNITS.get(distances.metric, distances.metric))
        count = len(distances.names)
        sequences = "1 sequence" if count == 1 else f"{count} sequences"
        axes.set_title(f"Pose distances: {distances.frames} frames of {sequences}, {distances.metric} metric")
    return figure


def warp_path(
    distances: DistanceMatrix, transition: Transition, *, size: tuple[int, int] = (900, 720)
) -> Figure:
    """A transition laid over the pose distances of the two windows it blends.

    >>> from marey.statistics.graphs.graph import DistanceMatrix
    >>> apart = np.abs(np.subtract.outer(np.arange(9), np.arange(9)))
    >>> walk = DistanceMatrix(apart, np.zeros((9, 9)), [0, 9], ("walk",), "surface")
    >>> figure = warp_path(walk, Transition([[1, 4], [2, 5], [2, 6]], 11.0))
    >>> figure.axes[0].get_xlabel()
    'frame of walk (destination)'
    """
    path = transition.path
    if path.max() >= distances.frames:
        raise InputError(f"transition: it uses frame {path.max()}; there are {distances.frames}")
    with style.figure(size) as figure:
        axes = figure.subplots()
        spans, names = [], []
        for column in (0, 1):
            first, last = int(path[0, column]), int(path[-1, column])
            sequence = int(np.searchsorted(distances.starts, first, side="right")) - 1
            room = max((last - first) // 3, 3)
            low, high = distances.starts[sequence], distances.starts[sequence + 1]
            spans.append((max(first - room, int(low)), min(last + room + 1, int(high)), int(low)))
            names.append(distances.names[sequence])
        (top, bottom, above), (left, right, before) = spans
        shown = distances.values[top:bottom, left:right]
        extent = (left - before - 0.5, right - before - 0.5, bottom - above - 0.5, top - above - 0.5)
        colours = style.colour_map(style.SEQUENCE[::-1])
        drawn = axes.imshow(shown, cmap=colours, extent=extent, interpolation="nearest", vmin=0)
        rows, columns = path[:, 0] - above, path[:, 1] - before
        axes.plot(columns, rows, color=style.PAPER, lw=3.6)
        axes.plot(columns, rows, color=style.INK, lw=1.6, marker="o", ms=2.6)
        corners = np.array([[columns[0], rows[0]], [columns[-1], rows[-1]]])
        axes.plot(*corners.T, "o", color=style.PAPER, mec=style.INK, mew=1.4, ms=7, ls="none", zorder=4)
        axes.annotate("leaves", corners[0], (-8, 0), textcoords="offset points", ha="right", va="center")
        axes.annotate("arrives", corners[1], (8, 0), textcoords="offset points", ha="left", va="center")
        axes.grid(False)
        axes.set_xlabel(f"frame of {names[1]} (destination)")
        axes.set_ylabel(f"frame of {names[0]} (source)")
        axes.set_title(
            f"Transition of {transition.length} frames, {transition.cost / transition.length:.3f} a frame"
        )
        style.colour_bar(figure, axes, drawn, "pose distance", shrink=0.7)
    return figure


def _square(figure: Figure, axes: Axes, distances: DistanceMatrix, label: str) -> None:
    """A matrix of frames by frames, with borders and names of the sequences."""
    values, starts, frames = distances.values, distances.starts, distances.frames
    finite = values[np.isfinite(values)]
    highest = float(np.quantile(finite, 0.995)) if len(finite) else 1.0
    lowest = float(finite.min()) if len(finite) else 0.0
    extent = (-0.5, frames - 0.5, frames - 0.5, -0.5)
    axes.set_facecolor(style.FAINT)
    drawn = axes.imshow(
        _averaged(values),
        cmap=style.colour_map(style.SEQUENCE[::-1]),
        extent=extent,
        interpolation="nearest" if frames < MAX_CELLS // 2 else "antialiased",
        vmin=0.0 if lowest < 0.2 * highest else lowest,
        vmax=highest or 1.0,
    )
    borders = starts[1:-1] - 0.5
    axes.hlines(borders, -0.5, frames - 0.5, color=style.PAPER, lw=0.9)
    axes.vlines(borders, -0.5, frames - 0.5, color=style.PAPER, lw=0.9)
    style.bare(axes)
    lengths = np.diff(starts)
    middles = 0.5 * (starts[:-1] + starts[1:] - 1)
    wide = lengths > NARROWEST * frames
    named = [name if shown else "" for name, shown in zip(distances.names, wide, strict=True)]
    if any(named):
        crowded = any(len(name) * LETTER > n / frames for name, n in zip(named, lengths, strict=True))
        many = len(named) > MAX_SLANTED
        font = 7.5 if many else 10.0
        axes.set_yticks(middles, named, fontsize=font)
        axes.set_xticks(
            middles, named, fontsize=font, rotation=90 if many else 38 if crowded else 0,
            ha="right" if crowded else "center", va="center" if many else "top", rotation_mode="anchor",
        )  # fmt: skip
    style.colour_bar(figure, axes, drawn, label, shrink=0.7)


def _averaged(values: AnyArray) -> AnyArray:
    """Cells of a large matrix in groups, each with its mean; not a number where there is none."""
    step = -(-len(values) // MAX_CELLS)
    if step == 1:
        return values
    whole = len(values) // step * step
    parts = values[:whole, :whole].reshape(whole // step, step, whole // step, step)
    known = np.isfinite(parts)
    with np.errstate(all="ignore"):
        return np.asarray(np.where(known, parts, 0.0).sum(axis=(1, 3)) / known.sum(axis=(1, 3)))


SQUARE = (1000, 860)
# Part of the circle left empty between sequences, together, and where the arcs run.
GAPS, RADIUS = 0.12, 1.0
INNER = 0.965
# Transitions drawn one by one, and the pairs of sequences that they are between.
MAX_CURVES, MAX_BUNDLES = 600, 64
# With more sequences than this, or longer names, the names stand like spokes.
MAX_LEVEL, MAX_LEVEL_LETTERS = 10, 9
# Curves in the cloud, points of one, and pixels on either side.
MAX_IN_CLOUD, POINTS, CELLS = 12_000, 400, 600


def graph_picture(graph: MotionGraph, names: Sequence[str] = (), *, size: tuple[int, int] = SQUARE) -> Figure:
    """Frames around a circle, time running clockwise, and the transitions between them.

    names: of the sequences

    >>> from marey.statistics.graphs.graph import Windows
    >>> alone = MotionGraph.chains([0, 30, 50], alpha=0.1, windows=Windows(2, 4))
    >>> graph_picture(alone, ("walk", "run")).get_suptitle()
    'Essential graph: 50 frames, 48 captured steps, no transition'
    """
    with style.figure(size) as figure:
        axes = figure.subplots()
        axes.set_aspect("equal")
        axes.axis("off")
        angles = frame_angles(graph)
        chosen = np.flatnonzero(graph.synthetic)
        if len(chosen):
            _transitions(figure, axes, graph, angles, chosen)
        longest = max(map(len, names), default=0)
        spokes = len(names) > MAX_LEVEL or longest > MAX_LEVEL_LETTERS
        _arcs(axes, graph, angles, tuple(names), spokes=spokes)
        room = 1.1 + 0.034 * longest if spokes else 1.16
        axes.set_xlim(-max(room, 1.3), max(room, 1.3))
        axes.set_ylim(-room, room)
        figure.suptitle(_graph_title(graph, len(chosen)), x=0.01, ha="left", color=style.INK, fontsize=11)
    return figure


def _graph_title(graph: MotionGraph, transitions: int) -> str:
    kind = "Essential graph" if graph.kind == "essential" else "Motion graph"
    captured = graph.edges - transitions
    if not transitions:
        return f"{kind}: {graph.frames} frames, {captured} captured steps, no transition"
    return (
        f"{kind}: {graph.frames:,} frames, {transitions:,} transitions, α = {graph.alpha:g}, "
        f"{100 * graph.density:.2g} % of all pairs"
    )


def frame_angles(graph: MotionGraph) -> AnyArray:
    """Where on the circle each frame is, radians, clockwise from the top."""
    lengths = np.diff(graph.starts)
    gap = 2 * np.pi * GAPS / len(lengths)
    step = (2 * np.pi - gap * len(lengths)) / lengths.sum()
    which = np.repeat(np.arange(len(lengths)), lengths)
    return np.asarray(gap * (which + 0.5) + step * (np.arange(graph.frames) + 0.5))


def _on_circle(angles: AnyArray, radius: float) -> AnyArray:
    return radius * np.stack([np.sin(angles), np.cos(angles)], axis=-1)


def _arcs(axes: Axes, graph: MotionGraph, angles: AnyArray, names: tuple[str, ...], *, spokes: bool) -> None:
    for k, (first, last) in enumerate(pairwise(graph.starts.tolist())):
        colour = style.PALETTE[k % len(style.PALETTE)]
        along = np.linspace(angles[first], angles[last - 1], max(int(200 * (last - first) / graph.frames), 2))
        x, y = _on_circle(along, RADIUS).T
        axes.plot(x, y, color=colour, lw=7, solid_capstyle="butt")
        tip, before = _on_circle(np.array([along[-1] + 0.02, along[-1]]), RADIUS)
        axes.annotate(
            "", tip, before, arrowprops={"arrowstyle": "-|>", "color": colour, "lw": 0, "mutation_scale": 26}
        )
        if k < len(names):
            _name(axes, names[k], 0.5 * (along[0] + along[-1]), colour, spoke=spokes)


def _name(axes: Axes, name: str, angle: float, colour: str, *, spoke: bool) -> None:
    x, y = _on_circle(np.array(angle), RADIUS + 0.07)
    side = "left" if x > 0 else "right"
    if spoke:
        slope = np.degrees(np.arctan2(y, x))
        turned, level, size = float(slope if x > 0 else slope + 180.0), "center", 8.5
    else:
        side = "center" if abs(x) < 0.12 else side
        turned, level, size = 0.0, "center" if abs(y) < 0.85 else "bottom" if y > 0 else "top", 11.0
    text = axes.text(
        x, y, name, color=colour, ha=side, va=level, fontsize=size, weight="bold", rotation=turned,
        rotation_mode="anchor",
    )  # fmt: skip
    # The circle has its place, however long the names are.
    text.set_in_layout(False)


def _transitions(
    figure: Figure, axes: Axes, graph: MotionGraph, angles: AnyArray, chosen: NDArray[np.intp]
) -> None:
    from matplotlib.collections import LineCollection

    shown = _cheapest(graph, chosen)
    if len(shown) < len(chosen):
        _cloud(axes, graph, angles, chosen[:: max(len(chosen) // MAX_IN_CLOUD, 1)])
    curves = _curves(graph, angles, shown, 60)
    colours = style.colour_map(style.SEQUENCE[:0:-1])
    opaque = float(np.clip(220 / len(shown), 0.4, 0.9))
    lines = LineCollection(
        list(curves), cmap=colours, array=graph.weights[shown], linewidths=0.9, alpha=opaque
    )
    axes.add_collection(lines)
    few = len(shown) == len(chosen)
    label = "weight of a transition" if few else "weight of the cheapest transitions; the others grey"
    bar = style.colour_bar(figure, axes, lines, label, shrink=0.5)
    if bar.solids is not None:
        bar.solids.set_alpha(1.0)


def _cheapest(graph: MotionGraph, chosen: NDArray[np.intp]) -> NDArray[np.intp]:
    """The cheapest transitions of the pairs of sequences between which it is cheapest; dear ones first."""
    weights = graph.weights[chosen]
    if len(chosen) <= MAX_CURVES:
        return np.asarray(chosen[np.argsort(-weights, kind="stable")])
    ends = [np.searchsorted(graph.starts, at[chosen], side="right") for at in (graph.sources, graph.targets)]
    pair = ends[0] * len(graph.starts) + ends[1]
    order = np.lexsort((weights, pair))
    first = np.flatnonzero(np.diff(pair[order], prepend=-1))
    rank = np.arange(len(order)) - np.repeat(first, np.diff(first, append=len(order)))
    bundles = np.argsort(weights[order[first]], kind="stable")[:MAX_BUNDLES]
    near = np.isin(pair[order], pair[order[first[bundles]]])
    kept = order[near & (rank < MAX_CURVES // len(bundles))]
    return np.asarray(chosen[kept[np.argsort(-weights[kept], kind="stable")]])


def _curves(graph: MotionGraph, angles: AnyArray, edges: NDArray[np.intp], points: int) -> AnyArray:
    """Quadratic curves `(edges, points, 2)`, drawn to the middle if their ends lie far apart."""
    start = _on_circle(angles[graph.sources[edges]], INNER)
    end = _on_circle(angles[graph.targets[edges]], INNER)
    apart = np.linalg.norm(end - start, axis=1, keepdims=True)
    middle = 0.5 * (start + end) * np.clip(1.0 - 0.75 * apart / 2.0, 0.1, 1.0) ** 1.5
    t = np.linspace(0, 1, points)[None, :, None]
    return np.asarray((1 - t) ** 2 * start[:, None] + 2 * t * (1 - t) * middle[:, None] + t**2 * end[:, None])


def _cloud(axes: Axes, graph: MotionGraph, angles: AnyArray, edges: NDArray[np.intp]) -> None:
    """How many curves run through each place, on a scale that shows few and many."""
    counts = np.zeros(CELLS**2)
    for part in np.array_split(edges, -(-len(edges) // 1000)):
        cells = ((_curves(graph, angles, part, POINTS) + 1.0) * (0.5 * CELLS)).astype(np.int64)
        np.clip(cells, 0, CELLS - 1, out=cells)
        counts += np.bincount((cells[..., 1] * CELLS + cells[..., 0]).ravel(), minlength=CELLS**2)
    strength = (counts / np.quantile(counts[counts > 0], 0.995)).reshape(CELLS, CELLS)
    image = np.zeros((CELLS, CELLS, 4))
    image[..., :3] = np.array(style.rgb(style.SOFT_INK)) / 255
    image[..., 3] = 0.75 * np.clip(strength, 0, 1) ** 0.6
    axes.imshow(image, extent=(-1, 1, -1, 1), origin="lower", interpolation="bilinear", zorder=0)


# Seconds over which a clip's first direction is measured.
START_SECONDS = 0.3


def blend_paths(
    first: MeshSequence,
    second: MeshSequence,
    mixture: MeshSequence,
    *,
    size: tuple[int, int] = (1000, 860),
) -> Figure:
    """Where two clips and their mixture go, all begun at one place and in one direction; a dot every second.

    >>> import marey
    >>> walk = marey.samples.mesh_sequence()[:40]
    >>> len(blend_paths(walk, walk, walk).axes[0].get_lines())
    3
    """
    shown = (
        (first, first.name or "first", style.PALETTE[0], 2.0),
        (second, second.name or "second", style.PALETTE[3], 2.0),
        (mixture, "mixture", style.INK, 3.2),
    )
    with style.figure(size) as figure:
        axes = figure.subplots()
        paths = []
        for sequence, name, colour, width in shown:
            path = _from_origin(sequence)
            label = f"{name}: {_length(path):.1f} m in {sequence.frames / sequence.frame_rate:.1f} s"
            axes.plot(*path.T, color=colour, lw=width, label=label)
            marks = path[:: max(round(sequence.frame_rate), 1)]
            axes.scatter(marks[:, 0], marks[:, 1], s=18, color=style.PAPER, edgecolor=colour, zorder=4)
            paths.append(path)
        style.frame_ground(axes, np.concatenate(paths), labels=("to the right (m)", "ahead (m)"))
        figure.legend(loc="outside upper left", ncols=1)
    return figure


def _from_origin(sequence: MeshSequence) -> AnyArray:
    """The path of the body's middle, begun at the origin: metres to the right and ahead."""
    path = np.array([centroid(vertices) for vertices in sequence.vertices])
    soon = path[min(round(START_SECONDS * sequence.frame_rate), len(path) - 1)] - path[0]
    ahead = PlanarMotion.about(path[0], -np.arctan2(soon[0], soon[1]), np.zeros(2)).on_ground(path)
    return ahead * [-1.0, 1.0]


COLUMNS = 1280
# Pixels of a row, and of what is written around it.
LOWEST_ROW, HIGHEST_ROW, WORDS = 200, 480, 76
MAX_COLUMNS = 9
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
    weights: AnyArray
    first: AnyArray
    second: AnyArray

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

    def colours(self, frame: int) -> AnyArray:
        """Linear colours of the vertices, `(vertices, 3)`: clay to red."""
        vertices, weight = self.meshes.vertices[frame], float(self.weights[frame])
        off = strains(vertices, self.first, self.second, self.meshes.faces, weight)
        share = np.clip(off / ALL_RED, 0.0, 1.0)[:, None]
        return np.asarray((1 - share) * style.linear(style.CLAY) + share * style.linear(STRETCHED))


def in_between_rows(kinds: Sequence[InBetweens], *, columns: int = COLUMNS) -> Figure:
    """A row for each kind of in-betweens, all at the same weights; of many weights some.

    columns: pixels

    >>> import marey
    >>> walk = marey.samples.mesh_sequence()
    >>> ends = walk.vertices[0], walk.vertices[15]
    >>> some = InBetweens("captured", walk[:16:5], np.linspace(0, 1, 4), *ends)
    >>> len(in_between_rows([some], columns=320).axes)
    1
    """
    count = len(kinds[0].weights)
    if count > MAX_COLUMNS:
        chosen = np.rint(np.linspace(0, count - 1, MAX_COLUMNS)).astype(int).tolist()
        kinds = [kind.at(chosen) for kind in kinds]
    looked, towards = _still(kinds[0].meshes), direction(TURN, ELEVATION)
    # The same for every kind.
    together = list(np.concatenate([kind.meshes.vertices for kind in kinds], axis=1).astype(np.float64))
    shifts = in_row(together, np.array([pose.mean(axis=0) for pose in together]), towards, gap=0.12)
    places = [kind.meshes.vertices.astype(np.float64) + shifts[:, None] for kind in kinds]
    around = np.concatenate([place.reshape(-1, 3) for place in places])
    pixels = columns, _height(around, towards, columns)
    camera = framing(around, towards, pixels, margin=0.94, field_of_view=AFAR * FIELD_OF_VIEW)
    ground = _in_between_ground(around, looked.size)
    look = repeated(looked.look, len(shifts))
    with style.figure((columns, len(kinds) * (pixels[1] + WORDS))) as figure:
        grid = figure.subplots(len(kinds), squeeze=False)[:, 0]
        for axes, kind, place in zip(grid, kinds, places, strict=True):
            colours = np.concatenate([kind.colours(i) for i in range(len(place))])
            scene = Renderer(replace(look, colours=colours), ground, size=pixels, subject_size=looked.size)
            axes.imshow(scene.render(place.reshape(-1, 3), camera))
            axes.set_title(kind.title, pad=4)
            middles = [float(np.median(camera.project(mesh, pixels)[:, 0])) for mesh in place]
            axes.set_xticks(middles, [f"{weight:.3g}" for weight in kind.weights])
            axes.set_yticks([])
            style.bare(axes)
        grid[-1].set_xlabel(f"weight; red where edges are {100 * ALL_RED:.0f} % too long or too short")
    return figure


def in_between_clip(kinds: Sequence[InBetweens], *, size: tuple[int, int] = (1280, 720)) -> Iterator[Image]:
    """Images of a clip, one for each weight, with the kinds in columns."""
    looked, towards = _still(kinds[0].meshes), direction(TURN, ELEVATION)
    thinned = [kind.meshes.vertices[:, ::7].reshape(-1, 3) for kind in kinds]
    around = np.concatenate(thinned).astype(np.float64)
    header = _in_between_header([kind.title for kind in kinds], size)
    pixels = size[0] // len(kinds), size[1] - len(header)
    camera, ground = framing(around, towards, pixels, margin=0.9), _in_between_ground(around, looked.size)
    centre = around.mean(axis=0)

    def panel(kind: InBetweens, frame: int) -> Image:
        look = replace(looked.look, colours=kind.colours(frame))
        scene = Renderer(look, ground, size=pixels, subject_size=looked.size)
        return scene.render(np.asarray(kind.meshes.vertices[frame], np.float64), camera, centre=centre)

    for frame in range(len(kinds[0].weights)):
        yield np.concatenate([header, np.concatenate([panel(kind, frame) for kind in kinds], axis=1)])


def draw_in_betweens(kinds: Sequence[InBetweens], path: Path, *, progress: Progress | None = None) -> None:
    """Write rows (.png) or a clip (.mp4, .gif), as the ending of `path` asks."""
    if path.suffix.lower() == ".png":
        style.save(in_between_rows(kinds), path)
        return
    from marey.io.video import write_frames

    count = len(kinds[0].weights)
    write_frames(in_between_clip(kinds), path, frame_rate=CLIP_RATE, progress=progress, total=count)


def _in_between_header(titles: Sequence[str], size: tuple[int, int]) -> Image:
    """A line of text over each of the columns."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    height = 2 * round(0.035 * size[1])
    with style.figure(size) as figure:
        figure.set_size_inches(size[0] / figure.dpi, height / figure.dpi)
        figure.set_facecolor(style.BACKDROP_TOP)
        canvas: Any = FigureCanvasAgg(figure)
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


def _height(points: AnyArray, towards: AnyArray, columns: int) -> int:
    """Pixels of a row that the points fill as well in height as in width; even."""
    seen = Camera(np.zeros(3), -towards)
    wide, tall = (float(np.ptp(points @ axis)) for axis in (seen.right, seen.up))
    share = columns / COLUMNS
    return int(
        2
        * round(
            0.5 * np.clip(1.1 * columns * tall / max(wide, 1e-9), LOWEST_ROW * share, HIGHEST_ROW * share)
        )
    )


def _in_between_ground(points: AnyArray, size: float) -> Ground:
    extent = float(np.ptp(points[:, [0, 2]], axis=0).max())
    return Ground.of_size(size, level=float(points[:, 1].min()), extent=extent)


def _percent(share: np.floating[Any]) -> str:
    return "less than 0.01 %" if share < 1e-4 else f"{100 * share:.2g} %"


# As in Boukhayma 2017: the surface metric red, the Euclidean one blue.
COLOURS = {"surface": style.PALETTE[3], "euclidean": style.PALETTE[0]}


def agreement(
    test: Mantel, by_class: Correlogram, metrics: tuple[str, str], *, size: tuple[int, int] = (1300, 560)
) -> Figure:
    """How two metrics agree: from near pairs to far ones, and over all pairs beside permutations.

    metrics: names of the one compared, and of the one whose distances make the classes

    >>> test = Mantel(0.9, 0.01, np.random.default_rng(0).normal(size=99) / 20, "object")
    >>> line = Correlogram(np.arange(3.0), np.array([5, 5]), np.array([0.8, 0.5]))
    >>> len(agreement(test, line, ("surface", "skeleton")).axes)
    2
    """
    colour = COLOURS.get(metrics[0], style.PALETTE[4])
    middles = 0.5 * (by_class.edges[:-1] + by_class.edges[1:])
    with style.figure(size) as figure:
        classes, permuted = figure.subplots(1, 2)
        classes.plot(middles, by_class.correlations, color=colour, marker="o", ms=5)
        classes.axhline(0, color=style.SOFT_INK, lw=0.8)
        classes.set_xlabel(f"{metrics[1]} distance")
        classes.set_ylabel(f"correlation with {metrics[0]} distance in the class")
        classes.set_title("From near pairs to far ones")
        bins = np.linspace(min(float(test.permuted.min()), -0.1), 1.0, 90)
        permuted.hist(test.permuted, bins=list(bins), color=style.SOFT_INK, alpha=0.55, lw=0)
        permuted.axvline(test.correlation, color=colour, lw=2.2)
        left = test.correlation > 0.5
        permuted.text(
            test.correlation + (-0.02 if left else 0.02), 0.96,
            f"r = {test.correlation:.3f}\np = {test.p:.2g}", transform=permuted.get_xaxis_transform(),
            ha="right" if left else "left", va="top", color=colour,
        )  # fmt: skip
        permuted.set_yticks([])
        permuted.grid(False)
        permuted.set_xlabel("correlation of all pairs")
        permuted.set_title(f"Beside {len(test.permuted)} permutations")
    return figure


def path_from_above(
    animation: Animation,
    *,
    curve: ArrayLike | None = None,
    footprints: ArrayLike | None = None,
    size: tuple[int, int] = (1000, 860),
) -> Figure:
    """The path over the ground seen from above, a dot every second.

    curve: `(points, 2)`, metres along x and z: the path that was asked for
    footprints: `(prints, 2)`, metres, where feet were set down

    >>> from marey.surface import MeshSequence
    >>> from marey.surface.synthesis.animation import Provenance
    >>> triangle = MeshSequence([[[0, 0, 0], [1, 0, 0], [0, 1, 0]]] * 2, [[0, 1, 2]], 30)
    >>> origin = Provenance([0, 1], [0, 8], [0, 0.5], [False, True])
    >>> path_from_above(Animation(triangle, origin), curve=[[0, 0], [0, 2]]).axes[0].get_xlabel()
    'x (m)'
    """
    sequence = animation.sequence
    path = np.array([centroid(vertices) for vertices in sequence.vertices])
    target = None if curve is None else checked("curve", curve, (None, 2))
    prints = np.empty((0, 2)) if footprints is None else checked("footprints", footprints, (None, 2))
    with style.figure(size) as figure:
        axes = figure.subplots()
        if target is not None:
            axes.plot(*target.T, color=style.FAINT, lw=9, label="asked for", zorder=1)
        axes.scatter(prints[:, 0], prints[:, 1], s=14, color=style.SOFT_INK, alpha=0.5, lw=0, zorder=2)
        _coloured_path(axes, path, animation.provenance.synthetic)
        marks = path[:: max(round(sequence.frame_rate), 1)]
        axes.scatter(marks[:, 0], marks[:, 1], s=16, color=style.PAPER, edgecolor=style.INK, lw=0.9, zorder=4)
        axes.plot(*path[0], "o", color=style.INK, ms=7, zorder=5)
        around = np.concatenate([path, prints, *([] if target is None else [target])])
        style.frame_ground(axes, around, labels=("x (m)", "z (m)"))
        # From above x runs to the right and z down the page.
        axes.invert_yaxis()
        figure.legend(loc="outside upper right", ncols=3)
        seconds = sequence.frames / sequence.frame_rate
        axes.set_title(f"{_length(path):.1f} m in {seconds:.1f} s" + _deviation(path, target))
    return figure


def timeline(
    animation: Animation, library: Library | None = None, *, size: tuple[int, int] = (1280, 460)
) -> Figure:
    """What plays when: captured frames of each sequence in green, in red the two that are blended.

    library: whose sequences are named; if None, frames have their numbers alone

    >>> from marey.surface import MeshSequence
    >>> from marey.surface.synthesis.animation import Provenance
    >>> triangle = MeshSequence([[[0, 0, 0], [1, 0, 0], [0, 1, 0]]] * 2, [[0, 1, 2]], 30, name="walk")
    >>> new = Animation(triangle, Provenance([0, 1], [0, 3], [0, 0.5], [False, True]))
    >>> axes = timeline(new, Library((triangle, triangle))).axes[0]
    >>> [label.get_text() for label in axes.get_yticklabels()]
    ['walk', 'walk-2']
    """
    origin = animation.provenance
    time = np.arange(len(origin.sources)) / animation.sequence.frame_rate
    ends = np.stack([origin.sources, origin.destinations])
    with style.figure(size) as figure:
        axes = figure.subplots()
        height = ends.astype(float) if library is None else _timeline_rows(axes, ends, library)
        for start, stop in runs(origin.synthetic):
            axes.axvspan(time[start], time[stop - 1], color=style.SYNTHETIC, alpha=0.09, lw=0)
        for shown, row, colour, label in (
            (~origin.synthetic, 0, style.CAPTURED, "captured"),
            (origin.synthetic, 0, style.SYNTHETIC, "synthetic"),
            (origin.synthetic, 1, style.SYNTHETIC, None),
        ):
            axes.scatter(time[shown], height[row, shown], s=14, lw=0, color=colour, label=label)
        axes.set_xlabel("time (s)")
        axes.margins(x=0.01)
        if library is None:
            axes.set_ylabel("frame of the library")
        share = 100 * origin.captured_frames / len(time)
        figure.legend(loc="outside upper right", ncols=2, markerscale=2.5)
        axes.set_title(f"What plays when: {len(time)} frames, {share:.0f} % captured")
    return figure


def _timeline_rows(axes: Axes, frames: AnyArray, library: Library) -> AnyArray:
    """Heights of frames in a chart with a band for each sequence, its first frame at the bottom."""
    if frames.max() >= library.frames:
        raise InputError(f"animation: it uses frame {frames.max()}; the library has {library.frames}")
    starts, lengths = library.starts, np.diff(library.starts)
    which = library.clip_of[frames]
    used = np.unique(which)
    place = np.full(len(lengths), -1)
    place[used] = np.arange(len(used))
    axes.set_yticks(np.arange(len(used)) + 0.5, [library.names[k] for k in used])
    axes.set_ylim(-0.05, len(used) + 0.05)
    for border in range(len(used) + 1):
        axes.axhline(border, color=style.FAINT, lw=0.8, zorder=0)
    axes.grid(False)
    axes.tick_params(axis="y", length=0)
    return np.asarray(
        place[which] + 0.08 + 0.84 * (frames - starts[which]) / np.maximum(lengths[which] - 1, 1)
    )


def _coloured_path(axes: Axes, path: AnyArray, synthetic: AnyArray) -> None:
    kinds = ((~synthetic, style.CAPTURED, "captured"), (synthetic, style.SYNTHETIC, "synthetic"))
    for shown, colour, name in kinds:
        for number, (start, stop) in enumerate(runs(shown)):
            part, label = path[max(start - 1, 0) : stop], None if number else name
            axes.plot(*part.T, color=colour, lw=2.6, zorder=3, label=label)


def _length(path: AnyArray) -> float:
    return float(np.linalg.norm(np.diff(path, axis=0), axis=1).sum())


def _deviation(path: AnyArray, target: AnyArray | None) -> str:
    """How far the path is from the target, in words."""
    if target is None:
        return ""
    near = np.linalg.norm(path - target[0], axis=1)
    for first, last in pairwise(target):
        along = last - first
        t = np.clip((path - first) @ along / max(float(along @ along), 1e-12), 0, 1)
        near = np.minimum(near, np.linalg.norm(path - first - t[:, None] * along, axis=1))
    return f", {100 * near.mean():.0f} cm from the path asked for on average"
