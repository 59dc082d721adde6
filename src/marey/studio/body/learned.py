"""What is learned from the clip: variants, modes as sliders, inputs that drive it, how few bytes hold it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from marey._arrays import Array
from marey._work import Progress
from marey.body.dynamics import MotionModel
from marey.errors import InputError
from marey.studio.body.state import Compressed, State
from marey.studio.controls import button, checkbox, choice, several, slider, text
from marey.studio.layers.figure import Body
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


# Standard deviations to either side.
WIDEST = 3.0
WAIT = "Poses are being learned from the clip…"
SHORT = "This clip is too short to learn modes from; open a pose model (marey body fit) for it."
UNIT = ", in standard deviations"
ORDINALS = ("Largest", "Second", "Third", "Fourth", "Fifth", "Sixth", "Seventh", "Eighth")


class ModesTool(Tool[State]):
    """A slider a mode; they show the present pose and change it."""

    room: BodyRoom
    title = "Modes"
    report = text(WAIT)

    def __init__(self, room: BodyRoom):
        super().__init__(room)
        self._shown: tuple[float, ...] = ()

    sliders = several(
        [
            slider(f"Mode {i + 1}", -WIDEST, WIDEST, 0.05, 0.0, f"{nth} variation{UNIT}", disabled=True)
            for i, nth in enumerate(ORDINALS)
        ],
        on="set_modes",
        live=True,
    )

    @button("Reset modes", "The pose as it was before the sliders", gray=True)
    def reset(self) -> None:
        """The pose of this frame as it was before the sliders were moved."""
        if self.room.gesture == self._gesture():
            self._shown = ()
            self.room.undo()

    def set_modes(self, deviations: tuple[float, ...]) -> None:
        """Give the present pose these numbers of standard deviations along the first modes."""
        model = self.room.solver.model
        if model is None:
            raise InputError(SHORT if self.room.solver.ready else WAIT)
        from marey.body.ik.trajectory import blend_pose

        self.workspace.timeline.play(False)
        frame, gesture = self.room.frame, self._gesture()
        state = self.room.before(gesture)
        posed = model.with_deviations(state.motion[frame], deviations)
        self._shown = tuple(round(float(value), 2) for value in deviations)
        motion = blend_pose(state.motion, frame, posed, float(self.room.pose.falloff.value))
        self.room.change(state.moved(motion), gesture)

    def refresh(self, state: State) -> None:
        solver = self.room.solver
        count = 0 if solver.model is None else min(solver.model.modes, len(self.sliders))
        for i, each in enumerate(self.sliders):
            each.disabled = i >= count
        known = "Change the pose along what varies most in the clip."
        self.report.content = known if count else SHORT if solver.ready else WAIT

    def frame(self, state: State, frame: int) -> None:
        model = self.room.solver.model
        if model is None or self.workspace.timeline.playing:
            return
        found = (model.encode(state.motion[frame])[0] / model.deviations)[: len(self.sliders)]
        values = tuple(float(v) for v in np.clip(found, -WIDEST, WIDEST).round(2))
        # A slider that is being moved is not moved back.
        if values != self._shown:
            before = self._shown or (np.inf,) * len(self.sliders)
            for each, value, known in zip(self.sliders, values, before, strict=False):
                if value != known:
                    each.value = value
        self._shown = values

    def _gesture(self) -> str:
        """Moving on at the same frame is one gesture."""
        return f"modes at {self.room.frame}"


MOST = 8


class DriveTool(Tool[State]):
    """A button that learns the inputs of the clip, and their gains."""

    room: BodyRoom
    drawn_from = ("control",)
    title = "Inputs"
    count = slider("Number of inputs", 1, MOST, 1, 4, "With more, their gains at 1 come nearer to the clip")

    @button("Learn inputs", "Which inputs drive the clip", icon="adjustments")
    def learn(self) -> Task[State]:
        """Learn the inputs and show the clip that they drive."""
        from marey.body.drive import drive

        state, motion, count = self.state, self.state.workable, int(self.count.value)

        def work(progress: Progress) -> State:
            model = MotionModel.fit(motion, inputs=count)
            return replace(state.moved(drive(model).motion), control=model)

        return Task("learning inputs", work, needs=("motion",))

    report = text()
    gains = several(
        [
            slider(f"Input {i + 1}", -1.0, 3.0, 0.05, 1.0, "Its gain: 0 leaves it out", disabled=True)
            for i in range(MOST)
        ],
        on="drive",
        live=True,
    )

    def drive(self, gains: tuple[float, ...]) -> None:
        """Run the clip forward by the inputs with these gains."""
        from marey.body.drive import drive, driven_by

        model = self.state.control
        if model is None:
            raise InputError("the clip has no inputs yet: press Learn inputs")
        state, inputs = self.room.before("inputs"), driven_by(model).inputs
        motion = drive(model, inputs * np.array(gains[: inputs.shape[1]])).motion
        self.room.change(replace(state.moved(motion), control=model), "inputs")

    def set(self, state: State) -> None:
        control = None if state.control is None else state.control.control
        for i, each in enumerate(self.gains):
            each.disabled = control is None or i >= control.dimensions
            if control is None:
                each.value = 1.0
        error = "" if control is None else f"{100 * control.open_loop_error:.0f} %"
        self.report.content = f"With all gains at 1, **{error}** off the clip." if error else ""


class CompressTool(Tool[State]):
    """A slider of centimetres; size, ratio and error; both bodies overlaid."""

    room: BodyRoom
    drawn_from = ("compressed",)
    title = "Compression"
    bound = slider("Error (cm)", 0.1, 5.0, 0.1, 1.0, "How far off any joint may be in any frame", on="follow")

    def __init__(self, room: BodyRoom):
        super().__init__(room)
        self.ghost = Body(self.group, tint=THEME.warm, opacity=0.45)
        self._poses: Poses | None = None

    @button("Compress", "In as few bytes as this error allows", icon="file-zip")
    def compress(self) -> Task[State]:
        """Compress within the centimetres of the slider; another error replaces the step before."""
        from marey.body.codec import CompressedMotion, compress
        from marey.body.compare import joint_error

        state, motion, bound = self.state, self.state.workable, float(self.bound.value) / 100

        def work(progress: Progress) -> State:
            clip = CompressedMotion(compress(motion, max_error=bound, progress=progress).data)
            decoded = clip.decode()
            error = joint_error(motion, decoded, threshold=bound)
            return replace(state, compressed=Compressed(clip, decoded, error))

        return Task("compressing", work, needs=("motion",), gesture="compress")

    report = text()

    def follow(self) -> None:
        """Once both bodies are shown, the slider works by itself."""
        if self.state.compressed is not None and not self.workspace.jobs.busy:
            self.compress()

    def set(self, state: State) -> None:
        found = state.compressed
        if found is None:
            self.ghost.clear()
            self.report.content = "The decoded body is drawn in red over the original."
            return
        self._poses = Poses(found.motion)
        self.ghost.build_meshes(self._poses, found.motion, self.room.size)
        self.report.content = (
            f"**{found.clip.bytes:,} bytes**, {found.clip.ratio:.0f} times smaller\n\n"
            f"Off by **{100 * found.error.mean:.2f} cm** on average, "
            f"**{100 * found.error.maximum:.2f} cm** at most"
        )

    def frame(self, state: State, frame: int) -> None:
        if state.compressed is not None and self._poses is not None:
            self.ghost.pose(state.compressed.motion, frame, self._poses)
