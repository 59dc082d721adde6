"""Foreground that is not known: neither people nor nobody, from the capture to what is measured of it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import marey
from marey.crowd.capture.framing import Background
from marey.crowd.codec import compress
from marey.crowd.density import DensityGrid
from marey.crowd.edit import edit
from marey.crowd.evaluation.fields import Truth, evaluate, flow_similarity
from marey.crowd.fields import FieldSeries
from marey.crowd.scenes import Scene
from marey.crowd.texture import cross_fade, join_at, learn
from marey.crowd.tiling import Patch, tile
from tests.cli.commands import result

UNKNOWN = 128


def flow(foreground: np.ndarray | int | None = None, seconds: float = 2) -> FieldSeries:
    fields = marey.samples.field(16, 24, seconds=seconds)
    if foreground is None:
        return fields
    return replace(fields, foreground=np.broadcast_to(np.uint8(foreground), fields.velocities.shape[:3]))


def halves(left: int, right: int) -> np.ndarray:
    return np.repeat([left, right], 12).astype(np.uint8)


def test_a_known_half_does_not_read_as_unknown() -> None:
    known = np.ones((40, 400), bool)
    known[20:] = False
    empty = np.full((40, 400), 100, np.float32)
    picture = empty.copy()
    picture[:, 250:] += np.linspace(10, 26, 150)
    seen = Background(empty, np.full_like(empty, 4.0), known).foreground(picture)
    assert (seen[20:] == UNKNOWN).all()
    assert not (seen[:20] == UNKNOWN).any() and 127 in seen and 255 in seen
    ground = DensityGrid(Scene((4, 4)), spacing=0.25)
    moment = ground.frame(np.zeros((0, 2)), np.zeros((0, 2)))
    dense = replace(moment, density=np.full_like(moment.density, 0.5 * 128 / 255))
    assert (ground.as_image(dense, 10)[1] == 127).all()


def test_slices_and_rates_take_what_is_known() -> None:
    foreground = np.empty((8, 16, 24), np.uint8)
    foreground[:4], foreground[4:] = [[[10]], [[UNKNOWN]], [[UNKNOWN]], [[UNKNOWN]]], 90
    fields = FieldSeries(np.zeros((8, 16, 24, 2)), 10, foreground=foreground)
    for new in (fields[::2], fields.resample(5)):
        assert new.foreground[:, 0, 0].tolist() == [10, UNKNOWN, 90, 90]
    # The mean of 117 and 139 is one half, and known.
    foreground[:] = np.array([117, 139] * 4, np.uint8)[:, None, None]
    assert (replace(fields, foreground=foreground)[::2].foreground == 127).all()


def test_mixtures_take_what_is_known_and_what_nobody_knows_stays_unknown() -> None:
    unknown = flow(UNKNOWN)
    for other, expected in ((flow(60), 60), (unknown, UNKNOWN)):
        assert set(np.unique(cross_fade(unknown, other, start=0.5, end=0.5).foreground)) == {expected}
        assert np.all(join_at(other, unknown, taps=4).foreground[20:30] >= expected)
        patches = (Patch(unknown, 0, 0), Patch(other, 12, 0))
        assert (tile(patches, 16, 36).foreground[:, :, 13:23] == expected).all()
    played = learn(unknown, taps=4).blocks(120, rng=0)
    assert all((block.foreground == UNKNOWN).all() for block in played)


def test_a_small_file_keeps_what_is_unknown() -> None:
    rng = np.random.default_rng(0)
    foreground = (120 + 60 * rng.random((50, 16, 24))).astype(np.uint8)
    foreground[foreground == UNKNOWN] = 127
    foreground[:, 4:9, rng.integers(0, 24, 9)] = UNKNOWN
    for told in (foreground, np.where(foreground == UNKNOWN, np.uint8(127), foreground)):
        again = compress(flow(told), max_error=0.1).decode().foreground
        assert np.array_equal(again == UNKNOWN, told == UNKNOWN)


def test_unknown_pixels_of_a_truth_are_not_people() -> None:
    truth = flow(halves(255, UNKNOWN))
    wrong = truth.velocities.copy()
    wrong[:, :, 12:] += 1
    fields = replace(truth, velocities=wrong)
    assert evaluate(fields, Truth(truth))["endpoint"] == 0
    plain, told = evaluate(fields, Truth(flow())), evaluate(fields, Truth(flow(UNKNOWN)))
    assert plain == told and plain["endpoint"] > 0.5


def test_similarity_leaves_out_what_is_unknown() -> None:
    fields = flow()
    same = flow_similarity(flow(halves(200, UNKNOWN)), flow(halves(200, 0)))
    assert same.density == 0 and same.covered == 1 and same.speeds == 0
    assert flow_similarity(flow(UNKNOWN), flow(60)).density is None
    faster = replace(fields, velocities=1.5 * fields.velocities)
    unknown = np.broadcast_to(np.uint8(UNKNOWN), fields.velocities.shape[:3])
    found = flow_similarity(replace(faster, foreground=unknown), replace(fields, foreground=unknown))
    assert found.as_dict() == pytest.approx(flow_similarity(faster, fields).as_dict())


def test_where_foreground_is_unknown_denoising_goes_by_the_motion() -> None:
    plain = edit(flow(), denoise=True).velocities
    np.testing.assert_array_equal(edit(flow(UNKNOWN), denoise=True).velocities, plain)
    partly = edit(flow(halves(255, UNKNOWN)), denoise=True).velocities
    assert np.abs(partly[..., 16:, :] - plain[..., 16:, :]).max() < 0.05 * np.abs(plain).max()


@pytest.mark.parametrize(("right", "share"), [(255, 0.5), (UNKNOWN, 0.0)])
def test_the_share_of_foreground_is_that_of_what_is_known(
    right: int, share: float, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for told, expected in ((halves(0, right), share), (UNKNOWN, None)):
        path = tmp_path / f"{expected}.zarr"
        marey.save(flow(told), path)
        assert result(capsys, "crowd", "info", path)["foreground_share"] == expected


def test_a_capture_too_short_to_tell_reports_no_share(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    film = tmp_path / "film.avi"
    marey.save(marey.samples.video(marey.samples.crowd(people=6, seconds=1)), film)
    found = result(capsys, "crowd", "capture", film, tmp_path / "flow.zarr", "--size", 80, "--method", "lk")
    assert found["foreground_share"] is None
    assert (marey.load(tmp_path / "flow.zarr").foreground == UNKNOWN).all()
