"""From a film to a field series, in memory and on disk."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

import marey
from marey.crowd import Camera, capture
from marey.crowd.analysis import divergence, vorticity
from marey.crowd.cameras import apply
from marey.crowd.capture import METHODS, capture_to, plan_capture
from marey.crowd.capture.capture import SETTINGS, data_weight
from marey.crowd.capture.framing import frame_footage, working_size
from marey.crowd.fields import FieldSeries
from marey.crowd.scales import crowd_flow
from marey.errors import InputError
from marey.io.drafts import FieldDraft
from tests.crowd.films import film, sliding, texture, walker_column, walkers


class Stopped(BaseException):
    """As Ctrl-C."""


def test_a_sliding_pattern_comes_out_as_its_shift_in_pixels_of_the_working_grid() -> None:
    for size, scale in ((None, 1.0), (64, 0.5), ((64, 96), (0.5, 1.0))):
        flow = capture(sliding(3), size=size, foreground=False)
        assert flow.frames == 2 and flow.foreground is None
        inner = flow.velocities[:, 8:-8, 8:-8].mean(axis=(0, 1, 2))
        np.testing.assert_allclose(inner, np.multiply((2.0, 1.0), scale), atol=0.05)


def test_the_longer_side_is_320_unless_the_film_is_smaller() -> None:
    assert working_size((1920, 1080), None) == (320, 180)
    assert working_size((200, 100), None) == (200, 100)
    assert working_size((1080, 1920), 640) == (360, 640)


@pytest.mark.parametrize("method", METHODS)
def test_every_method_captures(method: str) -> None:
    flow = capture(sliding(2, shift=(1.0, 0.5), rows=48, columns=64), method=method, foreground=False)
    np.testing.assert_allclose(np.median(flow.velocities[0, 8:-8, 8:-8], axis=(0, 1)), (1.0, 0.5), atol=0.1)


def test_threads_change_nothing_and_any_field_can_be_had_alone() -> None:
    plan = plan_capture(walkers(140), method="lk", size=60)
    alone = list(plan.fields(jobs=1))
    for index, (field, there) in enumerate(plan.fields(jobs=3)):
        np.testing.assert_array_equal(field, alone[index][0])
        np.testing.assert_array_equal(there, alone[index][1])
    assert index + 1 == plan.frames == 139
    ((field, there),) = plan.fields(77, 78, jobs=2)
    np.testing.assert_array_equal(field, alone[77][0])
    np.testing.assert_array_equal(there, alone[77][1])


def test_a_still_place_does_not_hold_people_back() -> None:
    footage = walkers(160)
    errors, covered = {}, []
    for foreground in (True, False):
        plan = plan_capture(footage, foreground=foreground)
        away = []
        for index, (field, there) in enumerate(plan.fields(60, 64)):
            for person in range(3):
                left = walker_column(60 + index, person)
                inside = field[13 + 16 * person : 21 + 16 * person, max(left + 2, 0) : max(left + 8, 0)]
                away += list(np.linalg.norm(inside.reshape(-1, 2) - (1.0, 0.0), axis=-1))
            covered += [] if there is None else [(there > 127).mean()]
        errors[foreground] = float(np.mean(away))
    # Without foreground too: a still place without noise does not make outliers of people.
    assert errors[True] < 0.05 and errors[False] < 0.05
    assert np.mean(covered) == pytest.approx(3 * 14 * 10 / (60 * 120), rel=0.4)


def test_data_count_fully_for_people_and_for_doubt_and_a_little_for_nobody() -> None:
    weight = data_weight(np.array([0, 128, 255], np.uint8))
    assert weight.tolist() == [pytest.approx(SETTINGS.empty_weight), 1.0, 1.0] and weight.dtype == np.float32


def test_a_film_of_a_second_does_not_tell_who_is_there() -> None:
    flow = capture(sliding(4, rows=32, columns=32), method="lk")
    assert flow.foreground is not None and (flow.foreground == 128).all()


def test_masks_are_arrays_of_any_size_or_polygons() -> None:
    footage = sliding(2, rows=96, columns=128)
    big, small = np.zeros((192, 256), dtype=bool), np.zeros((24, 32), dtype=np.uint8)
    big[:, 128:] = True
    small[:, 16:] = 255
    polygon = [(63.5, -0.5), (127.5, -0.5), (127.5, 95.5), (63.5, 95.5)]
    other = np.array([[0, 0], [10, 0], [10, 10]])
    for mask in (big, small, polygon, [polygon, np.add(polygon, (10.0, 0.0))]):
        found = frame_footage(footage, size=64, mask=mask).mask
        assert found is not None and not found[:, :31].any() and found[:, 33:].all()
    both = frame_footage(footage, size=64, mask=[polygon, other]).mask
    assert both is not None and both[1, 4]
    assert frame_footage(footage, mask=np.ones((4, 4), dtype=bool)).mask is None
    flow = capture(footage, size=64, mask=big, method="lk", foreground=False)
    assert flow.mask is not None and not flow.velocities[:, ~flow.mask].any()


def test_the_homography_belongs_to_the_working_grid() -> None:
    matrix = np.array([[0.05, 0.001, -2.0], [0.002, -0.04, 3.0], [1e-4, 2e-4, 1.0]])
    found = frame_footage(sliding(2, rows=96, columns=128), size=(32, 48), camera=matrix).homography
    assert found is not None
    # Pixel 0 of the small grid covers columns 0 to 3 and rows 0 and 1.
    np.testing.assert_allclose(apply(found, [0.0, 0.0]), apply(matrix, [1.5, 0.5]))
    np.testing.assert_allclose(apply(found, [31.0, 47.0]), apply(matrix, [125.5, 94.5]))


def test_a_lens_is_straightened_before_anything_is_measured() -> None:
    straight = Camera.looking((0, -6, 8), (0, 0, 0), size=(256, 192), field_of_view=1.0)
    lens = replace(straight, distortion=(0.25, 0.0))
    spots = np.array([[-2.0, -1.0, 0.0], [1.5, 1.0, 0.0], [2.0, -1.5, 0.0]])
    rows, columns = np.mgrid[:192, :256]

    def draw(_frame: int) -> np.ndarray:
        seen = lens.project(spots)
        return sum(200 * np.exp(-((columns - c) ** 2 + (rows - r) ** 2) / 18) for c, r in seen)

    grid = frame_footage(film(2, draw), size=128, camera=lens)
    picture = grid.grey(film(2, draw).read(0))
    assert grid.homography is not None
    for spot, (column, row) in zip(spots, (straight.project(spots) + 0.5) / 2 - 0.5, strict=True):
        near = np.hypot(*(np.mgrid[:96, :128] - np.array([row, column])[:, None, None])) < 6
        weights = np.where(near, picture, 0)
        centre = [(weights * grid).sum() / weights.sum() for grid in np.mgrid[:96, :128]]
        np.testing.assert_allclose(centre, (row, column), atol=0.1)
        np.testing.assert_allclose(apply(grid.homography, centre[::-1]), spot[:2], atol=0.02)
    raised = frame_footage(film(2, draw), size=128, camera=lens, plane_height=1.0).homography
    above = (straight.project([[0.5, 0.5, 1.0]])[0] + 0.5) / 2 - 0.5
    np.testing.assert_allclose(apply(raised, above), (0.5, 0.5), atol=1e-9)


def test_a_camera_of_another_resolution_fits_the_film() -> None:
    large = Camera.looking((0, -6, 8), (0, 0, 0), size=(256, 192), field_of_view=1.0)
    found = frame_footage(sliding(2, rows=96, columns=128), camera=large).homography
    pixel = (large.project([[0.7, -0.4, 0.0]])[0] + 0.5) / 2 - 0.5
    np.testing.assert_allclose(apply(found, pixel), (0.7, -0.4), atol=1e-9)


def test_fine_stripes_do_not_become_coarse_ones() -> None:
    stripes = np.where(np.arange(300) % 3 < 2, 200.0, 50.0)[None].repeat(90, axis=0)
    picture = frame_footage(film(2, lambda _: stripes), size=(25, 30)).grey(
        np.repeat(stripes[..., None], 3, axis=2).astype(np.uint8)
    )
    assert np.ptp(picture) < 1


def test_a_picture_shown_twice_has_no_motion() -> None:
    moving = sliding(4, rows=48, columns=48)
    pictures = [image[..., 0] for image in moving]
    flow = capture(film(4, lambda frame: pictures[min(frame, 2)]), method="dis", foreground=False)
    assert not flow.velocities[2].any() and flow.velocities[1].any()


def test_a_lost_frame_does_not_slow_its_neighbours() -> None:
    moving = sliding(30, rows=48, columns=64, shift=(0.5, 0.25))
    noise = np.random.default_rng(3).normal(size=(30, 48, 64)) * 4
    pictures = [image[..., 0] + more for image, more in zip(moving, noise, strict=True)]

    def draw(frame: int) -> NDArray[np.generic]:
        return np.asarray(pictures[15 if frame == 16 else frame])

    flow = capture(film(30, draw), foreground=False)
    assert not flow.velocities[15].any()
    inner = (slice(8, -8), slice(8, -20))
    for near in (8, 13, 17, 21):
        np.testing.assert_allclose(flow.velocities[near][inner].mean(axis=(0, 1)), (0.5, 0.25), atol=0.05)


def test_the_flow_of_the_crowd_is_the_same_at_once_and_later_and_from_any_frame_on() -> None:
    footage = walkers(130)
    matrix = np.diag([0.1, 0.1, 1.0])
    people, crowd = (capture(footage, scale=scale, camera=matrix) for scale in ("person", "crowd"))
    assert (people.scale, crowd.scale) == ("person", "crowd") and crowd_flow(crowd) is crowd
    np.testing.assert_array_equal(crowd_flow(people).velocities, crowd.velocities)
    plan = plan_capture(footage, scale="crowd", camera=matrix)
    ((field, seen),) = plan.fields(70, 71, jobs=2)
    np.testing.assert_array_equal(field, crowd.velocities[70])
    np.testing.assert_array_equal(seen, crowd.foreground[70])


def test_the_flow_of_the_crowd_is_that_of_people_where_they_are_and_near_them() -> None:
    velocities = np.zeros((20, 60, 80, 2), np.float32)
    foreground = np.zeros((20, 60, 80), np.uint8)
    # Two in three pixels of a disk are people who turn about its centre; the ground between them is at rest.
    y, x = np.mgrid[:60, :80] - np.array([30, 40]).reshape(2, 1, 1)
    people = (np.hypot(x, y) < 24) & ((x + 2 * y) % 3 > 0)
    velocities[:, people] = 0.02 * np.stack([-y, x], axis=-1)[people]
    foreground[:, people] = 255
    flow = crowd_flow(
        FieldSeries(velocities, 25, homography=np.diag([0.2, 0.2, 1]), foreground=foreground, scale="person")
    )
    found = flow.velocities[10]
    inner = np.hypot(x, y) < 14
    np.testing.assert_allclose(found[inner], 0.02 * np.stack([-y, x], axis=-1)[inner], atol=0.03)
    assert vorticity(found)[inner].mean() == pytest.approx(0.04, rel=0.1)
    assert np.abs(divergence(found)[inner]).mean() < 0.004


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": "magic"}, "one of default, divcurl, hs"),
        ({"alpha": 0.0, "method": "hs"}, "alpha 0: must be positive"),
        ({"alpha": float("nan"), "method": "divcurl"}, "must be positive"),
        ({"alpha": 3.0, "method": "lk"}, "alpha: lk has none"),
        ({"alpha": 3.0}, "alpha: default has none"),
        ({"scale": "all"}, "scale: one of person, crowd"),
        ({"size": (200, 50)}, "larger than the video, 128 × 96"),
        ({"size": 4}, "too small to see motion"),
        ({"mask": np.zeros((5, 5), dtype=bool)}, "nothing counts"),
        ({"mask": [[(0, 0), (1, 1)]]}, "three corners"),
        ({"mask": []}, "no polygon"),
        ({"camera": np.zeros((2, 3))}, r"expected shape \(3, 3\)"),
        ({"plane_height": 0.9}, "only a calibrated camera"),
        ({"jobs": 0}, "at least one"),
    ],
)
def test_what_cannot_be_captured_is_said(options: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        capture(sliding(2), **options)  # type: ignore[arg-type]


def test_one_picture_or_a_film_that_ends_early_is_refused() -> None:
    with pytest.raises(InputError, match="one image"):
        capture(sliding(1))
    footage = sliding(20, rows=32, columns=32)
    broken = replace(footage, open=lambda a, b, s: footage.open(a, min(b, 12), s))
    with pytest.raises(InputError, match="ends early, at image 12 of 20"):
        capture(broken, method="lk", foreground=False)


def test_a_series_too_long_for_memory_is_refused_before_the_work() -> None:
    endless = replace(sliding(2, rows=96, columns=128), frames=10**7)
    with pytest.raises(InputError, match="capture them to disk"):
        capture(endless, foreground=False)


def test_on_disk_it_is_the_same_as_in_memory(tmp_path: Path) -> None:
    footage = walkers(130)
    matrix = np.diag([0.1, 0.1, 1.0])
    mask = np.arange(120) > 20
    plan = plan_capture(footage, method="lk", size=60, camera=matrix, mask=np.tile(mask, (60, 1)))
    report = capture_to(plan, FieldDraft(tmp_path / "flow.zarr"))
    there = marey.load(tmp_path / "flow.zarr")
    here = capture(footage, method="lk", size=60, camera=matrix, mask=np.tile(mask, (60, 1)))
    for name in ("velocities", "foreground", "mask", "homography"):
        np.testing.assert_array_equal(getattr(there, name), getattr(here, name))
    speeds = np.linalg.norm(here.velocities, axis=-1)[:, here.mask]
    assert report.frames == 129 and report.resumed_at == 0 and report.repeated == 0
    assert report.speed_mean == pytest.approx(speeds.mean(), rel=1e-5)
    assert report.speed_max == pytest.approx(speeds.max(), rel=1e-5)
    assert report.foreground_share == pytest.approx(here.foreground[:, here.mask].mean() / 255, rel=1e-5)
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["flow.zarr"]


def test_an_interrupted_capture_is_resumed_bit_for_bit(tmp_path: Path) -> None:
    plan = plan_capture(sliding(60, shift=(0.5, 0.0), rows=150, columns=200), method="dis")
    capture_to(plan, FieldDraft(tmp_path / "whole.zarr"), jobs=2)
    target = tmp_path / "part.zarr"

    def stop_at(frame: int) -> object:
        def progress(done: int, _total: int) -> None:
            if done == frame:
                raise Stopped

        return progress

    for stop in (30, 50):
        with pytest.raises(Stopped):
            capture_to(plan, FieldDraft(target, resume=True), progress=stop_at(stop))  # type: ignore[arg-type]
        assert not target.exists() and FieldDraft(target).draft.is_dir()
    with pytest.raises(InputError, match="is an interrupted capture"):
        capture_to(plan, FieldDraft(target))
    other = plan_capture(plan.footage, method="dis", size=100)
    with pytest.raises(InputError, match="another size"):
        capture_to(other, FieldDraft(target, resume=True))
    report = capture_to(plan, FieldDraft(target, resume=True), jobs=1)
    assert 30 < report.resumed_at < 50 and report.frames == 59
    files = {path.relative_to(target): path for path in target.rglob("*") if path.is_file()}
    whole = tmp_path / "whole.zarr"
    assert files.keys() == {path.relative_to(whole) for path in whole.rglob("*") if path.is_file()}
    for name, path in files.items():
        assert path.read_bytes() == (whole / name).read_bytes(), name
    assert not FieldDraft(target).draft.exists()


def test_a_capture_that_fails_at_once_leaves_nothing(tmp_path: Path) -> None:
    footage = sliding(20, rows=32, columns=32)
    broken = replace(footage, open=lambda a, b, s: footage.open(a, min(b, 5), s))
    with pytest.raises(InputError, match="ends early"):
        capture_to(plan_capture(broken, method="lk"), FieldDraft(tmp_path / "flow.zarr"))
    assert list(tmp_path.iterdir()) == []


def test_other_formats_and_what_is_there_already(tmp_path: Path) -> None:
    plan = plan_capture(sliding(4, rows=48, columns=48), method="dis", foreground=False)
    for name in ("flow.mry", "flow_%02d.flo", "flow.zarr", "flow.zarr"):
        assert capture_to(plan, FieldDraft(tmp_path / name)).frames == 3
    assert marey.load(tmp_path / "flow.mry").frames == marey.load(tmp_path / "flow_%02d.flo").frames == 3
    assert sorted(e.name for e in tmp_path.glob("flow.*")) == ["flow.mry", "flow.zarr"]
    (tmp_path / "pictures.zarr").mkdir()
    (tmp_path / "pictures.zarr" / "holiday.jpg").write_bytes(b"sun")
    for name, message in (
        ("pictures.zarr", "other things in it"),
        ("flow.flo", "numbered name"),
        ("flow.txt", ".zarr, .mry or .flo"),
        ("none/flow.zarr", "there is no folder"),
    ):
        with pytest.raises(InputError, match=message):
            capture_to(plan, FieldDraft(tmp_path / name))
    assert (tmp_path / "pictures.zarr" / "holiday.jpg").read_bytes() == b"sun"


def test_pets_people_move_as_their_boxes_do(data_dir: Path) -> None:
    pytest.importorskip("av")
    footage = marey.load(data_dir / "crowd" / "pets2009_s2l1" / "vtest.avi")
    plan = plan_capture(footage, size=240)
    ((field, there),) = plan.fields(40, 41)
    assert there is not None and 0.005 < (there > 127).mean() < 0.1
    busy = there > 200
    assert np.hypot(*field[busy].T).mean() > 4 * np.hypot(*field[there == 0].T).mean()


def test_textures_for_these_tests_are_what_they_say() -> None:
    assert texture(40, 50).shape == (40, 50) and abs(float(texture(40, 50).mean()) - 128) < 25
