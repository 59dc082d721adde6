"""Compressed clips: within the error asked for, decoded whole, in part and in a stream, never a crash."""

from __future__ import annotations

import contextlib
import zlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import marey
from marey.body.clip_header import Header
from marey.body.codec import CompressedMotion, channel_bytes, compress, decompress
from marey.body.codec.clip import METHODS, Method, assemble
from marey.body.compare import joint_error, joint_errors
from marey.body.motion import Motion
from marey.body.skeleton import Skeleton
from marey.errors import FormatError, InputError, MareyError, UnreachableError
from marey.geometry import rotations as so3
from marey.geometry.convention import Convention
from tests.body.carriers import carried, driven
from tests.body.trees import random_motion

WALK = marey.samples.walk(seconds=3, frame_rate=60)


@pytest.fixture(scope="module", params=METHODS)
def small(request: pytest.FixtureRequest) -> CompressedMotion:
    return compress(WALK, method=request.param)


def test_what_is_no_motion_comes_back(small: CompressedMotion) -> None:
    motion = replace(WALK, convention=Convention(0.01, "z"), name="a walk")
    again = compress(motion, method=small.method).decode()
    assert again.skeleton.names == motion.skeleton.names
    assert again.skeleton.parents.tolist() == motion.skeleton.parents.tolist()
    assert again.skeleton.end_parents.tolist() == motion.skeleton.end_parents.tolist()
    assert (again.frames, again.frame_rate, again.convention, again.channels, again.name) == (
        motion.frames,
        motion.frame_rate,
        motion.convention,
        motion.channels,
        motion.name,
    )
    assert (small.frames, small.frame_rate, small.joints, small.duration) == (180, 60.0, WALK.joints, 3.0)
    assert small.skeleton.names == WALK.skeleton.names


def test_facts_of_a_file_are_known_without_decoding(
    small: CompressedMotion, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*arguments: object) -> None:
        raise AssertionError("a segment was decoded")

    monkeypatch.setattr("marey.body.codec.transform.segment.read_segment", refuse)
    monkeypatch.setattr("marey.body.codec.clip.decode_frames", refuse)
    again = CompressedMotion(small.data)
    assert (again.modes, len(again.segments)) == (small.modes, len(small.segments))
    assert again.skeleton is again.skeleton
    assert again.facts()["joints"] == WALK.joints


def test_the_file_says_how_large_it_is(small: CompressedMotion) -> None:
    assert small.bytes == len(small.data)
    assert small.raw_bytes == 4 * (3 * WALK.joints + 3) * WALK.frames
    assert small.ratio == small.raw_bytes / small.bytes > 5
    assert 0 < small.modes <= 3 * WALK.joints + 4
    assert "180 frames" in repr(small)


def test_a_part_is_decoded_as_it_is_in_the_whole(small: CompressedMotion) -> None:
    whole = decompress(small)
    for part in (slice(40, 50), slice(-5, None), slice(7, 8), slice(None, None, 7), slice(90, 20, -3)):
        cut = decompress(small, frames=part)
        assert cut.frame_rate == whole[part].frame_rate
        np.testing.assert_allclose(cut.positions(), whole[part].positions(), atol=1e-6)
    np.testing.assert_allclose(small.decode(-1).positions(), whole[-1].positions(), atol=1e-6)


def test_segments_cover_the_clip_and_a_stream_is_the_whole(small: CompressedMotion) -> None:
    assert [frame for segment in small.segments for frame in segment] == list(range(small.frames))
    streamed = np.concatenate([part.positions() for part in small.stream()])
    np.testing.assert_allclose(streamed, small.decode().positions(), atol=1e-6)


def test_frames_that_are_not_there_are_refused(small: CompressedMotion) -> None:
    for frames in (slice(500, 600), slice(5, 5), 180, -181):
        with pytest.raises(InputError):
            small.decode(frames)


@pytest.mark.parametrize("max_error", [0.002, 0.01, 0.05])
def test_no_joint_is_further_off_than_allowed(max_error: float) -> None:
    clip = compress(WALK, max_error=max_error)
    assert joint_error(WALK, clip.decode()).maximum <= max_error


