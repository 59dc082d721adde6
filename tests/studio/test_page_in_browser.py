"""The studio's page in a real browser: open one's own file, play, undo, export, with mouse and with keys."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import numpy as np
import pytest

import marey
from marey.studio import server
from marey.studio.app import Studio
from marey.studio.settings import Limits
from tests.browser import DESKTOP, PHONE, Tab, keep_screenshot, page_of, until

if TYPE_CHECKING:
    from playwright.sync_api import Browser


@pytest.fixture(scope="module")
def tab(chromium: Browser, studio: Studio) -> Iterator[Tab]:
    with page_of(chromium, studio.address, size=(800, 600)) as opened:
        opened.page.get_by_role("button", name="Play").wait_for()
        yield opened
        assert not opened.errors
        assert {urlsplit(address).netloc for address in opened.requests} <= {urlsplit(studio.address).netloc}


def test_one_s_own_bvh_is_shown_after_choosing_it(tab: Tab, studio: Studio, tmp_path: Path) -> None:
    marey.save(marey.samples.walk(1, speed=1.1), tmp_path / "my own walk.bvh")
    tab.page.get_by_text("Open", exact=True).click()
    tab.page.set_input_files("input[type=file]", tmp_path / "my own walk.bvh")
    until(tab, lambda: studio.active.name == "my own walk.bvh")
    tab.page.get_by_text("my own walk.bvh").first.wait_for()
    assert studio.workspace.timeline.frames == marey.samples.walk(1, speed=1.1).frames


def test_a_file_beyond_the_limit_is_dropped_with_a_notice(
    tab: Tab, studio: Studio, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "LIMITS", Limits(upload_bytes=1 << 20))
    (tmp_path / "large.bvh").write_bytes(b"x" * (2 << 20))
    shown = studio.active.name
    tab.page.set_input_files("input[type=file]", tmp_path / "large.bvh")
    tab.page.get_by_text("Too large").first.wait_for()
    assert studio.active.name == shown
    assert not studio.server.gui._current_file_upload_states


def test_what_is_no_motion_is_told_in_a_notice(tab: Tab, studio: Studio, tmp_path: Path) -> None:
    (tmp_path / "noise.bvh").write_bytes(np.random.default_rng(0).bytes(3000))
    tab.page.set_input_files("input[type=file]", tmp_path / "noise.bvh")
    tab.page.get_by_text("Not possible").first.wait_for()
    assert "noise.bvh" in studio.workspace.notices[-1].text


def test_keys_play_and_step(tab: Tab, studio: Studio) -> None:
    timeline = studio.workspace.timeline
    tab.page.mouse.click(40, 560)
    tab.page.keyboard.press("k")
    until(tab, lambda: timeline.playing and timeline.frame > 3)
    tab.page.keyboard.press("k")
    until(tab, lambda: not timeline.playing)
    frame = timeline.frame
    tab.page.keyboard.press("l")
    until(tab, lambda: timeline.frame == (frame + 1) % timeline.frames)


def test_no_notice_about_the_graphics_card_lies_over_the_page(tab: Tab, studio: Studio) -> None:
    # Drawn in software, as here, viser would show one when it starts, until it is closed.
    until(tab, lambda: bool(studio.server.get_clients()))
    assert not tab.page.get_by_text("Software WebGL").count()


def test_every_control_can_be_reached_by_the_tab_key(tab: Tab) -> None:
    reached = set()
    tab.page.mouse.click(40, 560)
    for _ in range(60):
        tab.page.keyboard.press("Tab")
        reached.add(tab.page.evaluate("document.activeElement.innerText || document.activeElement.tagName"))
    names = {name.strip() for name in reached}
    assert {"Body", "Surface", "Crowd", "Open", "Modes", "Variants", "Export"} <= names
    assert names & {"Play", "Pause"}


def test_what_is_shown_can_be_taken_away(tab: Tab, studio: Studio, tmp_path: Path) -> None:
    with tab.page.expect_download() as download:
        tab.page.get_by_role("button", name="Export").click()
    path = tmp_path / download.value.suggested_filename
    download.value.save_as(path)
    taken = marey.load(path)
    assert taken.frames == studio.workspace.timeline.frames


@pytest.mark.parametrize(("name", "size"), [("desktop", DESKTOP), ("phone", PHONE)])
def test_the_page_is_readable_at_both_widths(tab: Tab, name: str, size: tuple[int, int]) -> None:
    tab.page.set_viewport_size({"width": size[0], "height": size[1]})
    play = tab.page.get_by_role("button", name="Play")

    def fits() -> bool:
        box = play.bounding_box()
        inside = box is not None and box["x"] >= 0 and box["x"] + box["width"] <= size[0]
        return inside and tab.page.evaluate("document.documentElement.scrollWidth") <= size[0]

    until(tab, fits)
    keep_screenshot(tab.page, f"studio-{name}")
