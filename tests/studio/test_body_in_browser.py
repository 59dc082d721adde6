"""The body room in a real browser: drag a hand with the mouse, let go, undo, free a foot."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
import pytest

import marey
from marey.studio.app import Studio
from marey.studio.body.room import BodyRoom
from tests.browser import Tab, keep_screenshot, page_of, until
from tests.studio.pointing import Eye

if TYPE_CHECKING:
    from playwright.sync_api import Browser

SIZE = (1000, 600)
FRAME = 40


@pytest.fixture(scope="module")
def room(studio: Studio) -> BodyRoom:
    studio.show(marey.samples.walk(seconds=2), "walk.bvh")
    found = studio.room("Body")
    assert isinstance(found, BodyRoom)
    assert found.preparing.wait()
    with studio.workspace.lock:
        studio.workspace.timeline.seek(FRAME)
    return found


@pytest.fixture(scope="module")
def eye(studio: Studio) -> Eye:
    return Eye(studio)


@pytest.fixture(scope="module")
def tab(chromium: Browser, studio: Studio, room: BodyRoom, eye: Eye) -> Iterator[Tab]:
    with page_of(chromium, studio.address, size=SIZE) as opened:
        opened.page.get_by_text("Pose by hand").wait_for()
        yield opened
        assert not opened.errors


def test_a_hand_dragged_with_the_mouse_takes_the_body_along(tab: Tab, eye: Eye, room: BodyRoom) -> None:
    hand = room.ends.labels.index("left hand")
    before = room.ends.places(room.poses, FRAME)[hand]
    mouse = tab.page.mouse
    x, y = eye.rest_on(tab, before + room.root.position)
    told = room.pose.report_text.content

    def moved() -> bool:
        mouse.move(x + 20, y - 60)
        mouse.move(x + 24, y - 70)
        return room.pose.report is not None

    mouse.down()
    until(tab, moved)
    mouse.move(x + 30, y - 90)
    until(tab, lambda: np.linalg.norm(room.pose.balls.places[hand] - before) > 0.1)
    assert room.pose.report_text.content != told and "cm" in room.pose.report_text.content
    tab.page.get_by_text("solved in").wait_for()
    keep_screenshot(tab.page, "studio-body-drag")
    mouse.up()
    until(tab, lambda: room.history is not None and room.history.steps == 1)
    after = room.ends.places(room.poses, FRAME)[hand]
    assert after[1] > before[1] + 0.05
    tab.page.keyboard.press("Control+z")
    until(tab, lambda: room.history is not None and not room.history.steps)
    # The step is counted just before the poses are shown.
    until(tab, lambda: np.allclose(room.ends.places(room.poses, FRAME)[hand], before))


def test_a_held_foot_can_be_freed_with_a_click_in_the_panel(tab: Tab, room: BodyRoom) -> None:
    foot = room.ends.labels.index("left foot")
    assert room.pose.holds[foot].value
    tab.page.get_by_label("Hold left foot").click()
    until(tab, lambda: not room.pose.holds[foot].value)
