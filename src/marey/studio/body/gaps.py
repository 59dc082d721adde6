"""A gap that is marked and filled, with how far off it may be (Courty 2013, section 3.2.3.1)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from marey._work import Progress
from marey.errors import InputError
from marey.studio.body.ends import WHOLE, limbs
from marey.studio.body.section import Section, workable
from marey.studio.body.state import State
from marey.studio.body.sticks import Colour, Sticks
from marey.views.shapes import ball

if TYPE_CHECKING:
    from marey.body.fill import FillResult
    from marey.studio.body.panel import BodyPanel

METHODS = {
    "learned": "joint",
    "smooth curves": "gp",
    "Hermite": "hermite",
    "shortest turn": "slerp",
    "straight": "linear",
}
OTHERS: Colour = (224, 139, 90)
BAND: Colour = (200, 85, 61)
# Joints whose band is drawn, and balls along each.
MOST_BANDS, MOST_BALLS = 4, 40


class Gaps(Section):
    """Where a gap begins and ends, which limb is missing, how to fill it."""

    def __init__(self, panel: BodyPanel):
        super().__init__(panel)
        gui, guard = self.desk.gui, self.desk.guard
        with self.desk.drawer("Fill a gap"):
            self.marked = gui.add_markdown("")
            gui.add_button("Begins here", color="gray", hint="The gap begins at the present frame").on_click(
                guard(lambda _: self.begin())
            )
            gui.add_button("Ends here", color="gray", hint="The gap ends at the present frame").on_click(
                guard(lambda _: self.end())
            )
            self.limb = gui.add_dropdown("What is gone", (WHOLE,), hint="The part of the body to make up")
            self.method = gui.add_dropdown(
                "Method",
                tuple(METHODS),
                hint="learned: from the rest of the clip; others: from its edges",
            )
            self.samples = gui.add_slider("Alternatives", 0, 8, 1, 4, hint="Other ways it may have been")
            gui.add_button("Fill", icon="bandage", hint="Make up what is gone").on_click(
                guard(lambda _: self.fill())
            )
            self.text = gui.add_markdown("")
        self._limbs: dict[str, tuple[str, ...] | None] = {WHOLE: None}
        self._sticks = Sticks(self.desk.scene, panel.path("alternatives"))
        self._points: list[np.ndarray] = []
        self._drawn: FillResult | None = None
        self._extras: list[Any] = []

    def opened(self, state: State) -> None:
        self._limbs = limbs(self.panel.poses, self.panel.ends)
        self.limb.options = tuple(self._limbs)

    def restore(self, state: State) -> None:
        rate = state.motion.frame_rate
        if state.gap is None:
            self.marked.content = "No gap is marked yet."
        else:
            first, last = state.gap
            self.marked.content = f"Gap: {first / rate:.2f} s to {last / rate:.2f} s"
        if state.filling is not self._drawn:
            self._drawn = state.filling
            self._draw(state.filling)

    def show(self, frame: int) -> None:
        filling = self._drawn
        if filling is None or not self._points:
            return
        gone = bool(filling.gap_mask[frame].any())
        points = np.stack([points[frame] for points in self._points])
        self._sticks.pose(points if gone else np.full_like(points, np.nan))

    def begin(self) -> None:
        """The gap begins at the present frame."""
        frame, state = self.panel.frame, self.state
        last = frame if state.gap is None else max(frame, state.gap[1])
        self.panel.change(replace(state, gap=(frame, last)))

    def end(self) -> None:
        """The gap ends at the present frame."""
        frame, state = self.panel.frame, self.state
        first = frame if state.gap is None else min(frame, state.gap[0])
        self.panel.change(replace(state, gap=(first, frame)))

    def fill(self) -> None:
        """Fill the gap aside."""
        from marey.body.fill import fill

        state = self.state
        motion = workable(state.motion)
        if state.gap is None:
            raise InputError("mark a gap first: go to its first frame and press Begins here")
        gap = (state.gap[0], state.gap[1] + 1)
        joints, method = self._limbs[self.limb.value], METHODS[self.method.value]
        samples = int(self.samples.value)

        def work(progress: Progress) -> FillResult:
            return fill(motion, [gap], joints, samples=samples, method=method, rng=0, progress=progress)

        def then(filling: FillResult) -> None:
            if self.state.motion is not motion:
                raise InputError("the clip has changed meanwhile; press Fill again")
            self.panel.change(self.state.moved(filling.motion, filling=filling))

        self.desk.jobs.start("filling the gap", work, then)

    def _draw(self, filling: FillResult | None) -> None:
        for handle in self._extras:
            handle.remove()
        self._extras, self._points = [], []
        self.text.content = ""
        if filling is None:
            self._sticks.clear()
            return
        radii = filling.confidence_radius
        band = radii.max(initial=0.0)
        told = "this method does not tell how far off it is"
        if band > 0:
            mean = f"**{100 * radii[radii > 0].mean():.1f} cm** on average"
            told = f"9 times in 10 within {mean}, **{100 * band:.1f} cm** at worst"
        self.text.content = f"**{filling.frames_filled}** frames filled; {told}"
        self._points = [self.panel.points_of(clip) for clip in filling.samples]
        count = len(self._points)
        self._sticks.dress(filling.motion.skeleton, self.panel.size, [OTHERS] * count, [0.5] * count)
        self._draw_bands(filling)

    def _draw_bands(self, filling: FillResult) -> None:
        """Paths of the joints that are least certain, and how far off they may be, as tubes of balls."""
        gone = np.flatnonzero(filling.gap_mask.any(axis=1))
        if not len(gone):
            return
        scene, path = self.desk.scene, self.panel.path
        shown = _least_certain(filling)
        first, stop = max(int(gone[0]) - 1, 0), min(int(gone[-1]) + 2, filling.motion.frames)
        likeliest = self.panel.poses.points[first:stop, shown]
        curves = [points[first:stop, shown] for points in self._points]
        if stop - first > 1:
            self._extras.append(
                scene.add_line_segments(
                    path("filled"), _segments([likeliest]), BAND, thickness=0.006 * self.panel.size
                )
            )
            if curves:
                self._extras.append(
                    scene.add_line_segments(
                        path("other_ways"), _segments(curves), OTHERS, thickness=0.0025 * self.panel.size
                    )
                )
        some = gone[:: max(len(gone) // MOST_BALLS, 1)]
        radii = filling.confidence_radius[some][:, shown].ravel()
        if radii.max(initial=0.0) <= 0:
            return
        sphere = ball(1.0, rings=7, sectors=14)
        places = self.panel.poses.points[some][:, shown].reshape(-1, 3)
        self._extras.append(
            scene.add_batched_meshes_simple(
                path("band"),
                sphere.vertices.astype(np.float32),
                sphere.faces,
                np.tile([1.0, 0.0, 0.0, 0.0], (len(places), 1)).astype(np.float32),
                places.astype(np.float32),
                batched_scales=radii.astype(np.float32),
                batched_colors=BAND,
                opacity=0.07,
                lod="off",
                cast_shadow=False,
                receive_shadow=False,
            )
        )


def _least_certain(filling: FillResult) -> np.ndarray:
    """The joints of the widest bands, the widest first, none that repeats another."""
    widths = filling.confidence_radius.max(axis=0)
    found: list[int] = []
    for joint in np.argsort(-widths, kind="stable").tolist():
        if len(found) == MOST_BANDS or (found and widths[joint] <= 0):
            break
        chain = set(filling.motion.skeleton.ancestors(joint))
        if not any(other in chain or joint in filling.motion.skeleton.ancestors(other) for other in found):
            found.append(joint)
    return np.array(found, dtype=np.int64)


def _segments(curves: list[np.ndarray]) -> np.ndarray:
    """Steps `(n, 2, 3)` of curves `(frames, joints, 3)`."""
    steps = [np.stack([curve[:-1], curve[1:]], axis=2).reshape(-1, 2, 3) for curve in curves]
    return np.concatenate(steps).astype(np.float32)
