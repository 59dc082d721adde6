"""Captured sequences with their motion graph, and animations made to order from them.

Boukhayma 2017, sections 3.3 and 3.5. Along a path, through poses at times, from frame to frame, steered, at
random: each order is first answered by a walk through the graph, without a mesh; then the walk is played.
Cost: the search, then a few milliseconds a frame.

A walk becomes meshes one after another (section 3.4 and algorithm 3). Captured frames are only moved along
the ground; transitions are blended. Pieces are half-open, so that no frame comes twice, and the number of
frames is one more than the steps of the walk. :func:`stream` holds one mesh in memory at
a time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from marey._arrays import Integers
from marey._random import Rng
from marey._report import Displayed
from marey._work import Progress
from marey.errors import InputError
from marey.geometry.planar import Path, PlanarMotion
from marey.statistics.graphs.build import essential_graph, motion_graph
from marey.statistics.graphs.graph import DistanceMatrix, Kind, MotionGraph, Walk, Windows, core_frames
from marey.statistics.graphs.path_search import (
    PathSearchSettings,
    PathWalk,
    SteeredWalk,
    SteerSettings,
    follow,
)
from marey.statistics.graphs.published_search import branch_and_bound, meet_in_time
from marey.statistics.graphs.root_motion import prune_transitions
from marey.statistics.graphs.transitions import Ends, Objective, table
from marey.statistics.graphs.walks import TimedWalk, random_walk, shortest_walk, walk_through
from marey.surface.contacts import compare_foot_skate
from marey.surface.distances import distances as pose_distances
from marey.surface.interpolation import Interpolator
from marey.surface.sequence import Library, MeshSequence
from marey.surface.synthesis.animation import Animation, AnimationReport, Frame, collect_frames
from marey.surface.synthesis.blend import Blender, captured_frame, placed_frames
from marey.surface.synthesis.placement import FootLock, GroundFrames, Placement, edge_motion, place_edges

Pose = int | str
"""A frame of the library: its number, or `"SEQUENCE:FRAME"`."""

LONGEST = 24 * 3600.0
SEARCHES = ("beam", "published")


@dataclass(frozen=True, eq=False)
class SurfaceGraph(Displayed):
    """A library, its pose distances and its graph: what animations are made from.

    Attributes:
        library: the captured sequences.
        distances: between all their frames; transitions are laid out anew from them when they are needed.
        graph: which transitions are worth taking.
    """

    library: Library
    distances: DistanceMatrix
    graph: MotionGraph

    def __post_init__(self) -> None:
        starts = self.library.starts
        for what, theirs in (("distances", self.distances.starts), ("graph", self.graph.starts)):
            if not np.array_equal(starts, theirs):
                raise InputError(f"the {what} were not made from these sequences: their frames differ")

    def animate(self, **options: Any) -> Animation:
        """An animation made to order, see :func:`animate`."""
        return animate(self, **options)

    def facts(self) -> dict[str, object]:
        """What it is, as plain values, for `marey info`."""
        library, graph = self.library, self.graph
        return {
            "kind": "repertoire",
            "frames": library.frames,
            "frame_rate": library.frame_rate,
            "duration": library.frames / library.frame_rate,
            "vertices": library.sequences[0].vertices.shape[1],
            "faces": len(library.faces),
            "graph": graph.kind,
            "edges": graph.edges,
            "transitions": int(graph.synthetic.sum()),
            "density": round(graph.density, 6),
            "alpha": graph.alpha,
            "windows": [graph.windows.shortest, graph.windows.longest],
            "metric": self.distances.metric,
            "sequences": [
                {"name": sequence.name, "label": label, "frames": sequence.frames}
                for sequence, label in zip(library.sequences, library.labels, strict=True)
            ],
        }


def graph(
    sequences: Library | Sequence[MeshSequence],
    *,
    alpha: float = 0.01,
    method: Kind = "essential",
    windows: Windows | None = None,
    objective: Objective = "weight",
    ends: Ends = "strict",
    distances: DistanceMatrix | None = None,
    triangles: int | None = None,
    progress: Progress | None = None,
) -> SurfaceGraph:
    """A graph of the best transitions between sequences of one subject.

    Cost: the distances of all pairs of poses take most of the time; pass them to try another `alpha`.

    Args:
        sequences: of one subject.
        alpha: deformation, in radians, that is accepted to save a frame of time, at most 1; 0.01 keeps close
            to what was captured, 0.2 answers fast.
        method: "essential", or "motion" for the graph of local minima.
        windows: lengths of transitions; 0.3 to 2 seconds if not given.
        objective: what transitions make least: "weight" (deformation + alpha × time), or the "sum" or "mean"
            of the distances.
        ends: "short" allows shorter transitions at the ends of sequences, down to 3 frames, so that fewer
            frames cannot be reached or left; being short they are cheap, so that many walks then take these
            abrupt ones.
        distances: between all frames, if they are known; the surface metric's otherwise.
        triangles: compare poses by so many triangles, not by all.
        progress: called with the work done and in all.

    >>> import marey
    >>> walk = marey.samples.mesh_sequence()
    >>> repertoire = graph((walk[:40], walk[60:100]))
    >>> repertoire.graph.frames, repertoire.distances.metric
    (80, 'surface')
    """
    return built(
        sequences, alpha=alpha, method=method, windows=windows, objective=objective, ends=ends,
        distances=distances, triangles=triangles, progress=progress,
    )[0]  # fmt: skip


def built(
    sequences: Library | Sequence[MeshSequence],
    *,
    alpha: float,
    method: Kind = "essential",
    windows: Windows | None = None,
    objective: Objective = "weight",
    ends: Ends = "strict",
    distances: DistanceMatrix | None = None,
    triangles: int | None = None,
    progress: Progress | None = None,
) -> tuple[SurfaceGraph, MotionGraph]:
    """The graph of :func:`graph`, and the motion graph of the same transitions to compare it with."""
    if not 0 <= alpha <= 1:
        raise InputError(f"alpha {alpha:g}: radians from 0 to 1; no pose is farther from another")
    if distances is not None and triangles is not None:
        raise InputError("triangles: for distances to be made; these poses have been compared")
    library = sequences if isinstance(sequences, Library) else Library(tuple(sequences))
    if distances is None:
        distances = pose_distances(library, triangles=triangles, progress=progress)
    windows = windows or Windows.at(library.frame_rate)
    # Without transitions it costs nothing to see whether the distances are of these sequences.
    bare = SurfaceGraph(library, distances, MotionGraph.chains(library.starts, alpha=alpha, windows=windows))
    found = table(distances, windows=windows, objective=objective, alpha=alpha, ends=ends, progress=progress)
    baseline = motion_graph(found, alpha=alpha)
    if method == "motion":
        return replace(bare, graph=baseline), baseline
    return replace(bare, graph=essential_graph(found, alpha=alpha, progress=progress)), baseline


def animate(
    graph: SurfaceGraph,
    *,
    path: Path | ArrayLike | None = None,
    poses: Sequence[tuple[Pose, float]] | None = None,
    steer: ArrayLike | None = None,
    random: bool = False,
    start: Pose | None = None,
    end: Pose | None = None,
    seconds: float | None = None,
    follow_vertices: Sequence[int] | None = None,
    accuracy: float = 5.0,
    width: int = 500,
    tolerance: float = 0.0,
    search: str = "beam",
    rng: Rng = 0,
    progress: Progress | None = None,
) -> Animation:
    """Animate a captured subject: along a path, through poses, steered, at random, or from frame to frame.

    Args:
        graph: Of the subject.
        path: To follow, on the ground or in space.
        poses: Frames and the seconds at which they are taken.
        steer: Directions `(rows, 3)`: time, and x, z from then on.
        random: Random transitions for `seconds`.
        start: The captured frame to begin with.
        end: The captured frame to end with.
        seconds: How long, from `start` to `end`, steered or at random.
        follow_vertices: Vertices whose middle keeps to the path; the body's if None.
        accuracy: Weight of keeping to the path beside few transitions.
        width: States that the search along a path keeps; more find better walks, slower.
        tolerance: Seconds by which poses may miss their times to deform less.
        search: "beam", ours; or "published" (Boukhayma 2017, section 3.5), along a path by branch and bound,
            from pose to pose from both ends; the start of a path is then the first frame of a sequence.
        rng: Seed or generator.

    >>> import marey
    >>> repertoire = marey.surface.graph(marey.samples.mesh_library(vertices=800))
    >>> animate(repertoire, random=True, seconds=2).sequence.frames > 50
    True
    """
    given = [one for one in (path, poses, steer, random or None, end) if one is not None]
    if len(given) != 1 or (end is not None and start is None):
        raise InputError("give one of `path`, `poses`, `steer`, `random`, or `start` and `end`")
    if poses is not None and start is not None:
        raise InputError("start: the first of the `poses` is the first frame")
    if seconds is not None and (path is not None or poses is not None):
        raise InputError("seconds: goes with `start` and `end`, with `steer` or with `random`")
    if search not in SEARCHES:
        raise InputError(f"search {search!r}: one of {', '.join(SEARCHES)}")
    published = search == "published"
    if published and (steer is not None or random or (path is None and poses is None and seconds is None)):
        raise InputError("search published: goes with `path`, with `poses`, or with `end` and `seconds`")
    if follow_vertices is not None and path is None:
        raise InputError("follow_vertices: goes with `path`")
    if steer is not None:
        return _steered(graph, steer, seconds, start, accuracy, progress)
    if random and seconds is None:
        raise InputError("random: say how long with `seconds`")
    if seconds is not None:
        _check_seconds(seconds)
    library = graph.library
    first = None if start is None else library.frame(start)
    if path is not None:
        line = path if isinstance(path, Path) else Path.through(path)
        player = Player.prepare(graph)
        motion = edge_motion(
            graph, player.ground, track=follow_vertices, edges=prune_transitions(graph.graph, library)
        )
        if published:
            found = branch_and_bound(graph.graph, motion, line, start=first)
            return _play(player, found.walk, found.start, path=found, progress=progress)
        settings = PathSearchSettings(accuracy=accuracy, width=width)
        found = follow(graph.graph, motion, line, settings, start=first, progress=progress)
        return _play(player, found.walk, found.start, path=found, progress=progress)
    if random:
        assert seconds is not None
        walk = random_walk(graph.graph, library, seconds, rng, start=first)
        return _play(Player.prepare(graph), walk, progress=progress)
    if poses is None:
        assert start is not None and end is not None
        if seconds is None:
            walk = shortest_walk(graph.graph, library.frame(start), library.frame(end))
            return _play(Player.prepare(graph), walk, progress=progress)
        poses = [(start, 0.0), (end, seconds)]
    times = [round(float(moment) * library.frame_rate) for _, moment in poses]
    slack = round(tolerance * library.frame_rate)
    if published:
        timed = meet_in_time(graph.graph, [library.frame(pose) for pose, _ in poses], times)
        return _play(Player.prepare(graph), timed.walk, timed=timed, progress=progress)
    timed = walk_through(graph.graph, [library.frame(pose) for pose, _ in poses], times, tolerance=slack)
    return _play(Player.prepare(graph), timed.walk, timed=timed, progress=progress)


def _steered(
    subject: SurfaceGraph,
    directions: ArrayLike,
    seconds: float | None,
    start: Pose | None,
    accuracy: float,
    progress: Progress | None,
) -> Animation:
    """An animation steered by directions `(rows, 3)`: time, seconds, and x, z from then on.

    As in live use, a decision knows only the direction of its moment. It ends two seconds after the last
    direction is given, if `seconds` is None.
    """
    given = np.asarray(directions, np.float64)
    if given.ndim != 2 or given.shape[1] != 3 or not len(given) or not np.isfinite(given).all():
        raise InputError("directions: rows of time, x, z are needed")
    seconds = float(given[-1, 0]) + 2.0 if seconds is None else seconds
    _check_seconds(seconds)
    player, library = Player.prepare(subject), subject.library
    core = core_frames(subject.graph)
    edges = prune_transitions(subject.graph, library, inside=core)
    motion = edge_motion(subject, player.ground, edges=edges)
    frame = int(core.argmax()) if start is None else library.frame(start)
    settings = SteerSettings(search=PathSearchSettings(accuracy=accuracy, width=60))
    body = SteeredWalk(subject.graph, motion, frame, settings=settings)
    total = round(seconds * library.frame_rate)
    while (steps := body.walk.steps(subject.graph)) < total:
        now = steps / library.frame_rate
        body.advance(given[max(int(np.searchsorted(given[:, 0], now, side="right")) - 1, 0), 1:])
        if progress is not None:
            progress(min(steps, total), total)
    return _play(player, body.walk)


def _check_seconds(seconds: float) -> None:
    if not (np.isfinite(seconds) and 0 < seconds <= LONGEST):
        raise InputError(f"seconds: above 0 and at most {LONGEST:g}, got {seconds}")


def _play(
    player: Player,
    walk: Walk,
    start: PlanarMotion | None = None,
    *,
    path: PathWalk | None = None,
    timed: TimedWalk | None = None,
    progress: Progress | None = None,
) -> Animation:
    animation = synthesize(player, walk, start=start, progress=progress)
    graph, library = player.subject.graph, player.subject.library
    skate = compare_foot_skate(animation, library, player.ground.contacts)
    report = AnimationReport(
        int(graph.synthetic[walk.edges].sum()),
        walk.cost(graph),
        skate.animation.speed,
        skate.captured,
        skate.ratio,
        None if path is None else path.path_error,
        None if path is None else float(path.errors.max()),
        None if path is None else path.label_violations,
        None if timed is None else tuple((timed.errors / library.frame_rate).tolist()),
    )
    return replace(animation, report=report)


@dataclass(frozen=True, eq=False)
class Player:
    """A surface graph with what is derived from it once, ready to play any walk.

    Attributes:
        subject: the sequences, their distances and graph.
        ground: what placement needs of each frame.
        blender: of poses.
        foot_lock: holds feet of blends in place; None leaves them where the blend has them.
    """

    subject: SurfaceGraph
    ground: GroundFrames
    blender: Blender
    foot_lock: FootLock | None

    @classmethod
    def prepare(
        cls, subject: SurfaceGraph, *, blender: Blender | None = None, anchored: bool = True
    ) -> Player:
        """Measure a subject's frames, and factor its surface for blends if there is no blender."""
        library = subject.library
        blender = blender or Interpolator.prepare(library.vertices(0), library.faces)
        ground = GroundFrames.of(library)
        return cls(subject, ground, blender, FootLock.of(library, ground) if anchored else None)

    def place(self, edges: Integers) -> Placement:
        """Where the frames of transitions stand; `edges` are numbers of the graph's synthetic edges."""
        return place_edges(self.subject, self.ground, edges, anchored=self.foot_lock is not None)


