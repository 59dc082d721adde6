"""Tournier's accounting, against the ratios of the published table."""

from __future__ import annotations

import numpy as np
import pytest

import marey
from marey.body.codec import channel_bytes, engine_bytes
from marey.body.codec.tournier import coarse_length, level_count, published_ratio
from marey.errors import InputError
from tests.body.carriers import carried

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
    found = published_ratio(frames, 31, modes=modes, dropped_root=root, dropped_effectors=ends)
    assert found == pytest.approx(ratio, abs=0.051)


def test_dropped_levels_may_differ_between_end_joints() -> None:
    alike = published_ratio(2783, 31, modes=12, dropped_root=5, dropped_effectors=4)
    assert published_ratio(2783, 31, modes=12, dropped_root=5, dropped_effectors=[4] * 5) == alike
    assert published_ratio(2783, 31, modes=12, dropped_root=5, dropped_effectors=[4, 4, 4, 4, 5]) > alike


@pytest.mark.parametrize("frames", [1, 2, 3, 4, 5, 31, 32, 33, 1000])
def test_level_counts_follow_the_chain_of_halvings(frames: int) -> None:
    chain = [frames]
    while chain[-1] > 1:
        chain.append((chain[-1] + 1) // 2)
    assert level_count(frames) == len(chain) == int(np.ceil(np.log2(frames))) + 1
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
    with pytest.raises(InputError):
        level_count(0)
