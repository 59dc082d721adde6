"""Cameras in files: Tsai XML, homographies as text, JSON."""

from __future__ import annotations

import contextlib
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from marey.crowd import Tracks
from marey.crowd.cameras import Camera, Homography, orthographic
from marey.errors import FormatError, InputError, MareyError
from marey.io import cameras

TSAI = """<?xml version="1.0"?>
<Camera name="hall">
 <Geometry width="640" height="480" dpx="0.006" dpy="0.005"/>
 <Intrinsic focal="6.0" kappa1="0.004" cx="320" cy="240" sx="1.02"/>
 <Extrinsic tx="0" ty="0" tz="10000" rx="3.14159265358979" ry="0" rz="0"/>
</Camera>
"""


def test_a_tsai_file_gives_metres_and_a_bent_lens(tmp_path):
    path = tmp_path / "hall.xml"
    path.write_text(TSAI)
    camera = cameras.read(path)
    assert isinstance(camera, Camera)
    assert np.allclose(camera.position, [0, 0, 10])
    assert camera.intrinsics[0, 0] == pytest.approx(6.0 * 1.02 / 0.006)
    assert camera.intrinsics[1, 1] == pytest.approx(6.0 / 0.005)
    # By hand: a pixel 100 columns right of the axis is 100 · 0.006 / 1.02 mm on the sensor, bent.
    sensor = 100 * 0.006 / 1.02
    straight = sensor * (1 + 0.004 * sensor**2)
    assert camera.to_ground([420.0, 240.0])[0] == pytest.approx(10 * straight / 6.0)


def test_cameras_come_back_from_json_exactly(tmp_path):
    camera = Camera.looking((1, -9, 5), (2, 3, 0), size=(640, 480), field_of_view=0.8, name="side")
    camera = Camera(camera.intrinsics, camera.rotation, camera.translation, camera.size, (0.1, -0.02), "side")
    cameras.write(camera, tmp_path / "camera.json")
    again = cameras.read(tmp_path / "camera.json")
    assert isinstance(again, Camera)
    for name in ("intrinsics", "rotation", "translation"):
        assert np.array_equal(getattr(again, name), getattr(camera, name))
    assert (again.size, again.distortion, again.name) == (camera.size, camera.distortion, "side")
    cameras.write(Homography(orthographic(0.1), "top"), tmp_path / "top.json")
    assert np.array_equal(cameras.read(tmp_path / "top.json").homography, orthographic(0.1))


def test_a_homography_as_text_takes_rows_first_unless_told(tmp_path):
    path = tmp_path / "H.txt"
    path.write_text("1 0 0\n0 2 0\n0 0 1\n")
    assert cameras.read(path).to_ground([3.0, 5.0]).tolist() == [5.0, 6.0]
    assert cameras.read(path, order="column-row").to_ground([3.0, 5.0]).tolist() == [3.0, 10.0]
    with pytest.raises(InputError, match="row-column"):
        cameras.read(path, order="xy")


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (TSAI.replace('focal="6.0"', ""), "no focal"),
        (TSAI.replace("6.0", "six"), "not a number"),
        (TSAI.replace('dpx="0.006"', 'dpx="0"'), "must be positive"),
        (TSAI.replace("<Extrinsic", "<Extern"), "no <Extrinsic>"),
        ('<!DOCTYPE x [<!ENTITY a "b">]><Camera/>', "document type"),
        ("<html></html>", "no <Camera>"),
        ("<Camera", "not XML"),
        ("1 2 3 4", "nine numbers"),
        ("1 2 3 4 5 6 7 8 x", "not a number"),
        ("1 2 3 1 2 3 1 2 3", "singular"),
        ("{}", "neither"),
        ("{", "not JSON"),
        ('{"kind": "camera", "size": "large"}', 'size: expected a list, found "large"'),
        ('{"kind": "camera"}', "size is missing"),
        ('{"kind": "homography", "matrix": [[1, 0], [0, 1]]}', "expected a list of length 3"),
        ("", "empty"),
    ],
)
def test_bad_files_are_refused_in_words(tmp_path, content, words):
    path = tmp_path / "camera.txt"
    path.write_text(content)
    with pytest.raises(FormatError, match=words) as refused:
        cameras.read(path)
    assert str(path) in str(refused.value)


@given(st.binary(max_size=200), st.integers(0, len(TSAI)))
@settings(deadline=None, max_examples=80)
def test_damaged_files_never_crash(tmp_path_factory, junk, cut):
    path = tmp_path_factory.mktemp("cameras") / "camera.xml"
    for content in (TSAI.encode()[:cut] + junk, b"{" + junk, junk or b" "):
        path.write_bytes(content)
        with contextlib.suppress(MareyError):
            cameras.read(path)


def test_pets_people_stand_tall_and_walk_at_human_speed(data_dir):
    folder = data_dir / "crowd" / "pets2009_s2l1"
    camera = cameras.read(folder / "View_001.xml")
    rows = []
    for frame in ElementTree.parse(folder / "PETS2009-S2L1.xml").getroot():
        for person in frame.iter("object"):
            box = {key: float(value) for key, value in person.find("box").attrib.items()}
            feet = box["xc"], box["yc"] + box["h"] / 2
            rows.append((int(frame.get("number")), int(person.get("id")), *feet, box["h"]))
    table = np.array(rows)
    ground = camera.to_ground(table[:, 2:4])
    heads = camera.project(np.column_stack([ground, np.full(len(ground), 1.75)]))
    assert np.median((table[:, 3] - heads[:, 1]) / table[:, 4]) == pytest.approx(1.0, abs=0.05)
    for rate in (7, 10):
        tracks = Tracks.from_rows(table[:, 0], table[:, 1], ground[:, 0], ground[:, 1], rate)
        apart = np.linalg.norm(tracks.positions[rate:] - tracks.positions[:-rate], axis=-1)
        walking = apart[np.isfinite(apart) & (apart > 0.3)]
        assert 0.9 < np.median(walking) < 1.6


@pytest.mark.parametrize("recording", ["eth_seq_eth", "ucy_zara01"])
def test_eth_and_ucy_people_are_in_their_picture(data_dir, recording):
    import cv2

    folder = data_dir / "crowd" / recording
    camera = cameras.read(folder / "H.txt")
    rows, columns = cv2.imread(str(folder / "reference.png")).shape[:2]
    places = np.loadtxt(folder / "obsmat.txt")[:, [2, 4]]
    column, row = camera.to_image(places).T
    assert np.mean((column >= 0) & (column < columns) & (row >= 0) & (row < rows)) > 0.99
    assert camera.name == recording