def stream(
    player: Player, walk: Walk, *, start: PlanarMotion | None = None, height_offset: float = 0.0
) -> Iterator[Frame]:
    """The frames of a walk, one by one: one more than its steps.

    Args:
        player: prepared once for many walks.
        walk: through its graph.
        start: how the first frame is moved along the ground; it stays where it was captured, if None.
        height_offset: how it is moved up, metres.
    """
    graph, library = player.subject.graph, player.subject.library
    nodes = _checked_nodes(walk, graph)
    placed = PlanarMotion.identity() if start is None else start
    for node, edge in zip(nodes[:-1], walk.edges, strict=True):
        if not graph.synthetic[edge]:
            yield captured_frame(library, int(node), placed, height_offset=height_offset)
            continue
        placement = player.place(np.array([edge]))
        frames = placed_frames(
            library,
            player.ground,
            placement,
            player.blender,
            placed,
            height_offset=height_offset,
            foot_lock=player.foot_lock,
        )
        for _ in range(len(placement.times) - 1):
            yield next(frames)
        move, rise = placement.arrival(player.ground)
        placed = placed.compose(PlanarMotion(move.angle[0], move.shift[0]))
        height_offset += float(rise[0])
    yield captured_frame(library, int(nodes[-1]), placed, height_offset=height_offset)


