"""The gallery's chapters make what they show and say what they measured, and its page shows it all."""

from __future__ import annotations

import re
import shlex
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import marey
from marey.body import CompressedMotion, Motion, PoseModel
from marey.cli.main import app
from marey.demo import poses
from marey.demo.exhibit import Exhibit, Picture
from marey.demo.page import page
from tests.browser import PHONE, keep_screenshot, page_of
from tests.conftest import Shown


@pytest.fixture(scope="module")
def folder(demo: Shown) -> Path:
    return demo.folder


@pytest.fixture(scope="module")
def entries(demo: Shown) -> dict[str, dict[str, Any]]:
    """Exhibits by the file they show first."""
    return {entry["files"][0]: entry for entry in demo.said["entries"]}


def test_every_scale_has_exhibits_with_files_pictures_figures_and_commands(demo: Shown) -> None:
    scales = [entry["scale"] for entry in demo.said["entries"]]
    assert [scales.count(scale) for scale in dict.fromkeys(scales)] == [9, 3, 4, 1]
    assert [*dict.fromkeys(scales)] == ["Bodies", "Surfaces", "Crowds", "Together"]
    for entry in demo.said["entries"]:
        assert entry["files"][0].endswith((".mp4", ".png"))
        assert all((demo.folder / name).exists() for name in entry["files"])
        assert len(entry["measured"]) >= 2
        assert all(re.search(r"\d", value) for value in entry["measured"].values()), entry["title"]
        assert entry["commands"] and entry["text"].endswith((".", "!"))


def test_every_command_is_one_that_marey_understands(demo: Shown, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(demo.folder)
    said = [line for entry in demo.said["entries"] for line in entry["commands"]]
    assert len(said) > 20
    for line in said:
        name, *words = shlex.split(line)
        assert name == "marey"
        command: Any = app
        context = command.make_context("marey", list(words), resilient_parsing=False)
        while hasattr(command, "resolve_command"):
            _, command, words = command.resolve_command(context, words)
            context = command.make_context(command.name, list(words), parent=context)


class Page(HTMLParser):
    """What a page asks for, and which of its pictures say what they show."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.asked: list[str] = []
        self.silent: list[str] = []
        self.tags: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.tags.append(tag)
        address = given.get("src") or given.get("href")
        if address:
            self.asked.append(address)
        says = {"img": "alt", "video": "aria-label", "iframe": "title"}.get(tag)
        if says and not given.get(says):
            self.silent.append(str(address))


def test_the_page_shows_every_file_asks_for_nothing_else_and_says_what_pictures_show(demo: Shown) -> None:
    text = (demo.folder / "index.html").read_text(encoding="utf-8")
    found = Page(text)
    files = {name for entry in demo.said["entries"] for name in entry["files"]}
    assert files <= set(found.asked)
    others = {address for address in found.asked if not address.startswith(("#", "data:"))}
    assert others == files
    assert found.silent == []
    assert "http:" not in text and "https:" not in text and "@import" not in text
    assert "prefers-color-scheme: dark" in text and "width=device-width" in text
    assert found.tags.count("article") == len(demo.said["entries"])


def test_the_page_opens_offline_without_errors_and_fits_a_phone(demo: Shown, chromium: Any) -> None:
    with page_of(chromium, demo.folder / "index.html", size=PHONE, offline=True, dark=True) as tab:
        tab.page.wait_for_function("[...document.images].some((one) => one.naturalWidth > 0)")
        wide, paper = tab.page.evaluate(
            "[document.documentElement.scrollWidth, getComputedStyle(document.body).backgroundColor]"
        )
        keep_screenshot(tab.page, "gallery-phone")
    assert tab.errors == []
    assert all(asked.startswith("file:") for asked in tab.requests)
    assert wide <= PHONE[0] and paper == "rgb(27, 30, 34)"


def test_names_and_texts_stay_text_on_the_page(tmp_path: Path) -> None:
    (tmp_path / "a & b.png").write_bytes(b"1")
    exhibit = Exhibit(
        "<b>", "5 < 6.", (Picture("a & b.png", 'a "quoted" <i>'),), (("<u>", "1 & 2"),), ("marey info <x>",)
    )
    text = page({"Bodies": (exhibit,)}, tmp_path, 1.0)
    found = Page(text)
    assert {"b", "i", "u", "x"} & set(found.tags) == set()
    assert "a%20%26%20b.png" in found.asked


def test_the_stored_model_is_the_one_described(entries: dict[str, dict[str, Any]], folder: Path) -> None:
    model = marey.load(folder / "walk-model.mry")
    assert isinstance(model, PoseModel)
    assert entries["modes.png"]["measured"]["modes"].startswith(f"{model.modes} instead")


def test_the_led_foot_goes_around_and_the_rest_of_the_body_stays_upright(folder: Path) -> None:
    led = marey.load(folder / "handles.glb")
    motion = led if isinstance(led, Motion) else led.motion
    positions = motion.positions()
    foot, other, head = (positions[:, motion.skeleton.index(name)] for name in (*poses.FEET, "Head"))
    assert np.ptp(foot[:, 1]) > 0.2 and np.ptp(foot[:, 2]) > 0.5
    assert np.ptp(other, axis=0).max() < 0.05
    assert head[:, 1].min() > 1.3


def test_the_rebuilt_walk_is_near_the_truth_without_having_seen_it(
    entries: dict[str, dict[str, Any]], folder: Path
) -> None:
    said = re.match(r"([\d.]+) cm on average", entries["rebuilt.mp4"]["measured"]["joints off"])
    assert said is not None and float(said[1]) < 3
    rebuilt = marey.load(folder / "rebuilt.bvh")
    truth = marey.samples.walk(2.5, speed=1.3)
    off = np.linalg.norm(rebuilt.positions() - truth.positions(), axis=2).mean()
    assert float(said[1]) == pytest.approx(100 * off, abs=0.06)


def test_the_compressed_walk_has_the_size_and_error_in_its_caption(
    entries: dict[str, dict[str, Any]], folder: Path
) -> None:
    path = folder / "walk-1cm.mry"
    assert f"{path.stat().st_size:,} bytes" in entries["walk-1cm.mp4"]["title"]
    small = marey.load(path, compressed=True)
    assert isinstance(small, CompressedMotion) and small.bytes == path.stat().st_size
    off = np.linalg.norm(small.decode().positions() - marey.samples.walk(2.5).positions(), axis=2)
    assert off.max() <= 0.01


def test_the_directed_subject_keeps_to_its_path(entries: dict[str, dict[str, Any]], folder: Path) -> None:
    measured = entries["eight.mp4"]["measured"]
    assert float(measured["off the path"].split()[0]) < 50
    frames, captured = map(int, re.findall(r"\d+", measured["frames"]))
    assert 0 < captured <= frames == marey.load(folder / "eight.glb").frames
