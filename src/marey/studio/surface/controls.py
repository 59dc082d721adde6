"""The surface panel's controls, in folders: sequence, path, pictures of poses, between two poses.

A folder only holds its controls and hands what people do to the panel's actions.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from marey.studio.desk import Desk
from marey.studio.latest import Latest
from marey.studio.surface.trails import READY

SHOWN = {"Captured": "captured", "New": "animation", "Between": "between"}
ANY = "any"
COMPROMISES = {"True to capture": 0.01, "Balanced": 0.05, "Quick to answer": 0.2}
AS_OPENED = "As in the file"
METHODS = ("Turning", "Straight")


class Actions(Protocol):
    """What people can do."""

    def choose(self, sequence: int) -> None: ...
    def turn_to(self, shown: str) -> None: ...
    def follow(self, follow: bool) -> None: ...
    def draw(self) -> None: ...
    def walk_ready_made(self) -> None: ...
    def compare(self) -> None: ...
    def build(self) -> None: ...
    def look_at(self, what: str) -> None: ...
    def show_pictures(self, visible: bool) -> None: ...
    def take_end(self, which: int) -> None: ...
    def follow_way(self, way: float) -> None: ...
    def choose_method(self, straight: bool) -> None: ...
    def interpolate(self) -> None: ...
    def go(self) -> None: ...


class SequenceFolder:
    """Which sequence is played, and what is known of it."""

    def __init__(self, desk: Desk, act: Actions):
        gui = desk.gui
        with gui.add_folder("Sequence"):
            self.choice = gui.add_dropdown("Sequence", ("",), hint="Which captured sequence to play")
            self.shown = gui.add_button_group(
                "Show", tuple(SHOWN), hint="Captured sequences, the new animation, or poses in between"
            )
            self.follow = gui.add_checkbox("Follow", True, hint="Keep the body in the middle as it walks")
            self.facts = gui.add_markdown("")
        self.choice.on_update(
            desk.guard(lambda _: act.choose(tuple(self.choice.options).index(self.choice.value)))
        )
        self.follow.on_update(desk.guard(lambda _: act.follow(self.follow.value)))
        self.shown.on_click(desk.guard(lambda event: act.turn_to(SHOWN[event.target.value])))


class PathFolder:
    """Draw a way over the ground, or take a ready-made one."""

    def __init__(self, desk: Desk, act: Actions):
        gui = desk.gui
        with gui.add_folder("Walk a path"):
            self.draw = gui.add_button(
                "Draw a path", icon="pencil", hint="Then drag over the ground: the body walks where you draw"
            )
            self.ready = gui.add_dropdown("Ready-made", READY, hint="A path that need not be drawn")
            self.size = gui.add_slider("Size (m)", 2.0, 12.0, 0.5, 4.0, hint="How large that path is")
            self.behaviour = gui.add_dropdown("Behaviour", (ANY,), hint="What to do along the path")
            self.walk = gui.add_button("Walk it", icon="walk", hint="Make an animation along the path")
            self.strip = gui.add_image(np.full((14, 560, 3), 244, np.uint8), visible=False)
            self.now = gui.add_markdown("", visible=False)
            self.told = gui.add_markdown("")
        self.draw.on_click(desk.guard(lambda _: act.draw()))
        self.walk.on_click(desk.guard(lambda _: act.walk_ready_made()))


class PictureFolder:
    """Pose distances and graph as pictures beside the body."""

    def __init__(self, desk: Desk, act: Actions):
        gui = desk.gui
        self._opened = next(iter(COMPROMISES.values()))
        with desk.drawer("Matrix and graph"):
            self.compare = gui.add_button(
                "Compare poses", icon="grid-dots", hint="How far every pose is from every other"
            )
            self.compromise = gui.add_dropdown(
                "Transitions",
                tuple(COMPROMISES),
                hint="Keep close to what was captured, or get anywhere soon",
            )
            self.build = gui.add_button(
                "Build the graph", icon="share", hint="Find where one sequence can go over into another"
            )
            self.visible = gui.add_checkbox("Pictures", True, hint="Show matrix and graph beside the body")
            self.look = gui.add_button_group(
                "Look at", ("All", "Matrix", "Graph"), hint="Turn the camera to a picture"
            )
            self.told = gui.add_markdown("")
        self.compare.on_click(desk.guard(lambda _: act.compare()))
        self.build.on_click(desk.guard(lambda _: act.build()))
        self.visible.on_update(desk.guard(lambda _: act.show_pictures(self.visible.value)))
        self.look.on_click(desk.guard(lambda event: act.look_at(event.target.value)))

    @property
    def alpha(self) -> float:
        """The compromise between realism and time that is chosen."""
        return COMPROMISES.get(self.compromise.value, self._opened)

    @alpha.setter
    def alpha(self, alpha: float) -> None:
        known = {value: name for name, value in COMPROMISES.items()}
        self._opened = alpha
        names = (*COMPROMISES, *(() if alpha in known else (AS_OPENED,)))
        if tuple(self.compromise.options) != names:
            self.compromise.options = names
        self.compromise.value = known.get(alpha, AS_OPENED)


class BetweenFolder:
    """Two poses, and the way from one to the other."""

    def __init__(self, desk: Desk, act: Actions):
        gui = desk.gui
        with desk.drawer("Between two poses"):
            self.ends = gui.add_button_group(
                "Pose",
                ("From here", "To here"),
                hint="Take the frame shown as the first or last pose",
            )
            self.chosen = gui.add_markdown("")
            self.start = gui.add_button(
                "Interpolate", icon="arrows-horizontal", hint="Make all meshes between the two poses"
            )
            self.way = gui.add_slider(
                "Way", 0.0, 1.0, 0.01, 0.0, disabled=True, hint="0 is the first pose, 1 the last"
            )
            self.method = gui.add_dropdown(
                "Method", METHODS, hint="Limbs turn, or every point goes along a straight line"
            )
            self.told = gui.add_markdown("")
            self.go = gui.add_button(
                "Go by the graph", icon="route", hint="From the first pose to the last by captured motion"
            )
        ends = {"From here": 0, "To here": 1}
        self.ends.on_click(desk.guard(lambda event: act.take_end(ends[event.target.value])))
        self.start.on_click(desk.guard(lambda _: act.interpolate()))
        self.go.on_click(desk.guard(lambda _: act.go()))
        self.method.on_update(desk.guard(lambda _: act.choose_method(self.method.value == "Straight")))
        self.ways: Latest[float] = Latest(lambda way: self._followed(desk, act, way))

        async def moved(event: object) -> None:
            if getattr(event, "client", None) is not None:
                self.ways.give(float(self.way.value))

        self.way.on_update(moved)

    def _followed(self, desk: Desk, act: Actions, way: float) -> None:
        with desk.lock, desk.errors_told():
            act.follow_way(way)