def stream_steered(
    player: Player, body: SteeredWalk, direction: ArrayLike, behaviour: str | None = None
) -> Iterator[Frame]:
    """The frames of the next piece of a steered walk; the next one begins where it ends."""
    placed, height_offset = body.placed, body.height_offset
    piece = body.advance(direction, behaviour)
    return islice(stream(player, piece, start=placed, height_offset=height_offset), piece.steps(body.graph))


def synthesize(
    player: Player,
    walk: Walk,
    *,
    start: PlanarMotion | None = None,
    name: str = "animation",
    progress: Progress | None = None,
) -> Animation:
    """The animation of a walk: all meshes of :func:`stream`, with textures and where each comes from."""
    total = walk.steps(player.subject.graph) + 1
    frames = stream(player, walk, start=start)
    made = collect_frames(player.subject.library, frames, total, name=name, progress=progress)
    return replace(made, walk=walk)


def _checked_nodes(walk: Walk, graph: MotionGraph) -> Integers:
    """Frames a walk visits, `(edges + 1,)`, if it is one of this graph."""
    edges = np.asarray(walk.edges, np.int64)
    if not 0 <= walk.start < graph.frames or ((edges < 0) | (edges >= graph.edges)).any():
        raise InputError("walk: it is not of this graph; its frames or edges are not there")
    nodes = walk.nodes(graph)
    broken = np.flatnonzero(graph.sources[edges] != nodes[:-1])
    if len(broken):
        raise InputError(
            f"walk: edge {edges[broken[0]]} (number {broken[0]} of the walk) leaves frame "
            f"{graph.sources[edges[broken[0]]]}, but the walk is at frame {nodes[broken[0]]}"
        )
    return nodes
