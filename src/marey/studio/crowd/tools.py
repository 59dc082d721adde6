"""What can be done with a crowd: choose what is shown, capture, walk, paint obstacles, tune, load scenes."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from marey._arrays import Array
from marey._work import Progress
from marey.crowd import scenes
from marey.studio.controls import button, checkbox, choice, html, number, slider
from marey.studio.crowd import tasks
from marey.studio.crowd.maps import remark
from marey.studio.crowd.state import FrequencyGains, State, Stroke
from marey.studio.crowd.tasks import QUICK, SLOW, WalkSettings
from marey.studio.ground_pen import GroundPen
from marey.studio.jobs import LatestOnly
from marey.studio.room import Task, Tool

if TYPE_CHECKING:
    from marey.studio.crowd.room import CrowdRoom

MAPS = ("flow", "speed", "density", "divergence", "vorticity", "video", "nothing")
METHODS = {"usual": "default", "quick": "dis", "smooth": "hs"}
WIDTH_HINT = "Of the image on the ground; 0 = guess"
SIZES = {"small": 160, "medium": 320, "large": 480}


class NextStepTool(Tool[State]):
    """What one can do now, in a sentence."""

    hint = html()

    def refresh(self, state: State) -> None:
        self.hint.content = remark(next_step_hint(state))


class DisplayTool(Tool[State]):
    """What lies on the ground, and what is drawn of the crowd."""

    room: CrowdRoom
    title, collapsible = "Display", False
    map = choice("Ground", MAPS, "What lies on the ground", on="redraw")
    key_of_map = html()
    arrows = checkbox("Arrows", False, "Direction of the flow", on="redraw")
    people = checkbox("People", True, "Figures of the people", on="redraw")
    bodies = checkbox(
        "Whole bodies", False, "Variants of captured walks; up to 100 people", on="change_bodies"
    )
    paths = checkbox("Paths", True, "The last seconds of every path", on="redraw")
    video = checkbox("Video", True, "The video on a board behind the ground", on="redraw")

    def redraw(self) -> None:
        """Show and hide things by the controls."""
        self.room.see(self.state)
        self.room.redraw()

    def change_bodies(self) -> State | Task[State] | None:
        """Show people as whole walking bodies, made aside; or as figures again."""
        state, wanted = self.state, bool(self.bodies.value)
        if wanted == (state.bodies is not None):
            return None
        if not wanted:
            return replace(state, bodies=None)
        self.bodies.value = False
        return Task("making bodies walk", lambda p: tasks.make_bodies(state, p), needs=("tracks",))

    def refresh(self, state: State) -> None:
        self.arrows.disabled, self.video.disabled = state.flow is None, state.footage is None
        self.people.disabled = self.paths.disabled = self.bodies.disabled = state.tracks is None
        self.bodies.value = state.bodies is not None
        self.room.see(state)


class CaptureTool(Tool[State]):
    """The flow of a video."""

    room: CrowdRoom
    title, collapsible = "Optical flow", False
    method = choice("Method", tuple(METHODS), "How motion is found in the video")
    size = choice("Detail", tuple(SIZES), "Pixels of the flow: 160, 320 or 480 across", initial_value="small")
    width = number("Width (m)", 0.0, WIDTH_HINT, on="set_width", min=0.0, max=500.0, step=0.5)

    @button("Capture", "Find the motion in the video", icon="camera")
    def capture(self) -> Task[State]:
        """The flow of the video."""
        state, method, size = self.state, METHODS[self.method.value], SIZES[self.size.value]

        def work(progress: Progress) -> State:
            return tasks.capture_flow(state, method=method, size=size, progress=progress)

        def look() -> None:
            self.room.display.map.value = "flow"
            self.room.see(self.state)
            self.room.look()
            self.workspace.notify(self.state.note or "The flow is captured. Now let people walk in it.")

        return Task("capturing the flow", work, needs=("footage",), on_done=look)

    def set_width(self) -> None:
        """Say how wide an image without a camera is on the ground."""
        metres = float(self.width.value)
        if metres > 0 and metres != self.state.width:
            self.room.change(self.state.scaled_to(metres))
            self.room.look()

    def refresh(self, state: State) -> None:
        self.method.disabled = self.size.disabled = self.handles["capture"].disabled = state.footage is None
        self.width.disabled = not state.scalable
        self.width.value = state.width or 0.0
        self.folder.visible = state.footage is not None or state.scalable


class WalkTool(Tool[State]):
    """How people walk."""

    room: CrowdRoom
    title, collapsible = "Walk", False
    people = slider("How many", 1, 2000, 1, 100, "How many walk")
    seconds = slider("Seconds", 1.0, 60.0, 1.0, 10.0, "How long they walk")
    seed = number("Seed", 0, "Another seed gives another crowd", min=0, max=99999, step=1)
    avoidance = choice("Avoidance", ("social", "none"), "How people avoid each other")
    detected = checkbox("Where people were detected", False, "Only where the video shows people")

    @button("Walk", "People carried by the flow, or simulated in the scene", icon="walk")
    def walk(self) -> Task[State]:
        """Let people walk."""
        return self.task()

    def task(self, gesture: str = "") -> Task[State]:
        """People who walk as the controls say, round all that is painted by then."""
        state = self.state
        count, seed, seconds = int(self.people.value), int(self.seed.value), float(self.seconds.value)
        how = WalkSettings(count, seconds, seed, self.avoidance.value, bool(self.detected.value))

        def check() -> None:
            # At more people a square metre than this a crowd is crushed (Fruin 1993).
            if how.people > 7.0 * float(np.prod(self.state.floor.size)):
                self.workspace.notify("Density above 7 people per square metre: not physically possible.")
            if self.state.strokes is not state.strokes:
                self.room.gesture = _stroke_gesture(self.state)
                self.room.perform(self.task(self.room.gesture))

        return Task("walking", lambda p: tasks.walk(state, how, p), ("floor",), gesture, check)

    def refresh(self, state: State) -> None:
        moving = state.flow is not None or state.tracks is not None
        self.handles["walk"].disabled = not (moving or state.scene is not None)
        self.detected.disabled = state.flow is None or state.flow.foreground is None
        self.avoidance.disabled = state.scene is not None


class ObstaclesTool(Tool[State]):
    """A brush over the ground; people who were made here walk again, round the obstacles."""

    room: CrowdRoom
    title = "Obstacles"
    brush = choice("Brush", ("off", "paint", "erase"), "Then drag over the ground", on="take_brush")
    radius = slider("Radius (m)", 0.1, 3.0, 0.1, 0.6, "Of the brush")

    def __init__(self, room: CrowdRoom):
        super().__init__(room)
        self.pen = GroundPen(self.workspace, room.group("pen"), self.draw)

    @button("Clear", "Take away all painted ones", icon="eraser", gray=True)
    def clear(self) -> None:
        """Take away all that was painted."""
        if self.state.strokes:
            self._paint(())

    def take_brush(self) -> None:
        """Drag over the ground, or turn the camera."""
        self.pen.down = self.brush.value != "off" and self.room.history is not None

    def put_away(self) -> None:
        """Stop drawing."""
        self.brush.value, self.pen.down = "off", False

    def draw(self, points: Array, done: bool) -> None:
        """A stroke of the brush: points `(n, 2)`, the scene's x and z in metres."""
        floor, erases = self.state.floor, self.brush.value == "erase"
        ground, radius = floor.to_ground(points), float(self.radius.value)
        self.room.walls.preview(floor, None if done else ground, radius, erases)
        if done:
            self._paint((*self.state.strokes, Stroke(ground, radius, erases)))

    def _paint(self, strokes: tuple[Stroke, ...]) -> None:
        self.room.change(replace(self.state, strokes=strokes))
        if self.state.ours and not self.workspace.jobs.busy:
            # One step with the stroke.
            self.room.gesture = _stroke_gesture(self.state)
            self.room.perform(self.room.walk.task(self.room.gesture))


