"""People in the scene: figures whose limbs swing with the distance walked, fading paths, or whole bodies.

All copies of a limb are one instanced mesh, so that a frame of any number of people is a handful of messages:
32 bytes a limb, some 190 kB for 1,000 people, made in about 3 ms. Whole bodies, for up to a hundred people,
are skinned here and sent as one mesh a colour of cloth, skin or hair: about 10 kB a person and frame, some
10 ms a frame for two dozen people.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from marey._arrays import Bytes, Integers
from marey.body.motion import Motion
from marey.crowd.tracks import Tracks, annotation_stride, shared_columns
from marey.geometry.colour import to_srgb
from marey.stage.walk.paths import steps
from marey.stage.walk.walk import WalkingCrowd
from marey.studio.crowd.state import State
from marey.studio.layers.figure import Part
from marey.studio.room import Layer
from marey.studio.settings import LIMITS, THEME, Colour
from marey.views import style
from marey.views.pedestrians import HIP, SHOULDER, person

if TYPE_CHECKING:
    from viser import BatchedMeshHandle, LineSegmentsHandle, MeshHandle

    from marey.studio.crowd.room import CrowdRoom


Floats = NDArray[np.float32]

PATH_SECONDS, PATH_POINTS = 2.5, 9
# Metres aside of the body's middle.
LEG_ASIDE, ARM_ASIDE = 0.09, 0.188
NECK = 1.484
DARKER = 0.42


class People(Layer[State]):
    """The people of a state in the scene."""

    drawn_from = ("floor", "tracks")

    def __init__(self, room: CrowdRoom):
        super().__init__(room)
        self.figures: dict[str, BatchedMeshHandle] = {}
        self._paths: LineSegmentsHandle
        self.packed: Packed | None = None
        self.hidden = 0

    def set(self, state: State) -> None:
        self.group.clear()
        self.figures = {}
        self.packed, self._floor = None, state.floor
        if state.tracks is None:
            return
        self.packed = packed(state.tracks, state.groups)
        tracks = self.packed.tracks
        self.hidden = max(tracks.agents - LIMITS.figures, 0)
        self._count = min(tracks.agents, LIMITS.figures)
        self._positions = tracks.positions[:, : self._count]
        self._present = tracks.present[:, : self._count]
        shown = Tracks(self._positions, tracks.frame_rate)
        self._heading, self._phase, self._swing = (part.astype(np.float32) for part in steps(shown))
        self._limbs = self._count <= LIMITS.limbs
        clothes = _clothes(self.packed.groups, self._count)
        self._add_figures(clothes)
        self._add_paths(clothes)
        if self.hidden:
            self.workspace.notify(f"{self.hidden} people too many to show are left out of the scene.")

    def visible(self, people: bool, paths: bool) -> None:
        """Which of them are seen."""
        for name, node in self.group.nodes.items():
            node.visible = paths if name == "paths" else people

    def frame(self, state: State, frame: int) -> None:
        if self.packed is None:
            return
        here = self._present[frame]
        places = self._floor.to_scene(np.where(here[:, None], self._positions[frame], 0.0))
        scales = np.where(here, np.float32(self._floor.scale), np.float32(0.0))
        heading, phase, swing = (part[frame] for part in (self._heading, self._phase, self._swing))
        if next(iter(self.figures.values())).visible:
            self._place("body", places, _turned(heading, 0 * heading), scales)
            if self._limbs:
                self._place("head", places, _turned(heading, 0 * heading), scales)
                angle = swing * np.sin(phase)
                self._place_pair("legs", places, heading, angle, (LEG_ASIDE, HIP), scales)
                self._place_pair("arms", places, heading, -0.7 * angle, (ARM_ASIDE, SHOULDER), scales)
        if self._paths.visible:
            self._paths.points = self._latest_paths(frame)

    def _place(self, name: str, places: Floats, turns: Floats, scales: Floats) -> None:
        node = self.figures[name]
        node.batched_positions = places
        node.batched_wxyzs = turns
        node.batched_scales = scales

    def _place_pair(
        self,
        name: str,
        places: Floats,
        heading: Floats,
        angle: Floats,
        at: tuple[float, float],
        scales: Floats,
    ) -> None:
        """Left limbs, then right ones, hung up beside the body's middle and swung against each other."""
        aside, top = at
        across = np.stack([np.cos(heading), 0 * heading, -np.sin(heading)], axis=1) * scales[:, None]
        up = np.array([0.0, top, 0.0], np.float32) * scales[:, None]
        both = np.concatenate([places + up + aside * across, places + up - aside * across])
        turns = np.concatenate([_turned(heading, -angle), _turned(heading, angle)])
        self._place(name, both.astype(np.float32), turns, np.tile(scales, 2))

    def _latest_paths(self, frame: int) -> Floats:
        """The last seconds of every path `(segments, 2, 3)`; those of absent people lie far below."""
        assert self.packed is not None
        seconds = np.linspace(0, PATH_SECONDS, PATH_POINTS)
        back = np.rint(seconds * self.packed.tracks.frame_rate).astype(int)
        path = self._positions[np.maximum(frame - back, 0)]
        points = self._floor.to_scene(np.where(self._present[frame][:, None], path, np.nan), 0.025)
        segments = np.stack([points[:-1], points[1:]], axis=2)
        missing = np.isnan(segments).any(axis=(2, 3))
        segments[missing] = [0.0, -1000.0, 0.0]
        return np.ascontiguousarray(np.swapaxes(segments, 0, 1).reshape(-1, 2, 3))

    def _add_figures(self, clothes: Bytes) -> None:
        skin = np.rint(255 * to_srgb(DARKER * style.linear(style.SKIN))).astype(np.uint8)
        legs = (0.35 * clothes + 0.65 * np.array(THEME.trousers)).astype(np.uint8)
        shapes = _limbs(coarse=self._count > 60)
        if not self._limbs:
            self._add("body", shapes["whole"], clothes)
            return
        self._add("body", shapes["body"], clothes)
        self._add("head", shapes["head"], np.broadcast_to(skin, clothes.shape))
        self._add("legs", shapes["legs"], np.tile(legs, (2, 1)))
        self._add("arms", shapes["arms"], np.tile(clothes, (2, 1)))

    def _add(self, name: str, shape: tuple[Floats, NDArray[np.uint32]], colours: Bytes) -> None:
        nowhere = np.zeros((len(colours), 3))
        each = np.ascontiguousarray(colours)
        self.figures[name] = self.group.instances(name, shape, nowhere, nowhere[:, 0], each)

    def _add_paths(self, clothes: Bytes) -> None:
        age = np.linspace(0.25, 0.9, PATH_POINTS)[None, :, None]
        ink = clothes[:, None] * (1 - age) + np.array(THEME.paper) * age
        colours = np.stack([ink[:, :-1], ink[:, 1:]], axis=2).reshape(-1, 2, 3).astype(np.uint8)
        below = np.tile(np.array([0, -1000, 0], np.float32), (len(colours), 2, 1))
        self._paths = self.group.lines("paths", below, colours, 0.06 * self._floor.scale)


