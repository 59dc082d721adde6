"""Walking bodies in files: joints and skin where they were, valid for others, absent people not seen."""

from __future__ import annotations

import json
import shutil
import struct
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from numpy.typing import NDArray

import marey
from marey.body.kinematics import global_frames
from marey.errors import InputError
from marey.stage import WalkingCrowd, walk
from marey.views import view
from marey.views.pedestrians import bodies
from tests.browser import LONG, keep_screenshot, page_of, until

if TYPE_CHECKING:
    from playwright.sync_api import Browser

ROOT = Path(__file__).parents[2]
needs_node = pytest.mark.skipif(
    shutil.which("node") is None or not (ROOT / ".node/node_modules/three").is_dir(),
    reason="Node and three are needed (make .node/.ready)",
)


@pytest.fixture(scope="module")
def crowd() -> WalkingCrowd:
    tracks = marey.samples.crowd(people=5, seconds=3)
    places = np.array(tracks.positions)
    places[:25, 1] = np.nan
    return walk(marey.Tracks(places, tracks.frame_rate), rng=0)


@pytest.fixture(scope="module")
def glb(crowd: WalkingCrowd, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("walking") / "people.glb"
    crowd.save(path)
    return path


class File:
    """A GLB read by its specification alone."""

    def __init__(self, path: Path) -> None:
        data = path.read_bytes()
        length = struct.unpack_from("<I", data, 12)[0]
        self.json: dict[str, Any] = json.loads(data[20 : 20 + length])
        self.binary = data[28 + length :]

    def values(self, number: int) -> NDArray[np.float64]:
        accessor = self.json["accessors"][number]
        kind = {5122: "<i2", 5126: "<f4"}[accessor["componentType"]]
        width = {"SCALAR": 1, "VEC3": 3, "VEC4": 4}[accessor["type"]]
        view = self.json["bufferViews"][accessor["bufferView"]]
        start = view["byteOffset"] + accessor.get("byteOffset", 0)
        found = np.frombuffer(self.binary, kind, accessor["count"] * width, start).astype(float)
        return found.reshape(-1, width) / (32767 if accessor.get("normalized") else 1)

    def at(self, node: int, path: str, time: float) -> NDArray[np.float64] | None:
        animation = self.json["animations"][0]
        for channel in animation["channels"]:
            if channel["target"] == {"node": node, "path": path}:
                sampler = animation["samplers"][channel["sampler"]]
                times, values = self.values(sampler["input"])[:, 0], self.values(sampler["output"])
                if sampler.get("interpolation") == "STEP":
                    return np.asarray(values[max(np.searchsorted(times, time + 1e-6) - 1, 0)])
                return np.array([np.interp(time, times, column) for column in values.T])
        return None


def test_joints_in_the_file_are_where_they_were(crowd: WalkingCrowd, glb: Path) -> None:
    file = File(glb)
    assert len(file.json["skins"]) == crowd.people
    frame = 41
    for person in np.flatnonzero(crowd.present[frame])[:3]:
        skin = file.json["skins"][person]
        turns = np.stack([file.at(joint, "rotation", frame / crowd.frame_rate) for joint in skin["joints"]])
        turns /= np.linalg.norm(turns, axis=1, keepdims=True)
        root = file.at(skin["joints"][0], "translation", frame / crowd.frame_rate)
        offsets = [file.json["nodes"][joint]["translation"] for joint in skin["joints"]]
        size = file.json["nodes"][skin["skeleton"]]["scale"][0]
        found = size * global_frames(crowd.skeleton.parents, offsets, turns[:, [3, 0, 1, 2]], root).positions
        first = int(np.flatnonzero(crowd.present[:, person])[0])
        true = crowd.person(int(person)).positions()[frame - first]
        assert np.linalg.norm(found - true, axis=1).max() < 0.03
        feet = crowd.skeleton.indices(["LeftToeBase", "RightToeBase", "LeftFoot", "RightFoot"])
        assert np.linalg.norm(found - true, axis=1)[feet].max() < 2e-3


def test_who_is_absent_has_no_size(crowd: WalkingCrowd, glb: Path) -> None:
    file = File(glb)
    assert not crowd.present[0, 1] and crowd.present[-1, 1]
    top = file.json["skins"][1]["skeleton"]
    size = file.json["nodes"][top]["scale"]
    assert np.allclose(file.at(top, "scale", 0.0), 0.0)
    first = int(np.flatnonzero(crowd.present[:, 1])[0])
    assert np.allclose(file.at(top, "scale", (first - 0.5) / crowd.frame_rate), 0.0)
    assert np.allclose(file.at(top, "scale", first / crowd.frame_rate), size)


def test_geometry_is_stored_once_for_all(crowd: WalkingCrowd, glb: Path) -> None:
    file = File(glb)
    attributes = {json.dumps(p["attributes"]) for m in file.json["meshes"] for p in m["primitives"]}
    assert len(attributes) == 1
    assert len({skin["inverseBindMatrices"] for skin in file.json["skins"]}) == 1
    assert len({channel["sampler"] for channel in file.json["animations"][0]["channels"]}) > crowd.people


@needs_node
def test_the_khronos_validator_finds_nothing(glb: Path, crowd: WalkingCrowd, tmp_path: Path) -> None:
    crowd.save(tmp_path / "people.gltf")
    files = [str(glb), str(tmp_path / "people.gltf")]
    command = ["node", str(ROOT / "tools/validate_gltf.mjs"), *files]
    report = json.loads(subprocess.run(command, capture_output=True, text=True, check=False).stdout)
    assert [report[f]["errors"] + report[f]["warnings"] for f in files] == [0, 0], report


@needs_node
def test_three_shows_a_body_where_it_is(glb: Path, crowd: WalkingCrowd, tmp_path: Path) -> None:
    person = int(np.flatnonzero(crowd.present[[40, 48]].all(axis=0))[0])
    alone = tmp_path / "alone.glb"
    keep = [person]
    replace(
        crowd,
        rotations=crowd.rotations[:, keep],
        roots=crowd.roots[:, keep],
        sizes=crowd.sizes[keep],
        present=crowd.present[:, keep],
        ids=crowd.ids[keep],
        outfits=crowd.outfits[keep],
        heights=crowd.heights[keep],
    ).save(alone)
    frames = [40, 48]
    expected = {
        "times": [frame / crowd.frame_rate for frame in frames],
        "positions": [bodies(crowd, frame)[person].ravel().tolist() for frame in frames],
    }
    (tmp_path / "expected.json").write_text(json.dumps(expected))
    command = ["node", str(ROOT / "tools/check_three.mjs"), str(alone), str(tmp_path / "expected.json")]
    reported = subprocess.run(
        command, cwd=ROOT / ".node", capture_output=True, text=True, check=False, timeout=LONG
    )
    assert reported.returncode == 0, reported.stderr
    # Both are keys of all joints.
    assert float(reported.stdout) < 2e-3


def test_people_can_be_seen_as_a_picture_and_a_clip(crowd: WalkingCrowd, tmp_path: Path) -> None:
    view(crowd, tmp_path / "p.png", size=(320, 180))
    assert (tmp_path / "p.png").read_bytes()[1:4] == b"PNG"
    with pytest.raises(InputError, match="20 frames per second"):
        view(crowd, tmp_path / "p.mp4", frame_rate=50)


def test_a_page_of_bodies_plays_offline(crowd: WalkingCrowd, tmp_path: Path, chromium: Browser) -> None:
    view(crowd, tmp_path / "people.html")
    with page_of(chromium, tmp_path / "people.html", size=(640, 400), offline=True) as tab:
        tab.page.wait_for_selector("body[data-ready]")
        assert tab.page.evaluate("document.body.dataset.ready") == "true"
        tab.page.evaluate("marey.clock.seek(30)")
        before = tab.page.locator("canvas").screenshot()
        tab.page.evaluate("marey.clock.seek(48.5)")
        until(tab, lambda: tab.page.locator("canvas").screenshot() != before)
        keep_screenshot(tab.page, "walking-bodies")
        assert not tab.errors and not tab.requests


def test_other_endings_are_refused(crowd: WalkingCrowd, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"\.glb or \.gltf"):
        crowd.save(tmp_path / "people.fbx")
    assert not list(tmp_path.iterdir())
