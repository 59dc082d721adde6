"""Whole clips are laid over each other in time and mixed; textures dissolve with them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from marey import samples
from marey.errors import InputError
from marey.geometry import planar
from marey.surface.distances import distances
from marey.surface.sequence import Library, Texture
from marey.surface.synthesis.animation import Provenance, cross_fade_textures
from marey.surface.synthesis.blend import align_clips, blend, path_and_turn
from tests.surface.synthesis import bodies


def _arcs() -> Library:
    return Library((bodies.gliding(2.0, 5.94, 60, "left"), bodies.gliding(-2.0, 5.94, 60, "right")))


def test_a_left_and_a_right_turn_make_a_straight_walk() -> None:
    made = blend(*_arcs().sequences, weight=0.5, trim=0)
    middles = np.array([planar.centroid(frame) for frame in made.sequence.vertices])
    travelled = np.linalg.norm(np.diff(middles, axis=0), axis=1).sum()
    assert made.sequence.frames == 60
    assert abs(travelled / 5.94 - 1) < 1e-3
    assert abs(np.linalg.norm(middles[-1] - middles[0]) / travelled - 1) < 1e-5


def test_a_weight_of_nothing_gives_the_first_clip_back() -> None:
    library = bodies.walks()
    made = blend(*library.sequences, weight=0.0, trim=0).animation
    assert made.sequence.frames == 60
    np.testing.assert_allclose(made.sequence.vertices, library.sequences[0].vertices, atol=1e-5)
    assert not made.provenance.synthetic.any()


def test_weights_may_change_over_the_clips() -> None:
    made = blend(*bodies.walks().sequences, weight=[0.0, 1.0, 0.0], trim=0).animation
    assert made.provenance.weights[0] == 0
    assert made.provenance.weights.max() > 0.9
    assert np.isfinite(made.sequence.vertices).all()


def test_clips_out_of_step_begin_and_end_where_they_are_in_step() -> None:
    walk = bodies.walks().sequences[1]
    library = Library((walk[:50].renamed("early"), walk[8:58].renamed("late")))
    whole = align_clips(library, distances(library))
    cut = align_clips(library, distances(library), trim=0.5)
    assert whole.path[0].tolist() == [0, 50] and whole.path[-1].tolist() == [49, 99]
    assert 6 <= cut.path[0, 0] <= 9 and cut.path[0, 1] == 50
    assert cut.path[-1, 0] == 49 and 90 <= cut.path[-1, 1] <= 93
    assert cut.cost < 0.2 * whole.cost


def test_clips_in_step_lose_nothing() -> None:
    walk = bodies.walks().sequences[0]
    library = Library((walk.renamed("a"), walk.transform(rotation=[0.8, 0, 0.6, 0]).renamed("b")))
    found = align_clips(library, distances(library), trim=1.0)
    assert found.path[[0, -1]].tolist() == [[0, 60], [59, 119]]


def test_weights_may_be_a_function_of_the_mixture_s_own_time() -> None:
    def late(seconds: np.ndarray) -> np.ndarray:
        return np.where(seconds < 1.0, 0.0, 1.0)

    library = Library((bodies.gliding(1e6, 1.0, 60, "long"), bodies.gliding(1e6, 1.0, 30, "short")))
    made = blend(*library.sequences, weight=late, trim=0).animation
    assert (made.provenance.weights[:30] == 0).all() and (made.provenance.weights[32:] == 0).all()
    assert (made.provenance.sources[:30] < 60).all() and (made.provenance.sources[33:] >= 60).all()
    assert 43 <= made.sequence.frames <= 47


@pytest.mark.parametrize("weight", [1.5, [0.2, np.nan], -0.1])
def test_weights_outside_of_0_to_1_are_refused(weight: object) -> None:
    with pytest.raises(InputError, match="weights"):
        blend(*_arcs().sequences, weight=weight)  # type: ignore[arg-type]


def test_less_than_nothing_cannot_be_cut_off() -> None:
    with pytest.raises(InputError, match="trim"):
        blend(*_arcs().sequences, trim=-1.0)


def _painted(colours: list[int], frames: int) -> tuple[Texture, ...]:
    images = [np.full((4, 4, 3), colour, np.uint8) for colour in colours]
    return tuple(Texture.from_image(images[i % len(images)]) for i in range(frames))


def test_textures_dissolve_by_the_weight_and_captured_ones_stay() -> None:
    left, right = _arcs().sequences
    library = Library(
        (replace(left, textures=_painted([0], 1)), replace(right, textures=_painted([200], 60)))
    )
    made = cross_fade_textures(
        library, Provenance([3, 4, 70], [3, 64, 70], [0.0, 0.25, 0.0], [False, True, False])
    )
    assert [int(texture.read()[0, 0, 0]) for texture in made] == [0, 50, 200]


def test_one_texture_for_all_stays_one() -> None:
    one = _painted([90], 1)
    library = Library(tuple(replace(sequence, textures=one) for sequence in _arcs().sequences))
    assert cross_fade_textures(library, Provenance([0], [0], [0.0], [False])) == one


def test_a_turning_walk_turns_by_what_it_was_turned() -> None:
    walk = samples.mesh_sequence()[:31]
    angles = np.linspace(0.0, np.pi / 2, walk.frames)
    turned = [planar.PlanarMotion(np.asarray(a), np.zeros(2)).apply(v) for a, v in zip(angles, walk.vertices)]
    _, before = path_and_turn(walk)
    _, after = path_and_turn(replace(walk, vertices=np.array(turned)))
    assert abs(abs(after - before) - 90.0) < 3.0