def test_the_mean_error_is_kept_too() -> None:
    clip = compress(WALK, mean_error=0.005)
    assert joint_error(WALK, clip.decode()).mean <= 0.005
    both = compress(WALK, mean_error=0.005, max_error=0.008)
    error = joint_error(WALK, both.decode())
    assert error.mean <= 0.005
    assert error.maximum <= 0.008


def test_a_smaller_error_takes_more_bytes() -> None:
    sizes = [compress(WALK, max_error=error).bytes for error in (0.05, 0.01, 0.002)]
    assert sizes == sorted(sizes)


def test_tourniers_codec_keeps_errors_where_it_can() -> None:
    walk = WALK[:90:2]
    by_mean = compress(walk, method="tournier", mean_error=0.02)
    assert joint_error(walk, by_mean.decode()).mean <= 0.02
    by_worst = compress(walk, method="tournier", max_error=0.15)
    assert joint_error(walk, by_worst.decode()).maximum <= 0.15
    with pytest.raises(UnreachableError):
        compress(walk, method="tournier", mean_error=1e-6)


def test_what_is_no_motion_is_refused() -> None:
    with pytest.raises(InputError, match=r"not a str; marey\.load"):
        compress("walk.bvh")  # type: ignore[arg-type]


def test_settings_of_tourniers_codec_are_used() -> None:
    clip = compress(WALK, method="tournier", modes=5, dropped_levels=[2, 4])
    assert clip.modes == 5
    assert clip.tournier.dropped_levels == (2, 2, 4, 4, 4, 4, 4)
    assert clip.tournier.ratio > 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": "zip"}, "method: one of transform, tournier"),
        ({"max_error": 0.0}, "max_error: must be a positive"),
        ({"mean_error": float("nan")}, "mean_error: must be a positive"),
        ({"modes": 5}, "settings of method 'tournier'"),
        ({"method": "tournier", "modes": 5, "mean_error": 0.1}, "either an error, or modes"),
        ({"method": "tournier", "dropped_levels": [1, 2, 3]}, "one number, or the root's"),
        ({"method": "tournier", "modes": 500}, "modes: must be"),
        ({"max_error": "1cm"}, "number of metres, got '1cm'"),
    ],
)
def test_settings_that_make_no_sense_are_refused(options: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        compress(WALK, **options)  # type: ignore[arg-type]


def test_only_tourniers_codec_has_end_effectors_to_edit() -> None:
    with pytest.raises(InputError, match="method 'tournier'"):
        _ = compress(WALK, max_error=0.05).tournier


@pytest.mark.parametrize("frames", [1, 2, 3])
@pytest.mark.parametrize("method", METHODS)
def test_shortest_clips(method: Method, frames: int) -> None:
    motion = WALK[:frames]
    again = compress(motion, method=method).decode()
    assert again.frames == frames
    if method == "transform":
        assert joint_error(motion, again).maximum <= 0.01


@pytest.mark.parametrize("method", METHODS)
def test_a_single_joint_is_a_clip_too(method: Method) -> None:
    ball = Motion(
        Skeleton(("ball",), [-1], [[0, 0, 0]], [0], [[0, 0.1, 0]]),
        WALK.rotations[:, :1],
        WALK.root,
        60.0,
    )
    again = compress(ball, method=method).decode()
    assert joint_error(ball, again).maximum <= (0.01 if method == "transform" else 0.2)


# Joints that slide


def within(motion: Motion, error: float) -> CompressedMotion:
    """The clip compressed; joints, end sites and shell are no more than `error` off in what is decoded."""
    clip = CompressedMotion(compress(motion, max_error=error).data)
    again = clip.decode()
    assert again.skeleton.names == motion.skeleton.names
    assert joint_errors(motion, again, shell=0.03).max() <= error
    part = clip.decode(slice(40, 60))
    np.testing.assert_array_equal(part.positions(), again.positions()[40:60])
    np.testing.assert_array_equal(clip.decode(slice(None, None, -2)).positions(), again.positions()[::-2])
    return clip


@pytest.mark.parametrize("far", [0.0, 1e4])
def test_a_clip_below_still_joints_takes_little_more(far: float) -> None:
    motion = carried(WALK.transform(translation=[far, 0.0, -far]))
    np.testing.assert_allclose(
        motion.positions()[:, 2] - WALK.positions()[:, 0], [[far, 0.0, -far]] * 180, atol=1e-9
    )
    clip = within(motion, 0.01)
    assert clip.joints == motion.joints
    assert clip.bytes < compress(WALK).bytes + 250


@pytest.mark.parametrize("max_error", [0.01, 0.0005])
def test_root_motion_above_hips_that_move_too_is_kept(max_error: float) -> None:
    within(driven(WALK), max_error)


def quadruped(frames: int) -> Motion:
    """A trotting figure whose shoulder blades slide on the trunk, as those of cats and horses do."""
    names, parents = ["pelvis", "chest"], [-1, 0]
    offsets = [[0.0, 0.0, 0.0], [0.0, 0.05, 0.6]]
    for side, x in (("l", 0.15), ("r", -0.15)):
        for trunk, top in ((1, "scapula"), (0, "hip")):
            names += [f"{top}_{side}", f"{top}_knee_{side}", f"{top}_paw_{side}"]
            parents += [trunk, len(names) - 3, len(names) - 2]
            offsets += [[x, -0.05, 0.0], [0.0, -0.3, 0.02], [0.0, -0.3, -0.02]]
    skeleton = Skeleton(tuple(names), parents, offsets, [4], [[0.0, -0.05, 0.05]])
    t = np.arange(frames) / 60
    swing = np.sin(2 * np.pi * (1.6 * t[:, None] + np.linspace(0, 1, len(names))))
    rotations = so3.exp(0.4 * swing[..., None] * np.array([1.0, 0.1, 0.05]))
    root = np.stack([0 * t, 0.7 + 0.02 * np.sin(20 * t), 1.8 * t], axis=1)
    translations = np.tile(skeleton.offsets, (frames, 1, 1))
    translations[:, 0] = root
    for joint, phase in ((skeleton.index("scapula_l"), 0.0), (skeleton.index("scapula_r"), np.pi)):
        translations[:, joint, 1:] += 0.04 * np.stack(
            [np.sin(10 * t + phase), np.cos(10 * t + phase)], axis=1
        )
    return Motion(skeleton, rotations, root, 60.0, translations=translations)


def face(frames: int) -> Motion:
    """A rig of a face: most of its joints slide and none turns."""
    rng = np.random.default_rng(0)
    skeleton = Skeleton(
        ("head", *(f"brow_{i}" for i in range(12))), [-1] + [0] * 12, rng.normal(size=(13, 3)) * 0.05
    )
    waves = np.sin(np.arange(frames)[:, None] / 15 + np.arange(12)) ** 3
    translations = np.tile(skeleton.offsets, (frames, 1, 1))
    translations[:, 0] = [0.0, 1.6, 0.0]
    translations[:, 1:] += 0.01 * waves[..., None] * rng.normal(size=(12, 3))
    rotations = np.tile([1.0, 0.0, 0.0, 0.0], (frames, 13, 1))
    return Motion(skeleton, rotations, translations[:, 0], 60.0, translations=translations)


@pytest.mark.parametrize("figure", [quadruped, face])
@pytest.mark.parametrize("error", [0.01, 0.001, 0.0002])
def test_clips_of_joints_that_slide_keep_the_bound(figure: Callable[[int], Motion], error: float) -> None:
    motion = figure(180)
    clip = within(motion, error)
    assert clip.ratio > 10
    assert clip.raw_bytes == 12 * (motion.joints + len(clip.header.sliding)) * motion.frames
    assert clip.raw_bytes == channel_bytes(motion)
    decoded = clip.decode()
    assert decoded.translations is not None
    fixed = np.setdiff1d(np.arange(motion.joints), clip.header.sliding)
    assert np.ptp(decoded.translations[:, fixed], axis=0).max(initial=0.0) == 0.0


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10_000), st.floats(0.0005, 0.05))
def test_any_tree_of_sliding_joints_keeps_the_bound(seed: int, error: float) -> None:
    motion = random_motion(seed, joints=5, frames=20, sliding=True)
    again = compress(motion, max_error=error).decode()
    assert joint_errors(motion, again, shell=0.03).max() <= error


