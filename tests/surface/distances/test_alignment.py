from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from marey import _work
from marey.errors import InputError
from marey.geometry.planar import PlanarMotion, align
from marey.surface import MeshSequence
from marey.surface.distances import aligned_distances, middle_frame
from marey.surface.sequence import Library
from tests.surface.distances.bodies import bending, tube


@given(seed=st.integers(0, 2**32 - 1), turn=st.floats(-np.pi, np.pi))
@settings(max_examples=30)
def test_a_rigid_motion_is_recovered_with_any_weights(seed: int, turn: float) -> None:
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(40, 3))
    weights = rng.uniform(0.1, 2, 40)
    away = PlanarMotion(np.array(turn), rng.normal(size=2) * 5)
    found = align(points, away.inverse().apply(points), weights)
    assert abs(np.angle(np.exp(1j * (found.angle - away.angle)))) < 1e-10
    np.testing.assert_allclose(found.shift, away.shift, atol=1e-9)


def test_no_turn_of_a_fine_grid_is_better_than_the_closed_form() -> None:
    library = bending(5, largest=2.5)
    found, _ = aligned_distances(library)
    turns = np.linspace(-np.pi, np.pi, 721)
    for i, j in ((0, 1), (0, 4), (3, 2)):
        onto, moving = library.vertices(i), library.vertices(j)
        onto, moving = (pose - pose.mean(axis=0) * [1, 0, 1] for pose in (onto, moving))
        c, s = np.cos(turns)[:, None], np.sin(turns)[:, None]
        apart = (onto[:, 0] - c * moving[:, 0] - s * moving[:, 2]) ** 2
        apart += (onto[:, 2] + s * moving[:, 0] - c * moving[:, 2]) ** 2 + (onto[:, 1] - moving[:, 1]) ** 2
        least = np.sqrt(apart.mean(axis=1)).min()
        assert 0.999 * least < found[i, j] <= least * (1 + 1e-6)


@pytest.mark.parametrize("weighted", [False, True])
def test_all_pairs_equal_each_pair_alone_in_blocks_of_any_size(
    monkeypatch: pytest.MonkeyPatch, weighted: bool
) -> None:
    library = bending(11)
    rng = np.random.default_rng(0)
    weights = np.asarray(rng.uniform(0, 2, library.vertices(0).shape[0])) if weighted else None
    monkeypatch.setattr(_work, "block_rows", lambda _: 4)
    seen: list[tuple[int, int]] = []
    found, turns = aligned_distances(library, weights=weights, progress=lambda *step: seen.append(step))
    assert seen == [(done, 6) for done in range(1, 7)]
    for i in range(11):
        for j in range(11):
            single = align(library.vertices(i), library.vertices(j), weights)
            assert abs(np.angle(np.exp(1j * (turns[i, j] - single.angle)))) < 1e-6
            apart = ((library.vertices(i) - single.apply(library.vertices(j))) ** 2).sum(axis=1)
            root = np.sqrt(np.average(apart, weights=weights))
            assert abs(found[i, j] - root) < 1e-6


def test_turns_are_antisymmetric_and_distances_symmetric_with_nothing_on_the_diagonal() -> None:
    found, turns = aligned_distances(bending(9))
    np.testing.assert_array_equal(turns, -turns.T)
    np.testing.assert_array_equal(found, found.T)
    assert not turns.diagonal().any() and not found.diagonal().any()


def test_heights_count_unless_left_out() -> None:
    points, faces = tube(5, 8)
    library = Library((MeshSequence(np.array([points, points - np.array([3.0, 0.5, -2.0])]), faces, 30),))
    assert aligned_distances(library)[0][0, 1] == pytest.approx(0.5)
    assert aligned_distances(library, heights=False)[0][0, 1] == pytest.approx(0, abs=1e-6)


def test_the_middle_frame_is_the_one_nearest_to_all_others() -> None:
    library = bending(9)
    assert middle_frame(library) == aligned_distances(library)[0].sum(axis=1).argmin()


def test_weights_are_checked() -> None:
    library = bending(2)
    count = library.vertices(0).shape[0]
    for wrong in (np.ones(3), np.zeros(count), -np.ones(count)):
        with pytest.raises(InputError, match="weights"):
            aligned_distances(library, weights=wrong)
