"""Crowd motion against the truth."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from marey import samples
from marey.crowd import FieldSeries, Tracks
from marey.crowd.animation import advect
from marey.crowd.cameras import orthographic
from marey.crowd.evaluation.fields import Truth, error_map, evaluate, field_errors, flow_similarity
from marey.crowd.evaluation.pedestrians import overlaps, trajectory_errors
from marey.crowd.fields import on_grid, pixel_map
from marey.errors import InputError

RNG = np.random.default_rng(0)


def swirl(**options) -> FieldSeries:
    return replace(samples.field(rows=60, columns=80, seconds=3, **options), homography=orthographic(0.1))


@given(st.floats(-3, 3), st.floats(-3, 3), st.floats(-3, 3), st.floats(-3, 3))
@settings(deadline=None, max_examples=40)
def test_uniform_fields_have_the_errors_one_works_out_by_hand(a, b, c, d):
    found = field_errors(np.full((5, 6, 2), [a, b]), np.full((5, 6, 2), [c, d]))
    assert found.endpoint == pytest.approx(np.hypot(a - c, b - d), abs=1e-12)
    cosine = (1 + a * c + b * d) / np.sqrt((1 + a * a + b * b) * (1 + c * c + d * d))
    assert found.angular_degrees == pytest.approx(np.degrees(np.arccos(min(cosine, 1))), abs=1e-5)
    assert found.divergence == pytest.approx(0, abs=1e-12)
    assert found.pixels == 30


def test_divergence_and_vorticity_errors_are_told_apart():
    row, column = np.mgrid[:20, :20].astype(float)
    still = np.zeros((20, 20, 2))
    source = 0.1 * np.stack([column, row], axis=-1)
    whirl = 0.1 * np.stack([-row, column], axis=-1)
    assert field_errors(still, source).divergence == pytest.approx(0.2)
    assert field_errors(still, source).vorticity == pytest.approx(0, abs=1e-12)
    assert field_errors(still, source).relative_divergence == pytest.approx(1)
    assert field_errors(still, whirl).vorticity == pytest.approx(0.2)
    assert field_errors(still, whirl).as_dict()["relative_divergence"] is None


def test_pixels_off_the_mask_and_stencils_across_it_do_not_count():
    true = np.zeros((20, 20, 2))
    wrong = true.copy()
    wrong[:, 10:] = 1e6
    mask = np.zeros((20, 20), dtype=bool)
    mask[:, :10] = True
    found = field_errors(wrong, true, mask)
    assert (found.endpoint, found.divergence, found.pixels) == (0.0, 0.0, 200)
    with pytest.raises(InputError, match="no pixel"):
        field_errors(wrong, true, np.zeros((20, 20)))
    with pytest.raises(InputError, match="cannot be compared"):
        field_errors(wrong, true[:5])


def test_series_are_averaged_over_their_frames():
    true = RNG.normal(size=(3, 8, 9, 2))
    wrong = true + RNG.normal(size=true.shape)
    single = [field_errors(a, b) for a, b in zip(wrong, true, strict=True)]
    whole = field_errors(wrong, true)
    assert whole.endpoint == pytest.approx(np.mean([one.endpoint for one in single]))
    assert whole.vorticity == pytest.approx(np.sqrt(np.mean([one.vorticity**2 for one in single])))


def test_people_carried_by_the_true_field_go_where_they_went():
    fields = swirl()
    starts = np.column_stack([RNG.uniform(1, 4, 30), -RNG.uniform(1, 5, 30)])
    truth = advect(fields, starts, frame_rate=25)
    errors = trajectory_errors(fields, truth)
    assert [error.seconds for error in errors] == [1.0, 2.0]
    assert max(error.mean for error in errors) < 1e-6
    assert all(error.within == 1.0 for error in errors)
    still = trajectory_errors(replace(fields, velocities=np.zeros_like(fields.velocities)), truth)
    assert still[-1].mean == pytest.approx(still[-1].still)
    assert still[-1].mean > 1


def test_ways_need_metres_and_time():
    truth = Tracks(np.zeros((10, 1, 2)), 10)
    with pytest.raises(InputError, match="homography"):
        trajectory_errors(samples.field(rows=20, columns=20, seconds=2), truth)
    assert trajectory_errors(swirl(), truth) == []


def test_collisions_of_bodies_of_different_size_are_those_of_all_pairs():
    positions, radii = RNG.uniform(0, 6, (20, 60, 2)), RNG.uniform(0.05, 0.4, 60)
    i, j = np.triu_indices(60, 1)
    gaps, sums = np.linalg.norm(positions[:, i] - positions[:, j], axis=-1), radii[i] + radii[j]
    near = gaps < 0.9 * sums
    people = [len({*i[row], *j[row]}) for row in near]
    found = overlaps(Tracks(positions, 10), radius=radii)
    assert found.pairs == near.sum() / 20 and found.people == sum(people) / (20 * 60)
    assert found.events == near[0].sum() + (near[1:] & ~near[:-1]).sum()
    assert found.deepest == pytest.approx((sums - gaps)[near].max())
    with pytest.raises(InputError, match="one or 60 of them"):
        overlaps(Tracks(positions, 10), radius=[0.2, 0.3])


def test_collisions_are_those_of_all_pairs():
    positions = RNG.uniform(0, 6, (5, 80, 2))
    positions[:, :7] = np.nan
    found = overlaps(Tracks(positions, 10))
    apart = np.linalg.norm(positions[:, :, None] - positions[:, None], axis=-1)
    near = np.triu(np.nan_to_num(apart, nan=9.0) < 0.45, k=1)
    assert found.pairs == pytest.approx(near.sum() / 5)
    assert found.people == pytest.approx(np.sum(near.any(axis=1) | near.any(axis=2)) / (5 * 73))
    starts = near & ~np.concatenate([np.zeros_like(near[:1]), near[:-1]])
    assert found.events == starts.sum()


def test_people_far_apart_take_no_memory():
    positions = np.array([[[0.0, 0.0], [1e7, 1e7], [0.1, 0.0]]])
    assert overlaps(Tracks(positions, 10)).pairs == 1


@pytest.mark.parametrize("shape", [(120, 160), (30, 40), (60, 80)])
def test_fields_on_other_grids_keep_their_motion(shape):
    row, column = np.mgrid[:60, :80].astype(float)
    field = np.stack([0.02 * column, 0.01 * row], axis=-1)
    moved = on_grid(field, *shape)
    across = shape[1] / 80
    inner = np.s_[4:-4, 4:-4]
    columns = np.mgrid[: shape[0], : shape[1]].astype(float)[1]
    there = pixel_map(shape, (60, 80))
    expected = across * 0.02 * (there[0, 0] * columns + there[0, 2])
    assert np.allclose(moved[..., 0][inner], expected[inner])
    assert np.allclose(pixel_map((60, 80), shape) @ there, np.eye(3))


def test_a_coarse_capture_is_held_against_a_fine_truth():
    truth = swirl()
    coarse = np.stack([on_grid(frame, 30, 40) for frame in truth.velocities])
    starts = np.column_stack([RNG.uniform(1, 4, 20), -RNG.uniform(1, 5, 20)])
    people = advect(truth, starts, frame_rate=25)
    row = evaluate(FieldSeries(coarse, truth.frame_rate), Truth(truth, people))
    assert row["endpoint"] < 0.05
    assert row["trajectory_seconds"] == 2.0
    assert row["trajectory_m"] < 0.1


def test_only_pixels_with_people_count_unless_asked():
    foreground = np.zeros((75, 60, 80), dtype=np.uint8)
    foreground[:, :30] = 255
    truth = replace(swirl(), foreground=foreground)
    wrong = truth.velocities.copy()
    wrong[:, 30:] += 1
    fields = replace(truth, velocities=wrong)
    assert evaluate(fields, Truth(truth))["endpoint"] == 0
    assert evaluate(fields, Truth(truth, all_pixels=True))["endpoint"] == pytest.approx(
        np.sqrt(2) / 2, rel=1e-5
    )
    errors = error_map(fields, Truth(truth))
    assert np.isnan(errors[30:]).all() and (errors[:30] == 0).all()


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        (FieldSeries(np.zeros((4, 60, 60, 2)), 25), "one image"),
        (FieldSeries(np.zeros((4, 60, 80, 2)), 10), "frames per second"),
    ],
)
def test_fields_of_another_picture_or_rate_are_refused(fields, words):
    with pytest.raises(InputError, match=words):
        evaluate(fields, Truth(swirl()))


def test_a_flow_is_like_itself_and_unlike_its_mirror():
    flow = swirl()
    same, mirrored = flow_similarity(flow, flow), flow_similarity(flow, flow.mirror())
    assert same.as_dict() == {
        "endpoint": 0,
        "angular_degrees": 0,
        "speeds": 0,
        "directions": 0,
        "spectrum": 0,
        "density": None,
        "covered": 1,
    }
    assert mirrored.directions > 0.3
    assert mirrored.angular_degrees > 20
    assert mirrored.speeds < 0.05


def test_rates_do_not_matter_to_likeness_but_speeds_do():
    flow = swirl()
    assert flow_similarity(flow.resample(12.5), flow).speeds < 0.1
    faster = replace(flow, velocities=1.5 * flow.velocities)
    assert flow_similarity(faster, flow).speeds > 0.2
    assert flow_similarity(faster, flow).directions < 0.01
    assert flow_similarity(faster, flow).spectrum == pytest.approx(20 * np.log10(1.5), rel=0.05)


def test_likeness_tells_where_people_are():
    foreground = np.zeros((75, 60, 80), dtype=np.uint8)
    left, right = foreground.copy(), foreground.copy()
    left[:, :, :50], right[:, :, 30:] = 255, 255
    found = flow_similarity(replace(swirl(), foreground=left), replace(swirl(), foreground=right))
    assert found.density == pytest.approx(0.6)
    assert found.covered == pytest.approx(0.25)
