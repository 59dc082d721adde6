"""What lies on the ground and behind it: maps of a moment, arrows of the flow, the video.

A map costs some 10 ms a frame; an image of a video that is read in order costs no seeking.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, get_args

import numpy as np
from numpy.typing import NDArray

from marey._arrays import Array, Bytes
from marey.crowd.fields import Footage
from marey.errors import InputError
from marey.studio.crowd.floor import Floor
from marey.studio.crowd.maps import (
    LARGEST_FLOOR,
    FlowMaps,
    Kind,
    PeopleMaps,
    Source,
    key,
    largest_value,
    map_image,
    remark,
)
from marey.studio.crowd.state import State
from marey.studio.room import Layer
from marey.studio.settings import THEME
from marey.views.figures.crowd import fitted

if TYPE_CHECKING:
    from viser import ArrowsHandle, ImageHandle

    from marey.studio.crowd.room import CrowdRoom

# Turns an image of the scene onto the ground, its upper edge away from the viewer.
LYING = (float(np.sqrt(0.5)), float(np.sqrt(0.5)), 0.0, 0.0)
# Frames worth skipping rather than seeking.
_SKIPPED = 12


class GroundLayer(Layer[State]):
    """A map or the video on the ground, arrows of the flow, the video on a board behind it."""

    room: CrowdRoom
    drawn_from = ("floor", "footage", "flow", "tracks")

    def __init__(self, room: CrowdRoom):
        super().__init__(room)
        self.ground: ImageHandle | None = None
        self.board: ImageHandle | None = None
        self.video_below: ImageHandle | None = None
        self.arrows: ArrowsHandle | None = None
        self._spots = np.zeros((0, 2), int)
        self._reader: VideoReader | None = None
        self._flow_maps: FlowMaps | None = None
        self._people_maps: PeopleMaps | None = None
        self._largest: dict[Kind, float] = {}

    def set(self, state: State) -> None:
        floor, video = state.floor, state.footage
        self._flow_maps = None if state.flow is None else FlowMaps(state.flow, floor)
        self._people_maps, self._largest = None, {}
        if video is None or self._reader is None or self._reader.footage is not video:
            self._reader = None if video is None else VideoReader(video)
        self.group.clear()
        self.board = self.video_below = self.arrows = None
        blank, size = np.full((2, 2, 3), 250, np.uint8), floor.scale * floor.size
        lying = {"wxyz": LYING, "position": (0, 0.012, 0)}
        self.ground = self.group.image("map", blank, size, format="png", **lying)
        if video is not None:
            self.video_below = self.group.image("below", blank, size, **lying)
            corners = board_corners(floor, video)
            behind = tuple(corners.mean(axis=0).tolist())
            upright = {"wxyz": (0.0, 1.0, 0.0, 0.0), "position": behind, "jpeg_quality": 85}
            self.board = self.group.image("video", blank, (corners[2] - corners[0])[:2], **upright)
        if self._flow_maps is not None:
            self._add_arrows(floor, self._flow_maps)

    def frame(self, state: State, frame: int) -> None:
        display = self.room.display
        if self._reader is not None and state.footage is not None:
            self._show_video(state, state.frame_of(state.footage, frame))
        source = self._shown_source(state)
        if source is not None and self.ground is not None and self.ground.visible:
            kind, at = display.map.value, frame
            if state.flow is not None and source is self._flow_maps:
                at = state.frame_of(state.flow, frame)
            self.ground.image = map_image(kind, *source.values(kind, at), self._scale(source, kind))
        if state.flow is not None and self._flow_maps is not None and display.arrows.value:
            velocity = self._flow_maps.velocity(state.frame_of(state.flow, frame))
            self._point(velocity, state.floor, self._scale(self._flow_maps, "flow"))

    def see(self, state: State) -> None:
        """Show and hide what the display says, and the key of the map."""
        display = self.room.display
        kind, source = display.map.value, self._shown_source(state)
        for node, shown in (
            (self.board, display.video.value),
            (self.arrows, display.arrows.value),
            (self.video_below, kind == "video"),
            (self.ground, source is not None),
        ):
            if node is not None:
                node.visible = shown
        if source is not None:
            about = "guessed scale" if state.guessed and kind != "density" else ""
            display.key_of_map.content = key(kind, self._scale(source, kind), about)
        elif kind in get_args(Kind) and state.floor.size.max() > LARGEST_FLOOR:
            wide = "The ground is kilometres wide: is the unit of the tracks right?"
            display.key_of_map.content = remark(wide)
        elif kind in get_args(Kind):
            display.key_of_map.content = remark("There is no flow yet: press Capture or Walk.")
        else:
            missing = kind == "video" and state.footage is None
            display.key_of_map.content = remark("There is no video here.") if missing else ""

    def _shown_source(self, state: State) -> Source | None:
        """What the chosen map is made of: the flow if there is one, people for how crowded it is."""
        kind = self.room.display.map.value
        if kind not in get_args(Kind):
            return None
        if state.tracks is None or (kind != "density" and state.flow is not None):
            return self._flow_maps
        if state.floor.size.max() > LARGEST_FLOOR:
            return None
        if self._people_maps is None:
            packed = self.room.people.packed
            assert packed is not None
            self._people_maps = PeopleMaps(packed.tracks, state.floor, state.scene)
        return self._people_maps

    def _scale(self, source: Source, kind: Kind) -> float:
        if kind not in self._largest:
            self._largest[kind] = largest_value(source, kind)
        return self._largest[kind]

    def _show_video(self, state: State, frame: int) -> None:
        assert self._reader is not None
        display = self.room.display
        on_ground, on_board = display.map.value == "video", display.video.value
        if not (on_ground or on_board):
            return
        image = self._reader.read(frame)
        if on_board and self.board is not None:
            self.board.image = image
        if on_ground and self.video_below is not None:
            self.video_below.image = _on_ground(image, state)

    def _point(self, velocity: NDArray[np.float32], floor: Floor, largest: float) -> None:
        """Arrows of a velocity `(rows, columns, 2)`; the longest nearly touch."""
        if self.arrows is None or not len(self._spots):
            return
        rows, columns = self._spots.T
        moved = velocity[rows, columns] * [1.0, -1.0]
        speed = np.linalg.norm(moved, axis=-1, keepdims=True)
        moved = moved / np.maximum(speed, largest) * self._reach
        # Arrows without length have no direction.
        moved[speed[:, 0] < 0.02 * largest] = [1e-3 * self._reach, 0.0]
        start = self._places - 0.5 * moved
        self.arrows.points = np.stack(
            [floor.to_scene(start, self._height), floor.to_scene(start + moved, self._height)], axis=1
        )

    def _add_arrows(self, floor: Floor, maps: FlowMaps) -> None:
        sheet = maps.sheet
        step = max(max(sheet.rows, sheet.columns) // 26, 1)
        rows, columns = np.mgrid[step // 2 : sheet.rows : step, step // 2 : sheet.columns : step]
        kept = maps.known[rows, columns]
        self._spots = np.stack([rows[kept], columns[kept]], axis=1)
        middles = (np.stack([columns[kept], rows[kept]], axis=1) + 0.5) * sheet.spacing
        self._places = middles * [1, -1] + np.array([floor.low[0], floor.high[1]])
        self._reach = 0.9 * step * float(sheet.spacing.mean())
        size = self._reach * floor.scale
        self._height = 0.03 + 0.04 * size
        if not len(self._spots):
            return
        start = floor.to_scene(self._places, self._height)
        self.arrows = self.group.nodes["arrows"] = self.group.scene.add_arrows(
            f"{self.group.path}/arrows",
            np.stack([start, start + np.array([1e-3, 0, 0], np.float32)], axis=1),
            THEME.arrow,
            shaft_radius=0.018 * size,
            head_radius=0.075 * size,
            head_length=0.22 * size,
        )


class VideoReader:
    """A video that is read mostly in order: the next image costs no seeking."""

    def __init__(self, footage: Footage):
        self.footage = footage
        self._next = -2 * _SKIPPED
        self._frames: Iterator[Bytes] = iter(())
        self._latest: Bytes | None = None

    def read(self, frame: int) -> Bytes:
        """An image, made smaller if it is large."""
        if self._latest is not None and frame == self._next - 1:
            return self._latest
        if not self._next <= frame <= self._next + _SKIPPED:
            self._frames = self.footage.open(frame, self.footage.frames, 1)
            self._next = frame
        image = self._latest
        while self._next <= frame:
            image = next(self._frames, image)
            self._next += 1
        if image is None:
            raise InputError(f"{self.footage.name or 'the video'}: image {frame} cannot be read")
        self._latest = fitted(image, (640, 640))
        return self._latest


def board_corners(floor: Floor, video: Footage) -> Array:
    """The board behind the ground that shows the video, `(4, 3)` in the scene, from its lower left."""
    width, depth = floor.scale * floor.size
    across = max(width, 0.6 * depth)
    low, high = 0.02 * across, (0.02 + video.rows / video.columns) * across
    aside = 0.5 * across * np.array([-1, 1, 1, -1])
    return np.column_stack([aside, [low, low, high, high], np.full(4, -0.5 * depth - 0.04 * across)])


def _on_ground(image: Bytes, state: State) -> Bytes:
    """An image of the video as it lies on the ground that the flow's camera sees."""
    fields = state.captured
    if fields is None:
        return image
    rows, columns = image.shape[:2]
    grow = np.diag([fields.columns / columns, fields.rows / rows, 1.0])
    grow[:2, 2] = 0.5 * np.diag(grow)[:2] - 0.5
    sheet = state.floor.sheet(max(rows, columns))
    return sheet.laid(image, np.asarray(fields.homography) @ grow)
