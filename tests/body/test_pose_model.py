"""Pose models: fitting, choosing modes, metrics, the root, streams of clips, files."""

from __future__ import annotations

import json
import warnings
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import marey
from marey.body import Motion, PoseModel, Skeleton
from marey.body.pose_model import pose_rotations
from marey.errors import InputError, MareyError, MareyWarning
from marey.geometry import rotations as so3
from marey.statistics.geodesics import principal_geodesics

from .carriers import carried
from .trees import random_motion


@pytest.fixture(scope="module")
def walk() -> Motion:
    return marey.samples.walk(seconds=3)


def rms_angle(model: PoseModel, motion: Motion) -> float:
    return float(
        np.sqrt((so3.distance(model.decode(model.encode(motion)), pose_rotations(motion)) ** 2).mean())
    )


def test_canonical_model_is_the_plain_analysis_with_a_neutral_root(walk):
    model = PoseModel.fit([walk], variance=0.95, metric="canonical")
    plain = principal_geodesics(pose_rotations(walk), variance=0.95)
    assert model.modes == plain.modes
    assert model.geodesics.spectrum == pytest.approx(plain.spectrum, abs=1e-12)
    assert model.geodesics.mean[0].tolist() == [1.0, 0.0, 0.0, 0.0]
    assert not model.geodesics.directions[:, 0].any()
    assert not model.geodesics.duals[:, 0].any()


@pytest.mark.parametrize("metric", ["kinetic", "lever", "canonical"])
def test_all_modes_give_every_pose_back(walk, metric):
    model = PoseModel.fit([walk], modes=3 * walk.joints, metric=metric)
    assert so3.distance(model.decode(model.encode(walk)), pose_rotations(walk)).max() < 1e-7
    assert model.joint_errors(walk).max() < 1e-7
    assert model.variance == pytest.approx(1.0)


def test_metrics_of_the_body_place_joints_better_than_angles_do():
    clip = marey.samples.walk(seconds=3)
    rng = np.random.default_rng(0)
    wobble = np.cumsum(rng.standard_normal((clip.frames, clip.joints, 3)), axis=0) * 0.02
    clip = replace(clip, rotations=so3.multiply(clip.rotations, so3.exp(wobble - wobble.mean(axis=0))))
    errors = {
        metric: PoseModel.fit([clip], modes=8, metric=metric).joint_errors(clip).mean()
        for metric in ("kinetic", "lever", "canonical")
    }
    assert errors["kinetic"] < errors["lever"] < errors["canonical"]


def test_weights_of_ones_are_the_canonical_metric(walk):
    weighted = PoseModel.fit([walk], modes=5, metric=np.ones(walk.joints))
    assert weighted.metric == "weights"
    canonical = PoseModel.fit([walk], modes=5, metric="canonical")
    assert weighted.encode(walk) == pytest.approx(canonical.encode(walk), abs=1e-9)


@settings(max_examples=10)
@given(st.integers(0, 1000))
def test_coordinates_do_not_depend_on_where_the_clip_stands(seed):
    motion = random_motion(seed, joints=5, frames=30)
    turn = so3.random(rng=seed)
    model = PoseModel.fit([motion], modes=4)
    elsewhere = motion.transform(rotation=turn, translation=[1, 2, 3])
    assert model.encode(elsewhere) == pytest.approx(model.encode(motion), abs=1e-9)


def test_error_bounds_choose_the_fewest_modes(walk):
    for bound in (0.05, 0.01, 0.002):
        model = PoseModel.fit([walk], error=bound)
        assert model.joint_errors(walk)[:, 1:].mean() <= bound
        if model.modes:
            assert model.first(model.modes - 1).joint_errors(walk)[:, 1:].mean() > bound
        strict = PoseModel.fit([walk], max_error=bound)
        assert strict.joint_errors(walk).max() <= bound
        assert strict.modes >= model.modes


def test_more_variance_takes_more_modes(walk):
    counts = [PoseModel.fit([walk], variance=v).modes for v in (0.5, 0.9, 0.99, 0.999)]
    assert counts == sorted(counts)
    assert PoseModel.fit([walk]).modes == counts[2]


