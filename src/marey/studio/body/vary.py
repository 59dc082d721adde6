"""Variants of the clip through poses that were pinned (Courty & Cuzol 2010, section 6.2)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from marey._arrays import Array
from marey._work import Progress
from marey.errors import InputError
from marey.studio.body.state import State
from marey.studio.controls import button, checkbox, choice, slider, text
from marey.studio.layers.sticks import Sticks
from marey.studio.room import Task, Tool
from marey.studio.settings import THEME
from marey.views.mannequin_parts import Poses

if TYPE_CHECKING:
    from marey.studio.body.room import BodyRoom


class VaryTool(Tool[State]):
    """Pins, a button that draws variants, and the choice of one."""

    room: BodyRoom
    drawn_from = ("motion", "pins", "variants")
    title = "Variants"

    def __init__(self, room: BodyRoom):
        super().__init__(room)
        self.pinned_poses = Sticks(room.group("pins"))
        self.sticks = Sticks(self.group)
        self._points: list[Array] = []
        self._drawn: tuple[object, ...] = ()
        self._seed = 0

    pinned = text()

    @button("Pin this frame", "Variants keep its pose", icon="pin", gray=True)
    def pin(self) -> State:
        """Keep the pose of the present frame in variants."""
        pins, frame = self.state.pins, self.room.frame
        if frame in pins:
            raise InputError("this frame is pinned already")
        return replace(self.state, pins=tuple(sorted((*pins, frame))))

    pins = choice("Pin", ("none",), "Poses that variants keep")

    @button("Remove the pin", "The one above", icon="pinned-off", gray=True)
    def unpin(self) -> State:
        """Forget the pin that is chosen."""
        pins = self.state.pins
        if not pins:
            raise InputError("no pose is pinned yet: go to a frame and press Pin this frame")
        index = list(self.pins.options).index(self.pins.value)
        return replace(self.state, pins=pins[:index] + pins[index + 1 :])

    count = slider("Variants", 1, 8, 1, 4, "How many to draw")
    deviation = slider(
        "Deviation", 0.0, 1.0, 0.05, 0.3, "0: the clip; 1: sampled freely from the learned model"
    )

    @button("Vary", "Draw new versions of the clip", icon="arrows-shuffle")
    def vary(self) -> Task[State]:
        """Draw variants."""
        from marey.body.vary import vary

        state, motion = self.state, self.state.workable
        pins = [frame / motion.frame_rate for frame in state.pins]
        count, deviation = int(self.count.value), float(self.deviation.value)
        self._seed += 1
        seed = self._seed

        def work(progress: Progress) -> State:
            found = vary(motion, count=count, deviation=deviation, pins=pins, rng=seed, progress=progress)
            return replace(state, variants=found.motions, deviation_cm=found.report.deviation_cm)

        return Task("drawing variants", work, needs=("motion",))

    report = text()
    beside = checkbox("Side by side", False, "Variants in a row, not on one place", on="redraw")
    shown = choice("Show", ("all",), "Which variant stands out", on="redraw")

    @button("Use variant", "Go on with it", icon="check", gray=True)
    def use(self) -> State:
        """Go on with the variant that is chosen."""
        state = self.state
        if not state.variants:
            raise InputError("there are no variants yet: press Vary")
        if self.shown.value == "all":
            raise InputError("choose one of the variants under Show first")
        return state.moved(state.variants[int(self.shown.value) - 1])

    def set(self, state: State) -> None:
        times = tuple(f"{frame / state.motion.frame_rate:.2f} s" for frame in state.pins)
        self.pinned.content = "Pinned: " + ", ".join(times) if times else "No pose is pinned yet."
        self.pins.options = times or ("none",)
        skeleton, size = state.motion.skeleton, self.room.size
        self.pinned_poses.build_meshes(skeleton, size, [THEME.ink] * len(state.pins))
        if state.pins:
            self.pinned_poses.pose(self.room.poses.points[list(state.pins)])
        if state.variants is not self._drawn:
            self._drawn = state.variants
            self._points = [Poses(variant).points for variant in state.variants]
            self.shown.options = ("all", *(str(i + 1) for i in range(len(state.variants))))
            self.shown.value = "all"
            away = f"joints **{state.deviation_cm:.1f} cm** from the clip on average"
            self.report.content = f"**{len(state.variants)}** variants, {away}" if state.variants else ""
        chosen = self.shown.value
        alone = [chosen == str(i + 1) for i in range(len(self._points))]
        colours = [THEME.warm if one else THEME.alternative for one in alone]
        fade = [0.95 if one else 0.8 if chosen == "all" else 0.25 for one in alone]
        self.sticks.build_meshes(skeleton, size, colours, fade, stout=1.4)

    def frame(self, state: State, frame: int) -> None:
        if not self._points:
            return
        shown = np.stack([points[min(frame, len(points) - 1)] for points in self._points])
        if self.beside.value:
            # Behind the clip, where the camera first is: in front they would hide it.
            places = -0.65 * self.room.size * (1.0 + np.arange(len(shown)))
            shown = shown + places[:, None, None] * self.room.sideways
        self.sticks.pose(shown)
