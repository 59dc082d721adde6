"""Captured flows played for ever: distances, jumps, playback."""

from __future__ import annotations

import sys
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import marey
from marey.crowd.fields import FieldSeries
from marey.crowd.texture import FlowTexture, extend, field_changes, flow_scale, frame_distances, learn
from marey.errors import InputError
from marey.statistics.graphs.texture import (
    TextureSettings,
    diagonal_filter,
    jump_probabilities,
    shortest_clip,
)

Array = NDArray[np.float64]
PERIOD = 25


def plain_distances(velocities: Array, scale: float) -> Array:
    """The definition, by arctangent of cross and dot product."""
    ones = np.ones((*velocities.shape[:-1], 1))
    n = np.concatenate([scale * velocities, ones], axis=-1).reshape(len(velocities), -1, 3)
    cross = np.linalg.norm(np.cross(n[:, None], n[None]), axis=-1)
    return np.asarray(np.arctan2(cross, (n[:, None] * n[None]).sum(axis=-1)).mean(axis=-1))


def periodic(frames: int = 150, noise: float = 0.0) -> FieldSeries:
    row, column = np.mgrid[:20, :30]
    phase = (2 * np.pi / PERIOD * np.arange(frames))[:, None, None]
    u, v = 1 + 0.5 * np.cos(phase + column / 7), 0.5 * np.sin(2 * phase + row / 5)
    fields = np.stack(np.broadcast_arrays(u, v), axis=-1)
    return FieldSeries(fields + noise * np.random.default_rng(0).normal(size=fields.shape), 25)


def wandering(frames: int = 120, seed: int = 0) -> FieldSeries:
    """Broad currents that come and go at random."""
    rng = np.random.default_rng(seed)
    row, column = np.mgrid[:24, :32] / 10
    waves = rng.normal(size=(6, 2))
    phases = np.cumsum(rng.normal(0.05, 0.1, size=(frames, 6)), axis=0)
    parts = np.cos(
        np.einsum("k,rc->krc", waves[:, 0], row)
        + np.einsum("k,rc->krc", waves[:, 1], column)
        + phases[:, :, None, None]
    )
    return FieldSeries(np.einsum("tkrc,kd->trcd", parts, rng.normal(size=(6, 2))), 25)


def jumps(texture: FlowTexture, frames: int, seed: int = 0) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    order = texture.sequence(frames, rng=seed)
    at = np.flatnonzero(np.diff(order) != 1)
    return order[at], order[at + 1]


@settings(deadline=None, max_examples=20)
@given(st.integers(0, 1000), st.sampled_from([1e-3, 0.1, 1.0, 30.0]), st.integers(1, 700))
def test_distances_are_the_mean_angle_between_the_vectors_with_a_one_added(
    seed: int, speed: float, pixels: int
) -> None:
    rng = np.random.default_rng(seed)
    velocities = speed * rng.normal(size=(6, 1, pixels, 2))
    fields = FieldSeries(velocities, 25)
    found = frame_distances(fields, scale=1.7)
    np.testing.assert_allclose(found, plain_distances(velocities, 1.7), atol=1e-6)
    assert (found == found.T).all() and (np.diag(found) == 0).all() and np.isfinite(found).all()


def test_opposite_and_equal_fields_give_a_half_turn_and_nothing_but_no_nan() -> None:
    fast = np.full((40, 5, 5, 2), [1e6, 0.0])
    fast[20:] *= -1
    found = frame_distances(FieldSeries(fast, 25), scale=1.0)
    assert np.isfinite(found).all()
    np.testing.assert_allclose(found[:20, 20:], np.pi, atol=1e-5)
    np.testing.assert_array_equal(found[:20, :20], 0)


def test_distances_of_two_series_are_a_corner_of_those_of_both_together() -> None:
    fields = wandering(70)
    np.testing.assert_allclose(
        frame_distances(fields[:33], fields[33:], scale=0.5),
        frame_distances(fields, scale=0.5)[:33, 33:],
        atol=1e-7,
    )


