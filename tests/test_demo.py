"""The gallery's chapters make what they show and say what they measured."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import marey
from marey.body import CompressedMotion, Motion, PoseModel
from marey.demo import poses
from marey.demo.exhibit import Entry

CHAPTERS = [poses.modes, poses.handles, poses.trackers, poses.compression]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("gallery")


@pytest.fixture(scope="module")
def entries(folder: Path) -> dict[str, Entry]:
    return {chapter.__name__: chapter(folder) for chapter in CHAPTERS}


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_every_file_of_a_chapter_is_there_and_the_first_can_be_shown(
    chapter: Callable[[Path], Entry], entries: dict[str, Entry], folder: Path
) -> None:
    entry = entries[chapter.__name__]
    assert entry.files[0].endswith((".mp4", ".png"))
    assert all((folder / name).stat().st_size > 0 for name in entry.files)
    assert re.search(r"\d", entry.measured)


def test_the_stored_model_is_the_one_described(entries: dict[str, Entry], folder: Path) -> None:
    model = marey.load(folder / "walk-model.mry")
    assert isinstance(model, PoseModel)
    assert entries["modes"].measured.startswith(f"{model.modes} modes")


def test_the_led_foot_goes_around_and_the_rest_of_the_body_stays_upright(
    entries: dict[str, Entry], folder: Path
) -> None:
    led = marey.load(folder / "handles.glb")
    motion = led if isinstance(led, Motion) else led.motion
    positions = motion.positions()
    foot, other, head = (positions[:, motion.skeleton.index(name)] for name in (*poses.FEET, "Head"))
    assert np.ptp(foot[:, 1]) > 0.2 and np.ptp(foot[:, 2]) > 0.5
    assert np.ptp(other, axis=0).max() < 0.05
    assert head[:, 1].min() > 1.3


def test_the_rebuilt_walk_is_near_the_truth_without_having_seen_it(
    entries: dict[str, Entry], folder: Path
) -> None:
    said = re.search(r"joints are ([\d.]+) cm off", entries["trackers"].measured)
    assert said is not None and float(said[1]) < 3
    rebuilt = marey.load(folder / "rebuilt.bvh")
    truth = marey.samples.walk(2.5, speed=1.3)
    off = np.linalg.norm(rebuilt.positions() - truth.positions(), axis=2).mean()
    assert float(said[1]) == pytest.approx(100 * off, abs=0.06)


def test_the_compressed_walk_has_the_size_and_error_in_its_caption(
    entries: dict[str, Entry], folder: Path
) -> None:
    path = folder / "walk-1cm.mry"
    assert f"{path.stat().st_size:,} bytes" in entries["compression"].title
    small = marey.body.compress(marey.samples.walk(2.5), max_error=0.01)
    assert isinstance(small, CompressedMotion) and small.bytes == path.stat().st_size
    off = np.linalg.norm(marey.load(path).positions() - marey.samples.walk(2.5).positions(), axis=2)
    assert off.max() <= 0.01
