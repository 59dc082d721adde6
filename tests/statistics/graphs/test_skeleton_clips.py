"""Graphs need pose distances and root trajectories alone: the same machinery serves skeleton clips."""

from __future__ import annotations

import numpy as np
import pytest

import marey
from marey._arrays import Array, Integers
from marey.body.compare import geodesic
from marey.geometry.planar import Path, PlanarMotion, rotate
from marey.geometry.resampling import linear
from marey.statistics.graphs.build import essential_graph
from marey.statistics.graphs.graph import ClipIndex, Windows
from marey.statistics.graphs.path_search import PathSearchSettings, follow
from marey.statistics.graphs.root_motion import EdgeMotion, transition_times
from marey.statistics.graphs.transitions import table
from marey.statistics.graphs.walks import random_walk, shortest_walk


def test_skeleton_clips_walk_further_than_they_were_captured() -> None:
    walk = marey.samples.walk().resample(30.0)
    motions = [walk, walk.transform(rotation=[0.8, 0, 0.6, 0], translation=[2.0, 0, 1.0])]
    weights = np.full(len(walk.skeleton.names), 1 / len(walk.skeleton.names))
    distances = geodesic([m.rotations for m in motions], names=("one", "turned"), weights=weights)
    clips = ClipIndex(distances.names, distances.starts, ("walk", "walk"), 30.0)
    roots = np.concatenate([np.asarray(m.root) for m in motions])
    graph = essential_graph(table(distances, windows=Windows.at(30.0), alpha=0.01))

    def lay_out(edges: Integers) -> tuple[PlanarMotion, Array, Array]:
        """Targets turn to face as the sources; their root continues where that of the source is."""
        first, times = transition_times(graph, distances, edges)
        begin, end = np.round(times[first[:-1]]).astype(int), np.round(times[first[1:] - 1]).astype(int)
        angles = distances.yaw_offsets[begin[:, 0], begin[:, 1]].astype(np.float64)
        moves = PlanarMotion.about(roots[begin[:, 1], 0::2], angles, roots[begin[:, 0], 0::2])
        counts = np.diff(first)
        points = linear(roots, times[:, 1])
        points[:, 0::2] = rotate(points[:, 0::2], np.repeat(angles, counts)) + np.repeat(
            moves.shift, counts, 0
        )
        assert np.allclose(end[:, 1], graph.targets[edges])
        return moves, np.zeros(len(edges)), points

    motion = EdgeMotion.of(graph, clips, roots, lay_out)
    captured = float(np.linalg.norm(np.ptp(np.asarray(walk.root)[:, 0::2], axis=0)))
    found = follow(graph, motion, Path.through([[0, 0], [2 * captured, 0]]), PathSearchSettings(width=50))
    assert found.path_error < 0.15
    assert found.arc_length[-1] == pytest.approx(2 * captured, abs=0.3)
    assert graph.synthetic[found.walk.edges].any()
    start, end = clips.frame("one:20"), clips.frame("turned:60")
    assert shortest_walk(graph, start, end).nodes(graph)[-1] == end
    assert random_walk(graph, clips, 20.0, 1).steps(graph) >= 600