class Packed(NamedTuple):
    """Tracks whose columns are shared, and the group `(columns,)` whose people are in each, if known."""

    tracks: Tracks
    groups: Integers | None


def packed(tracks: Tracks, groups: Integers | None = None) -> Packed:
    """Tracks in as few columns as needed; people of different groups, `(agents,)`, share none.

    Between two people of one column are 1.5 s: neither velocities nor smoothed headings reach across.
    """
    apart = int(np.ceil(1.5 * tracks.frame_rate)) + annotation_stride(tracks.present)
    columns = shared_columns(tracks, apart=apart, groups=groups)
    frame, agent = np.nonzero(tracks.present)
    positions = np.full((tracks.frames, columns.max(initial=0) + 1, 2), np.nan)
    positions[frame, columns[agent]] = tracks.positions[frame, agent]
    of_column = np.zeros(positions.shape[1], np.int64)
    if groups is not None:
        of_column[columns[agent]] = groups[agent]
    return Packed(Tracks(positions, tracks.frame_rate), None if groups is None else of_column)


def _clothes(groups: Integers | None, count: int) -> Bytes:
    """Colours `(count, 3)`: by group, or all sorts."""
    several = groups is not None and len(np.unique(groups)) > 1
    number = groups[:count] if groups is not None and several else np.arange(count)
    tones = style.linear(style.PALETTE)[number % len(style.PALETTE)]
    # The studio's pale light bleaches: darker than on paper.
    return np.rint(255 * to_srgb(DARKER * tones)).astype(np.uint8)


