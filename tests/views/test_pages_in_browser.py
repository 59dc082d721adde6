"""Pages play in a real browser with the network off: time moves, pictures change, nothing is asked for."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import cv2
import numpy as np
import pytest

import marey
from marey.crowd.fields import FieldSeries
from marey.views import view
from tests.browser import DESKTOP, PHONE, Tab, keep_screenshot, page_of, until
from tests.views import things

if TYPE_CHECKING:
    from playwright.sync_api import Browser


def picture(tab: Tab, selector: str = "#view") -> Any:
    """What is seen of an element, `(rows, columns, 3)`."""
    data = np.frombuffer(tab.page.locator(selector).screenshot(), np.uint8)
    return cv2.imdecode(data, cv2.IMREAD_COLOR).astype(int)


def frame_of(tab: Tab) -> float:
    return float(tab.page.evaluate("marey.clock.frame"))


def changed(before: Any, after: Any) -> float:
    """Share of pixels that are not what they were."""
    return float((np.abs(before - after).max(axis=-1) > 12).mean())


def opened(tab: Tab) -> None:
    tab.page.wait_for_selector("body[data-ready]")
    assert tab.page.evaluate("document.body.dataset.ready") == "true", tab.page.inner_text("#view")


def fading(frames: int) -> FieldSeries:
    """A whirl that comes to rest."""
    whirl = things.whirl(frames)
    rest = np.linspace(1, 0.1, frames)[:, None, None, None]
    return replace(whirl, velocities=np.asarray(whirl.velocities) * rest)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A page each of a clip as BVH, a mesh sequence, tracks and a field."""
    folder = tmp_path_factory.mktemp("pages")
    clip = folder / "walk.bvh"
    marey.save(things.walking(60, speed=0.8), clip)
    for name, thing in (
        ("body", marey.load(clip)),
        ("surface", things.sliding_box(12, textured=True)),
        ("tracks", things.two_people(20)),
        ("field", fading(6)),
    ):
        view(thing, folder / f"{name}.html", title=name)
    return folder


@pytest.mark.parametrize(
    ("name", "size"), [("body", DESKTOP), ("surface", PHONE), ("tracks", PHONE), ("field", PHONE)]
)
def test_a_page_plays_offline(chromium: Browser, folder: Path, name: str, size: tuple[int, int]) -> None:
    with page_of(chromium, folder / f"{name}.html", size=size, offline=True) as tab:
        opened(tab)
        page = tab.page
        until(tab, lambda: picture(tab).std() > 1)
        before = picture(tab)
        start = frame_of(tab)
        page.keyboard.press("Space")
        until(tab, lambda: frame_of(tab) > start)
        page.keyboard.press("Space")
        page.keyboard.press("End")
        until(tab, lambda: changed(before, picture(tab)) > 0.001)
        last = page.evaluate("marey.clock.last")
        assert frame_of(tab) == last
        page.keyboard.press("ArrowLeft")
        assert frame_of(tab) == last - 1
        assert page.inner_text("#now").endswith(f"frame {last - 1}")
        inside = page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        assert inside, "the page is wider than the screen"
        keep_screenshot(page, f"page-{name}")
        assert tab.errors == [] and tab.requests == []


def test_controls_can_be_reached_and_named_by_keyboard(chromium: Browser, folder: Path) -> None:
    with page_of(chromium, folder / "body.html", size=PHONE, offline=True, dark=True) as tab:
        opened(tab)
        page = tab.page
        named = page.evaluate(
            "[...document.querySelectorAll('button, select, input')]"
            ".map(e => e.getAttribute('aria-label') || e.textContent.trim())"
        )
        assert all(named) and {"Play", "Time", "Speed", "Ghosts", "Follow", "Skeleton"} <= set(named)
        reached = set()
        for _ in range(len(named) + 3):
            page.keyboard.press("Tab")
            reached.add(page.evaluate("document.activeElement.id || document.activeElement.textContent"))
        assert {"play", "scrub", "speed", "loop", "Ghosts"} <= reached
        start = picture(tab)
        page.evaluate("marey.clock.seek(50); document.activeElement.blur()")
        until(tab, lambda: changed(start, picture(tab)) > 0.001)
        before = picture(tab)
        page.keyboard.press("g")
        assert page.get_by_role("button", name="Ghosts").get_attribute("aria-pressed") == "true"
        until(tab, lambda: changed(before, picture(tab)) > 0.002)
        keep_screenshot(page, "page-ghosts-phone")
        assert tab.errors == []


def test_a_browser_without_three_dimensions_is_told_so(
    chromium: Browser, folder: Path, tmp_path: Path
) -> None:
    text = (folder / "body.html").read_text(encoding="utf-8")
    # As where graphics are switched off: there is no such context.
    without = "<script>HTMLCanvasElement.prototype.getContext = () => null</script></head>"
    (tmp_path / "off.html").write_text(text.replace("</head>", without, 1), encoding="utf-8")
    with page_of(chromium, tmp_path / "off.html", offline=True) as tab:
        tab.page.wait_for_selector("[role=alert]")
        assert "WebGL" in tab.page.inner_text("[role=alert]")