def test_translations_that_do_not_change_become_offsets() -> None:
    translations = np.tile(WALK.skeleton.offsets + 0.01, (WALK.frames, 1, 1))
    clip = compress(replace(WALK, translations=translations))
    assert clip.header.sliding == (0,)
    np.testing.assert_allclose(
        clip.skeleton.offsets[1:], WALK.skeleton.offsets[1:] + 0.01, atol=clip.header.quantum
    )


def test_tourniers_codec_refuses_joints_that_slide_by_name() -> None:
    with pytest.raises(InputError, match="joints slide .*scapula_l.*use the default method"):
        compress(quadruped(60), method="tournier")


def test_damage_to_a_clip_with_sliding_joints_is_reported() -> None:
    data = bytearray(compress(driven(WALK)).data)
    rng = np.random.default_rng(0)
    for _ in range(300):
        broken = bytearray(data)
        broken[int(rng.integers(5, 600))] ^= 1 << int(rng.integers(8))
        broken[-4:] = zlib.crc32(broken[:-4]).to_bytes(4, "little")
        with contextlib.suppress(MareyError):
            CompressedMotion(bytes(broken)).decode(0)


@pytest.mark.parametrize("clip", ["walk", "run"])
def test_real_clips_below_another_root_are_compressed(data_dir: Path, clip: str) -> None:
    path = data_dir / "skeleton" / "bandai_bvh_NC" / f"dataset-1_{clip}_normal_001.bvh"
    if not path.exists():
        pytest.skip("this clip is not here")
    motion = marey.load(path)
    again = compress(motion, max_error=0.01).decode()
    assert again.skeleton.names == motion.skeleton.names
    assert again.channels == motion.channels
    assert joint_error(motion, again).maximum <= 0.01