def _limbs(coarse: bool) -> dict[str, tuple[Floats, NDArray[np.uint32]]]:
    """The shared figure taken apart; legs and arms hang from the origin."""
    shape, part = person(coarse)
    is_head = (part == 0) & (shape.vertices[:, 1] > NECK)
    label = np.where(is_head, 5, part)
    of_face = label[shape.faces].min(axis=1)

    def piece(number: int, joint: tuple[float, float]) -> tuple[Floats, NDArray[np.uint32]]:
        faces = shape.faces[of_face == number]
        used, renumbered = np.unique(faces, return_inverse=True)
        vertices = shape.vertices[used] - [joint[0], joint[1], 0.0]
        return vertices.astype(np.float32), renumbered.reshape(-1, 3).astype(np.uint32)

    return {
        "body": piece(0, (0.0, 0.0)),
        "head": piece(5, (0.0, 0.0)),
        "legs": piece(1, (LEG_ASIDE, HIP)),
        "arms": piece(3, (ARM_ASIDE, SHOULDER)),
        "whole": (shape.vertices.astype(np.float32), shape.faces.astype(np.uint32)),
    }


def _turned(heading: Floats, pitch: Floats) -> Floats:
    """Quaternions `(n, 4)` about y and, before that, about x."""
    h, p = 0.5 * heading, 0.5 * pitch
    parts = [np.cos(h) * np.cos(p), np.cos(h) * np.sin(p), np.sin(h) * np.cos(p), -np.sin(h) * np.sin(p)]
    return np.stack(parts, axis=1).astype(np.float32)


FAR_BELOW = -1000.0


class _Piece(NamedTuple):
    """Everything of one colour: whose it is, which vertices of the body, and the mesh in the scene."""

    people: Integers
    vertices: Integers
    node: MeshHandle


class Bodies(Layer[State]):
    """Walking bodies in the scene."""

    drawn_from = ("floor", "bodies")

    def __init__(self, room: CrowdRoom):
        super().__init__(room)
        self._pieces: list[_Piece] = []

    @property
    def nodes(self) -> list[MeshHandle]:
        """The meshes, one a colour."""
        return [piece.node for piece in self._pieces]

    def set(self, state: State) -> None:
        self.group.clear()
        self._pieces = []
        crowd, self._floor = state.bodies, state.floor
        if crowd is None:
            return
        from marey.stage.walk.figure import figure, outfits

        body = figure()
        self._character = body.character
        own, part, faces = body.corners
        # The studio's pale light bleaches.
        colours = np.rint(255 * 0.75 * outfits()).astype(np.uint8)[crowd.outfits]
        for number in np.unique(part):
            for colour in np.unique(colours[:, number], axis=0):
                people = np.flatnonzero((colours[:, number] == colour).all(axis=1))
                piece = Part.of(faces, part[faces[:, 0]] == number, colour)
                self._add(people, own[piece.vertices], piece.faces, piece.colour)

    def visible(self, seen: bool) -> None:
        """Show or hide them."""
        for piece in self._pieces:
            piece.node.visible = seen

    def frame(self, state: State, frame: int) -> None:
        crowd = state.bodies
        if crowd is None or not self._pieces or not self._pieces[0].node.visible:
            return
        seconds = frame / state.clock[1]
        vertices = self._skinned(crowd, min(round(seconds * crowd.frame_rate), crowd.frames - 1))
        for piece in self._pieces:
            piece.node.vertices = vertices[piece.people][:, piece.vertices].reshape(-1, 3)

    def _skinned(self, crowd: WalkingCrowd, frame: int) -> Floats:
        """Everyone's body `(people, vertices, 3)` in the scene; those who are absent lie far below."""
        turns = crowd.rotations[frame].astype(np.float64)
        turns /= np.maximum(np.linalg.norm(turns, axis=-1, keepdims=True), 1e-9)
        # A frame of many people is posed as many frames of one.
        everyone = Motion(crowd.skeleton, turns, np.zeros((crowd.people, 3)), crowd.frame_rate)
        bodies = self._character.pose(everyone, dtype=np.float32).vertices
        sizes = self._floor.scale * crowd.sizes[:, None, None]
        roots = crowd.roots[frame].astype(np.float64)
        places = self._floor.to_scene(roots[:, [0, 2]] * [1, -1]).astype(np.float64)
        places[:, 1] = self._floor.scale * roots[:, 1]
        placed = (sizes * bodies + places[:, None]).astype(np.float32)
        placed[~crowd.present[frame]] = [0.0, FAR_BELOW, 0.0]
        return placed

    def _add(self, people: Integers, vertices: Integers, faces: Integers, colour: Colour) -> None:
        first = len(vertices) * np.arange(len(people))[:, None, None]
        below = np.full((len(people) * len(vertices), 3), FAR_BELOW)
        corners = (faces[None] + first).reshape(-1, 3)
        node = self.group.mesh(str(len(self._pieces)), below, corners, colour)
        self._pieces.append(_Piece(people, vertices, node))
