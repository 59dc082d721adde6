"""The gallery's examples are made by their commands and show what these report, and its page shows it all."""

from __future__ import annotations

import re
import shlex
import shutil
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import marey
from marey.body import CompressedMotion, Motion, PoseModel
from marey.cli._worker import run as run_line
from marey.cli.main import app
from marey.demo import examples
from marey.demo.gallery import make_gallery
from marey.demo.page import Image, page
from marey.demo.page import Shown as ShownExample
from marey.errors import InputError
from tests.browser import PHONE, keep_screenshot, page_of
from tests.conftest import Shown


@pytest.fixture(scope="module")
def folder(demo: Shown) -> Path:
    return demo.folder


@pytest.fixture(scope="module")
def entries(demo: Shown) -> dict[str, dict[str, Any]]:
    """Exhibits by the file they show first."""
    return {entry["files"][0]: entry for entry in demo.said["entries"]}


def test_every_scale_has_examples_with_files_pictures_figures_and_commands(demo: Shown) -> None:
    scales = [entry["scale"] for entry in demo.said["entries"]]
    assert [scales.count(scale) for scale in dict.fromkeys(scales)] == [1, 3, 11, 5]
    assert [*dict.fromkeys(scales)] == ["Together", "Surfaces", "Bodies", "Crowds"]
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


def test_images_and_videos_keep_their_place_and_videos_have_posters(demo: Shown) -> None:
    text = (demo.folder / "index.html").read_text(encoding="utf-8")
    media = re.findall(r"<(?:img|video) [^>]*>", text)
    assert len(media) > 20
    for tag in media:
        assert re.search(r'width="\d+" height="\d+"', tag), tag
    posters = re.findall(r'poster="([^"]+)"', text)
    assert len(posters) == text.count("<video ") and all((demo.folder / name).exists() for name in posters)
    assert "http-equiv" not in text, "complete: no need to load again"


CHEAP = ("marey info", "marey body fit", "marey body compress", "marey body fill", "marey body reconstruct")


def test_the_numbers_shown_are_those_that_the_commands_report(demo: Shown, tmp_path: Path) -> None:
    checked = 0
    for example, entry in zip(examples.SAMPLES, demo.said["entries"], strict=True):
        if not example.commands[0].startswith(CHEAP):
            continue
        for name in demo.folder.iterdir():
            if name.is_file() and not (tmp_path / name.name).exists():
                shutil.copyfile(name, tmp_path / name.name)
        report = run_line(tmp_path, example.commands[0])
        for what, value in example.measured.items():
            timed = what.endswith(" in") or what == "time"
            if not timed and re.search(r"{[^0]", value) is None:
                assert value.format(report) == entry["measured"][what], (example.title, what)
                checked += 1
    assert checked > 10


def test_the_gallery_is_there_from_the_start_and_whole_when_it_is_interrupted(tmp_path: Path) -> None:
    seen: list[str] = []

    def run(folder: Path, line: str) -> dict[str, Any]:
        seen.append((tmp_path / "tour" / "index.html").read_text(encoding="utf-8"))
        if "compress" in line:
            raise KeyboardInterrupt
        return run_line(folder, line)

    named = {example.title: example for example in examples.SAMPLES}
    walk, packed = named["A walk"], named["A clip in {0[bytes]:,} bytes"]
    with pytest.raises(KeyboardInterrupt):
        make_gallery(tmp_path / "tour", [run], plan=(walk, packed))
    assert "0 of 2 examples" in seen[0] and 'http-equiv="refresh"' in seen[0]
    left = Page((tmp_path / "tour" / "index.html").read_text(encoding="utf-8"))
    assert left.tags.count("article") == 1
    assert all(
        (tmp_path / "tour" / name).exists() for name in left.asked if not name.startswith(("#", "data:"))
    )
    gallery = make_gallery(tmp_path / "tour", [run_line], plan=(walk,))
    assert [shown.title for shown in gallery.examples] == ["A walk"], "an earlier gallery may be made again"


def test_a_gallery_leaves_other_files_alone(tmp_path: Path) -> None:
    (tmp_path / "walk.bvh").write_text("mine")
    with pytest.raises(InputError, match="other things in it"):
        make_gallery(tmp_path, [run_line], plan=examples.SAMPLES[:1])
    assert (tmp_path / "walk.bvh").read_text() == "mine"


def test_names_and_texts_stay_text_on_the_page(tmp_path: Path) -> None:
    (tmp_path / "a & b.png").write_bytes(b"1")
    shown = ShownExample(
        "Bodies",
        "<b>",
        "5 < 6.",
        (Image("a & b.png", 'a "quoted" <i>'),),
        {"<u>": "1 & 2"},
        ("marey info <x>",),
    )
    text = page([shown], tmp_path, 1.0, 1)
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
    foot, other, head = (
        positions[:, motion.skeleton.index(name)] for name in ("LeftToeBase", "RightToeBase", "Head")
    )
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
    assert float(measured["off the path"].split()[0]) < 0.5
    frames, captured = map(int, re.findall(r"\d+", measured["frames"]))
    assert 0 < captured <= frames == marey.load(folder / "eight.glb").frames