def test_clips_streamed_equal_clips_at_once(walk):
    clips = [
        replace(walk, rotations=so3.multiply(walk.rotations, so3.exp(0.1 * s * np.ones((walk.joints, 3)))))
        for s in range(5)
    ]
    many = [clips[i % 5] for i in range(50)]
    assert sum(clip.frames for clip in many) > 8192
    streamed = PoseModel.fit([lambda clip=clip: clip for clip in many], modes=6, metric="canonical")
    at_once = principal_geodesics(np.concatenate([pose_rotations(clip) for clip in many]), modes=6)
    assert streamed.frames == sum(clip.frames for clip in many)
    assert streamed.geodesics.spectrum == pytest.approx(at_once.spectrum, abs=1e-8)
    assert so3.distance(streamed.geodesics.mean, at_once.mean).max() < 1e-8
    once = PoseModel.fit(iter(many), modes=6, metric="canonical")
    assert once.geodesics.spectrum == pytest.approx(at_once.spectrum, rel=5e-3, abs=1e-6)


def test_other_bones_are_noted_and_other_joints_refused(walk):
    taller = replace(walk, skeleton=replace(walk.skeleton, offsets=1.2 * walk.skeleton.offsets))
    with pytest.warns(MareyWarning, match="bones differ by up to"):
        model = PoseModel.fit([walk, taller], modes=2)
    assert model.skeleton is walk.skeleton
    with pytest.raises(InputError, match=r"different joints \(6 joints instead of 26\)"):
        PoseModel.fit([walk, random_motion(0)])
    renamed = replace(walk.skeleton, names=("Pelvis", *walk.skeleton.names[1:]))
    with pytest.raises(InputError, match="'Hips'"):
        model.encode(replace(walk, skeleton=renamed))


@pytest.mark.parametrize("root", ["heading", "world"])
def test_models_with_travel_bring_whole_clips_back(walk, root):
    model = PoseModel.fit([walk], modes=3 * walk.joints + (4 if root == "heading" else 3), root=root)
    rebuilt = model.rebuild(walk)
    assert np.abs(rebuilt.root - walk.root).max() < 1e-9
    assert so3.distance(rebuilt.rotations, walk.rotations).max() < 1e-7
    assert model.root == root


@pytest.mark.parametrize("root", ["none", "heading", "world"])
@pytest.mark.parametrize("metric", ["kinetic", "canonical"])
def test_coordinates_are_uncorrelated_with_their_variances(walk, root, metric):
    model = PoseModel.fit([walk], modes=7, root=root, metric=metric)
    values = model.encode(walk)
    assert values.mean(axis=0) == pytest.approx(np.zeros(7), abs=1e-8)
    assert values.T @ values / len(values) == pytest.approx(np.diag(model.geodesics.variances), abs=1e-8)


def test_heading_model_of_few_modes_walks_on_with_little_drift(walk):
    model = PoseModel.fit([walk], variance=0.99, root="heading")
    rebuilt = model.rebuild(walk)
    way = np.linalg.norm(np.diff(walk.root, axis=0), axis=1).sum()
    assert np.abs(rebuilt.root - walk.root).max() < 0.05 * way
    again = model.decode_motion(model.encode(walk)[:10], 60.0, start=[1, 9, 2], heading=0.5, name="ten")
    assert again.frames == 10
    assert again.frame_rate == 60.0
    assert again.root[0, [0, 2]].tolist() == [1.0, 2.0]


def test_model_without_travel_decodes_in_place(walk):
    model = PoseModel.fit([walk], modes=4)
    clip = model.decode_motion(model.encode(walk), walk.frame_rate, start=[1, 2, 3], heading=np.pi / 2)
    assert (clip.root == [1, 2, 3]).all()
    facing = so3.multiply(so3.exp([0, np.pi / 2, 0]), model.stance)
    np.testing.assert_allclose(so3.distance(clip.rotations[:, 0], facing), 0, atol=1e-7)