def test_damaged_files_are_format_errors(small: CompressedMotion) -> None:
    for cut in (0, 3, 5, 8, small.bytes // 2, small.bytes - 1):
        with pytest.raises(FormatError):
            CompressedMotion(small.data[:cut])
    rng = np.random.default_rng(0)
    for place in rng.integers(small.bytes, size=50):
        spoilt = bytearray(small.data)
        spoilt[place] ^= 1 << rng.integers(8)
        with pytest.raises(FormatError):
            CompressedMotion(bytes(spoilt))
    newer = b"MRYC\x02" + small.data[5:]
    with pytest.raises(FormatError, match="version 2"):
        CompressedMotion(newer)


def test_forged_files_with_a_good_checksum_never_crash(small: CompressedMotion) -> None:
    rng = np.random.default_rng(1)
    for _ in range(60):
        spoilt = bytearray(small.data[:-4])
        for place in rng.integers(4, len(spoilt), size=rng.integers(1, 4)):
            spoilt[place] = rng.integers(256)
        if rng.random() < 0.3:
            spoilt = spoilt[: rng.integers(5, len(spoilt))]
        forged = bytes(spoilt) + zlib.crc32(spoilt).to_bytes(4, "little")
        try:
            clip = CompressedMotion(forged)
            clip.decode(slice(0, 10))
            clip.decode(clip.frames // 2)
        except MareyError:
            pass


def test_a_small_file_cannot_ask_for_endless_memory() -> None:
    frames = 1 << 35
    header = replace(Header.of(WALK, quantum=1e-3), frames=frames).with_content(segments=[[frames, 100, 1]])
    clip = assemble("transform", header, b"\x00" * 100)
    assert clip.frames > 10**9
    with pytest.raises(MareyError):
        clip.decode()


@pytest.mark.parametrize(
    "segments",
    [
        None,
        1,
        [],
        [[]],
        [[180, 1]],
        [[180, 0, 1]],
        [[180, -1, 1]],
        [[10, 5, 1]],
        [[90, 3, 1], [90, 2, 1]],
        [["a"] * 3],
    ],
)
def test_segments_that_do_not_add_up_are_refused(segments: object) -> None:
    header = Header.of(WALK, quantum=1e-3).with_content(segments=segments)
    with pytest.raises(FormatError):
        assemble("transform", header, b"\x00" * 5).decode()


def test_files_of_an_unknown_method_are_refused() -> None:
    with pytest.raises(FormatError, match="'zip', which is not known"):
        assemble("zip", Header.of(WALK), b"")  # type: ignore[arg-type]
