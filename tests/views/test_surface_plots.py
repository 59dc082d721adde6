"""Pictures of captured subjects: distances, transitions, graphs, validation, animations."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from marey.errors import InputError
from marey.statistics.graphs.graph import DistanceMatrix, MotionGraph, Windows
from marey.statistics.graphs.transitions import Transition
from marey.surface.sequence import Library, MeshSequence
from marey.surface.synthesis.animate import SurfaceGraph
from marey.surface.synthesis.animation import Animation, Provenance
from marey.views import actors, figures, render, style
from marey.views.figures import surface
from marey.views.render import VIEWS, view
from marey.views.shots import clip, strip
from tests.views.things import SMALL, read_png, sliding_box

WINDOWS = Windows(2, 6)
STARTS = np.array([0, 12, 30, 36])
NAMES = ("walk", "run", "a rather long name")


def some_distances() -> DistanceMatrix:
    points = np.cumsum(np.random.default_rng(0).normal(size=(36, 3)), axis=0)
    values = np.linalg.norm(points[:, None] - points, axis=-1)
    return DistanceMatrix(values, np.zeros((36, 36)), STARTS, NAMES, "surface")


def some_graph(transitions: int) -> MotionGraph:
    """Chains with random transitions between 36 frames, several between the same two if need be."""
    chains = MotionGraph.chains(STARTS.tolist(), alpha=0.2, windows=WINDOWS)
    ends = np.random.default_rng(1).integers(0, 36, (2, transitions))
    sources, targets = np.concatenate([[chains.sources, chains.targets], ends], axis=1)
    order = np.lexsort((targets, sources))
    synthetic = np.arange(len(sources)) >= chains.edges
    return MotionGraph(
        STARTS,
        sources[order],
        targets[order],
        synthetic[order],
        np.where(synthetic, np.linspace(1, 2, len(sources)), 0.0)[order],
        np.where(synthetic, 5, 1)[order],
        np.where(synthetic, 4, 0)[order],
        np.where(synthetic, 4, 0)[order],
        0.2,
        WINDOWS,
    )


def some_animation(*, textured: bool = False) -> Animation:
    box = sliding_box(textured=textured)
    count = box.frames
    synthetic = np.arange(count) >= count // 2
    sources = np.arange(count)
    return Animation(box, Provenance(sources, sources + synthetic, synthetic * 0.5, synthetic))


def some_repertoire() -> SurfaceGraph:
    corner = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0]])
    parts = [MeshSequence(np.repeat(corner[None], n, axis=0), [[0, 1, 2]], 25) for n in np.diff(STARTS)]
    return SurfaceGraph(Library(tuple(parts)), some_distances(), some_graph(40))


@pytest.mark.parametrize("kind", VIEWS[SurfaceGraph].kinds)
def test_a_repertoire_is_drawn_in_every_kind(kind: str, tmp_path: Path) -> None:
    view(some_repertoire(), tmp_path / "r.png", size=SMALL, kind=kind)
    assert np.ptp(read_png(tmp_path / "r.png")) > 100


@pytest.mark.parametrize("kind", VIEWS[Animation].kinds)
def test_an_animation_is_drawn_in_every_kind(kind: str, tmp_path: Path) -> None:
    view(some_animation(), tmp_path / "a.png", size=SMALL, kind=kind)
    assert np.ptp(read_png(tmp_path / "a.png")) > 100


def test_distances_are_drawn_and_what_stands_still_makes_no_clip(tmp_path: Path) -> None:
    view(some_distances(), tmp_path / "d.png", size=SMALL)
    for still in (some_distances(), some_repertoire()):
        with pytest.raises(InputError, match="nothing moves"):
            view(still, tmp_path / "d.mp4", size=SMALL)
    assert not (tmp_path / "d.mp4").exists()


def test_an_animation_becomes_a_clip_at_another_rate(tmp_path: Path) -> None:
    view(some_animation(), tmp_path / "a.mp4", size=SMALL, frame_rate=20.0)
    assert (tmp_path / "a.mp4").stat().st_size > 500


def test_captured_frames_are_green_and_synthetic_ones_red() -> None:
    images = list(clip(actors.actor(some_animation()), SMALL))
    for image, (strong, weak) in ((images[0], (1, 0)), (images[-1], (0, 1))):
        lead = image[..., strong].astype(int) - image[..., weak]
        assert lead.max() > 40 and lead.min() > -15


def test_a_textured_animation_keeps_its_texture() -> None:
    assert actors.actor(some_animation(textured=True)).tints(0) is None


def test_a_row_sets_frames_apart_in_their_colours() -> None:
    animation = some_animation()
    last = animation.sequence.frames - 1
    actor = actors.side_by_side(animation, [0, last], apart=3.0)
    one, two = np.split(actor.vertices(0), 2)
    assert np.linalg.norm((two - one).mean(axis=0)[[0, 2]]) == pytest.approx(3.0, abs=1e-6)
    image = strip(actor, SMALL).astype(int)
    lead = image[..., 0] - image[..., 1]
    assert lead.max() > 30 and lead.min() < -30
    with pytest.raises(InputError, match="frame 99"):
        actors.side_by_side(animation, [99])


def test_an_animation_at_another_rate_keeps_origins() -> None:
    animation = some_animation()
    double = render._resampled(animation, 2 * animation.sequence.frame_rate)
    np.testing.assert_array_equal(double.provenance.sources[::2], animation.provenance.sources)
    assert double.sequence.frames == len(double.provenance.synthetic)


def test_the_plan_tells_how_far_the_way_is_from_the_one_asked_for() -> None:
    animation = some_animation()
    middles = animation.sequence.vertices.mean(axis=1)[:, [0, 2]]
    beside = middles[[0, -1]] + [0.0, 0.25]
    title = figures.path_from_above(animation, curve=beside).axes[0].get_title(loc="left")
    assert "25 cm from the path" in title
    figure = figures.path_from_above(animation, footprints=middles, curve=beside[:1])
    assert {text.get_text() for text in figure.legends[0].get_texts()} >= {"captured", "synthetic"}


def test_the_timeline_names_the_sequences_that_play() -> None:
    animation = some_animation()
    frames = animation.sequence.frames
    library = Library((animation.sequence[: frames // 2], animation.sequence))
    axes = figures.timeline(animation, library).axes[0]
    assert [label.get_text() for label in axes.get_yticklabels()] == list(library.names)
    with pytest.raises(InputError, match="the library has"):
        figures.timeline(animation, Library((animation.sequence[:2],)))


def test_a_large_matrix_is_averaged_and_gaps_stay_gaps() -> None:
    values = np.ones((3000, 3000), np.float32)
    values[:30, :30] = np.inf
    shown = surface._averaged(values)
    assert len(shown) <= surface.MAX_CELLS
    assert np.isnan(shown[0, 0]) and shown[-1, -1] == 1.0


def test_a_warp_path_is_drawn_in_frames_of_its_sequences() -> None:
    path = np.array([[2, 20], [3, 21], [3, 22], [4, 23]])
    figure = figures.warp_path(some_distances(), Transition(path, 2.0))
    axes = figure.axes[0]
    assert axes.get_ylabel() == "frame of walk (source)"
    np.testing.assert_array_equal(axes.lines[0].get_xdata(), path[:, 1] - 12)
    with pytest.raises(InputError, match="frame 99"):
        figures.warp_path(some_distances(), Transition([[0, 99]], 0.0))


def test_graphs_of_few_and_many_transitions_are_drawn(tmp_path: Path) -> None:
    many = surface.MAX_CURVES + 500
    for count in (3, many):
        figure = figures.graph_picture(some_graph(count), NAMES, size=(500, 430))
        assert f"{count:,} transitions" in figure.get_suptitle()
        style.save(figure, tmp_path / "g.png")


def test_every_connected_pair_of_sequences_shows_its_cheapest_transition() -> None:
    graph = some_graph(surface.MAX_CURVES + 500)
    chosen = np.flatnonzero(graph.synthetic)
    shown = surface._cheapest(graph, chosen)
    assert len(shown) <= surface.MAX_CURVES
    assert (np.diff(graph.weights[shown]) <= 0).all()

    def pairs(edges: np.ndarray) -> list[tuple[int, int]]:
        ends = [np.searchsorted(STARTS, at[edges], side="right") for at in (graph.sources, graph.targets)]
        return list(zip(*(end.tolist() for end in ends), strict=True))

    least = {}
    for edge, pair in zip(chosen, pairs(chosen), strict=True):
        least[pair] = min(least.get(pair, np.inf), graph.weights[edge])
    drawn = {}
    for edge, pair in zip(shown, pairs(shown), strict=True):
        drawn[pair] = min(drawn.get(pair, np.inf), graph.weights[edge])
    assert drawn == least


def test_colours_of_origin_are_of_the_house_and_apart() -> None:
    green, red = style.linear((style.CAPTURED, style.SYNTHETIC))
    assert green[1] > green[0] and red[0] > red[1]