def test_a_rig_that_lies_down_unturned_stands_when_decoded(walk):
    turn = so3.exp([np.pi / 2, 0, 0])
    below = np.flatnonzero(walk.skeleton.parents == 0)
    offsets, rotations = np.array(walk.skeleton.offsets), np.array(walk.rotations)
    offsets[below] = so3.rotate(so3.inverse(turn), offsets[below])
    rotations[:, 0] = so3.multiply(rotations[:, 0], turn)
    rotations[:, below] = so3.multiply(so3.inverse(turn), rotations[:, below])
    rig = replace(walk, skeleton=replace(walk.skeleton, offsets=offsets), rotations=rotations)
    heights = []
    for clip in (walk, rig.transform(rotation=so3.exp([0.0, 2.0, 0.0]))):
        model = PoseModel.fit([clip], variance=1.0)
        heights.append(np.ptp(model.decode_motion(model.encode(clip), 60.0).positions()[..., 1], axis=1))
    np.testing.assert_allclose(heights[1], heights[0], atol=1e-3)


def test_a_still_clip_has_no_modes(walk):
    still = replace(walk, rotations=np.repeat(walk.rotations[:1], 5, axis=0), root=walk.root[:5])
    for metric in ("kinetic", "lever", "canonical"):
        for root in ("none", "heading"):
            model = PoseModel.fit([still[0]], metric=metric, root=root)
            assert model.modes == 0
            assert model.variance == 1.0
            assert model.encode(walk).shape == (walk.frames, 0)
            assert so3.distance(model.rebuild(still).rotations, still.rotations).max() < 1e-7


def test_one_joint_alone_can_be_fitted():
    single = random_motion(1, joints=1, frames=9)
    assert PoseModel.fit([single]).modes == 0
    assert PoseModel.fit([single], root="world").modes > 0


def test_fewer_frames_than_dimensions_are_enough(walk):
    model = PoseModel.fit([walk[:5]], variance=1.0)
    assert model.modes <= 4
    assert rms_angle(model, walk[:5]) < 1e-5


def test_wrap_hazards_are_named(walk):
    rotations = np.array(walk.rotations)
    rotations[10, 4] = so3.multiply(rotations[10, 4], so3.exp([3.1, 0, 0]))
    with pytest.warns(MareyWarning, match=walk.skeleton.names[4]):
        model = PoseModel.fit([replace(walk, rotations=rotations)])
    assert walk.skeleton.names[4] in model.wrap_hazards
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert PoseModel.fit([walk]).wrap_hazards == ()


def test_a_figure_below_another_joint_is_told_with_what_to_do(walk):
    with pytest.warns(MareyWarning, match=r"motion\.subtree\('Hips'\)"):
        PoseModel.fit([carried(walk)])


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"modes": 3, "variance": 0.9}, "only one of"),
        ({"modes": 1000}, "modes"),
        ({"modes": 2.5}, "whole number"),
        ({"variance": 2.0}, "variance"),
        ({"error": -1.0}, "error"),
        ({"max_error": np.nan}, "max_error"),
        ({"metric": "best"}, "kinetic, lever, canonical"),
        ({"metric": [1.0, 2.0]}, "metric"),
        ({"metric": np.zeros(26)}, "above 0"),
        ({"root": "left"}, "none, heading, world"),
    ],
)
def test_senseless_options_are_refused(walk, options, says):
    with pytest.raises(InputError, match=says):
        PoseModel.fit([walk], **options)


def test_nothing_and_other_things_are_refused(walk):
    with pytest.raises(InputError, match="at least one pose"):
        PoseModel.fit([])
    with pytest.raises(InputError, match="skeleton motion"):
        PoseModel.fit([lambda: "walk.bvh"])
    for wrong in ("walk.bvh", ["walk.bvh"]):
        with pytest.raises(InputError, match=r"marey\.load"):
            PoseModel.fit(wrong)
    with pytest.raises(InputError, match="coordinates: 3 a pose"):
        PoseModel.fit([walk], modes=3).decode(np.zeros(5))


