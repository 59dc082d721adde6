"""Coarse curves of vectors and rotations, and how much they take, against the published table."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import marey
from marey.body.codec import channel_bytes, engine_bytes
from marey.body.codec.tournier.clip import coarse_length, decimate, expand, published_ratio
from marey.errors import InputError
from marey.geometry import rotations as so3
from tests.body.carriers import carried

lengths = st.integers(1, 70)
seeds = st.integers(0, 10_000)


def smooth_rotations(frames: int, seed: int, speed: float = 0.03) -> np.ndarray:
    """A rotation path with a few slow waves about changing axes."""
    rng = np.random.default_rng(seed)
    t = np.arange(frames)[:, None]
    waves = sum(
        rng.normal(size=3) * np.sin(rate * speed * t + rng.uniform(0, 6, size=3)) for rate in (1, 2, 3)
    )
    return so3.multiply(so3.random(rng=rng), so3.exp(0.7 * waves))


@given(lengths, seeds, st.booleans(), st.integers(0, 4))
def test_expanded_curves_pass_through_every_coarse_sample(
    frames: int, seed: int, rotations: bool, dropped: int
) -> None:
    dropped = min(dropped, (frames - 1).bit_length())
    rng = np.random.default_rng(seed)
    curve = so3.random(frames, rng=rng) if rotations else rng.normal(size=(frames, 2))
    short = expand(decimate(curve, dropped, rotations=rotations), frames, dropped, rotations=rotations)
    assert short.shape == curve.shape
    if rotations:
        assert so3.distance(short, curve)[:: 1 << dropped].max() < 1e-12
    else:
        assert np.abs(short - curve)[:: 1 << dropped].max() < 1e-12


def test_cubics_are_reproduced_away_from_the_ends() -> None:
    t = np.linspace(-1, 1, 129)[:, None]
    cubic = 1 + 2 * t - 3 * t**2 + 4 * t**3
    assert np.abs(expand(decimate(cubic, 2), 129, 2) - cubic)[12:-12].max() < 1e-12


def test_a_steady_turn_is_reproduced_everywhere() -> None:
    turn = so3.multiply(so3.exp([0.3, 0.2, 0.1]), so3.exp(np.arange(70)[:, None] * [0.02, -0.01, 0.03]))
    for dropped in range(6):
        rebuilt = expand(decimate(turn, dropped, rotations=True), 70, dropped, rotations=True)
        assert so3.distance(rebuilt, turn).max() < 1e-12


def test_rotations_do_not_depend_on_the_world_frame() -> None:
    curve = smooth_rotations(50, 1)
    left, right = so3.random(2, rng=0)
    moved = so3.multiply(left, so3.multiply(curve, right))
    plain = expand(decimate(curve, 3, rotations=True), 50, 3, rotations=True)
    other = expand(decimate(moved, 3, rotations=True), 50, 3, rotations=True)
    assert so3.distance(other, so3.multiply(left, so3.multiply(plain, right))).max() < 1e-12


def test_predicted_curves_have_no_kinks() -> None:
    """Slopes on both sides of a coarse sample close in as the curve is refined, as those of chords do not."""
    rng = np.random.default_rng(3)
    coarse = rng.normal(size=(9, 1))

    def jump(levels: int) -> float:
        step = 1 << levels
        curve = expand(coarse, 8 * step + 1, levels).ravel() * step
        slopes = np.diff(curve)
        return float(np.abs(slopes[step::step] - slopes[step - 1 : -1 : step]).max())

    assert jump(8) < 0.1 * jump(2)


def test_curves_that_make_no_sense_are_refused() -> None:
    with pytest.raises(InputError):
        decimate(np.zeros((0, 3)), 1)
    with pytest.raises(InputError):
        decimate([[np.nan]], 0)
    with pytest.raises(InputError):
        decimate(np.zeros((4, 3)), 1, rotations=True)
    with pytest.raises(InputError, match="has 3 samples"):
        expand(np.zeros((2, 3)), 10, 2)


# Table 9.2: frames, modes, dropped levels of root and end joints, ratio to the digit the formula gives.
TABLE = [
    (141, 6, 5, 5, 17.9),
    (6179, 12, 6, 6, 182.7),
    (22948, 17, 4, 4, 69.3),
    (4499, 15, 5, 5, 97.1),
    (2783, 12, 5, 4, 61.5),
]


@pytest.mark.parametrize(("frames", "modes", "root", "ends", "ratio"), TABLE)
def test_ratios_are_those_of_the_table(frames: int, modes: int, root: int, ends: int, ratio: float) -> None:
    found = published_ratio(frames, 31, modes=modes, dropped_levels=[root] * 2 + [ends] * 5)
    assert found == pytest.approx(ratio, abs=0.051)


def test_dropped_levels_may_differ_between_end_joints() -> None:
    same = published_ratio(2783, 31, modes=12, dropped_levels=[5, 5, 4, 4, 4, 4, 4])
    assert published_ratio(2783, 31, modes=12, dropped_levels=[5, 5, 4, 4, 4, 4, 5]) > same


@pytest.mark.parametrize("frames", [1, 2, 3, 4, 5, 31, 32, 33, 1000])
def test_lengths_follow_the_chain_of_halvings(frames: int) -> None:
    chain = [frames]
    while chain[-1] > 1:
        chain.append((chain[-1] + 1) // 2)
    assert len(chain) == (frames - 1).bit_length() + 1
    assert [coarse_length(frames, p) for p in range(len(chain))] == chain


def test_bytes_count_channels_and_engine_tracks() -> None:
    walk = marey.samples.walk()
    assert channel_bytes(walk) == 4 * (3 * walk.joints + 3) * walk.frames
    assert channel_bytes(carried(walk)) == 4 * 3 * (walk.joints + 2 + 2) * walk.frames
    assert engine_bytes(walk) == 40 * walk.joints * walk.frames


def test_senseless_lengths_are_refused() -> None:
    with pytest.raises(InputError):
        coarse_length(0, 1)
    with pytest.raises(InputError):
        coarse_length(10, -1)
