"""Where the frames of transitions stand: compiled as in plain NumPy, and as the motions require."""

from __future__ import annotations

import numpy as np
import pytest

from marey.geometry.planar import PlanarMotion
from marey.geometry.resampling import linear
from marey.statistics.graphs.transitions import smooth_path, warped
from marey.surface.sequence import Library
from marey.surface.synthesis.blend import LINEAR, placed_frames
from marey.surface.synthesis.placement import (
    FootLock,
    GroundFrames,
    Placement,
    aligning_turns,
    ease_weights,
    place_edges,
    turns_between,
)
from tests.surface.synthesis import bodies, plain


@pytest.mark.parametrize("anchored", [True, False])
def test_compiled_courses_are_those_of_plain_numpy(anchored: bool) -> None:
    repertoire = bodies.repertoire()
    ground = GroundFrames.of(repertoire.library)
    edges = np.flatnonzero(repertoire.graph.synthetic)
    placement = place_edges(repertoire, ground, edges, anchored=anchored)
    for e in range(len(edges)):
        rows = slice(placement.first[e], placement.first[e + 1])
        turns = turns_between(repertoire.distances.yaw_offsets, placement.times[rows])
        rest = (placement.times[rows], placement.weights[rows], turns)
        expected = plain.lay_out(ground, *rest, anchored=anchored)
        names = ("source_turns", "destination_turns", "positions", "floors", "touching")
        for ours, theirs in zip(
            (getattr(placement, name) for name in names),
            expected,
            strict=True,
        ):
            np.testing.assert_allclose(ours[rows], theirs, atol=1e-9)


def test_times_of_edges_are_those_of_the_warped_transition_smoothed() -> None:
    repertoire = bodies.repertoire()
    graph = repertoire.graph
    edges = np.flatnonzero(graph.synthetic)
    placement = place_edges(repertoire, GroundFrames.of(repertoire.library), edges)
    for k, edge in enumerate(edges):
        sizes = int(graph.source_lengths[edge]), int(graph.target_lengths[edge])
        found = warped(
            repertoire.distances,
            int(graph.sources[edge]),
            int(graph.targets[edge]),
            *sizes,
            alpha=graph.alpha,
        )
        times = placement.times[placement.first[k] : placement.first[k + 1]]
        assert found.length == graph.steps[edge] + 1
        np.testing.assert_allclose(times, smooth_path(found), atol=1e-9)


def test_opposite_arcs_mixed_evenly_go_straight_and_as_far() -> None:
    library = Library((bodies.gliding(2.0, 5.94, 100, "left"), bodies.gliding(-2.0, 5.94, 100, "right")))
    path = np.stack([np.arange(100), 100 + np.arange(100)], axis=1).astype(np.float64)
    turns = aligning_turns(library, path)
    placement = Placement.lay_out(GroundFrames.of(library), path, np.full(100, 0.5), turns, anchored=False)
    steps = np.diff(placement.positions, axis=0)
    travelled = np.linalg.norm(steps, axis=1).sum()
    net = np.linalg.norm(placement.positions[-1] - placement.positions[0])
    single = np.linalg.norm(np.diff(GroundFrames.of(library).centroids[:100], axis=0), axis=1).sum()
    assert abs(travelled / single - 1) < 1e-3
    assert abs(net / travelled - 1) < 1e-6
    averaged = 0.5 * (GroundFrames.of(library).centroids[:100] + GroundFrames.of(library).centroids[100:])
    assert np.linalg.norm(averaged[-1] - averaged[0]) < 0.2 * net


def test_travel_lies_between_both_clips_and_no_step_exceeds_theirs() -> None:
    library = Library((bodies.gliding(1e6, 3.9, 60, "quick"), bodies.gliding(1e6, 2.0, 60, "slow")))
    ground = GroundFrames.of(library)
    path = np.stack([np.arange(5, 45), np.arange(70, 110)], axis=1).astype(np.float64)
    turns = aligning_turns(library, path)
    placement = Placement.lay_out(ground, path, ease_weights(40), turns, anchored=False)
    steps = np.linalg.norm(np.diff(placement.positions, axis=0), axis=1)
    both = [np.linalg.norm(np.diff(linear(ground.centroids, path[:, i]), axis=0), axis=1) for i in (0, 1)]
    assert both[1].sum() < steps.sum() < both[0].sum()
    assert (steps <= np.maximum(*both) + 1e-12).all()


def test_a_held_frame_does_not_glide() -> None:
    library = Library((bodies.gliding(1e6, 3.0, 40, "a"), bodies.gliding(1e6, 3.0, 40, "b")))
    held = np.array([[5, 50], [5, 51], [6, 51], [6, 51]], np.float64)
    ground = GroundFrames.of(library)
    placement = Placement.lay_out(ground, held, np.zeros(4), np.zeros(4), anchored=False)
    frames = list(placed_frames(library, ground, placement, LINEAR, PlanarMotion.identity()))
    middles = np.array([frame.vertices[:, 2].mean() for frame in frames])
    np.testing.assert_allclose(np.diff(middles), [0.0, 3.0 / 39, 0.0], atol=1e-9)


def test_anchored_feet_slide_less_than_those_placed_by_the_middle() -> None:
    repertoire = bodies.repertoire()
    ground = GroundFrames.of(repertoire.library)
    edges = np.flatnonzero(repertoire.graph.synthetic)[:1]
    slid = []
    for anchored in (False, True):
        placement = place_edges(repertoire, ground, edges, anchored=anchored)
        held = np.minimum(placement.touching[1:], placement.touching[:-1])
        moved = np.linalg.norm(placement.skate[1:], axis=-1)
        slid.append(float((held * moved).sum()))
    assert slid[1] < 0.6 * slid[0]


def test_shifts_of_feet_hold_what_touches_and_vanish_at_both_ends() -> None:
    repertoire = bodies.repertoire()
    ground = GroundFrames.of(repertoire.library)
    foot_lock = FootLock.of(repertoire.library, ground)
    placement = place_edges(repertoire, ground, np.flatnonzero(repertoire.graph.synthetic)[:1])
    shifts = foot_lock.shifts(placement)
    assert not shifts[0].any() and not shifts[-1].any()
    held = np.minimum(placement.touching[1:], placement.touching[:-1])
    slide = placement.skate[1:]
    left = np.linalg.norm(slide + np.diff(shifts, axis=0), axis=-1)
    assert (held * left**2).sum() < (held * np.linalg.norm(slide, axis=-1) ** 2).sum()


def test_the_floor_rises_with_clips_that_climb() -> None:
    flat = bodies.gliding(1e6, 2.0, 40, "flat")
    ground = GroundFrames.of(Library((flat, flat)))
    ground.contacts.floors[40:] = np.linspace(0.0, 1.0, 40)
    path = np.stack([np.arange(10), 50 + np.arange(10)], axis=1).astype(np.float64)
    placement = Placement.lay_out(ground, path, ease_weights(10), np.zeros(10))
    rise = np.diff(ground.contacts.floors)[45]
    assert 0.3 * 9 * rise < placement.floors[-1] - placement.floors[0] < 9 * rise
    _, lift = placement.arrival(ground)
    np.testing.assert_allclose(lift, placement.floors[-1] - ground.contacts.floors[59])
