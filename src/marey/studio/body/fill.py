"""A gap that is marked and filled, with how far off it may be (Courty 2013, section 3.2.3.1)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from marey._arrays import Array, Integers
from marey._work import Progress
from marey.body.fill import FillResult
from marey.errors import InputError
from marey.studio.body.state import State
from marey.studio.controls import button, choice, slider, text
from marey.studio.layers.figure import Sticks
from marey.studio.layers.group import segments
from marey.studio.room import Task, Tool
from marey.studio.settings import THEME
from marey.views.mannequin_parts import Poses
from marey.views.shapes import ball

if TYPE_CHECKING:
    from marey.studio.body.room import BodyRoom

METHODS = {
    "learned": "joint",
    "smooth curves": "gp",
    "Hermite": "hermite",
    "shortest turn": "slerp",
    "straight": "linear",
}

WHOLE = "whole body"


class FillTool(Tool[State]):
    """Where a gap begins and ends, which limb is missing, how to fill it."""

    room: BodyRoom
    drawn_from = ("filling",)
    title = "Fill a gap"

    def __init__(self, room: BodyRoom):
        super().__init__(room)
        self._limbs: dict[str, tuple[str, ...]] = {}
        self._sticks = Sticks(room.group("alternatives"))
        self._points: list[Array] = []

    marked = text()

    @button("Set gap start", "The gap begins at the present frame", gray=True)
    def begin(self) -> State:
        """The gap begins at the present frame."""
        frame, gap = self.room.frame, self.state.gap
        return replace(self.state, gap=(frame, frame if gap is None else max(frame, gap[1])))

    @button("Set gap end", "The gap ends at the present frame", gray=True)
    def end(self) -> State:
        """The gap ends at the present frame."""
        frame, gap = self.room.frame, self.state.gap
        return replace(self.state, gap=(frame if gap is None else min(frame, gap[0]), frame))

    limb = choice("Missing part", (WHOLE,), "The part of the body to fill")
    method = choice("Method", tuple(METHODS), "learned: from the rest of the clip; others: from its edges")
    samples = slider("Alternatives", 0, 8, 1, 4, "Other motions it may have been")

    @button("Fill", "Fill the missing part", icon="bandage")
    def fill(self) -> Task[State]:
        """Fill the gap."""
        from marey.body.fill import fill

        state, motion = self.state, self.state.workable
        if state.gap is None:
            raise InputError("mark a gap first: go to its first frame and press Set gap start")
        gap = (state.gap[0], state.gap[1] + 1)
        joints, method = self._limbs.get(self.limb.value), METHODS[self.method.value]
        samples = int(self.samples.value)

        def work(progress: Progress) -> State:
            found = fill(motion, [gap], joints, samples=samples, method=method, rng=0, progress=progress)
            return state.moved(found.motion, filling=found)

        return Task("filling the gap", work, needs=("motion",))

    report = text()

    def opened(self, state: State) -> None:
        self._limbs = self.room.ends.limbs(state.motion.skeleton, self.room.poses.landmarks)
        self.limb.options = (WHOLE, *self._limbs)

    def refresh(self, state: State) -> None:
        self.marked.content = "No gap is marked yet."
        if state.gap is not None:
            first, last = (frame / state.motion.frame_rate for frame in state.gap)
            self.marked.content = f"Gap: {first:.2f} s to {last:.2f} s"

    def set(self, state: State) -> None:
        self.group.clear()
        self._points = []
        filling = state.filling
        self.report.content = "" if filling is None else _report(filling)
        if filling is None:
            self._sticks.clear()
            return
        self._points = [Poses(clip).points for clip in filling.samples]
        count = len(self._points)
        colours, fade = [THEME.alternative] * count, [0.5] * count
        self._sticks.build_meshes(filling.motion.skeleton, self.room.size, colours, fade)
        self._draw_bands(filling)

    def frame(self, state: State, frame: int) -> None:
        if state.filling is None or not self._points:
            return
        missing = bool(state.filling.gap_mask[frame].any())
        points = np.stack([points[frame] for points in self._points])
        self._sticks.pose(points if missing else np.full_like(points, np.nan))

    def _draw_bands(self, filling: FillResult) -> None:
        """Paths of the joints that are least certain, and how far off they may be, as tubes of balls."""
        missing = np.flatnonzero(filling.gap_mask.any(axis=1))
        if not len(missing):
            return
        size = self.room.size
        shown, points = _least_certain(filling), self.room.poses.points
        during = slice(max(int(missing[0]) - 1, 0), min(int(missing[-1]) + 2, filling.motion.frames))
        if during.stop - during.start > 1:
            self.group.lines("filled", segments(points[during, shown]), THEME.warm, 0.006 * size)
            if self._points:
                others = np.concatenate([segments(sample[during, shown]) for sample in self._points])
                self.group.lines("alternatives", others, THEME.alternative, 0.0025 * size)
        some = missing[:: max(len(missing) // 40, 1)]
        radii = filling.confidence_radius[some][:, shown].ravel()
        if radii.max(initial=0.0) <= 0:
            return
        sphere = ball(1.0, rings=7, sectors=14)
        places = points[some][:, shown].reshape(-1, 3)
        shape = (sphere.vertices, sphere.faces)
        self.group.instances("band", shape, places, radii, THEME.warm, opacity=0.07)


def _report(filling: FillResult) -> str:
    radii = filling.confidence_radius
    sure = "no uncertainty estimate for this method"
    if radii.max(initial=0.0) > 0:
        mean = f"**{100 * radii[radii > 0].mean():.1f} cm** on average"
        sure = f"9 times in 10 within {mean}, **{100 * radii.max():.1f} cm** at worst"
    return f"**{filling.frames_filled}** frames filled; {sure}"


def _least_certain(filling: FillResult, most: int = 4) -> Integers:
    """The joints of the widest bands, the widest first, none that repeats another."""
    widths = filling.confidence_radius.max(axis=0)
    ancestors = filling.motion.skeleton.ancestors
    found: list[int] = []
    for joint in np.argsort(-widths, kind="stable").tolist():
        if len(found) == most or (found and widths[joint] <= 0):
            break
        if not any(other in ancestors(joint) or joint in ancestors(other) for other in found):
            found.append(joint)
    return np.array(found, dtype=np.int64)
