"""The balance room: stand, pull a hand, push, throw, change the foot; a puppet; a drag in a real browser."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

import marey
from marey.body.control.balance import BalanceResult
from marey.body.control.puppet import PuppetResult
from marey.studio.app import Studio
from marey.studio.balance import BalanceRoom
from marey.studio.body.pose import Drag
from tests.browser import keep_screenshot, page_of, until
from tests.studio.pointing import Eye

if TYPE_CHECKING:
    from playwright.sync_api import Browser


@pytest.fixture
def room(studio: Studio) -> BalanceRoom:
    found = studio.room("Balance")
    assert isinstance(found, BalanceRoom)
    with studio.workspace.lock:
        studio.activate(found)
    studio.show(marey.samples.walk(seconds=2), "walk.bvh")
    with studio.workspace.lock:
        studio._switch("Balance")
        studio.workspace.timeline.seek(0)
    found.stand.seconds.value = 1.0
    return found


def stopped(room: BalanceRoom, frame: int) -> BalanceResult:
    assert room.workspace.jobs.wait() and isinstance(room.state.found, BalanceResult)
    with room.workspace.lock:
        room.workspace.timeline.play(False)
        room.workspace.timeline.seek(frame)
    return room.state.found


def test_it_stands_and_is_pulled_pushed_and_hit(room: BalanceRoom) -> None:
    room.stand.stand()
    calm = stopped(room, 30)
    assert not calm.report.fell and room.figure.forces.visible and "Stood" in room.stand.report.content
    hand = room.pull.joints[0]
    start = room.state.poses.points[30, hand]
    room.pull.dragged(Drag(1, 0, start + np.array([0.0, 0.1, 0.1]), True))
    pulled = stopped(room, 30)
    (event,) = room.state.events
    assert event.time == pytest.approx(0.5) and event.kind == "handle"
    np.testing.assert_allclose(pulled.motion.root[:29], calm.motion.root[:29], atol=1e-6)
    moved = room.state.poses.points[-1, hand]
    assert np.linalg.norm(moved - start - [0.0, 0.1, 0.1]) < 0.1 < np.linalg.norm(moved - start)
    room.hit.push()
    stopped(room, 40)
    room.hit.throw()
    thrown = stopped(room, 60)
    assert [one.kind for one in room.state.events] == ["handle", "push", "ball"]
    assert len(room.figure.balls) == 1 and thrown.report.root_wrench_max < 1e-8
    room.pull.let_go()
    stopped(room, 10)
    assert room.state.events[-1].at is None
    assert len(room.figure.polygon.points) == len(room.state.found.record.polygons[10])  # type: ignore[union-attr]


def test_a_puppet_with_a_strength(room: BalanceRoom) -> None:
    room.stand.strength.value = 0.8
    room.stand.puppet()
    assert room.workspace.jobs.wait() and isinstance(room.state.found, PuppetResult)
    assert not room.figure.forces.visible and "strings" in room.stand.report.content
    with room.workspace.lock:
        room.undo()
    assert room.state.found is None


def test_a_hand_is_dragged_in_a_real_browser(chromium: Browser, studio: Studio, room: BalanceRoom) -> None:
    eye = Eye(studio)
    with page_of(chromium, studio.address, size=(1000, 700)) as tab:
        tab.page.get_by_role("button", name="Stand", exact=True).click()
        until(tab, lambda: isinstance(room.state.found, BalanceResult))
        stopped(room, 20)
        hand = room.pull.balls.places[1]
        x, y = eye.rest_on(tab, hand)
        tab.page.mouse.down()
        tab.page.mouse.move(x + 10, y - 20)
        tab.page.mouse.move(x + 20, y - 40)
        until(tab, lambda: bool(np.linalg.norm(room.pull.balls.places[1] - hand) > 0.02))
        tab.page.mouse.up()
        until(tab, lambda: len(room.state.events) == 1 and not room.workspace.jobs.busy)
        stopped(room, 50)
        keep_screenshot(tab.page, "studio-balance")
        assert not tab.errors
