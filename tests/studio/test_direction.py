"""The direct room: constraints are drawn and typed, the crowd is directed aside and seen meanwhile."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

import marey
from marey.crowd.direct import Formation, Path, State, Vorticity, preset
from marey.studio.app import Studio
from marey.studio.direction import DirectionRoom
from tests.browser import keep_screenshot, page_of, until

if TYPE_CHECKING:
    from playwright.sync_api import Browser


@pytest.fixture
def room(studio: Studio) -> DirectionRoom:
    found = studio.room("Direct")
    assert isinstance(found, DirectionRoom)
    with studio.workspace.lock:
        studio.activate(found)
    studio.show(preset("rendezvous"), "rendezvous (directed)")
    found.direct.iterations.value = 20
    return found


def draw(room: DirectionRoom, what: str, ground: list[list[float]]) -> None:
    """A stroke of the pen."""
    with room.workspace.lock:
        room.ask.drag.value = what
        places = room.state.floor.to_scene(np.array(ground))[:, [0, 2]].astype(np.float64)
        room.ask.draw(places, True)


def test_strokes_and_words_become_constraints_and_undo_takes_them_back(
    room: DirectionRoom, studio: Studio
) -> None:
    room.ask.forget()
    assert room.state.asked == () and room.direct.handles["direct"].disabled
    room.ask.first.value, room.ask.second.value, room.ask.seconds.value = 5, 35, 20.0
    draw(room, "meeting point", [[10.0, 3.0], [18.0, 3.0]])
    draw(room, "path", [[8.0, 3.0], [20.0, 8.0]])
    draw(room, "vortex", [[12.0, 2.0], [16.0, 5.0]])
    room.ask.form()
    kinds = [type(one) for one in room.state.asked]
    assert kinds == [State, Path, Vorticity, Formation]
    meeting, path = room.state.asked[:2]
    assert isinstance(meeting, State) and np.allclose(np.mean(meeting.pos, axis=0), [18.0, 3.0], atol=1e-4)
    assert isinstance(path, Path) and np.allclose(path.pos[-1], [20.0, 8.0], atol=1e-4)
    studio.undo()
    assert len(room.state.asked) == 3


def test_people_are_placed_where_the_drag_ends(room: DirectionRoom) -> None:
    before = room.state.tracks.agents
    room.ask.columns.value, room.ask.rows.value, room.ask.heading.value = 3, 2, "left"
    draw(room, "people", [[30.0, 3.0], [30.0, 20.0]])
    state = room.state
    assert state.tracks.agents == before + 6 and state.groups.max() == 1
    new = state.tracks.positions[:, state.groups == 1]
    assert np.allclose(new[0].mean(axis=0), [30.0, 20.0], atol=0.1) and new[-1, :, 0].mean() < 10.0


def test_the_crowd_is_directed_aside_and_one_undo_takes_it_back(room: DirectionRoom, studio: Studio) -> None:
    room.direct.direct()
    assert room.workspace.jobs.wait()
    found = room.state.found
    assert found is not None and room.state.tracks is found.tracks
    only = found.report.constraints[0]
    assert only["error"] < 0.2 * only["free"] and "state" in room.direct.report.content
    studio.undo()
    assert room.state.found is None and room.state.asked


def test_what_cannot_be_met_is_a_notice(room: DirectionRoom) -> None:
    room.ask.seconds.value = 1.0
    draw(room, "meeting point", [[10.0, 3.0], [60.0, 3.0]])
    room.direct.direct()
    assert room.workspace.jobs.wait() and room.state.found is None


def test_open_tracks_go_on_from_their_first_frame(room: DirectionRoom, studio: Studio) -> None:
    people = marey.samples.crowd(seconds=4, people=12)
    studio.show(people, "crowd.csv")
    assert studio.active is room
    assert room.state.tracks.agents == int(people.present[0].sum()) and room.state.asked == ()


def test_directing_in_a_real_browser(chromium: Browser, studio: Studio, room: DirectionRoom) -> None:
    with page_of(chromium, studio.address, size=(1000, 700)) as tab:
        tab.page.get_by_role("button", name="Direct", exact=True).last.click()
        until(tab, lambda: room.state.found is not None)
        tab.page.get_by_role("button", name="Pause").click()
        until(tab, lambda: not room.workspace.timeline.playing)
        with room.workspace.lock:
            room.workspace.timeline.seek(400)
        keep_screenshot(tab.page, "studio-direct")
        tab.page.keyboard.press("Control+z")
        until(tab, lambda: room.state.found is None)
        assert not tab.errors
