"""The crowd panel's controls: what is seen, how people walk, the film, the brush, frequencies, places."""

from __future__ import annotations

from typing import get_args

from marey.crowd.scenes import SCENES
from marey.studio.crowd.actions import QUICK, SLOW, Walk
from marey.studio.crowd.colours import remark
from marey.studio.crowd.maps import Kind
from marey.studio.crowd.state import State, Tuning
from marey.studio.desk import Desk

MAPS: dict[str, str] = {
    "flow": "flow",
    "speed": "speed",
    "density": "density",
    "meeting, parting": "divergence",
    "turning": "turning",
    "film": "film",
    "nothing": "nothing",
}
"""What can lie on the ground: labels for people, and kinds of maps."""

BRUSH = ("off", "paint", "erase")
WAYS = {"keep away": "social", "walk through": "none"}
METHODS = {"whirls and sources": "divcurl", "quick": "dis", "smooth": "hs"}
SIZES = {"small": 160, "medium": 320, "large": 480}
MOST_PEOPLE = 2000


class Controls:
    """All of them, as attributes; they do nothing by themselves."""

    def __init__(self, desk: Desk):
        gui = desk.gui
        self.next = gui.add_html("")
        with gui.add_folder("See"):
            self.map = gui.add_dropdown("Ground", tuple(MAPS), hint="What lies on the ground")
            self.key = gui.add_html("")
            self.arrows = gui.add_checkbox("Arrows", False, hint="Where the flow goes")
            self.people = gui.add_checkbox("People", True, hint="Figures of the people")
            self.bodies = gui.add_checkbox(
                "Whole bodies", False, hint="Everyone a variant of captured walks; up to 100 people"
            )
            self.trails = gui.add_checkbox("Trails", True, hint="The last seconds of everyone's way")
            self.film = gui.add_checkbox("Film", True, hint="The film on a board behind the ground")
        self.film_to_flow = gui.add_folder("Film to flow")
        with self.film_to_flow:
            self.method = gui.add_dropdown("Method", tuple(METHODS), hint="How motion is found in the film")
            self.size = gui.add_dropdown(
                "Detail",
                tuple(SIZES),
                initial_value="small",
                hint="Pixels of the flow: 160, 320 or 480 across",
            )
            self.width = gui.add_number(
                "Width (m)", 0.0, min=0.0, max=500.0, step=0.5, hint="Of the picture on the ground; 0 = guess"
            )
            self.capture = gui.add_button("Capture", icon="camera", hint="Find the motion in the film")
        with gui.add_folder("Walk"):
            self.number = gui.add_slider("How many", 1, MOST_PEOPLE, 1, 100, hint="How many walk")
            self.seconds = gui.add_slider("Seconds", 1.0, 60.0, 1.0, 10.0, hint="How long they walk")
            self.seed = gui.add_number("Seed", 0, min=0, max=99999, step=1, hint="Another, another crowd")
            self.way = gui.add_dropdown("Others", tuple(WAYS), hint="What people do about each other")
            self.seen = gui.add_checkbox("Where seen", False, hint="Only where the film shows people")
            self.walk = gui.add_button(
                "Walk", icon="walk", hint="People carried by the flow, or simulated in the place"
            )
        with desk.drawer("Obstacles"):
            self.brush = gui.add_dropdown("Brush", BRUSH, hint="Then drag over the ground")
            self.radius = gui.add_slider("Radius (m)", 0.1, 3.0, 0.1, 0.6, hint="Of the brush")
            self.clear = gui.add_button(
                "Clear", color="gray", icon="eraser", hint="Take away all painted ones"
            )
        with desk.drawer("Frequencies"):
            about = {"min": 0.0, "max": 3.0, "step": 0.1, "initial_value": 1.0}
            self.slow = gui.add_slider("Slow", **about, hint=f"Gain of changes below {SLOW:g} Hz")
            self.medium = gui.add_slider("Medium", **about, hint=f"Gain of {SLOW:g} to {QUICK:g} Hz")
            self.quick = gui.add_slider("Quick", **about, hint=f"Gain of changes above {QUICK:g} Hz: nerves")
            self.keep = gui.add_slider(
                "Keep (%)", 1, 100, 1, 100, hint="Share of the frequencies that is kept, the slowest first"
            )
            self.kept = gui.add_html("")
        with desk.drawer("Places"):
            self.place = gui.add_dropdown("Place", tuple(SCENES), hint="Walls, doors and who is there")
            self.panic = gui.add_checkbox("Panic", False, hint="Everybody runs")
            self.open_place = gui.add_button("Go there", icon="map-pin", hint="Then let people walk")

    @property
    def ground(self) -> str:
        """The kind of map on the ground: one of :data:`Kind`, "film" or "nothing"."""
        return MAPS[self.map.value]

    @property
    def how(self) -> Walk:
        """How people shall walk."""
        return Walk(
            int(self.number.value),
            float(self.seconds.value),
            int(self.seed.value),
            WAYS[self.way.value],
            bool(self.seen.value),
        )

    @property
    def tuning(self) -> Tuning:
        """What the sliders of frequencies say."""
        return Tuning(self.slow.value, self.medium.value, self.quick.value, self.keep.value / 100)

    def follow(self, state: State) -> None:
        """Show a state's values, and offer only what it has."""
        tuning = state.tuning
        self.slow.value, self.medium.value, self.quick.value = tuning.slow, tuning.medium, tuning.quick
        self.keep.value = round(100 * tuning.keep)
        self.next.content = remark(what_next(state))
        flows, moves = state.flow is not None, state.flow is not None or state.tracks is not None
        self.arrows.disabled = not flows
        for slider in (self.slow, self.medium, self.quick, self.keep):
            slider.disabled = not flows
        self.film.disabled = self.method.disabled = self.size.disabled = state.footage is None
        self.capture.disabled = state.footage is None
        self.width.disabled = not state.scalable
        self.film_to_flow.visible = state.footage is not None or state.scalable
        self.width.value = state.width or 0.0
        self.people.disabled = self.trails.disabled = self.bodies.disabled = state.tracks is None
        self.bodies.value = state.bodies is not None
        self.walk.disabled = not (moves or state.scene is not None)
        self.seen.disabled = state.flow is None or state.flow.presence is None
        self.way.disabled = state.scene is not None

    def best_map(self, state: State) -> str:
        """The label of what is best on the ground of something that was just opened."""
        if state.flow is not None:
            return "flow"
        if state.tracks is not None:
            return "density"
        return "film" if state.footage is not None else "nothing"


def what_next(state: State) -> str:
    """What one can do now, in a sentence."""
    if state.ours:
        return "People walk. Paint obstacles in their way, tune the flow, or export them below."
    if state.scene is not None and state.tracks is None:
        return "A place without people: press Walk to simulate them."
    if state.flow is not None:
        return "A flow: press Walk, and people are carried by it."
    if state.tracks is not None:
        return "People on tracks: press Play; Walk lets others walk as they did."
    return "A film: press Capture to find the motion in it, then Walk."


KINDS: tuple[Kind, ...] = get_args(Kind)
