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

if TYPE_CHECKING:
    from playwright.sync_api import Browser

SIZE = (1000, 600)
FRAME = 40


@pytest.fixture(scope="module")
def panel(studio: Studio) -> BodyPanel:
    studio.show(marey.samples.walk(seconds=2), "walk.bvh")
    found = studio.panel("Body")
    assert isinstance(found, BodyPanel)
    assert found.preparing.wait(120)
    with studio.desk.lock:
        studio.desk.timeline.seek(FRAME)
    return found


@pytest.fixture(scope="module")
def tab(chromium: Browser, studio: Studio, panel: BodyPanel) -> Iterator[Tab]:
    with page_of(chromium, studio.address, size=SIZE, seconds=90) as opened:
        opened.page.get_by_text("Pose by hand").wait_for()
        opened.page.wait_for_selector("canvas")
        until(opened, lambda: bool(studio.server.get_clients()))
        yield opened
        assert not opened.errors


def pixel(tab: Tab, studio: Studio, panel: BodyPanel, point: np.ndarray) -> tuple[float, float]:
    """Where a point of the panel's ground is seen on the page."""
    camera = next(iter(studio.server.get_clients().values())).camera
    box = tab.page.locator("canvas").first.bounding_box()
    assert box is not None
    ahead = np.asarray(camera.look_at) - camera.position
    ahead /= np.linalg.norm(ahead)
    right = np.cross(ahead, [0.0, 1.0, 0.0])
    right /= np.linalg.norm(right)
    way = point + panel.root.position - camera.position
    scale = 0.5 * box["height"] / np.tan(0.5 * camera.fov) / (way @ ahead)
    return (
        box["x"] + 0.5 * box["width"] + scale * float(way @ right),
        box["y"] + 0.5 * box["height"] - scale * float(way @ np.cross(right, ahead)),
    )


def test_a_hand_dragged_with_the_mouse_takes_the_body_along(
    tab: Tab, studio: Studio, panel: BodyPanel
) -> None:
    hand = panel.ends.labels.index("left hand")
    before = panel.ends.places(panel.poses, FRAME)[hand]
    x, y = pixel(tab, studio, panel, before)
    mouse = tab.page.mouse
    told = panel.posing.text.content

    def moved() -> bool:
        mouse.move(x + 20, y - 60)
        mouse.move(x + 24, y - 70)
        return panel.posing.report is not None

    # The balls may take a while to be drawn; a press that meets none of them only turns the camera.
    mouse.move(x, y)
    tab.page.wait_for_timeout(1500)
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
