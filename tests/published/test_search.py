"""Searches of walks as published (Boukhayma 2017, section 3.5), by trying every walk."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

import marey
from marey.errors import UnreachableError
from marey.geometry.planar import Behaviour, Path
from marey.statistics.graphs.graph import ClipIndex, MotionGraph, Windows
from marey.statistics.graphs.published_search import branch_and_bound, meet_in_time
from marey.statistics.graphs.root_motion import EdgeMotion
from tests.cli.commands import refused, result

STARTS, RATE = np.array([0, 6, 12]), 4.0
JUMPS = {(3, 8): 2, (4, 1): 3, (9, 2): 2, (10, 7): 2, (2, 9): 2, (10, 4): 3}
"""Transitions, and the frames they take."""


@pytest.fixture(scope="module")
def toy() -> tuple[MotionGraph, EdgeMotion]:
    """Two clips of six frames, one straight, one that bends, and transitions that turn the body."""
    rng = np.random.default_rng(1)
    played = [(f, f + 1) for f in range(11) if f != 5]
    jumps = [(a, b, n, True) for (a, b), n in JUMPS.items()]
    edges = sorted([*((a, b, 1, False) for a, b in played), *jumps])
    sources, targets, steps, synthetic = (np.array(column) for column in zip(*edges, strict=True))
    lengths = np.where(synthetic, 2, 0)
    deformation = np.where(synthetic, 0.3, 0.0).astype(np.float32)
    graph = MotionGraph(
        STARTS, sources, targets, synthetic, deformation, steps, lengths, lengths, 0.1, Windows(2, 4)
    )
    along = np.arange(6) * 0.25
    tracks = np.zeros((12, 3))
    tracks[:6, 2] = along
    tracks[6:, 0], tracks[6:, 2] = 0.4 * (1 - np.cos(along)), np.sin(along)
    counts = np.where(synthetic, steps, 0)
    moves = np.where(synthetic[:, None], rng.normal(size=(len(edges), 3)) * [0.4, 0.1, 0.1], 0.0)
    first_point = np.concatenate([[0], np.cumsum(counts)])
    points = []
    for source, target, count, (angle, x, z) in zip(sources, targets, counts, moves, strict=True):
        there = rotated(angle, tracks[target]) + np.array([x, 0.0, z])
        for step in range(1, count + 1):
            points.append(tracks[source] + step / count * (there - tracks[source]))
    clips = ClipIndex(("one", "two"), STARTS, ("straight", "bend"), RATE)
    rises = np.zeros(len(edges))
    return graph, EdgeMotion(
        clips, moves, rises, first_point, np.array(points, np.float32).reshape(-1, 3), tracks
    )


def every_walk(graph, motion, path, start, labels=None):
    """The least cost of all walks along a path, by going through them all."""
    spacing, points = path.spacing, path.points
    heading = np.arctan2(*(motion.tracks[start + 2] - motion.tracks[start])[[0, 2]])
    turn = path.heading - heading
    least, stack = np.inf, [(0.0, 0.0, 0, start, turn, points[0] - rotated(turn, motion.tracks[start]))]
    while stack:
        cost, far, time, here, angle, shift = stack.pop()
        if far >= path.length:
            least = min(least, cost)
            continue
        for edge in np.flatnonzero(graph.sources == here):
            target = int(graph.targets[edge])
            line = [motion.tracks[here], motion.tracks[target]]
            after, moved = angle, shift
            if graph.synthetic[edge]:
                line = [
                    motion.tracks[here],
                    *motion.points[motion.first_point[edge] : motion.first_point[edge + 1]],
                ]
                turned, x, z = motion.moves[edge]
                after, moved = angle + turned, shift + rotated(angle, np.array([x, 0.0, z]))
            total = far + sum(np.hypot(*(b - a)[[0, 2]]) for a, b in pairwise(line))
            clock = time + int(graph.steps[edge])
            sample = min(round(total / spacing), len(points) - 1)
            if clock > RATE * (path.length / 0.2 + 1.0):
                continue
            if labels is not None and labels[sample] != (target >= 6):
                continue
            place = rotated(after, motion.tracks[target]) + moved
            price = cost + np.hypot(*(place - points[sample])[[0, 2]])
            if price < least:
                stack.append((price, total, clock, target, after, moved))
    return least


def rotated(angle, point):
    c, s = np.cos(angle), np.sin(angle)
    return np.array([c * point[0] + s * point[2], point[1], c * point[2] - s * point[0]])


@pytest.mark.parametrize("bend", [0.0, 0.5])
def test_branch_and_bound_finds_the_least_of_all_walks(toy, bend):
    graph, motion = toy
    z = np.linspace(0.0, 1.6, 9)
    path = Path.through(np.column_stack([bend * z**2 / 2, z]))
    found = branch_and_bound(graph, motion, path, start=0)
    nodes = found.walk.nodes(graph)
    placed = found.positions[np.concatenate([[0], np.cumsum(graph.steps[found.walk.edges])])]
    length = np.concatenate([[0.0], np.cumsum(np.hypot(*np.diff(found.positions[:, [0, 2]], axis=0).T))])
    at = length[np.concatenate([[0], np.cumsum(graph.steps[found.walk.edges])])][1:]
    samples = np.minimum(np.rint(at / path.spacing).astype(int), len(path.points) - 1)
    cost = np.hypot(*(placed[1:] - path.points[samples])[:, [0, 2]].T).sum()
    assert nodes[0] == 0 and length[-1] >= path.length > length[-1 - graph.steps[found.walk.edges[-1]]]
    assert cost == pytest.approx(every_walk(graph, motion, path, 0), rel=1e-6)


def test_behaviours_are_kept_to(toy):
    graph, motion = toy
    path = Path.through([[0.0, 0.0], [0.0, 1.4]], behaviours=(Behaviour(("straight",), 0.0, 0.6),))
    found = branch_and_bound(graph, motion, path, start=0)
    free = branch_and_bound(graph, motion, Path.through([[0.0, 0.0], [0.0, 1.4]]), start=0)
    nodes, ends = found.walk.nodes(graph), np.concatenate([[0], np.cumsum(graph.steps[found.walk.edges])])
    early = found.arc_length[ends] < 0.55
    assert early.sum() > 1 and (nodes[early] < 6).all()
    assert found.errors.sum() > 0 and free.label_violations == 0
    with pytest.raises(UnreachableError):
        branch_and_bound(graph, motion, path, start=0, most=2)


def test_walks_from_both_ends_meet_nearest_to_the_time(toy):
    graph, _ = toy
    times: dict[int, set[int]] = {f: set() for f in range(12)}
    stack = [(0, 0)]
    while stack:
        frame, time = stack.pop()
        if time in times[frame] or time > 40:
            continue
        times[frame].add(time)
        stack += [
            (int(graph.targets[e]), time + int(graph.steps[e]))
            for e in np.flatnonzero(graph.sources == frame)
        ]
    for target in (5, 7, 11):
        for wanted in (3, 8, 14, 21, 30):
            found = meet_in_time(graph, [0, target], [0, wanted])
            assert found.walk.nodes(graph)[-1] == target
            assert found.walk.steps(graph) == found.achieved[-1]
            assert (graph.sources[found.walk.edges[1:]] == graph.targets[found.walk.edges[:-1]]).all()
            assert abs(found.errors[-1]) == min(abs(time - wanted) for time in times[target] if time)


def test_the_published_searches_are_an_option(tmp_path, capsys):
    subject = marey.samples.mesh_library(vertices=200)
    marey.save(marey.surface.graph(subject), tmp_path / "s.mry")
    name = subject.names[0]
    line = ["surface", "animate", tmp_path / "s.mry", "-o", tmp_path / "o.npz", "--search", "published"]
    told = result(capsys, *line, "--from", f"{name}:5", "--to", f"{name}:20", "--seconds", 2)
    found = marey.load(tmp_path / "s.mry")
    frames = [found.library.frame(f"{name}:{n}") for n in (5, 20)]
    timed = meet_in_time(found.graph, frames, [0, round(2 * found.library.frame_rate)])
    assert told["frames"] == timed.walk.steps(found.graph) + 1
    (tmp_path / "p.csv").write_text("x,z\n0,0\n0,0.4\n")
    told = result(capsys, *line, "--path", tmp_path / "p.csv", "--from", f"{name}:5")
    assert told["path_error"] < 0.2
    assert "search published" in refused(capsys, *line, "--random", "--seconds", 2)