class FrequencyTool(Tool[State]):
    """Gains of the flow's frequencies."""

    room: CrowdRoom
    drawn_from = ("captured",)
    title = "Frequencies"
    slow = slider("Slow", 0.0, 3.0, 0.1, 1.0, f"Gain of changes below {SLOW:g} Hz", on="moved")
    medium = slider("Medium", 0.0, 3.0, 0.1, 1.0, f"Gain of {SLOW:g} to {QUICK:g} Hz", on="moved")
    quick = slider("Quick", 0.0, 3.0, 0.1, 1.0, f"Gain of changes above {QUICK:g} Hz: jitter", on="moved")
    keep = slider(
        "Keep (%)", 1, 100, 1, 100, "Share of the frequencies that is kept, lowest first", on="moved"
    )
    kept = html()

    def __init__(self, room: CrowdRoom):
        super().__init__(room)
        self.tuner: LatestOnly[FrequencyGains] = LatestOnly(lambda gains: self._follow(self._tune, gains))

    def moved(self) -> None:
        """Follow the sliders, aside."""
        keep = self.keep.value / 100
        self.tuner.submit(FrequencyGains(self.slow.value, self.medium.value, self.quick.value, keep))

    def set(self, state: State) -> None:
        self.kept.content = ""

    def refresh(self, state: State) -> None:
        gains = state.gains
        self.slow.value, self.medium.value, self.quick.value = gains.slow, gains.medium, gains.quick
        self.keep.value = round(100 * gains.keep)
        for each in (self.slow, self.medium, self.quick, self.keep):
            each.disabled = state.flow is None

    def _tune(self, gains: FrequencyGains) -> None:
        tuned, report = tasks.tune(self.state, gains)
        with self.workspace.lock:
            # Something else may have been opened meanwhile.
            if tuned.captured is self.state.captured:
                self.kept.content = remark(report)
                self.room.change(replace(self.state, flow=tuned.flow, gains=gains), "tune")


class ScenesTool(Tool[State]):
    """Known scenes to simulate a crowd in."""

    room: CrowdRoom
    title = "Scenes"
    scene = choice("Scene", tuple(scenes.SCENES), "Walls, doors and groups")
    panic = checkbox("Panic", False, "Everybody runs")

    @button("Load scene", "Then let people walk", icon="map-pin")
    def load(self) -> None:
        """One of the known scenes, without people yet."""
        name = self.scene.value
        self.room.open(scenes.preset(name, panic=self.panic.value), name)
        self.room.name = name
        self.room.look()


def next_step_hint(state: State) -> str:
    """What one can do now, in a sentence."""
    if state.ours:
        return "People walk. Paint obstacles, tune the flow, or export them below."
    if state.scene is not None and state.tracks is None:
        return "A scene without people: press Walk to simulate them."
    if state.flow is not None:
        return "A flow: press Walk, and people are carried by it."
    if state.tracks is not None:
        return "People on tracks: press Play; Walk lets others walk as they did."
    return "A video: press Capture to find the motion in it, then Walk."


def _stroke_gesture(state: State) -> str:
    return f"stroke {len(state.strokes)}"