def test_what_is_outside_the_mask_does_not_count() -> None:
    fields = wandering(30)
    mask = np.ones((fields.rows, fields.columns), dtype=bool)
    mask[:, 10:] = False
    spoilt = fields.velocities.copy()
    spoilt[:, ~mask] = np.random.default_rng(1).normal(size=(30, int((~mask).sum()), 2))
    found = frame_distances(FieldSeries(spoilt, 25, mask=mask), scale=1.0)
    np.testing.assert_allclose(
        found, frame_distances(fields.crop(slice(None), slice(0, 10)), scale=1.0), atol=1e-7
    )
    with pytest.raises(InputError, match="no pixel"):
        frame_distances(replace(fields, mask=np.zeros_like(mask)))


def test_where_nobody_is_seen_does_not_count_and_sure_people_count_more() -> None:
    fields = wandering(20)
    seen = np.zeros((20, fields.rows, fields.columns), dtype=np.uint8)
    seen[:, :, :10] = 255
    there = frame_distances(replace(fields, foreground=seen), scale=1.0)
    np.testing.assert_allclose(
        there, frame_distances(fields.crop(slice(None), slice(0, 10)), scale=1.0), atol=1e-6
    )
    assert (there == there.T).all()
    nobody = frame_distances(replace(fields, foreground=np.zeros_like(seen)), scale=1.0)
    assert (nobody == 0).all()


def test_the_scale_is_one_over_the_usual_speed_and_still_ground_does_not_change_it() -> None:
    moving = np.full((4, 10, 10, 2), [0.0, 0.02])
    assert flow_scale(FieldSeries(moving, 25)) == pytest.approx(50)
    moving[:, :, 1:] = 0
    assert flow_scale(FieldSeries(moving, 25)) == pytest.approx(50)
    assert flow_scale(FieldSeries(np.zeros((2, 3, 3, 2)), 25)) == 1.0


def test_distances_do_not_depend_on_the_unit_of_speed() -> None:
    fields = wandering(30)
    slow = replace(fields, velocities=fields.velocities / 1000)
    np.testing.assert_allclose(frame_distances(slow), frame_distances(fields), atol=1e-6)


def test_eight_taps_are_the_binomial_weights_about_the_frame() -> None:
    table = np.zeros((20, 20))
    table[10, 12] = 128
    found = diagonal_filter(table, 8)
    # Entry (i, j) is about frames i + 4 and j + 4: frame 10 is seen with the last weight first.
    diagonal = [found[k, k + 2] for k in range(11)]
    assert diagonal == [0, 0, 0, 1, 7, 21, 35, 35, 21, 7, 1]
    assert diagonal_filter(table, 1) is not table and (diagonal_filter(table, 1) == table).all()
    with pytest.raises(InputError, match="taps"):
        diagonal_filter(table, 21)


@pytest.mark.parametrize("noise", [0.0, 0.1])
def test_a_periodic_flow_is_continued_in_step(noise: float) -> None:
    sources, targets = jumps(learn(periodic(noise=noise)), 20_000)
    assert len(sources) > 100
    assert np.mean((targets - sources - 1) % PERIOD == 0) > 0.95


def test_there_is_no_dead_end_in_a_hundred_thousand_frames() -> None:
    for fields in (wandering(), periodic(60), marey.samples.field(12, 16, seconds=2)):
        texture = learn(fields)
        order = texture.sequence(100_000, rng=3)
        assert len(order) == 100_000 and order.min() == 0 and order.max() < fields.frames
        cuts = np.flatnonzero(np.diff(order) != 1)
        sources, targets = order[cuts], order[cuts + 1]
        known = set(zip(texture.transitions.sources, texture.transitions.targets, strict=True))
        assert set(zip(sources, targets, strict=True)) <= known


def test_the_order_does_not_repeat() -> None:
    order = learn(wandering()).sequence(20_000, rng=1)
    later = order[10_000:11_000]
    assert not any((order[k : k + 1000] == later).all() for k in range(9_000))


def test_even_a_very_short_capture_is_not_played_in_circles() -> None:
    fields = wandering(23, seed=4)
    sources, targets = jumps(learn(fields, taps=4), 5_000)
    assert len(set(zip(sources.tolist(), targets.tolist(), strict=True))) > 2


