"""The body panel: one clip, the body that plays it, and a section for each thing that can be done with it."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from marey import samples
from marey.body.motion import Motion
from marey.body.pose_model import PoseModel
from marey.character import Character
from marey.errors import InputError
from marey.studio.body.compressing import Compressing
from marey.studio.body.ends import Ends
from marey.studio.body.exports import exports
from marey.studio.body.figure import Body, seen
from marey.studio.body.gaps import Gaps
from marey.studio.body.handles import GRABBED
from marey.studio.body.modes import Modes
from marey.studio.body.opening import KINDS, opened
from marey.studio.body.poser import Poser
from marey.studio.body.posing import Posing
from marey.studio.body.reaching import Reaching
from marey.studio.body.section import MOST_JOINTS, Section
from marey.studio.body.seeing import Seeing
from marey.studio.body.state import State
from marey.studio.body.varying import Varying
from marey.studio.desk import Desk
from marey.studio.latest import Latest
from marey.studio.panel import Export, Panel
from marey.views.mannequin_parts import Poses

Array = NDArray[np.float64]

# Vertices of a skin beyond which a lighter one is shown, and how many that has.
MOST_VERTICES, LIGHT_VERTICES = 20_000, 8_000
UP = np.array([0.0, 0.25, 0.0])
# Sizes in metres beyond which a figure is probably in another unit; hands are captured, too.
SMALLEST, LARGEST = 0.05, 10.0


class BodyPanel(Panel[State]):
    """Motion of skeletons: play, pose, vary, fill, compress, steer."""

    title = "Body"

    def __init__(self, desk: Desk):
        super().__init__(desk)
        self.body = Body(desk.scene, self.path("figure"))
        self.poses: Poses
        self.ends: Ends
        self.poser: Poser
        self.size = 1.7
        self.sideways = np.array([1.0, 0.0, 0.0])
        self._light: Character | None = None
        self._drawn: Motion | None = None
        self._ahead = np.array([0.0, 0.0, 1.0])
        self.seeing = Seeing(self)
        self.posing = Posing(self)
        self.modes = Modes(self)
        self.varying = Varying(self)
        self.gaps = Gaps(self)
        self.compressing = Compressing(self)
        self.reaching = Reaching(self)
        self.sections: tuple[Section, ...] = (
            self.seeing, self.posing, self.modes, self.varying, self.gaps, self.compressing, self.reaching
        )  # fmt: skip
        self.preparing: Latest[tuple[Poser, State]] = Latest(self._prepare)

    def accepts(self, thing: Any) -> bool:
        return isinstance(thing, KINDS)

    def samples(self) -> dict[str, Callable[[], Any]]:
        return {"walking body": samples.walk, "walking character": samples.human}

    def open(self, thing: Any, name: str) -> None:
        if isinstance(thing, PoseModel) and self._fits(thing):
            self.poser = Poser(self.state.motion, thing)
            self.modes.restore(self.state)
            self.redraw()
            self.desk.say(f"{name}: the clip is posed by this model from now on.")
            return
        state, told = opened(thing)
        poses = Poses(state.motion)
        if not seen(poses):
            raise InputError(f"{name}: it reaches too far to be shown; is its unit right?")
        self.poses, self._drawn = poses, state.motion
        self.ends = Ends.of(state.motion.skeleton)
        self.poser = Poser(state.motion, thing if isinstance(thing, PoseModel) else None)
        self._light = None
        self._measure()
        self.history = None
        for section in self.sections:
            section.opened(state)
        self.look()
        self._dress(state)
        self.begin(state)
        self.preparing.give((self.poser, state))
        for line in told:
            self.desk.say(f"{name}: {line}")
        if not SMALLEST <= self.size <= LARGEST:
            self.desk.say(
                f"{name}: the figure measures {self.size:.3g} m. If that is wrong, say its unit first:  "
                "marey convert IN OUT --from-unit cm"
            )

    def restore(self, state: State) -> None:
        if self._drawn is not state.motion:
            self.poses, self._drawn = Poses(state.motion), state.motion
        for section in self.sections:
            section.restore(state)
        motion = state.motion
        self.retime(motion.frames, motion.frame_rate, motion.first_frame)

    def show(self, frame: int) -> None:
        frame = min(frame, len(self.poses) - 1)
        with self.desk.server.atomic():
            self.body.pose(self.state.motion, frame, self.poses)
            for section in self.sections:
                section.show(frame)

    def exports(self) -> Sequence[Export]:
        return [] if self.history is None else exports(self.state, self.name)

    @property
    def frame(self) -> int:
        """The frame that is shown."""
        return min(self.desk.timeline.frame, self.state.motion.frames - 1)

    def preview(self, pose: Motion, *, dragged: tuple[int, Array]) -> Array:
        """Show a pose (a clip of one frame) that is not kept yet; the dragged ball is at its own place.

        Returns where the end that is dragged came to, `(3,)`.
        """
        poses = Poses(pose)
        end, place = dragged
        places = self.ends.places(poses, 0)
        reached = places[end].copy()
        places[end] = place
        with self.desk.server.atomic():
            self.body.pose(pose, 0, poses)
            self.posing.balls.place(places)
            self.posing.balls.paint(end, GRABBED)
        return reached

    def look(self) -> None:
        """Turn the camera to the body: from the left and a little ahead, where a walk is seen best."""
        points = self.poses.points[self.frame if self.history is not None else 0]
        centre = 0.5 * (points.max(axis=0) + points.min(axis=0)) + self.root.position
        self.desk.look(centre, self.size, view_from=0.35 * self._ahead + 1.05 * self.sideways + UP)

    def redraw(self) -> None:
        """Draw the present frame again."""
        if self.history is not None:
            self.show(self.frame)

    def redress(self) -> None:
        """Make the body's meshes anew: another clip, or another choice between skin and mannequin."""
        if self.history is not None:
            self._dress(self.state)
            self.redraw()

    def step_back(self) -> None:
        """Forget the last state without showing the one before: another takes its place."""
        assert self.history is not None
        self.history.undo()

    def points_of(self, motion: Motion) -> Array:
        """Places of joints and end sites `(frames, joints + ends, 3)` of a clip of the same figure."""
        return Poses(motion).points

    def _fits(self, model: PoseModel) -> bool:
        """Whether a pose model is one for the clip that is open."""
        return self.history is not None and model.skeleton.names == self.state.motion.skeleton.names

    def _dress(self, state: State) -> None:
        character = state.character if self.seeing.skin.value else None
        if character is not None and len(character.skin.vertices) > MOST_VERTICES:
            character = self._light
        self.body.dress(self.poses, state.motion, self.size, character)

    def _measure(self) -> None:
        """How large the figure is, which way it faces, which way is sideways."""
        points = self.poses.points[:: max(len(self.poses) // 100, 1)]
        self.size = max(float(np.median(np.ptp(points, axis=1).max(axis=1))), 1e-3)
        ahead = np.array([0.0, 0.0, 1.0]) if self.poses.ahead is None else self.poses.ahead[0]
        length = float(np.linalg.norm(ahead))
        ahead = ahead / length if length > 1e-6 else np.array([0.0, 0.0, 1.0])
        self.sideways = np.cross([0.0, 1.0, 0.0], ahead)
        self._ahead = ahead

    def _prepare(self, given: tuple[Poser, State]) -> None:
        """Learn poses and make a lighter skin aside, without a word: nobody has asked for them yet."""
        poser, state = given
        character = state.character
        light: Character | None = None
        with self.desk.errors_told(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if character is not None and len(character.skin.vertices) > MOST_VERTICES:
                from marey.surface.decimation import decimate

                light = Character(decimate(character.skin, vertices=LIGHT_VERTICES), character.motions)
            if state.motion.joints <= MOST_JOINTS:
                poser.warm()
        with self.desk.lock, self.desk.errors_told():
            if self.poser is poser and self.history is not None and not self.desk.closed:
                if light is not None:
                    self._light = light
                    self._dress(self.state)
                self.modes.restore(self.state)
                self.redraw()
