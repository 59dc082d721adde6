"""Variants of the clip through poses that were pinned (Courty & Cuzol 2010, section 6.2)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from marey._work import Progress
from marey.errors import InputError
from marey.studio.body.section import Section, workable
from marey.studio.body.state import State
from marey.studio.body.sticks import Colour, Sticks

if TYPE_CHECKING:
    from marey.body.motion import Motion
    from marey.body.vary import VaryResult
    from marey.studio.body.panel import BodyPanel

ALL = "all"
NONE = "none"
PIN: Colour = (34, 38, 43)
CHOSEN: Colour = (200, 85, 61)
OTHERS: Colour = (224, 139, 90)
# Metres between two figures side by side, of the figure's size.
BESIDE = 0.65


class Varying(Section):
    """Pins, a button that draws variants, and the choice of one."""

    def __init__(self, panel: BodyPanel):
        super().__init__(panel)
        gui, guard = self.desk.gui, self.desk.guard
        with self.desk.drawer("Variants"):
            self.pinned = gui.add_markdown("")
            gui.add_button(
                "Pin this frame", icon="pin", color="gray", hint="Variants keep its pose"
            ).on_click(guard(lambda _: self.pin()))
            self.pins = gui.add_dropdown("Pin", (NONE,), hint="Poses that variants keep")
            gui.add_button("Remove the pin", icon="pinned-off", color="gray", hint="The one above").on_click(
                guard(lambda _: self.unpin())
            )
            self.count = gui.add_slider("Variants", 1, 8, 1, 4, hint="How many to draw")
            self.deviation = gui.add_slider(
                "Deviation", 0.0, 1.0, 0.05, 0.3, hint="0: the clip itself; 1: nothing but its manner is kept"
            )
            gui.add_button("Vary", icon="arrows-shuffle", hint="Draw new versions of the clip").on_click(
                guard(lambda _: self.vary())
            )
            self.text = gui.add_markdown("")
            self.beside = gui.add_checkbox("Side by side", False, hint="Variants in a row, not on one place")
            self.choice = gui.add_dropdown("Show", (ALL,), hint="Which variant stands out")
            gui.add_button("Use this one", icon="check", color="gray", hint="Go on with it").on_click(
                guard(lambda _: self.use())
            )
        self.beside.on_update(guard(lambda _: self.panel.redraw()))
        self.choice.on_update(guard(lambda _: self._redress()))
        self._marks = Sticks(self.desk.scene, panel.path("pins"))
        self._sticks = Sticks(self.desk.scene, panel.path("variants"))
        self._points: list[np.ndarray] = []
        self._drawn: tuple[Motion, ...] = ()
        self._seed = 0

    def restore(self, state: State) -> None:
        rate = state.motion.frame_rate
        times = tuple(f"{frame / rate:.2f} s" for frame in state.pins)
        self.pinned.content = "Pinned: " + ", ".join(times) if times else "No pose is pinned yet."
        self.pins.options = times or (NONE,)
        self._marks.dress(state.motion.skeleton, self.panel.size, [PIN] * len(state.pins))
        if state.pins:
            self._marks.pose(self.panel.poses.points[list(state.pins)])
        if state.variants is not self._drawn:
            self._drawn = state.variants
            self._points = [self.panel.points_of(variant) for variant in state.variants]
            self.choice.options = (ALL, *(str(i + 1) for i in range(len(state.variants))))
            self.choice.value = ALL
            if not state.variants:
                self.text.content = ""
        self._redress(redraw=False)

    def show(self, frame: int) -> None:
        if not self._points:
            return
        shown = np.stack([points[min(frame, len(points) - 1)] for points in self._points])
        if self.beside.value:
            # Behind the clip, where the camera first is: in front they would hide it.
            places = -BESIDE * self.panel.size * (1.0 + np.arange(len(shown)))
            shown = shown + places[:, None, None] * self.panel.sideways
        self._sticks.pose(shown)

    def pin(self) -> None:
        """Keep the pose of the present frame in variants."""
        state = self.state
        frame = self.panel.frame
        if frame in state.pins:
            raise InputError("this frame is pinned already")
        self.panel.change(replace(state, pins=tuple(sorted((*state.pins, frame)))))

    def unpin(self) -> None:
        """Forget the pin that is chosen."""
        state = self.state
        if not state.pins:
            raise InputError("no pose is pinned yet: go to a frame and press Pin this frame")
        index = list(self.pins.options).index(self.pins.value)
        self.panel.change(replace(state, pins=state.pins[:index] + state.pins[index + 1 :]))

    def vary(self) -> None:
        """Draw variants aside."""
        from marey.body.vary import vary

        state = self.state
        motion = workable(state.motion)
        pins = [frame / motion.frame_rate for frame in state.pins]
        count, deviation = int(self.count.value), float(self.deviation.value)
        self._seed += 1
        seed = self._seed

        def work(progress: Progress) -> VaryResult:
            made = vary(motion, count=count, deviation=deviation, pins=pins, rng=seed, progress=progress)
            _ = made.report
            return made

        def then(made: VaryResult) -> None:
            if self.state.motion is not motion:
                raise InputError("the clip has changed meanwhile; press Vary again")
            self.panel.change(replace(self.state, variants=made.motions))
            away = f"**{made.report.deviation_cm:.1f} cm** from the clip on average"
            self.text.content = f"**{len(made)}** variants, joints {away}"

        self.desk.jobs.start("drawing variants", work, then)

    def use(self) -> None:
        """Go on with the variant that is chosen."""
        state = self.state
        if not state.variants:
            raise InputError("there are no variants yet: press Vary")
        if self.choice.value == ALL:
            raise InputError("choose one of the variants under Show first")
        self.panel.change(state.moved(state.variants[int(self.choice.value) - 1]))

    def _redress(self, *, redraw: bool = True) -> None:
        chosen = self.choice.value
        alone = [chosen == str(i + 1) for i in range(len(self._points))]
        colours = [CHOSEN if one else OTHERS for one in alone]
        fade = [0.95 if one else 0.8 if chosen == ALL else 0.25 for one in alone]
        self._sticks.dress(self.state.motion.skeleton, self.panel.size, colours, fade, stout=1.4)
        if redraw:
            self.panel.redraw()
