"""Scenes as JSON and well-known text: both ways, told apart from other JSON, errors that name the place."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import marey
from marey.crowd import scenes as presets
from marey.crowd.scenes import Scene
from marey.errors import FormatError, InputError, MareyError
from marey.io import format_of, scene_json
from marey.io.scene_json import from_wkt, to_wkt

ROOM: dict[str, Any] = {
    "size": [20, 10],
    "obstacles": [[9, 0, 10, 4], [[9, 6], [10, 6], [10, 10], [9, 10]]],
    "goals": {"east": {"area": [18, 0, 20, 10]}},
    "groups": [{"people": 20, "start": [1, 1, 7, 9], "goal": "east", "speed": 1.5}],
    "hold": 1,
}


def written(folder: Path, content: Any) -> Path:
    path = folder / "room.json"
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


@pytest.mark.parametrize("name", presets.SCENES)
def test_every_preset_reads_back_as_it_was(tmp_path: Path, name: str) -> None:
    scene = presets.preset(name, panic=True)
    marey.save(scene, tmp_path / "scene.json")
    assert scene_json.to_json(marey.load(tmp_path / "scene.json")) == scene_json.to_json(scene)
    marey.save(scene, tmp_path / "scene.mry")
    assert scene_json.to_json(marey.load(tmp_path / "scene.mry")) == scene_json.to_json(scene)


def test_a_scene_written_by_hand_is_read(tmp_path: Path) -> None:
    scene = marey.load(written(tmp_path, ROOM))
    assert scene.name == "room" and scene.hold == 1 and scene.seconds == 30
    assert scene.obstacles[0].tolist() == [[9, 0], [10, 0], [10, 4], [9, 4]]
    assert scene.groups[0].speed == 1.5


def test_scenes_and_clips_in_json_are_told_apart(tmp_path: Path) -> None:
    assert format_of(written(tmp_path, ROOM)).module == "scene_json"
    assert format_of(written(tmp_path, {"Loop": "wrap", "Frames": [[0.1] * 44]})).module == "deepmimic"


def changed(**changes: Any) -> dict[str, Any]:
    return {key: value for key, value in {**ROOM, **changes}.items() if value is not None}


GROUP = ROOM["groups"][0]


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("{", "room.json:1: not JSON"),
        ([1], "expected an object with size, obstacles, .* found "),
        (changed(size=None), r"size is missing: \[width, depth\] in metres"),
        (changed(size=[20, -1]), "its size is 20 × -1 m"),
        (changed(size=[True, 3]), r"size\[0\]: expected a number, found true"),
        (changed(wals=[]), "unknown key 'wals'; known are size, obstacles"),
        (changed(obstacles=[[1, 2, 3]]), r"obstacles\[0\]: expected corners .* found \[1.0, 2.0, 3.0\]"),
        (changed(obstacles=[[5, 0, 4, 1]]), r"obstacles\[0\]: a rectangle is \[west, south, east, north\]"),
        (changed(obstacles=[[[0, 0], [1, 1], [2, 2]]]), r"obstacles\[0\]: has no area: its corners lie"),
        (changed(obstacles=[[[0, 0], [1, 1], [1e9, 2]]]), "more than 100 km"),
        (changed(goals={"east": {}}), "goals.east: area is missing"),
        (
            changed(goals={"east": {"area": [0, 0, 1, 1], "kind": "fly"}}),
            "goals.east: kind 'fly': one of reach",
        ),
        (
            changed(goals={"east": {"area": [0, 0, 1, 1], "vanish": 1}}),
            "goals.east.vanish: expected true or false",
        ),
        (
            changed(groups=[{**GROUP, "goal": "west"}]),
            r"group 0: goal 'west' is not in the scene \(it has east\)",
        ),
        (
            changed(groups=[{**GROUP, "people": 2.5}]),
            r"groups\[0\].people: expected a whole number, found 2.5",
        ),
        (
            changed(groups=[GROUP, {**GROUP, "speed": "fast"}]),
            r'groups\[1\].speed: expected a number, found "fast"',
        ),
        (
            changed(groups=[{**GROUP, "rate": -1}]),
            r"groups\[0\]: rate: from 0 to",
        ),
        (changed(groups={}), "groups: expected a list, found {}"),
        (changed(hold="long"), 'hold: expected a number, found "long"'),
        (changed(walkable="POLYGON ((0 0, 1 0, 1 1))"), "walkable takes the place of size and obstacles"),
        ({"walkable": "POINT (1 1)"}, "holds a POINT; polygons"),
        ({"walkable": 3}, "walkable: expected text or null, found 3"),
    ],
)
def test_errors_name_the_file_and_the_place(tmp_path: Path, content: Any, told: str) -> None:
    with pytest.raises(FormatError, match=told) as caught:
        scene_json.read(written(tmp_path, content))
    assert "room.json" in str(caught.value) and "\n" not in str(caught.value)


def test_a_walkable_area_becomes_a_walled_ground(tmp_path: Path) -> None:
    shapely = pytest.importorskip("shapely")
    text = "POLYGON ((-3 -2, 5 -2, 5 3, 2 3, 2 1, -3 1, -3 -2), (0 -1, 1 -1, 1 0, 0 0, 0 -1))"
    content = {
        "walkable": text,
        "goals": {"out": {"area": [4, 2, 5, 3]}},
        "groups": [{"people": 5, "start": [-2.5, -1.5, -0.5, 0.5], "goal": "out"}],
    }
    scene = scene_json.read(written(tmp_path, content))
    assert scene.size == (9, 6)
    back = shapely.from_wkt(scene_json.walkable_wkt(scene))
    moved = shapely.affinity.translate(shapely.from_wkt(text), 3.5, 2.5)
    assert back.symmetric_difference(moved).area < 1e-9
    assert scene.goals["out"].area[0].tolist() == [7.5, 4.5]
    crowd = marey.crowd.simulate(scene, seconds=30, frame_rate=10)
    assert crowd.departed == 5


def test_pedpy_and_shapely_read_our_walkable_areas() -> None:
    shapely = pytest.importorskip("shapely")
    for name in presets.SCENES:
        scene = presets.preset(name)
        ground = shapely.from_wkt(scene_json.walkable_wkt(scene))
        walls = shapely.union_all([shapely.Polygon(wall) for wall in scene.obstacles])
        assert ground.is_valid and ground.area == pytest.approx(scene.size[0] * scene.size[1] - walls.area)
    with pytest.raises(InputError, match="all walls"):
        scene_json.walkable_wkt(Scene((2, 2), [[[-1, -1], [3, -1], [3, 3], [-1, 3]]]))


def test_well_known_text_of_several_polygons_goes_both_ways() -> None:
    text = "MULTIPOLYGON (((0 0, 2 0, 2 2, 0 0)), ((5 5, 9 5, 9 9.25, 5 5), (8 6, 8.5 6, 8.5 6.25, 8 6)))"
    regions = from_wkt(text)
    assert [len(holes) for _, holes in regions] == [0, 1] and to_wkt(regions) == text
    inner = (
        text.removeprefix("MULTIPOLYGON (")
        .removesuffix(")")
        .replace("((0", "POLYGON ((0")
        .replace("((5", "POLYGON ((5")
    )
    again = from_wkt(f"GEOMETRYCOLLECTION ({inner})")
    np.testing.assert_array_equal(again[1][0], regions[1][0])


@settings(max_examples=150)
@given(st.text(alphabet="POLYGNMUTI (),0123456789.-e", max_size=60))
def test_any_text_is_read_or_refused_in_words(text: str) -> None:
    for one in (text, f"POLYGON (({text}))", f"MULTIPOLYGON (({text}"):
        try:
            from_wkt(one)
        except MareyError as error:
            assert "\n" not in str(error)


JSON = st.recursive(
    st.none() | st.booleans() | st.floats(allow_nan=False) | st.integers() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=150)
@given(key=st.sampled_from([*ROOM, "walkable", "name", "seconds"]), value=JSON, deep=st.booleans())
def test_any_value_anywhere_is_read_or_refused_in_words(key: str, value: Any, deep: bool) -> None:
    content: dict[str, Any] = {**ROOM, key: value}
    if deep:
        content = {**ROOM, "groups": [{**GROUP, "start": value, "people": value}], "goals": {"east": value}}
    try:
        scene_json.from_json(json.dumps(content).encode(), Path("room.json"))
    except MareyError as error:
        assert "\n" not in str(error)


def test_a_walkable_area_as_text_is_a_scene(tmp_path):
    (tmp_path / "hall.wkt").write_text("POLYGON ((0 0, 9 0, 9 4, 0 4, 0 0))\n")
    scene = marey.load(tmp_path / "hall.wkt")
    assert scene.name == "hall" and scene.size == (10.0, 5.0)
    (tmp_path / "bad.wkt").write_text("POLYGON ((0 0")
    with pytest.raises(FormatError, match=r"bad\.wkt: well-known text"):
        marey.load(tmp_path / "bad.wkt")
