"""Live control: the next piece is chosen while the one before plays (cf. Boukhayma 2017, section 3.5).

Whoever steers says a direction and, if they like, a behaviour. A short way that bends from where the body is
going into that direction is followed by the same search as a drawn path; the first part of the walk found is
played, then the question is asked anew. Cost: one narrow search a decision, done while half a second plays.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

from marey.errors import InputError, UnreachableError
from marey.geometry.paths import Behaviour, Path
from marey.geometry.planar import PlanarMotion
from marey.statistics.graphs.connectivity import connectivity
from marey.statistics.graphs.graph import Walk
from marey.surface.synthesis.animation import Frame
from marey.surface.synthesis.beam import Beam
from marey.surface.synthesis.following import behaviour_bits
from marey.surface.synthesis.player import Player, stream
from marey.surface.synthesis.root_clips import RootClips
from marey.surface.synthesis.surface_graph import SurfaceGraph
from marey.surface.synthesis.ways import Ways

# Metres looked ahead, and seconds played before the next decision.
HORIZON, PIECE = 2.5, 0.4
# Metres: the radius of a bend, and what is straight after it at least.
RADIUS, STRAIGHT = 0.6, 1.0
SPACING = 0.05


def safe_frames(repertoire: SurfaceGraph) -> NDArray[np.bool_]:
    """Frames from which one can always go on, `(frames,)`: those of the graph's connected core."""
    safe = np.zeros(repertoire.graph.frames, bool)
    safe[connectivity(repertoire.graph).core] = True
    return safe


@dataclass
class Steering:
    """A body that is steered while it plays.

    player: what it can do
    clips: motions of the followed point over the edges
    frame, placed, lift: the captured frame it stands at, and where and how high that is placed
    walk: all edges taken so far
    """

    player: Player
    clips: RootClips
    frame: int
    placed: PlanarMotion = field(default_factory=PlanarMotion.identity)
    accuracy: float = 5.0
    width: int = 60
    edges: list[int] = field(default_factory=list)
    lift: float = 0.0
    start: int = field(init=False)
    ways: Ways = field(init=False, repr=False)

    def __post_init__(self) -> None:
        repertoire = self.player.subject
        repertoire.library.locate(self.frame)
        self.start = self.frame
        self.ways = Ways.of(repertoire, clips=self.clips, inside=safe_frames(repertoire))

    @property
    def position(self) -> NDArray[np.float64]:
        """Where the followed point is now, `(3,)`."""
        return np.asarray(self.placed.apply(self.clips.tracks[self.frame][None])[0], np.float64)

    @property
    def walk(self) -> Walk:
        """All that was played so far, as a walk."""
        return Walk(self.start, np.array(self.edges, np.int64))

    def decide(self, direction: ArrayLike, behaviour: str | None = None) -> Walk:
        """The way on that goes best in a direction (x, z), showing a behaviour if possible."""
        way = np.asarray(direction, np.float64)
        if way.shape != (2,) or not np.isfinite(way).all() or not np.hypot(*way) > 0:
            raise InputError(f"direction: two numbers (x, z) that are not both 0, got {way.tolist()}")
        corners = self._bend(way)
        length = SPACING * (len(corners) - 1)
        asked = () if behaviour is None else (Behaviour((behaviour,), 0.0, length),)
        curve = Path.through(corners, behaviours=asked, spacing=SPACING)
        repertoire = self.player.subject
        bits, allowed = behaviour_bits(repertoire, curve)
        beam = Beam(self.ways, curve, bits, allowed, self.accuracy, self.width)
        placement = np.array([[float(self.placed.angle), *self.placed.shift]])
        _, _, edges = beam.run(np.array([self.frame]), placement, None, partial=True)
        if not len(edges):
            raise UnreachableError(
                f"frame {self.frame}: nothing leads on from here; begin inside the graph's connected core"
            )
        steps = np.cumsum(repertoire.graph.steps[edges])
        count = int(np.searchsorted(steps, PIECE * repertoire.library.frame_rate)) + 1
        return Walk(self.frame, edges[:count])

    def advance(self, direction: ArrayLike, behaviour: str | None = None) -> Walk:
        """Decide, and stand at the end of that piece."""
        piece, graph = self.decide(direction, behaviour), self.player.subject.graph
        for edge in piece.edges:
            turn, x, z = self.clips.moves[edge]
            self.placed = self.placed.compose(PlanarMotion(np.asarray(turn), np.array([x, z])))
            self.lift += float(self.clips.rises[edge])
        self.frame = int(graph.targets[piece.edges[-1]])
        self.edges += piece.edges.tolist()
        return piece

    def play(self, direction: ArrayLike, behaviour: str | None = None) -> Iterator[Frame]:
        """The frames of the next piece; the body then stands at its end, with which the one after begins."""
        placed, lift = self.placed, self.lift
        piece = self.advance(direction, behaviour)
        frames = stream(self.player, piece, start=placed, lift=lift)
        for _ in range(piece.steps(self.player.subject.graph)):
            yield next(frames)

    def _bend(self, way: NDArray[np.float64]) -> NDArray[np.float64]:
        """Ground points `(n, 2)` of a way from here that bends into a direction.

        Straight ones lead nowhere where the body has to turn round first: it would come no nearer at all.
        """
        wished, going = float(np.arctan2(*way)), self._going()
        turn = 0.0 if going is None else float((wished - going + np.pi) % (2 * np.pi) - np.pi)
        bend = RADIUS * abs(turn)
        along = np.arange(0.5 * SPACING, max(HORIZON, bend + STRAIGHT), SPACING)
        angles = wished - turn * (1 - np.minimum(along / max(bend, SPACING), 1.0))
        steps = SPACING * np.stack([np.sin(angles), np.cos(angles)], axis=1)
        here = self.position[0::2]
        return np.asarray(here + np.concatenate([np.zeros((1, 2)), np.cumsum(steps, axis=0)]), np.float64)

    def _going(self) -> float | None:
        """Where the ways from here lead on average, radians about the vertical from +z; None if nowhere."""
        ways, clips = self.ways, self.clips
        ends = clips.points[
            clips.first_point[ways.edges[ways.first[self.frame] : ways.first[self.frame + 1]] + 1] - 1
        ]
        played, graph = self.frame, self.player.subject.graph
        for _ in range(round(PIECE * self.player.subject.library.frame_rate)):
            if ways.onward[played] >= 0:
                played = int(graph.targets[ways.onward[played]])
        led = np.concatenate([ends, clips.tracks[[played]]]).mean(axis=0) - clips.tracks[self.frame]
        if np.hypot(led[0], led[2]) < SPACING:
            return None
        return float(np.arctan2(led[0], led[2]) + self.placed.angle)
