"""The body room: one clip, the body that plays it, and a tool for all that can be done with it."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import numpy as np

from marey import samples
from marey._arrays import Array
from marey.body.codec.clip import CompressedMotion
from marey.body.dynamics import MotionModel
from marey.body.ik.drag import DragSolver, EndEffectors
from marey.body.motion import Motion
from marey.body.pose_model import PoseModel
from marey.character import Character
from marey.errors import InputError
from marey.studio.body.display import DisplayTool
from marey.studio.body.exports import exports
from marey.studio.body.fill import FillTool
from marey.studio.body.learned import CompressTool, DriveTool, ModesTool, VaryTool
from marey.studio.body.pose import PoseTool
from marey.studio.body.reach import ReachTool
from marey.studio.body.state import Opened, State, opened
from marey.studio.jobs import LatestOnly
from marey.studio.layers.figure import Body, visible
from marey.studio.room import Export, Layer, Room, Samples, part
from marey.studio.settings import LIMITS, THEME
from marey.studio.workspace import Workspace
from marey.views.mannequin_parts import Poses


class BodyLayer(Layer[State]):
    """The body that plays the clip."""

    room: BodyRoom
    drawn_from = ("motion.skeleton", "character")

    def __init__(self, room: BodyRoom):
        super().__init__(room)
        self.body = Body(self.group)

    def set(self, state: State) -> None:
        character = state.character if self.room.display.skin.value else None
        if character is not None and len(character.skin.vertices) > LIMITS.skin_vertices:
            character = self.room.light
        self.body.build_meshes(self.room.poses, state.motion, self.room.size, character)

    def frame(self, state: State, frame: int) -> None:
        self.body.pose(state.motion, frame, self.room.poses)


class BodyRoom(Room[State]):
    """Motion of skeletons: play, pose, vary, fill, compress, steer."""

    title = "Body"
    accepts = (Motion, Character, CompressedMotion, PoseModel, MotionModel)
    figure = part(BodyLayer)
    display = part(DisplayTool)
    pose = part(PoseTool)
    modes = part(ModesTool)
    vary = part(VaryTool)
    drive = part(DriveTool)
    fill = part(FillTool)
    compress = part(CompressTool)
    reach = part(ReachTool)

    def __init__(self, workspace: Workspace):
        super().__init__(workspace)
        self.poses: Poses
        self.ends: EndEffectors
        self.solver: DragSolver
        self.size = 1.7
        self.ahead, self.sideways = np.array([0.0, 0.0, 1.0]), np.array([1.0, 0.0, 0.0])
        self.light: Character | None = None
        self._drawn: Motion | None = None
        self.preparing: LatestOnly[tuple[DragSolver, State]] = LatestOnly(self._prepare)

    def samples(self) -> Samples:
        return {"walking body": samples.walk, "walking character": samples.human}

    def clock(self, state: State) -> tuple[int, float, int]:
        return state.motion.frames, state.motion.frame_rate, state.motion.first_frame

    def shared(self, state: State) -> object:
        return state.motion

    def exports(self, state: State) -> Sequence[Export]:
        return exports(state, self.stem)

    def open(self, data: Opened, name: str) -> None:
        if isinstance(data, PoseModel) and self._fits(data):
            self.solver = DragSolver(self.state.motion, data)
            self.modes.refresh(self.state)
            self.redraw()
            self.workspace.notify(f"{name}: the clip is posed by this model from now on.")
            return
        state, notes = opened(data)
        poses = Poses(state.motion)
        if not visible(poses):
            raise InputError(f"{name}: it reaches too far to be shown; is its unit right?")
        self.poses, self._drawn = poses, state.motion
        self.ends = EndEffectors.of(state.motion.skeleton, most_joints=LIMITS.joints)
        self.solver = DragSolver(state.motion, data if isinstance(data, PoseModel) else None)
        self.light = None
        self._measure()
        self.begin(state)
        if self.active:
            self.workspace.timeline.seek(0)
        self.preparing.submit((self.solver, state))
        for line in notes:
            self.workspace.notify(f"{name}: {line}")
        # Hands are captured, too; anything else is probably in another unit.
        if not 0.05 <= self.size <= 10.0:
            self.workspace.notify(
                f"{name}: the figure measures {self.size:.3g} m. If that is wrong, say its unit first:  "
                "marey convert IN OUT --from-unit cm"
            )

    def restore(self, state: State) -> None:
        if self._drawn is not state.motion:
            self.poses, self._drawn = Poses(state.motion), state.motion
        super().restore(state)

    def preview(self, pose: Motion, *, dragged: tuple[int, Array]) -> Array:
        """Show a pose (a clip of one frame) that is not kept yet; the dragged ball is at its own place.

        Returns where the end effector that is dragged came to, `(3,)`.
        """
        poses = Poses(pose)
        end, place = dragged
        places = self.ends.places(poses, 0)
        reached = places[end].copy()
        places[end] = place
        with self.workspace.server.atomic():
            self.figure.body.pose(pose, 0, poses)
            self.pose.balls.place(places)
            self.pose.balls.paint(end, THEME.warm)
        return np.asarray(reached)

    def look(self) -> None:
        """Turn the camera to the body: from the left and a little ahead, where a walk is seen best."""
        points = self.poses.points[self.frame if self.active else 0]
        centre = 0.5 * (points.max(axis=0) + points.min(axis=0)) + self.root.position
        view_from = 0.35 * self.ahead + 1.05 * self.sideways + np.array([0.0, 0.25, 0.0])
        self.workspace.look(centre, self.size, view_from=view_from)

    def _fits(self, model: PoseModel) -> bool:
        """Whether a pose model is one for the clip that is open."""
        return self.history is not None and model.skeleton.names == self.state.motion.skeleton.names

    def _measure(self) -> None:
        """How large the figure is, the directions it faces and sideways."""
        points = self.poses.points[:: max(len(self.poses) // 100, 1)]
        self.size = max(float(np.median(np.ptp(points, axis=1).max(axis=1))), 1e-3)
        ahead = np.array([0.0, 0.0, 1.0]) if self.poses.ahead is None else self.poses.ahead[0]
        length = float(np.linalg.norm(ahead))
        self.ahead = ahead / length if length > 1e-6 else np.array([0.0, 0.0, 1.0])
        self.sideways = np.cross([0.0, 1.0, 0.0], self.ahead)

    def _prepare(self, given: tuple[DragSolver, State]) -> None:
        """Learn poses and make a lighter skin aside, without a notice: no user has asked for them yet."""
        solver, state = given
        character = state.character
        light: Character | None = None
        with self.workspace.reporting_errors(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if character is not None and len(character.skin.vertices) > LIMITS.skin_vertices:
                from marey.surface.decimation import decimate

                skin = decimate(character.skin, vertices=LIMITS.light_vertices)
                light = Character(skin, character.motions)
            if state.motion.joints <= LIMITS.joints:
                solver.warm()
        with self.workspace.lock, self.workspace.reporting_errors():
            if self.solver is solver and self.history is not None and not self.workspace.closed:
                self.light = light
                self.modes.refresh(self.state)
                self.redraw(*(self.layers if light is not None else ()))
