"""A real browser for the tests: Chromium without a window, with software WebGL.

One browser serves a whole session (the fixture `chromium`); `page_of` opens a page that remembers what went
wrong in it, and `keep_screenshot` leaves a picture in `test-artefacts/` to look at afterwards.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Locator, Page

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
ARTEFACTS = Path(__file__).resolve().parents[1] / "test-artefacts"
# Seconds until waiting for anything fails: only a machine that is hopelessly busy takes as long.
LONG = 900.0
DESKTOP, PHONE = (1280, 720), (390, 844)
ARGUMENTS = (
    "--no-sandbox",
    "--disable-background-networking",
    "--disable-component-update",
    "--no-first-run",
    "--use-angle=swiftshader",
    "--enable-unsafe-swiftshader",
    "--ignore-gpu-blocklist",
)
# A browser asks for this by itself; no page of ours is to blame.
UNASKED = ("/favicon.ico",)


@dataclass(frozen=True)
class Tab:
    """A page of the browser, and what happened in it."""

    page: Page
    errors: list[str] = field(default_factory=list)
    """Errors in the console, and exceptions nobody caught."""
    requests: list[str] = field(default_factory=list)
    """Addresses asked for, besides the page itself and what it holds (data: and blob:)."""


@contextmanager
def opened_chromium() -> Iterator[Browser]:
    """A browser, closed at the end; the test is skipped where there is none."""
    program = next((found for name in BROWSERS if (found := shutil.which(name))), None)
    if program is None:
        pytest.skip(f"no browser here (looked for {', '.join(BROWSERS)})")
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=program, args=list(ARGUMENTS), timeout=1000 * LONG)
        try:
            yield browser
        finally:
            browser.close()


@contextmanager
def page_of(
    browser: Browser,
    address: str | Path,
    *,
    size: tuple[int, int] = DESKTOP,
    offline: bool = False,
    dark: bool = False,
    seconds: float = LONG,
) -> Iterator[Tab]:
    """The page at an address (or of a file), in a context of its own that is closed at the end.

    size: (columns, rows) of the viewport in pixels
    offline: without any network
    dark: the reader prefers dark pages
    seconds: until waiting for anything fails
    """
    url = address.resolve().as_uri() if isinstance(address, Path) else address
    context = browser.new_context(
        viewport={"width": size[0], "height": size[1]}, color_scheme="dark" if dark else "light"
    )
    context.set_default_timeout(1000.0 * seconds)
    context.set_offline(offline)
    try:
        tab = Tab(context.new_page())
        tab.page.on("console", lambda line: _note(tab, line.type, line.text, line.location.get("url", "")))
        tab.page.on("pageerror", lambda error: tab.errors.append(str(error)))
        tab.page.on("request", lambda request: _ask(tab, request.url, url))
        tab.page.goto(url)
        yield tab
    finally:
        context.close()


def until(tab: Tab, condition: Callable[[], bool], seconds: float = LONG) -> None:
    """Wait for something to become true in Python, letting the page run."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return
        tab.page.wait_for_timeout(50)
    keep_screenshot(tab.page, "waited-in-vain")
    raise AssertionError("waited in vain")


def keep_screenshot(page: Page | Locator, name: str) -> Path:
    """A picture of a page, or of one element of it, as `test-artefacts/NAME.png`."""
    ARTEFACTS.mkdir(exist_ok=True)
    path = ARTEFACTS / f"{name}.png"
    page.screenshot(path=path)
    return path


def _note(tab: Tab, kind: str, text: str, url: str) -> None:
    if kind == "error" and not url.endswith(UNASKED):
        tab.errors.append(text)


def _ask(tab: Tab, asked: str, own: str) -> None:
    if asked.split("#")[0] != own.split("#")[0] and not asked.startswith(("data:", "blob:")):
        tab.requests.append(asked)
