"""Walks at random go on for as long as they are asked to, the same for the same seed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from marey import samples
from marey.errors import InputError
from marey.statistics.graphs.graph import MotionGraph
from marey.statistics.graphs.walks import random_walk
from marey.surface.synthesis import animate
from marey.surface.synthesis.animate import SurfaceGraph, _checked_nodes
from marey.surface.synthesis.animate import graph as build
from tests.surface.synthesis import bodies


@pytest.fixture(scope="module")
def subject() -> SurfaceGraph:
    return build(samples.mesh_library(vertices=400))


@pytest.mark.parametrize("seed", range(6))
def test_a_walk_never_gets_stuck_and_lasts_as_long_as_asked(seed: int) -> None:
    repertoire = bodies.repertoire()
    walk = random_walk(repertoire.graph, repertoire.library, 60.0, seed)
    _checked_nodes(walk, repertoire.graph)
    longest = int(repertoire.graph.steps.max())
    assert 1800 <= walk.steps(repertoire.graph) < 1800 + longest
    assert repertoire.graph.synthetic[walk.edges].sum() > 10


def test_the_same_seed_gives_the_same_walk_and_another_one_another(subject: SurfaceGraph) -> None:
    one, same, other = (random_walk(subject.graph, subject.library, 30.0, seed) for seed in (4, 4, 5))
    np.testing.assert_array_equal(one.edges, same.edges)
    assert (one.start, one.edges.tolist()) != (other.start, other.edges.tolist())


def test_lighter_transitions_are_taken_more_often(subject: SurfaceGraph) -> None:
    graph = subject.graph
    means = []
    for variety in (0.05, 5.0):
        walk = random_walk(subject.graph, subject.library, 300.0, 1, variety=variety)
        means.append(graph.weights[walk.edges[graph.synthetic[walk.edges]]].mean())
    assert means[0] < 0.8 * means[1]


def test_a_minute_shows_most_of_what_there_is(subject: SurfaceGraph) -> None:
    nodes = random_walk(subject.graph, subject.library, 60.0, 1).nodes(subject.graph)
    assert len(np.unique(subject.library.clip_of[nodes])) >= 7


def test_captured_frames_are_played_for_about_the_time_wished_for(subject: SurfaceGraph) -> None:
    graph = subject.graph
    shares = []
    for stay in (0.3, 2.0):
        walk = random_walk(subject.graph, subject.library, 300.0, 1, stay=stay)
        shares.append(float((~graph.synthetic[walk.edges]).sum()) / walk.steps(graph))
    assert shares[0] < shares[1]
    assert shares[1] > 0.5


def test_one_may_begin_before_the_frames_that_can_be_come_back_to() -> None:
    repertoire = bodies.repertoire()
    walk = random_walk(repertoire.graph, repertoire.library, 10.0, 0, start=0)
    assert walk.start == 0
    assert walk.steps(repertoire.graph) >= 300


def test_the_animation_has_the_frames_of_the_walk() -> None:
    made = animate.animate(bodies.repertoire(), random=True, seconds=4.0, rng=2)
    assert made.sequence.frames == made.walk.steps(bodies.repertoire().graph) + 1
    assert made.report.foot_skate_ratio > 0


@pytest.mark.parametrize(
    ("options", "hint"),
    [({"seconds": 0.0}, "seconds"), ({"stay": -1.0}, "stay"), ({"variety": 0.0}, "variety"),
     ({"start": bodies.repertoire().library.number("b", -1)}, "core")],
)  # fmt: skip
def test_what_cannot_be_is_said(options: dict[str, Any], hint: str) -> None:
    made = bodies.repertoire()
    with pytest.raises(InputError, match=hint):
        random_walk(made.graph, made.library, **{"seconds": 5.0, **options})


def test_a_graph_without_a_way_back_is_refused() -> None:
    whole = bodies.repertoire()
    chains = MotionGraph.chains(whole.library.starts, alpha=0.01, windows=whole.graph.windows)
    with pytest.raises(InputError, match="no cycle"):
        random_walk(chains, whole.library, 5.0)
