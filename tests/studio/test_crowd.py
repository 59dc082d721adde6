"""The studio's crowd room, acted on as its controls do."""

from __future__ import annotations

import csv
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import marey
from marey import samples
from marey.crowd import scenes
from marey.crowd.cameras import orthographic
from marey.crowd.fields import FieldSeries
from marey.crowd.tracks import Tracks
from marey.studio.app import Studio
from marey.studio.crowd import tasks
from marey.studio.crowd.floor import Floor
from marey.studio.crowd.maps import FlowMaps, PeopleMaps
from marey.studio.crowd.obstacles import blocked, painted, walled
from marey.studio.crowd.people import packed
from marey.studio.crowd.room import CrowdRoom
from marey.studio.crowd.state import FrequencyGains, State, Stroke


def quiet(done: int, total: int) -> None:
    """Progress that is not shown."""


def stream(frames: int = 6, rows: int = 40, columns: int = 80) -> FieldSeries:
    """Everything flows to the right at 1.25 m/s, a pixel is 10 cm: 8 m by 4 m."""
    velocities = np.zeros((frames, rows, columns, 2), np.float32)
    velocities[..., 0] = 0.5
    return FieldSeries(velocities, 25.0, homography=orthographic(0.1), name="stream")


def shown(studio: Studio, thing: object) -> CrowdRoom:
    studio.workspace.notices.clear()
    studio.show(thing, "test")
    room = studio.active
    assert isinstance(room, CrowdRoom)
    return room


def embody(room: CrowdRoom, wanted: bool) -> None:
    """Tick the box as a user does."""
    room.display.bodies.value = wanted
    room.perform(room.display.change_bodies())


def complaints(studio: Studio) -> list[str]:
    return [notice.text for notice in studio.workspace.notices if notice.wrong]


def test_places_of_the_plan_go_to_the_scene_and_back() -> None:
    floor = Floor(np.array([-3.0, 5.0]), np.array([900.0, 80.0]))
    points = np.array([[0.0, 10.0], [500.0, 60.0]])
    assert floor.scale < 1.0
    np.testing.assert_allclose(floor.to_ground(floor.to_scene(points)[:, [0, 2]]), points, atol=1e-4)


def test_maps_of_a_flow_are_in_metres_and_seconds() -> None:
    fields = stream()
    rows, columns = np.mgrid[:40, :80]
    swirl = np.stack([-(rows - 19.5), columns - 39.5], axis=-1) * 0.02
    turning = replace(fields, velocities=np.tile(swirl, (6, 1, 1, 1)).astype(np.float32))
    state = State.of(fields)
    inner = (slice(20, -20), slice(20, -20))
    flow, known = FlowMaps(state.captured, state.floor).values("flow", 0)
    assert known[inner].all()
    np.testing.assert_allclose(flow[inner], np.broadcast_to([1.25, 0.0], flow[inner].shape), atol=1e-3)
    maps = FlowMaps(State.of(turning).captured, state.floor)
    # Solid rotation: twice the angular velocity, 0.02 a frame at 25 frames a second.
    np.testing.assert_allclose(maps.values("vorticity", 0)[0][inner], 1.0, rtol=0.05)
    np.testing.assert_allclose(maps.values("divergence", 0)[0][inner], 0.0, atol=0.05)


