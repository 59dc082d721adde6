"""Datasets of filmed crowds: what is written is read back, agrees with itself, and is whole or not there."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from marey.crowd.cameras import Camera
from marey.crowd.density import DensityGrid
from marey.crowd.polygons import rectangle
from marey.crowd.scenes import Goal, Group, Scene
from marey.crowd.simulation.simulate import simulate
from marey.errors import FormatError, InputError
from marey.filming import Dataset, film_crowd, read_dataset, write_dataset
from marey.filming.renderer import background
from marey.filming.truth import BODY_HEIGHT, CrowdFlow

SIZE = (96, 72)


def small_scene() -> Scene:
    walls = (rectangle(0, 0, 12, 0.5), rectangle(6, 3, 7, 4))
    goals = {"east": Goal(rectangle(11, 0.5, 12, 6))}
    return Scene((12, 6), walls, goals, (Group(10, rectangle(1, 1, 4, 5.5), "east"),), hold=0.2, name="yard")


@pytest.fixture(scope="module")
def filmed(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    folder = tmp_path_factory.mktemp("films") / "yard"
    report = write_dataset(
        small_scene(), folder, views=("above", "side"), shading=("on", "off"), size=SIZE, seconds=1.0, rng=3
    )
    assert (report.frames, report.people) == (26, 10)
    assert {"dataset.json", "above/shaded.mp4", "side/flat.mp4", "side/flow.zarr"} <= set(report.files)
    return read_dataset(folder)


def test_a_dataset_reads_back_as_it_was_simulated(filmed: Dataset) -> None:
    crowd = simulate(small_scene(), seconds=1.0, rng=3)
    np.testing.assert_allclose(filmed.tracks.positions, crowd.positions, atol=1e-5)
    assert filmed.scene.size == (12.0, 6.0) and len(filmed.scene.obstacles) == 2
    assert filmed.manifest["seed"] == 3 and len(filmed.people["stature"]) == 10
    assert set(filmed.views) == {"above", "side"}
    for view in filmed.views.values():
        assert view.footage("flat").frames == view.footage().frames == 26
        assert view.flow.frames == view.crowd_flow.frames == 25
        assert (view.flow.columns, view.flow.rows) == SIZE
        assert view.footage().read(3).shape == (72, 96, 3)


def test_films_fields_and_tables_agree(filmed: Dataset) -> None:
    for view in filmed.views.values():
        numbers = view.instance_ids()
        assert view.flow.foreground is not None
        np.testing.assert_array_equal(view.flow.foreground > 0, numbers[:-1] > 0)
        assert not view.flow.velocities[numbers[:-1] == 0].any()
        table = view.visibility
        order = np.asarray(filmed.manifest["ids"])
        for frame, person, pixels in zip(table["frame"], table["id"], table["pixels"], strict=True):
            number = int(np.flatnonzero(order == person)[0]) + 1
            assert np.count_nonzero(numbers[int(frame)] == number) == pixels
        assert (table["share"] <= 1).all() and (table["whole"] > 0).all()


def test_the_density_counts_everyone(filmed: Dataset) -> None:
    assert filmed.ground_velocity.homography is not None
    spacing = filmed.ground_velocity.homography[0, 0]
    totals = np.nansum(filmed.density(), axis=(1, 2)) * spacing**2
    np.testing.assert_allclose(totals, filmed.tracks.present.sum(axis=1), rtol=0.01)
    assert filmed.density(name="vorticity").shape == filmed.density().shape


def test_the_mean_motion_in_the_image_is_the_ground_velocity_at_half_a_body() -> None:
    scene, camera = Scene((12, 6)), Camera.looking((6, -4, 6), (6, 3, 0), size=SIZE, field_of_view=0.9)
    ground = DensityGrid(scene)
    mean = CrowdFlow(ground, camera, background(scene, camera, shading=False), 25.0)
    cells = np.zeros((*ground.free.shape, 2), dtype=np.float32)
    cells[..., 0], cells[..., 1] = 0.2, -0.1  # 5 cm east and 2.5 cm north a frame
    flow, foreground = mean.image_of(cells, np.full(ground.free.shape, 255, dtype=np.uint8))
    row, column = 36, 50
    at = np.append(camera.to_ground([[column, row]], height=BODY_HEIGHT)[0], BODY_HEIGHT)
    expected = camera.project(at + np.array([0.05, 0.025, 0.0])) - camera.project(at)
    np.testing.assert_allclose(flow[row, column], expected, atol=1 / 128)
    assert foreground[row, column] == 255 and mean.mask.mean() > 0.2


def test_walls_hide_the_mean_motion_behind_them() -> None:
    camera = Camera.looking((6, -4, 2), (6, 3, 1), size=SIZE, field_of_view=0.9)
    masks = []
    for obstacles in ((), (rectangle(4, 1, 8, 1.5),)):
        scene = Scene((12, 6), obstacles)
        masks.append(
            CrowdFlow(DensityGrid(scene), camera, background(scene, camera, shading=False), 25.0).mask
        )
    assert masks[1].sum() < masks[0].sum() and not (masks[1] & ~masks[0]).any()


def test_same_seed_same_bytes_and_noise_changes_only_the_film(filmed: Dataset, tmp_path: Path) -> None:
    crowd = simulate(small_scene(), seconds=1.0, rng=3)
    above = filmed.views["above"].camera
    film_crowd(crowd, tmp_path / "again", cameras=[above], noise=8.0)
    again = read_dataset(tmp_path / "again")
    np.testing.assert_array_equal(again.views["above"].instance_ids(), filmed.views["above"].instance_ids())
    np.testing.assert_array_equal(again.views["above"].flow.velocities, filmed.views["above"].flow.velocities)
    clean, noisy = (data.views["above"].footage().read(5).astype(float) for data in (filmed, again))
    assert 3.0 < (noisy - clean).std() < 12.0


def test_a_folder_is_whole_or_not_there(tmp_path: Path) -> None:
    def stop(done: int, total: int) -> None:
        if done > 0.6 * total:
            raise InputError("stopped")

    with pytest.raises(InputError, match="stopped"):
        write_dataset(small_scene(), tmp_path / "part", size=SIZE, seconds=0.4, progress=stop)
    assert list(tmp_path.iterdir()) == []


def test_wrong_wishes_are_refused(tmp_path: Path) -> None:
    wishes: list[tuple[dict[str, Any], str]] = [
        ({"views": ("below",)}, "above, side"),
        ({"shading": ("dim",)}, "on, off"),
        ({"shading": ("on", "on")}, "twice"),
        ({"size": (8, 8)}, "16"),
        ({"size": (65, 48)}, "even"),
        ({"size": (0, 0)}, "even"),
        ({"seconds": 0.0}, "at least two"),
        ({"noise": -1.0}, "noise"),
        ({"views": ()}, "at least one"),
        ({"rng": -1}, "seed"),
    ]
    for options, message in wishes:
        with pytest.raises(InputError, match=message):
            write_dataset(small_scene(), tmp_path / "x", **{"seconds": 0.2, **options})


def test_folders_with_other_things_are_left_alone_before_any_work(tmp_path: Path) -> None:
    (tmp_path / "pictures").mkdir()
    (tmp_path / "pictures" / "sea.jpg").write_bytes(b"x")

    def begun(done: int, total: int) -> None:
        raise AssertionError("filming began")

    for name in ("pictures", "pictures/sea.jpg"):
        with pytest.raises(InputError, match="is a f"):
            write_dataset(small_scene(), tmp_path / name, size=SIZE, seconds=0.2, progress=begun)


def test_what_is_no_dataset_is_refused(filmed: Dataset, tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="no such file"):
        read_dataset(tmp_path)
    for content, message in (
        ("{", "not JSON"),
        ("[]", "no crowd dataset"),
        (json.dumps({**filmed.manifest, "version": 99}), "99"),
        (json.dumps({**filmed.manifest, "cameras": ["../etc"]}), "cameras"),
    ):
        (tmp_path / "dataset.json").write_text(content)
        with pytest.raises(FormatError, match=message):
            read_dataset(tmp_path)
    (tmp_path / "dataset.json").write_text(json.dumps(dict(filmed.manifest)))
    with pytest.raises(FormatError):
        _ = read_dataset(tmp_path).density()
    with pytest.raises(FormatError, match="shaded, flat"):
        filmed.views["above"].footage("night")
