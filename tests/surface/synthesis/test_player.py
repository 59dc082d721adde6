"""Walks become meshes: as many frames as steps and one, without a jump, each knowing where it comes from."""

from __future__ import annotations

import numpy as np
import pytest

from marey.errors import InputError
from marey.geometry import planar
from marey.geometry.planar import PlanarMotion
from marey.statistics.graphs.graph import Walk
from marey.statistics.graphs.walks import shortest_walk
from marey.surface.contacts import compare_foot_skate
from marey.surface.synthesis.animate import Player, stream, synthesize
from marey.surface.synthesis.blend import LINEAR
from marey.surface.synthesis.placement import GroundFrames, edge_motion, vertex_trajectory
from tests.surface.synthesis import bodies
from tests.surface.synthesis.quality import quality


def _walk() -> Walk:
    """From the slow walk over to the brisk one and back again."""
    graph = bodies.repertoire().graph
    there, back = shortest_walk(graph, 2, 95), shortest_walk(graph, 95, 50)
    return Walk(2, np.concatenate([there.edges, back.edges]))


def _player() -> Player:
    return Player.prepare(bodies.repertoire(), blender=LINEAR)


def test_a_walk_gives_one_frame_more_than_it_has_steps() -> None:
    walk, repertoire = _walk(), bodies.repertoire()
    assert repertoire.graph.synthetic[walk.edges].sum() >= 2
    made = synthesize(_player(), walk)
    assert made.sequence.frames == walk.steps(repertoire.graph) + 1
    origin = made.provenance
    assert (origin.synthetic[origin.sources != origin.destinations]).all()
    assert (origin.synthetic[origin.weights > 0]).all()
    assert 0 < origin.captured_frames < made.sequence.frames
    assert len({vertices.tobytes() for vertices in made.sequence.vertices}) == made.sequence.frames


def test_captured_frames_are_captured_ones_moved_along_the_ground() -> None:
    made, library = synthesize(_player(), _walk()), bodies.walks()
    for i in np.flatnonzero(~made.provenance.synthetic):
        captured = library.vertices(int(made.provenance.sources[i]))
        fit = planar.align(made.sequence.vertices[i], captured)
        moved = fit.apply(captured)
        # Sequences are captured on floors that differ by a hair; an animation has one.
        moved[:, 1] += made.sequence.vertices[i, 0, 1] - captured[0, 1]
        np.testing.assert_allclose(moved, made.sequence.vertices[i], atol=2e-5)
        assert abs(made.sequence.vertices[i, 0, 1] - captured[0, 1]) < 0.001


def test_the_body_moves_on_without_a_jump_at_junctions() -> None:
    made = synthesize(_player(), _walk())
    found = quality(made, bodies.walks())
    assert len(found.junctions) >= 4
    assert found.position_jumps.max() < 0.01
    assert found.velocity_jumps.max() < 3 * found.usual_velocity_jump + 0.2
    assert found.edge_deviation < 0.1
    assert found.volume_deviation < 0.1


def test_blends_end_on_the_very_frame_they_arrive_at() -> None:
    player, repertoire = _player(), bodies.repertoire()
    edge = int(np.flatnonzero(repertoire.graph.synthetic)[0])
    placement = player.place(np.array([edge]))
    frames = list(stream(player, Walk(int(repertoire.graph.sources[edge]), np.array([edge]))))
    move, rise = placement.arrival(player.ground)
    target = repertoire.library.vertices(int(repertoire.graph.targets[edge]))
    placed = PlanarMotion(move.angle[0], move.shift[0]).apply(target)
    placed[:, 1] += rise[0]
    np.testing.assert_allclose(frames[-1].vertices, placed, atol=1e-6)
    np.testing.assert_allclose(planar.centroid(placed), placement.positions[-1], atol=1e-6)


def test_root_clips_place_walks_as_the_streamed_meshes_are() -> None:
    repertoire, walk = bodies.repertoire(), _walk()
    graph = repertoire.graph
    player = Player.prepare(repertoire, blender=LINEAR)
    clips = edge_motion(repertoire, player.ground)
    start = PlanarMotion(np.array(0.7), np.array([3.0, -2.0]))
    placed, points = start, [start.apply(clips.tracks[walk.start][None])]
    for edge in walk.edges:
        if graph.synthetic[edge]:
            points.append(placed.apply(clips.points[clips.first_point[edge] : clips.first_point[edge + 1]]))
            turn, x, z = clips.moves[edge]
            placed = placed.compose(PlanarMotion(np.array(turn), np.array([x, z])))
        else:
            points.append(placed.apply(clips.tracks[graph.targets[edge]][None]))
    free = Player(repertoire, player.ground, LINEAR, None)
    made = np.array([frame.vertices.mean(axis=0) for frame in stream(free, walk, start=start)])
    unanchored = edge_motion(repertoire, player.ground, anchored=False)
    assert np.abs(unanchored.moves - clips.moves).max() > 1e-4
    followed = np.concatenate(points)
    anchored = np.array([frame.vertices.mean(axis=0) for frame in stream(player, walk, start=start)])
    assert followed.shape == made.shape
    # Feet that are kept in place bend legs a little, which moves the middle of the vertices by millimetres.
    np.testing.assert_allclose(anchored[:, 0::2], followed[:, 0::2], atol=0.02)
    np.testing.assert_allclose(anchored[-1], followed[-1], atol=1e-5)


def test_edge_motion_follows_any_vertex() -> None:
    repertoire = bodies.repertoire()
    clips = edge_motion(repertoire, track=[0, 5, 9])
    library = repertoire.library
    np.testing.assert_allclose(clips.tracks[7], library.vertices(7)[[0, 5, 9]].mean(axis=0), atol=1e-6)
    with pytest.raises(InputError, match="vertices 0"):
        vertex_trajectory(library, 10**6)


def test_feet_of_an_anchored_animation_slide_much_less() -> None:
    repertoire, walk = bodies.repertoire(), _walk()
    tracks = GroundFrames.of(repertoire.library)
    player = Player.prepare(repertoire, blender=LINEAR)
    free = synthesize(Player(repertoire, tracks, LINEAR, None), walk)
    kept = synthesize(player, walk)
    ratios = [compare_foot_skate(made, repertoire.library, tracks.contacts).ratio for made in (free, kept)]
    assert ratios[1] < 0.7 * ratios[0]
    assert ratios[1] < 1.6


def test_non_linear_blends_stream_as_well() -> None:
    repertoire = bodies.repertoire()
    edge = int(np.flatnonzero(repertoire.graph.synthetic)[0])
    made = synthesize(Player.prepare(repertoire), Walk(int(repertoire.graph.sources[edge]), np.array([edge])))
    assert np.isfinite(made.sequence.vertices).all()
    assert made.provenance.synthetic.sum() == made.sequence.frames - 2


def test_a_walk_of_another_graph_is_refused() -> None:
    with pytest.raises(InputError, match="not of this graph"):
        next(stream(_player(), Walk(0, np.array([10**6]))))
    with pytest.raises(InputError, match="the walk is at frame"):
        next(stream(_player(), Walk(50, np.array([0]))))
