"""Filters on whole clips: which joints, which settings, what is reported."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import marey
from marey import body
from marey.body.filter import FilterSettings
from marey.body.motion import Motion
from marey.errors import InputError
from marey.geometry import rotations as so3
from marey.geometry.filters import bilateral_rotations, gaussian_mask, linear_rotations


@pytest.fixture(scope="module")
def walk() -> Motion:
    return marey.samples.walk(2, frame_rate=60)


def shaken(motion: Motion, std: float, *, root: float = 0.0, seed: int = 0) -> Motion:
    rng = np.random.default_rng(seed)
    noise = so3.exp(rng.normal(scale=std, size=(motion.frames, motion.joints, 3)))
    moved = motion.root + rng.normal(scale=root, size=motion.root.shape)
    return replace(motion, rotations=so3.multiply(motion.rotations, noise), root=moved)


def error(found: Motion, truth: Motion) -> float:
    return float(np.degrees(np.sqrt((so3.distance(found.rotations, truth.rotations) ** 2).mean())))


def hand_path(motion: Motion, hand: str) -> float:
    places = motion.positions()[:, motion.skeleton.index(hand)]
    return float(np.linalg.norm(np.diff(places, axis=0), axis=1).sum())


@pytest.mark.parametrize("method", ["bilateral", "gaussian", "binomial", "butterworth"])
def test_noise_goes_and_motion_stays(walk: Motion, method: str) -> None:
    noisy = shaken(walk, 0.05, root=0.005)
    found, report = body.filter(noisy, FilterSettings(method))
    assert error(found, walk) < 0.6 * error(noisy, walk)
    off = [np.linalg.norm(clip.root - walk.root, axis=1).mean() for clip in (found, noisy)]
    assert off[0] < 0.75 * off[1]
    assert report.change_degrees == pytest.approx(error(found, noisy))
    assert report.noise_degrees == pytest.approx(np.degrees(0.05), rel=0.15)
    assert report.change_max_degrees > report.change_degrees > 0 and report.change_root_cm > 0


def test_a_clean_clip_hardly_changes(walk: Motion) -> None:
    found, report = body.filter(walk)
    assert report.change_degrees < 0.05 and report.change_root_cm < 0.05
    assert report.speed_ratio == pytest.approx(1.0, abs=0.02)
    assert found.frames == walk.frames and np.abs(found.positions() - walk.positions()).max() < 0.01


def test_only_named_joints_change_and_the_path_belongs_to_the_root(walk: Motion) -> None:
    noisy = shaken(walk, 0.05, root=0.005)
    found, report = body.filter(noisy, joints=["LeftHand", "RightHand"])
    kept = [j for j, name in enumerate(walk.skeleton.names) if name not in ("LeftHand", "RightHand")]
    assert report.joints == ("LeftHand", "RightHand") and report.change_root_cm == 0
    assert so3.distance(found.rotations[:, kept], noisy.rotations[:, kept]).max() < 1e-12
    root_only, _ = body.filter(noisy, joints=[walk.skeleton.names[0]])
    assert not np.allclose(root_only.root, noisy.root)
    still, _ = body.filter(noisy, keep_root=True)
    assert np.array_equal(still.root, noisy.root)


def test_settings_are_those_of_the_functions_on_arrays(walk: Motion) -> None:
    noisy = shaken(walk, 0.05)
    source = FilterSettings(sigma_g=0.1, guided=False, boundary="mirror")
    found, _ = body.filter(noisy, source)
    expected = bilateral_rotations(noisy.rotations, sigma=1.0, sigma_g=0.1, passes=5)
    assert so3.distance(found.rotations, expected).max() < 1e-12
    found, _ = body.filter(noisy, FilterSettings("gaussian", sigma=0.05, passes=2))
    expected = linear_rotations(noisy.rotations, gaussian_mask(3.0), passes=2, boundary="extrapolate")
    assert so3.distance(found.rotations, expected).max() < 1e-12


def test_filtering_in_the_world_is_not_filtering_in_the_parents_frame(walk: Motion) -> None:
    noisy = shaken(walk, 0.1)
    settings = FilterSettings(sigma_g=0.1, guided=False)
    local = body.filter(noisy, settings)[0].forward_kinematics().rotations
    world = settings.rotations(noisy.forward_kinematics().rotations, walk.frame_rate)
    assert np.degrees(so3.distance(local, world)).max() > 3.0
    assert so3.distance(local[:, 0], world[:, 0]).max() < 1e-12


def test_hand_paths_are_shorter_after_a_gaussian_than_after_the_bilateral_filter_than_before(
    walk: Motion,
) -> None:
    for std in (0.05, 0.18):
        noisy = shaken(walk, std)
        paths = [
            hand_path(body.filter(noisy, settings)[0], "RightHand")
            for settings in (
                FilterSettings("gaussian", boundary="mirror"),
                FilterSettings(sigma_g=0.1, guided=False, boundary="mirror"),
            )
        ]
        assert paths[0] < paths[1] < hand_path(noisy, "RightHand")


def test_joints_that_slide_are_filtered_by_the_vector_version(walk: Motion) -> None:
    rng = np.random.default_rng(0)
    places = np.tile(walk.skeleton.offsets, (walk.frames, 1, 1))
    hand = walk.skeleton.index("LeftHand")
    truth = places[:, hand, 0] + 0.02 * np.sin(np.arange(walk.frames) / 15)
    places[:, hand, 0] = truth + rng.normal(scale=0.005, size=walk.frames)
    sliding = replace(walk, translations=places)
    found, _ = body.filter(sliding)
    assert found.translations is not None
    off = np.abs(found.translations[:, hand, 0] - truth).mean()
    assert off < 0.7 * np.abs(places[:, hand, 0] - truth).mean()
    others = [j for j in range(1, walk.joints) if j != hand]
    assert np.array_equal(found.translations[:, others], places[:, others])


def test_short_clips_and_single_frames_pass(walk: Motion) -> None:
    for frames in (1, 2, 5):
        for method in ("bilateral", "butterworth"):
            found, report = body.filter(walk[:frames], FilterSettings(method))
            assert found.frames == frames and np.isfinite(report.change_degrees)


def test_wrong_settings_are_told_in_words(walk: Motion) -> None:
    for make, words in (
        (lambda: FilterSettings("median"), "bilateral, gaussian"),
        (lambda: FilterSettings(sigma=0.0), "sigma"),
        (lambda: body.filter(walk, FilterSettings("butterworth", cutoff=30.0)), "30 Hz"),
        (lambda: body.filter(walk, FilterSettings("gaussian", sigma=1e6)), "at most 5000"),
        (lambda: body.filter(walk, FilterSettings("binomial", sigma=1e6)), "at most 5000"),
        (lambda: body.filter(walk, joints=[]), "at least one"),
        (lambda: body.filter(walk, joints=["Tail"]), "Tail"),
    ):
        with pytest.raises(InputError, match=words):
            make()


def test_real_hands_lose_added_noise_and_keep_their_speed(data_dir: Path) -> None:
    clip = data_dir / "skeleton" / "manipnet_hand_NC" / "mug1_rightHand.bvh"
    if not clip.is_file():
        pytest.skip("the hand is not here")
    truth = marey.load(clip)[600:900]
    noisy = shaken(truth, 0.03)
    for settings in (FilterSettings(), FilterSettings(guided=False)):
        found, _ = body.filter(noisy, settings)
        assert error(found, truth) < 0.55 * error(noisy, truth)