def test_the_density_of_a_flow_is_not_drawn_where_it_is_unknown() -> None:
    fields = stream()
    foreground = np.full(fields.velocities.shape[:3], 255, np.uint8)
    foreground[:, :, 40:] = 128
    state = State.of(replace(fields, foreground=foreground))
    _, known = FlowMaps(state.captured, state.floor).values("density", 0)
    middle, width = known[known.shape[0] // 2], known.shape[1]
    assert middle[width // 4 : width // 2 - 2].all() and not middle[width // 2 + 2 :].any()


def test_the_density_map_sums_to_the_people() -> None:
    tracks = samples.crowd(people=10, seconds=2)
    maps = PeopleMaps(tracks, Floor.round(tracks))
    density, _ = maps.values("density", 20)
    assert density.sum() * maps.ground.spacing**2 == pytest.approx(tracks.present[20].sum(), rel=0.02)


def test_strokes_block_a_flow_and_can_be_erased() -> None:
    state = State.of(stream())
    wall = Stroke(np.array([[4.0, -3.5], [4.0, -0.5]]), 0.3)
    solid = blocked(state.flow, replace(state, strokes=(wall,)))
    assert solid.mask is not None
    assert not solid.mask[10:30, 39:42].any() and solid.mask[:, :30].all()
    eraser = Stroke(wall.points, 1.0, erases=True)
    assert painted([wall, eraser]).is_empty


def test_people_never_stand_in_painted_obstacles() -> None:
    state = State.of(stream(columns=100))
    block = Stroke(np.array([[5.0, -2.0]]), 0.8)
    walked = tasks.walk(replace(state, strokes=(block,)), tasks.WalkSettings(people=30, seconds=4), quiet)
    assert walked.tracks is not None and walked.ours
    places = walked.tracks.positions[walked.tracks.present]
    assert np.linalg.norm(places - [5.0, -2.0], axis=1).min() > 0.7


def test_painted_obstacles_are_walls_of_a_place() -> None:
    state = State.of(scenes.preset("crossing"))
    ring = (Stroke(np.array([[16.0, 16.0]]), 3.0), Stroke(np.array([[16.0, 16.0]]), 1.5, erases=True))
    place = walled(state.scene, replace(state, strokes=ring))
    free = place.walkable(0.25)
    assert len(place.obstacles) == len(state.scene.obstacles) + 1
    assert free[64, 64] and not free[64, 64 + 9]


def test_slower_gains_calm_a_flow_and_report_what_is_kept() -> None:
    state = State.of(samples.field())
    calm, report = tasks.tune(state, FrequencyGains(medium=0.0, quick=0.0, keep=0.5))
    assert calm.flow.velocities.std(axis=0).mean() < 0.9 * state.flow.velocities.std(axis=0).mean()
    assert "%" in report and "MB" in report
    np.testing.assert_allclose(
        calm.flow.velocities.mean(axis=0), state.flow.velocities.mean(axis=0), atol=1e-4
    )


def test_people_on_tracks_make_a_flow_that_carries_others() -> None:
    tracks = samples.crowd(people=16, seconds=3)
    walked = tasks.walk(State.of(tracks), tasks.WalkSettings(people=15, seconds=2, avoid="none"), quiet)
    assert walked.flow is not None and walked.flow.frames == tracks.frames
    assert walked.tracks is not None and walked.tracks.present[0].sum() == 15
    low, high = walked.floor.low, walked.floor.high
    places = walked.tracks.positions[walked.tracks.present]
    assert (places >= low - 0.5).all() and (places <= high + 0.5).all()


def test_every_kind_of_crowd_opens(studio: Studio) -> None:
    film = samples.video(samples.crowd(people=5, seconds=1), pixels_per_metre=8)
    for thing in (film, stream(), samples.crowd(people=5, seconds=1), scenes.preset("escape")):
        room = shown(studio, thing)
        for label in ("flow", "speed", "density", "divergence", "vorticity", "video", "nothing"):
            room.display.map.value = label
            room.display.redraw()
        assert not complaints(studio)
        assert room.exports(room.state) or thing is film


def test_people_share_columns_only_long_after_each_other() -> None:
    positions = np.full((200, 4, 2), np.nan)
    for agent, (first, last) in enumerate([(0, 50), (60, 90), (120, 199), (10, 30)]):
        positions[first : last + 1, agent] = np.arange(last - first + 1)[:, None] * 0.05 + agent
    tracks = Tracks(positions, 25.0)
    few = packed(tracks).tracks
    assert few.agents == 3
    for frame in (0, 20, 55, 70, 150):
        there = tracks.positions[frame][tracks.present[frame]]
        np.testing.assert_array_equal(
            np.sort(few.positions[frame][few.present[frame]], axis=0), np.sort(there, axis=0)
        )
    speeds = few.velocities()[few.present]
    np.testing.assert_allclose(np.linalg.norm(speeds, axis=-1), 0.05 * 25 * np.sqrt(2))
    by_group = packed(tracks, np.array([0, 0, 1, 1]))
    assert by_group.groups is not None and by_group.groups.tolist() == [0, 0, 1]


def test_more_people_than_can_stand_there_are_remarked_upon(studio: Studio) -> None:
    room = shown(studio, stream(rows=10, columns=20))
    room.walk.people.value, room.walk.seconds.value = 40, 1.0
    room.walk.walk()
    assert studio.workspace.jobs.wait()
    assert any("square metre" in notice.text for notice in studio.workspace.notices)


def test_figures_stand_where_the_tracks_say(studio: Studio) -> None:
    tracks = samples.crowd(people=12, seconds=2)
    room = shown(studio, tracks)
    room.show(30)
    body = room.people.figures["body"]
    seen = body.batched_positions[body.batched_scales > 0]
    expected = room.state.floor.to_scene(tracks.positions[30, tracks.present[30]])
    np.testing.assert_allclose(np.sort(seen[:, 0]), np.sort(expected[:, 0]), atol=1e-4)
    assert len(room.people.figures["legs"].batched_positions) == 2 * len(body.batched_positions)


def test_capture_walk_paint_and_undo(studio: Studio) -> None:
    film = samples.video(samples.crowd(people=8, seconds=0.4), pixels_per_metre=8)
    room = shown(studio, film)
    room.capture.method.value, room.capture.size.value = "quick", "small"
    room.capture.width.value = 20.0
    room.capture.set_width()
    room.capture.capture()
    assert studio.workspace.jobs.wait() and room.state.flow is not None
    assert room.state.floor.size[0] == pytest.approx(20.0, rel=0.01)
    room.walk.people.value, room.walk.seconds.value = 20, 2.0
    room.walk.walk()
    assert studio.workspace.jobs.wait() and room.state.tracks is not None
    walked = room.state.tracks
    room.obstacles.brush.value = "paint"
    stroke = np.array([[-1.0, 0.0], [1.0, 0.0]])
    room.obstacles.draw(stroke, False)
    room.obstacles.draw(stroke, True)
    assert studio.workspace.jobs.wait()
    assert len(room.state.strokes) == 1 and room.state.tracks is not walked
    studio.undo()
    assert room.state.strokes == () and room.state.tracks is walked
    studio.undo()
    assert room.state.tracks is None and room.state.flow is not None
    studio.reset()
    assert room.state.flow is None and room.state.footage is film
    assert not complaints(studio)


def test_frequency_sliders_are_one_step_of_undo(studio: Studio) -> None:
    room = shown(studio, samples.field(rows=30, columns=40))
    before = room.state.flow
    for gain in (1.4, 1.9, 2.5):
        room.frequencies.tuner.submit(FrequencyGains(quick=gain))
        assert room.frequencies.tuner.wait()
    assert room.state.gains.quick == 2.5 and room.frequencies.quick.value == 2.5
    assert "%" in room.frequencies.kept.content
    studio.undo()
    assert room.state.flow is before and room.frequencies.quick.value == 1.0


def test_a_place_is_simulated(studio: Studio) -> None:
    room = shown(studio, scenes.preset("crossing"))
    room.walk.people.value, room.walk.seconds.value = 16, 4.0
    room.walk.walk()
    assert studio.workspace.jobs.wait() and room.state.simulated is not None
    assert room.state.simulated.tracks.frames == 101 and room.state.groups is not None


def test_odd_tracks_do_not_break_the_page(studio: Studio) -> None:
    once = Tracks(np.array([[[3.0, 4.0], [np.nan, np.nan]]]), 25.0)
    far = Tracks(np.array([[[0.0, 0.0]], [[5e5, 1.0]], [[np.nan, np.nan]]]), 1.0)
    for thing in (once, far, FieldSeries(np.zeros((1, 1, 2, 2)), 25.0)):
        room = shown(studio, thing)
        for label in ("density", "flow", "vorticity"):
            room.display.map.value = label
            room.display.redraw()
        assert not complaints(studio)


def test_walking_without_a_flow_says_what_to_do(studio: Studio) -> None:
    room = shown(studio, samples.video(samples.crowd(people=3, seconds=1), pixels_per_metre=8))
    room.walk.walk()
    assert studio.workspace.jobs.wait()
    assert complaints(studio) == ["there is no flow that could carry people: press Capture first"]


def test_exports_are_files_that_open_again(studio: Studio, tmp_path: Path) -> None:
    room = shown(studio, stream())
    room.walk.people.value, room.walk.seconds.value = 6, 1.0
    room.walk.walk()
    assert studio.workspace.jobs.wait()
    exports = {export.name: export for export in room.exports(room.state)}
    labels = [export.label for export in room.exports(room.state)]
    assert len(set(labels)) == len(labels), "the page cannot show two choices of one name"
    for name in ("people.csv", "flow.mry", "flow.zarr.zip", "density.csv", "bodies.glb"):
        exports[name].write(tmp_path / name, quiet)
    assert marey.load(tmp_path / "people.csv").frames == room.state.tracks.frames
    assert marey.load(tmp_path / "flow.mry").columns == 80
    assert all(
        name.startswith("flow.zarr/") for name in zipfile.ZipFile(tmp_path / "flow.zarr.zip").namelist()
    )
    with (tmp_path / "density.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert sum(float(row["mean_density_per_m2"]) for row in rows) > 0
    assert (tmp_path / "bodies.glb").read_bytes()[:4] == b"glTF"


def test_people_become_whole_bodies_and_figures_again(studio: Studio) -> None:
    tracks = samples.crowd(people=3, seconds=2)
    room = shown(studio, tracks)
    embody(room, True)
    assert studio.workspace.jobs.wait() and room.state.bodies is not None
    assert not room.people.figures["body"].visible
    room.show(25)
    vertices = np.concatenate([node.vertices for node in room.bodies.nodes])
    there = vertices[vertices[:, 1] > -100.0]
    people = room.state.floor.to_scene(tracks.positions[25, tracks.present[25]])
    away = np.linalg.norm(there[:, None, [0, 2]] - people[:, [0, 2]], axis=-1).min(axis=1)
    assert away.max() < 1.3 and -0.1 < there[:, 1].min() < 0.1 and 1.4 < there[:, 1].max() < 2.1
    embody(room, False)
    assert room.people.figures["body"].visible and not room.bodies.nodes


def test_too_many_people_stay_figures(studio: Studio) -> None:
    still = np.zeros((2, 101, 2)) + np.arange(101)[:, None]
    room = shown(studio, Tracks(still, 25.0))
    embody(room, True)
    assert studio.workspace.jobs.wait() and room.state.bodies is None
    assert "export" in complaints(studio)[0]


def test_what_is_painted_while_people_are_worked_out_stays(studio: Studio) -> None:
    room = shown(studio, stream())
    room.walk.people.value, room.walk.seconds.value = 10, 5.0
    with studio.workspace.lock:
        room.walk.walk()
        room.obstacles.draw(np.array([[0.0, 0.0]]), True)
    assert studio.workspace.jobs.wait()
    assert room.state.tracks is not None and len(room.state.strokes) == 1
