"""Walks keep to a drawn curve, show what is asked for on its parts, and can be steered while they play."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

import marey
from marey.errors import InputError, UnreachableError
from marey.geometry.planar import Behaviour, Path, PlanarMotion, centroid, figure_eight, square
from marey.statistics.graphs.graph import MotionGraph, core_frames
from marey.statistics.graphs.path_search import (
    PathSearchSettings,
    PathWalk,
    SteeredWalk,
    behaviour_bits,
    behaviours_shown,
    follow,
)
from marey.statistics.graphs.root_motion import EdgeMotion, gait_atypicality, prune_transitions
from marey.surface import Library, SurfaceGraph, graph
from marey.surface.distances import distances
from marey.surface.synthesis.animate import Player, stream, stream_steered
from marey.surface.synthesis.blend import LINEAR
from marey.surface.synthesis.placement import edge_motion


@cache
def subject() -> SurfaceGraph:
    whole = marey.samples.mesh_library(vertices=800)
    chosen = [whole.names.index(name) for name in ("walk", "turn-left-sharp", "turn-right-sharp", "run")]
    library = Library(tuple(whole.sequences[k] for k in chosen), tuple(whole.labels[k] for k in chosen))
    return graph(library, alpha=0.02, distances=distances(library, triangles=200))


@cache
def motion() -> EdgeMotion:
    return edge_motion(subject())


def followed(path: Path, width: int = 40, **options: float) -> PathWalk:
    return follow(subject().graph, motion(), path, PathSearchSettings(width=width, **options))


@pytest.mark.parametrize("curve", [figure_eight(3.0), square(3.0)], ids=["figure eight", "square"])
def test_a_walk_keeps_within_a_step_of_the_curve_to_its_end(curve: Path) -> None:
    found = followed(curve)
    assert found.path_error < 0.2
    assert found.arc_length[-1] == pytest.approx(curve.length, abs=0.3)
    assert (np.diff(found.arc_length) >= 0).all()
    assert len(found.errors) == found.walk.steps(subject().graph) + 1


def test_errors_are_the_distances_of_the_meshes_from_the_curve() -> None:
    curve = Path.through([[1.0, 2.0], [1.0, 4.0], [2.0, 5.0]])
    found = followed(curve)
    player = Player.prepare(subject(), blender=LINEAR)
    for i, frame in enumerate(stream(player, found.walk, start=found.start)):
        middle = centroid(frame.vertices)
        np.testing.assert_allclose(middle, found.positions[i, 0::2], atol=2e-3)
        nearest = np.linalg.norm(curve.points[:, 0::2] - middle, axis=1).min()
        assert found.errors[i] >= nearest - 2e-3


def test_a_wider_search_is_not_much_worse_than_a_narrow_one() -> None:
    curve = Path.through([[0, 0], [0, 3], [3, 3]])
    narrow, wide = followed(curve, width=5), followed(curve, width=80)
    assert wide.path_error < 1.2 * narrow.path_error + 0.02


def test_behaviours_are_shown_where_they_are_asked_for() -> None:
    labels = subject().library.labels
    assert {"walk", "run"} <= set(labels)
    curve = replace(Path.through([[0, 0], [0, 10]]), behaviours=(Behaviour(("run",), 3.0, 8.0),))
    found = followed(curve)
    assert found.label_violations == 0
    bits, allowed = behaviour_bits(subject().library, curve, 0.75)
    shown = behaviours_shown(subject().graph, found.walk, bits)
    running = bits[subject().library.number(subject().library.names[labels.index("run")])]
    inside = (found.arc_length > 4) & (found.arc_length < 7)
    assert inside.any() and ((shown[inside] & running) != 0).all()
    assert ((allowed & running) != 0).all()


def test_heights_count_on_curves_in_space() -> None:
    flat = Path.through([[0, 0], [0, 3]])
    raised = Path.through([[0.0, 3.0, 0.0], [0.0, 3.0, 3.0]])
    assert followed(raised).path_error > followed(flat).path_error + 1.0


def test_where_a_curve_cannot_be_followed_it_says_how_far_it_came() -> None:
    repertoire = subject()
    alone = MotionGraph.chains(repertoire.graph.starts, alpha=0.1, windows=repertoire.graph.windows)
    still = edge_motion(replace(repertoire, graph=alone))
    with pytest.raises(UnreachableError, match="further than"):
        follow(alone, still, Path.through([[0, 0], [0, 60]]), PathSearchSettings(width=10))


def test_curves_and_behaviours_that_make_no_sense_are_refused() -> None:
    with pytest.raises(InputError, match="no behaviour 'fly'"):
        followed(replace(square(3.0), behaviours=(Behaviour(("fly",), 0, 1),)))
    with pytest.raises(InputError, match="0 m long"):
        Path.through([[1, 1], [1, 1]])
    with pytest.raises(InputError, match="point 2"):
        Path.through([[1.0, 1.0], [np.nan, 1.0]])
    with pytest.raises(InputError, match="accuracy"):
        followed(square(3.0), accuracy=0.0)


def test_a_steered_body_turns_to_where_it_is_sent() -> None:
    player = Player.prepare(subject(), blender=LINEAR)
    body = SteeredWalk(subject().graph, motion(), subject().library.number("walk", 10))
    graph = subject().graph
    for direction in ([0.0, 1.0], [1.0, 0.0]):
        for _ in range(6):
            before = body.position
            frames = list(stream_steered(player, body, direction))
            assert len(frames) >= 1
        moved = (body.position - before)[0::2]
        assert moved @ np.array(direction) > 0.7 * np.linalg.norm(moved)
    assert graph.sources[body.walk.edges[0]] == body.start


def test_a_steered_body_can_be_sent_anywhere_from_wherever_it_stands() -> None:
    made = subject()
    safe = np.flatnonzero(core_frames(made.graph))
    for frame, angle in zip(safe[:: len(safe) // 8], np.linspace(-np.pi, np.pi, 9), strict=False):
        body, way = (
            SteeredWalk(subject().graph, motion(), int(frame)),
            np.array([np.sin(angle), np.cos(angle)]),
        )
        shares = []
        while body.walk.steps(made.graph) < 4 * made.library.frame_rate:
            before = body.position
            body.advance(way)
            moved = (body.position - before)[0::2]
            shares.append(moved @ way / np.linalg.norm(moved))
        assert max(shares) > 0.8, f"from frame {frame} towards {angle:.1f}"


def test_pieces_played_one_by_one_are_the_whole_walk() -> None:
    player = Player.prepare(subject(), blender=LINEAR)
    body = SteeredWalk(subject().graph, motion(), subject().library.number("walk", 10))
    pieces = [frame.vertices for _ in range(3) for frame in stream_steered(player, body, [1.0, 1.0])]
    whole = [frame.vertices for frame in stream(player, body.walk, start=PlanarMotion.identity())]
    assert len(whole) == len(pieces) + 1
    np.testing.assert_allclose(pieces, whole[:-1], atol=1e-6)


def test_the_nearest_sample_ahead_is_found_as_by_trying_all() -> None:
    from marey.statistics.graphs._path_search_kernels import Along, nearest_ahead

    curve, rng = figure_eight(3.0), np.random.default_rng(0)
    allowed = np.zeros(len(curve.points), np.uint64)
    along = Along(curve.points, False, curve.spacing, allowed, 16, 3, 5, 40, 0.1, 0.1, 0.2)
    for point in rng.uniform(-2, 2, (200, 3)):
        sample = int(rng.integers(len(curve.points)))
        found, off = nearest_ahead(along, sample, *point)
        apart = np.linalg.norm(curve.points[sample : sample + 17, 0::2] - point[0::2], axis=1)
        assert off == pytest.approx(apart.min(), abs=1e-12)
        assert apart[found - sample] == pytest.approx(apart.min(), abs=1e-12)


def test_the_cheapest_transition_to_a_moment_stands_for_its_neighbours() -> None:
    graph, kept = subject().graph, prune_transitions(subject().graph, subject().library)
    assert graph.synthetic[kept].all() and (np.diff(kept) > 0).all()
    assert len(kept) < graph.synthetic.sum()
    for source in np.unique(graph.sources[kept]):
        leaving = graph.leaving(int(source))
        transitions = leaving[graph.synthetic[leaving]]
        assert graph.weights[transitions].min() == graph.weights[kept[graph.sources[kept] == source]].min()


def test_standing_and_running_are_unusual_among_walks() -> None:
    odd = gait_atypicality(subject().library, motion().tracks)
    labels = np.array(subject().library.labels)[subject().library.clip_of]
    assert odd[labels == "walk"].mean() < 0.2 < odd[labels == "run"].mean()
    assert ((odd >= 0) & (odd <= 1)).all()


def test_a_search_that_is_repeated_with_more_states_says_so() -> None:
    straight = Path.through([[0, 0], [0, 4]])
    widths = {width: followed(straight, width=width).width for width in (1, 40)}
    assert widths == {1: 4, 40: 40}
