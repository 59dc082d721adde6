"""A crowd in the studio, in a real browser: let people walk, paint an obstacle, take it back, export."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

import marey
from marey import samples
from marey.studio.app import Studio
from marey.studio.crowd.room import CrowdRoom
from tests.browser import Tab, keep_screenshot, page_of, until
from tests.studio.pointing import Eye

if TYPE_CHECKING:
    from playwright.sync_api import Browser


@pytest.fixture(scope="module")
def eye(studio: Studio) -> Eye:
    return Eye(studio)


@pytest.fixture(scope="module")
def tab(chromium: Browser, studio: Studio, eye: Eye) -> Iterator[Tab]:
    studio.show(samples.field(rows=36, columns=64, seconds=1), "vortices")
    with page_of(chromium, studio.address, size=(720, 480)) as opened:
        opened.page.get_by_role("button", name="Walk").wait_for()
        yield opened
        assert not opened.errors


@pytest.fixture
def room(studio: Studio) -> CrowdRoom:
    found = studio.room("Crowd")
    assert isinstance(found, CrowdRoom)
    return found


def test_people_walk_when_asked_to(tab: Tab, studio: Studio, room: CrowdRoom) -> None:
    room.walk.people.value, room.walk.seconds.value = 25, 3.0
    tab.page.get_by_role("button", name="Walk").click()
    until(tab, lambda: room.state.tracks is not None and not studio.workspace.jobs.busy)
    assert room.state.tracks is not None and room.state.tracks.present[0].sum() == 25


def test_a_stroke_on_the_ground_is_an_obstacle_until_undone(tab: Tab, eye: Eye, room: CrowdRoom) -> None:
    tab.page.get_by_text("Obstacles", exact=True).click()
    brush = tab.page.get_by_label("Brush")
    brush.scroll_into_view_if_needed()
    brush.click()
    tab.page.get_by_role("option", name="paint").click()
    until(tab, lambda: room.obstacles.pen.down)
    walked = room.state.tracks
    eye.rest_on(tab, (-0.8, 0.0, 0.4))
    tab.page.mouse.down()
    tab.page.mouse.move(*eye.pixel(tab, (0.8, 0.0, 0.4)), steps=4)
    tab.page.mouse.up()
    until(tab, lambda: len(room.state.strokes) == 1 and room.state.tracks is not walked)
    drawn = room.state.floor.to_scene(room.state.strokes[0].points)
    np.testing.assert_allclose(drawn[[0, -1]][:, [0, 2]], [[-0.8, 0.4], [0.8, 0.4]], atol=0.15)
    keep_screenshot(tab.page, "studio-crowd")
    tab.page.keyboard.press("Control+z")
    until(tab, lambda: not room.state.strokes)
    assert room.state.tracks is walked


def test_the_people_shown_are_exported(tab: Tab, room: CrowdRoom, tmp_path: Path) -> None:
    tab.page.get_by_label("File").click()
    tab.page.get_by_role("option", name="people (CSV)").click()
    with tab.page.expect_download() as download:
        tab.page.get_by_role("button", name="Export").click()
    download.value.save_as(tmp_path / download.value.suggested_filename)
    people = marey.load(tmp_path / "people.csv")
    assert room.state.tracks is not None and people.frames == room.state.tracks.frames
