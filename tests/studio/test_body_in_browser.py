"""The body panel in a real browser: drag a hand with the mouse, let go, undo, free a foot."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
import pytest

import marey
from marey.studio.app import Studio
from marey.studio.body.panel import BodyPanel
from tests.browser import Tab, keep_screenshot, page_of, until
from tests.studio.pointing import Eye

if TYPE_CHECKING:
    from playwright.sync_api import Browser

SIZE = (1000, 600)
FRAME = 40


@pytest.fixture(scope="module")
def panel(studio: Studio) -> BodyPanel:
    studio.show(marey.samples.walk(seconds=2), "walk.bvh")
    found = studio.panel("Body")
    assert isinstance(found, BodyPanel)
    assert found.preparing.wait()
    with studio.desk.lock:
        studio.desk.timeline.seek(FRAME)
    return found


@pytest.fixture(scope="module")
def eye(studio: Studio) -> Eye:
    return Eye(studio)


@pytest.fixture(scope="module")
def tab(chromium: Browser, studio: Studio, panel: BodyPanel, eye: Eye) -> Iterator[Tab]:
    with page_of(chromium, studio.address, size=SIZE) as opened:
        opened.page.get_by_text("Pose by hand").wait_for()
        yield opened
        assert not opened.errors


def test_a_hand_dragged_with_the_mouse_takes_the_body_along(tab: Tab, eye: Eye, panel: BodyPanel) -> None:
    hand = panel.ends.labels.index("left hand")
    before = panel.ends.places(panel.poses, FRAME)[hand]
    mouse = tab.page.mouse
    x, y = eye.rest_on(tab, before + panel.root.position)
    told = panel.posing.text.content

    def moved() -> bool:
        mouse.move(x + 20, y - 60)
        mouse.move(x + 24, y - 70)
        return panel.posing.report is not None

    mouse.down()
    until(tab, moved)
    mouse.move(x + 30, y - 90)
    until(tab, lambda: np.linalg.norm(panel.posing.balls.places[hand] - before) > 0.1)
    assert panel.posing.text.content != told and "cm" in panel.posing.text.content
    tab.page.get_by_text("solved in").wait_for()
    keep_screenshot(tab.page, "studio-body-drag")
    mouse.up()
    until(tab, lambda: panel.history is not None and panel.history.steps == 1)
    after = panel.ends.places(panel.poses, FRAME)[hand]
    assert after[1] > before[1] + 0.05
    tab.page.keyboard.press("Control+z")
    until(tab, lambda: panel.history is not None and not panel.history.steps)
    assert np.allclose(panel.ends.places(panel.poses, FRAME)[hand], before)


def test_a_held_foot_can_be_freed_with_a_click_in_the_panel(tab: Tab, panel: BodyPanel) -> None:
    foot = panel.ends.labels.index("left foot")
    assert panel.posing.holds[foot].value
    tab.page.get_by_label("Hold left foot").click()
    until(tab, lambda: not panel.posing.holds[foot].value)
