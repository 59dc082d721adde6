"""Characters that run on: poses and distribution of the clips, constraints met, crowds out of step."""

from __future__ import annotations

import numpy as np
import pytest

import marey
from marey.body.dynamics import MotionModel
from marey.body.stream import MotionStream
from marey.errors import InputError


@pytest.fixture(scope="module")
def walk():
    return marey.samples.walk(seconds=6)


@pytest.fixture(scope="module")
def model(walk):
    return MotionModel.fit(walk, modes=6)


def test_frame_by_frame_poses_are_those_of_the_clip(model):
    one, other = (MotionStream(model, rng=3, characters=3) for _ in range(2))
    clips = other.clips(40)
    for t in range(40):
        one.step()
        poses = one.poses()
        for n, clip in enumerate(clips):
            assert np.abs(poses.positions[n] - clip.root[t]).max() < 1e-9
            same = np.abs(np.einsum("ji,ji->j", poses.rotations[n], clip.rotations[t]))
            assert np.abs(same - 1.0).max() < 1e-9
            assert np.abs(np.linalg.norm(poses.rotations[n], axis=1) - 1.0).max() < 1e-9


def test_large_turns_are_decoded_like_small_ones(model):
    stream = MotionStream(model, rng=0, characters=2)
    stream.step()
    stream._coordinates = 30.0 * stream._coordinates
    stream._yaws[:] = 0.0
    expected = model.poses.decode(stream._coordinates)
    assert np.abs(np.abs(np.einsum("nji,nji->nj", stream.poses().rotations, expected)) - 1.0).max() < 1e-9


def test_a_clip_can_be_continued_without_a_jump(model):
    whole, parts = (MotionStream(model, rng=5) for _ in range(2))
    together = whole.clips(50)[0]
    first, second = parts.clips(20)[0], parts.clips(30)[0]
    assert np.abs(together.root - np.concatenate([first.root, second.root])).max() < 1e-9


def test_constrained_poses_are_met_by_all_or_by_some(model, walk):
    stream = MotionStream(model, rng=1, characters=3)
    pose = walk[30:31]
    wanted = model.poses.encode(pose)[0]
    stream.constrain_pose(0.5, pose)
    stream.constrain_pose(1.0, 0.5 * wanted, characters=[1])
    made = np.stack([stream.step().copy() for _ in range(70)])
    assert np.abs(made[30] - wanted).max() < 1e-9
    assert np.abs(made[60, 1] - 0.5 * wanted).max() < 1e-9
    assert np.abs(made[60, [0, 2]] - 0.5 * wanted).max() > 1e-3


def test_a_crowd_is_out_of_step_and_on_average_where_the_trend_is(model):
    stream = MotionStream(model, rng=2, characters=4000)
    coordinates = np.concatenate([stream.step() for _ in range(3)])
    spread = coordinates.std(axis=0)
    assert stream.phases.std() > 0.2 * model.trend.period
    assert (np.abs(coordinates.mean(axis=0) - model.trend.coefficients[0]) < 0.15 * spread).all()
    in_step = MotionStream(model, rng=2, characters=50)
    in_step.phases = np.zeros(50)
    assert np.ptp(in_step._trend(7, in_step.phases), axis=0).max() == 0.0


def test_the_stream_repeats_itself_given_the_seed_only(model):
    a, b, c = (MotionStream(model, rng=seed, characters=2).clips(20)[1].rotations for seed in (1, 1, 2))
    assert (a == b).all() and np.abs(a - c).max() > 1e-3


def test_invalid_constraints_are_refused(model):
    stream = MotionStream(model, rng=0, characters=2)
    with pytest.raises(InputError, match="take a step"):
        stream.poses()
    stream.clips(10)
    with pytest.raises(InputError, match="has passed"):
        stream.constrain_pose(0.0, np.zeros(6))
    with pytest.raises(InputError):
        stream.constrain_pose(5.0, np.zeros(5))
    with pytest.raises(InputError):
        stream.constrain_pose(5.0, np.zeros(6), characters=[7])
    with pytest.raises(InputError):
        MotionStream(model, characters=0)
