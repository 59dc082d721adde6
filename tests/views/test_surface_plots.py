"""Pictures of captured subjects: distances, transitions, graphs, validation, animations."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from marey.errors import InputError
from marey.statistics.graphs.clips import DistanceMatrix
from marey.statistics.graphs.graph import MotionGraph
from marey.statistics.graphs.transitions import Transition, TransitionTable, Windows
from marey.statistics.matrix_comparison import correlogram, mantel
from marey.surface.library import Library
from marey.surface.sequence import MeshSequence
from marey.surface.synthesis.animation import Animation, Provenance
from marey.surface.synthesis.surface_graph import SurfaceGraph
from marey.views import animations, graph_pictures, metric_plots, plots, style, surface_plots
from marey.views.render import KINDS, view
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


@pytest.mark.parametrize("kind", KINDS[SurfaceGraph])
def test_a_repertoire_is_drawn_in_every_kind(kind: str, tmp_path: Path) -> None:
    view(some_repertoire(), tmp_path / "r.png", size=SMALL, kind=kind)
    assert np.ptp(read_png(tmp_path / "r.png")) > 100


@pytest.mark.parametrize("kind", KINDS[Animation])
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
    images = list(clip(animations.cast(some_animation()), SMALL))
    for image, (strong, weak) in ((images[0], (1, 0)), (images[-1], (0, 1))):
        lead = image[..., strong].astype(int) - image[..., weak]
        assert lead.max() > 40 and lead.min() > -15


def test_a_textured_animation_keeps_its_texture() -> None:
    assert animations.cast(some_animation(textured=True)).tints(0) is None


def test_a_row_sets_frames_apart_in_their_colours() -> None:
    animation = some_animation()
    last = animation.sequence.frames - 1
    actor = animations.row(animation, [0, last], apart=3.0)
    one, two = np.split(actor.vertices(0), 2)
    assert np.linalg.norm((two - one).mean(axis=0)[[0, 2]]) == pytest.approx(3.0, abs=1e-6)
    image = strip(actor, SMALL).astype(int)
    lead = image[..., 0] - image[..., 1]
    assert lead.max() > 30 and lead.min() < -30
    with pytest.raises(InputError, match="frame 99"):
        animations.row(animation, [99])


def test_an_animation_at_another_rate_keeps_origins() -> None:
    animation = some_animation()
    double = animations.at_rate(animation, 2 * animation.sequence.frame_rate)
    np.testing.assert_array_equal(double.provenance.sources[::2], animation.provenance.sources)
    assert double.sequence.frames == len(double.provenance.synthetic)


def test_the_plan_tells_how_far_the_way_is_from_the_one_asked_for() -> None:
    animation = some_animation()
    middles = animation.sequence.vertices.mean(axis=1)[:, [0, 2]]
    beside = middles[[0, -1]] + [0.0, 0.25]
    title = animations.plan(animation, curve=beside).axes[0].get_title(loc="left")
    assert "25 cm from the way" in title
    figure = animations.plan(animation, footprints=middles, curve=beside[:1])
    assert {text.get_text() for text in figure.legends[0].get_texts()} >= {"captured", "synthetic"}


def test_the_timeline_names_the_sequences_that_play() -> None:
    animation = some_animation()
    frames = animation.sequence.frames
    library = Library((animation.sequence[: frames // 2], animation.sequence))
    axes = animations.timeline(animation, library).axes[0]
    assert [label.get_text() for label in axes.get_yticklabels()] == list(library.names)
    with pytest.raises(InputError, match="the library has"):
        animations.timeline(animation, Library((animation.sequence[:2],)))


def test_a_large_matrix_is_averaged_and_gaps_stay_gaps() -> None:
    values = np.ones((3000, 3000), np.float32)
    values[:30, :30] = np.inf
    shown = surface_plots._averaged(values)
    assert len(shown) <= surface_plots.MOST_CELLS
    assert np.isnan(shown[0, 0]) and shown[-1, -1] == 1.0


def test_transitions_are_drawn_with_holes_where_there_are_none(tmp_path: Path) -> None:
    distances = some_distances()
    lengths = np.full((36, 36), 5, np.int16)
    lengths[30:] = 0
    costs = np.where(lengths > 0, distances.values * 5, np.inf)
    table = TransitionTable(costs, lengths, lengths, lengths, STARTS, WINDOWS, "weight", 0.2)
    figure = surface_plots.transition_map(table, NAMES, size=(640, 320))
    assert [axes.get_title(loc="left") for axes in figure.axes[:2]] == [
        "Cost of the best transition",
        "Its length",
    ]
    plots.save(figure, tmp_path / "t.png")


def test_a_warp_path_is_drawn_in_frames_of_its_sequences() -> None:
    path = np.array([[2, 20], [3, 21], [3, 22], [4, 23]])
    figure = surface_plots.warp_path(some_distances(), Transition(path, 2.0))
    axes = figure.axes[0]
    assert axes.get_ylabel() == "frame of walk (source)"
    np.testing.assert_array_equal(axes.lines[0].get_xdata(), path[:, 1] - 12)
    with pytest.raises(InputError, match="frame 99"):
        surface_plots.warp_path(some_distances(), Transition([[0, 99]], 0.0))


def test_path_costs_tell_the_gain_and_leave_out_pairs_without_a_way() -> None:
    title = surface_plots.path_costs([2.0, 4.0, np.inf], [1.0, 2.0, 3.0]).axes[0].get_title(loc="left")
    assert "50.0 % less" in title
    with pytest.raises(InputError, match="no pair"):
        surface_plots.path_costs([np.inf], [1.0])


def test_graphs_of_few_and_many_transitions_are_drawn(tmp_path: Path) -> None:
    many = graph_pictures.MOST_CURVES + 500
    for count in (3, many):
        figure = graph_pictures.graph_picture(some_graph(count), NAMES, size=(500, 430))
        assert f"{count:,} transitions" in figure.get_suptitle()
        plots.save(figure, tmp_path / "g.png")


def test_every_connected_pair_of_sequences_shows_its_cheapest_transition() -> None:
    graph = some_graph(graph_pictures.MOST_CURVES + 500)
    chosen = np.flatnonzero(graph.synthetic)
    shown = graph_pictures._cheapest(graph, chosen)
    assert len(shown) <= graph_pictures.MOST_CURVES
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


def test_validation_is_drawn_for_every_metric_and_subject(tmp_path: Path) -> None:
    values = some_distances().values
    subjects = ("one", "two")
    tests = {
        m: {s: mantel(values**2, values, permutations=30) for s in subjects} for m in ("surface", "other")
    }
    figure = metric_plots.permutation_histograms(tests, size=SMALL)
    assert len(figure.axes) == 4
    found = {
        m: {s: correlogram(values**2, values, classes=4, permutations=30) for s in subjects} for m in tests
    }
    plots.save(metric_plots.correlograms(found, size=SMALL), tmp_path / "c.png")
    with pytest.raises(InputError, match="nothing to draw"):
        metric_plots.correlograms({})


def test_colours_of_origin_are_of_the_house_and_apart() -> None:
    green, red = style.linear((animations.CAPTURED, animations.SYNTHETIC))
    assert green[1] > green[0] and red[0] > red[1]