@pytest.mark.parametrize("fields", [wandering(), wandering(seed=5), periodic(), marey.samples.field(24, 32)])
def test_ten_times_as_long_it_changes_hardly_faster_than_before(fields: FieldSeries) -> None:
    long = extend(fields, 10 * fields.frames, rng=0)
    assert long.frames == 10 * fields.frames
    assert field_changes(long).max() <= 1.5 * np.quantile(field_changes(fields), 0.99)


def test_playback_begins_with_the_source_and_shows_it_unchanged_away_from_jumps() -> None:
    fields = wandering()
    texture = learn(fields)
    order = texture.sequence(500, rng=2)
    long = next(texture.blocks(500, rng=2, size=500))
    at = np.flatnonzero(np.diff(order) != 1)
    assert len(at) > 1
    far = np.abs(np.arange(500)[:, None] - at - 0.5).min(axis=1) > texture.fade
    np.testing.assert_array_equal(long.velocities[far], fields.velocities[order[far]])
    near = np.abs(np.arange(500)[:, None] - at - 0.5).min(axis=1) < 1
    assert not np.array_equal(long.velocities[near], fields.velocities[order[near]])


def test_blocks_of_any_size_are_the_same_series_with_its_foreground() -> None:
    fields = wandering(60)
    seen = np.random.default_rng(0).integers(0, 256, size=(60, fields.rows, fields.columns), dtype=np.uint8)
    mask = np.ones((fields.rows, fields.columns), dtype=bool)
    texture = learn(replace(fields, foreground=seen, mask=mask), taps=4)
    parts = list(texture.blocks(150, rng=7, size=32))
    whole = next(texture.blocks(150, rng=7, size=150))
    assert [part.frames for part in parts] == [32, 32, 32, 32, 22]
    joined = marey.crowd.fields.concatenate(parts)
    np.testing.assert_array_equal(joined.velocities, whole.velocities)
    assert joined.foreground is not None and whole.foreground is not None
    np.testing.assert_array_equal(joined.foreground, whole.foreground)
    assert whole.mask is not None


def test_a_flow_that_stands_still_can_be_extended() -> None:
    long = extend(FieldSeries(np.zeros((40, 3, 3, 2), dtype=np.float32), 25), 300, rng=0)
    assert long.velocities.dtype == np.float32 and (long.velocities == 0).all()


def test_a_clip_too_short_is_refused_before_its_frames_are_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules["marey.crowd.texture"], "frame_distances", None)
    with pytest.raises(InputError, match="12 frames are too few"):
        learn(wandering(12))


def test_a_clip_too_short_or_senseless_options_are_refused_with_the_number_needed() -> None:
    short = wandering(12)
    with pytest.raises(InputError, match=r"12 frames are too few .* 26 are needed"):
        learn(short)
    assert extend(short, 50, window=2, rng=0).frames == 50
    for taps in (0, -3):
        with pytest.raises(InputError, match="taps"):
            learn(short, taps=taps)
    with pytest.raises(InputError, match="sharpness"):
        jump_probabilities(np.zeros((40, 40)), settings=TextureSettings(sharpness=0))
    with pytest.raises(InputError, match="square"):
        jump_probabilities(np.zeros((40, 30)))
    with pytest.raises(InputError, match="frames"):
        next(learn(wandering(40)).blocks(0))
    with pytest.raises(InputError, match="cannot be compared"):
        frame_distances(short, periodic(12))


@settings(deadline=None, max_examples=15)
@given(st.integers(0, 10_000), st.integers(1, 9), st.integers(1, 12), st.integers(0, 30))
def test_every_table_of_distances_long_enough_has_an_endless_way(
    seed: int, taps: int, fade: int, more: int
) -> None:
    frames = shortest_clip(taps, fade) + more
    table = np.random.default_rng(seed).random((frames, frames)) ** 3
    found = jump_probabilities(table + table.T, taps=taps, fade=fade)
    fields = FieldSeries(np.zeros((frames, 1, 1, 2)), 25)
    order = FlowTexture(fields, table, 1.0, taps, fade, found).sequence(2000, rng=seed)
    at = np.flatnonzero(np.diff(order) != 1)
    assert len(at) and np.diff(at).min(initial=10_000) >= found.run
    side = (fade + 1) // 2
    assert order[at].max() + side < frames and order[at + 1].min() >= side