@pytest.mark.parametrize("root", ["none", "heading"])
def test_a_model_comes_back_from_a_file_as_it_was(walk, root, tmp_path):
    model = PoseModel.fit([walk], root=root)
    marey.save(model, tmp_path / "m.mry")
    again = marey.load(tmp_path / "m.mry")
    assert isinstance(again, PoseModel)
    assert np.array_equal(again.encode(walk), model.encode(walk))
    assert np.array_equal(again.rebuild(walk).root, model.rebuild(walk).root)
    assert (again.metric, again.root, again.frames) == (model.metric, root, model.frames)
    assert np.array_equal(again.radius, model.radius)


@pytest.fixture(scope="module")
def model(walk) -> PoseModel:
    return PoseModel.fit([walk], modes=3)


def test_damaged_model_files_are_refused_in_words(walk, tmp_path):
    path = tmp_path / "m.mry"
    marey.save(PoseModel.fit([walk], modes=3, root="heading"), path)
    data = path.read_bytes()
    rng = np.random.default_rng(0)
    for trial in range(60):
        broken = bytearray(data)
        if trial % 3 == 0:
            broken = broken[: int(rng.integers(1, len(broken)))]
        else:
            for place in rng.integers(0, len(broken), size=1 + trial // 10):
                broken[place] = int(rng.integers(0, 256))
        path.write_bytes(bytes(broken))
        try:
            model = marey.load(path)
        except MareyError:
            continue
        assert isinstance(model, PoseModel)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("frames", "many"),
        ("frames", -3),
        ("root_motion", {"type": "Skeleton", "fields": {}}),
        ("geodesics", None),
        ("skeleton", 3),
        ("radius", [1.0, 2.0]),
    ],
)
def test_a_model_with_a_wrong_field_is_refused_in_words(model, tmp_path, field, value):
    path = tmp_path / "m.mry"
    marey.save(model, path)
    with zipfile.ZipFile(path) as file:
        parts = {name: file.read(name) for name in file.namelist()}
    header = json.loads(parts["header.json"])
    header["content"]["fields"][field] = value
    parts["header.json"] = json.dumps(header).encode()
    with zipfile.ZipFile(path, "w") as file:
        for name, part in parts.items():
            file.writestr(name, part)
    with pytest.raises(MareyError):
        marey.load(path)


def test_a_model_of_other_joints_than_its_skeleton_is_refused(model):
    small = Skeleton(("a",), [-1], [[0, 0, 0]])
    with pytest.raises(InputError, match="skeleton"):
        replace(model, skeleton=small)


# Modes for 90, 95 and 99 % of the canonical variance of CMU clips, by an independent computation.
SURVEY = {
    "02_01": (3, 5, 11),
    "09_06": (3, 4, 9),
    "91_62": (8, 11, 20),
    "17_10": (16, 21, 30),
    "85_01": (12, 16, 25),
}


@pytest.mark.parametrize("clip", SURVEY)
def test_modes_of_real_clips(data_dir: Path, clip: str):
    motion = marey.load(data_dir / "skeleton" / "cmu_bvh" / f"{clip}.bvh", clean=True)
    counts = [PoseModel.fit([motion], variance=v, metric="canonical").modes for v in (0.9, 0.95, 0.99)]
    assert np.abs(np.array(counts) - SURVEY[clip]).max() <= 1


def test_position_errors_of_real_clips_by_metric(data_dir: Path):
    # Distortion in percent at a fixed number of modes: canonical and lever by an independent computation.
    for clip, modes, canonical, lever in (("02_01", 6, 1.39, 1.14), ("09_06", 6, 1.28, 0.71)):
        motion = marey.load(data_dir / "skeleton" / "cmu_bvh" / f"{clip}.bvh", clean=True)
        truth = motion.positions()

        def distortion(metric, motion=motion, truth=truth, modes=modes):
            rebuilt = PoseModel.fit([motion], modes=modes, metric=metric).rebuild(motion).positions()
            return 100 * np.linalg.norm(rebuilt - truth) / np.linalg.norm(truth - truth.mean(axis=0))

        assert distortion("canonical") == pytest.approx(canonical, abs=0.03)
        assert distortion("lever") == pytest.approx(lever, abs=0.03)
        assert distortion("kinetic") < 0.85 * lever
