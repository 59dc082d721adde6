"""Compressed clips: within the error asked for, decoded whole, in part and in a stream, never a crash."""

from __future__ import annotations

import zlib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import marey
from marey.body.codec import CompressedMotion, compress, decompress, joint_error
from marey.body.codec.carriers import put_back, set_aside
from marey.body.codec.clip import MODES, Mode, assembled
from marey.body.codec.header import pack_header
from marey.body.motion import Motion
from marey.body.skeleton import Skeleton
from marey.errors import FormatError, InputError, MareyError, UnreachableError
from marey.geometry import rotations as so3
from marey.geometry.convention import Convention
from tests.body.carriers import carried, driven

WALK = marey.samples.walk(seconds=3, frame_rate=60)


@pytest.fixture(scope="module", params=MODES)
def small(request: pytest.FixtureRequest) -> CompressedMotion:
    return compress(WALK, mode=request.param)


def test_what_is_no_motion_comes_back(small: CompressedMotion) -> None:
    motion = replace(WALK, convention=Convention(0.01, "z"), name="a walk")
    again = compress(motion, mode=small.mode).decode()
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


def test_the_source_codec_keeps_errors_where_it_can() -> None:
    walk = WALK[:90:2]
    by_mean = compress(walk, mode="source", mean_error=0.02, improved=True)
    assert joint_error(walk, by_mean.decode()).mean <= 0.02
    by_worst = compress(walk, mode="source", max_error=0.15, improved=True)
    assert joint_error(walk, by_worst.decode()).maximum <= 0.15
    with pytest.raises(UnreachableError):
        compress(walk, mode="source", mean_error=1e-6)


def test_what_is_no_motion_is_refused() -> None:
    with pytest.raises(InputError, match=r"not a str; marey\.load"):
        compress("walk.bvh")  # type: ignore[arg-type]


def test_settings_of_the_source_codec_are_used() -> None:
    clip = compress(WALK, mode="source", modes=5, dropped=[2, 4])
    assert clip.modes == 5
    assert clip.source.dropped == (2, 2, 4, 4, 4, 4, 4)
    assert clip.source.ratio > 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"mode": "zip"}, "mode: one of transform, source"),
        ({"max_error": 0.0}, "max_error: must be a positive"),
        ({"mean_error": float("nan")}, "mean_error: must be a positive"),
        ({"modes": 5}, "settings of mode 'source'"),
        ({"mode": "source", "modes": 5, "mean_error": 0.1}, "either an error, or modes"),
        ({"mode": "source", "dropped": [1, 2, 3]}, "one number, or the root's"),
        ({"mode": "source", "modes": 500}, "modes: must be"),
        ({"improved": True}, "mode 'source'"),
        ({"max_error": "1cm"}, "number of metres, got '1cm'"),
    ],
)
def test_settings_that_make_no_sense_are_refused(options: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        compress(WALK, **options)  # type: ignore[arg-type]


def test_only_the_source_codec_has_end_joints_to_edit() -> None:
    with pytest.raises(InputError, match="mode 'source'"):
        _ = compress(WALK, max_error=0.05).source


@pytest.mark.parametrize("frames", [1, 2, 3])
@pytest.mark.parametrize("mode", MODES)
def test_shortest_clips(mode: Mode, frames: int) -> None:
    motion = WALK[:frames]
    again = compress(motion, mode=mode).decode()
    assert again.frames == frames
    if mode == "transform":
        assert joint_error(motion, again).maximum <= 0.01


@pytest.mark.parametrize("mode", MODES)
def test_a_single_joint_is_a_clip_too(mode: Mode) -> None:
    ball = Motion(
        Skeleton(("ball",), [-1], [[0, 0, 0]], [0], [[0, 0.1, 0]]),
        WALK.rotations[:, :1],
        WALK.root,
        60.0,
    )
    again = compress(ball, mode=mode).decode()
    assert joint_error(ball, again).maximum <= (0.01 if mode == "transform" else 0.2)


def test_still_joints_above_the_one_that_travels_are_set_aside_and_put_back() -> None:
    motion = carried(WALK)
    np.testing.assert_allclose(motion.positions()[:, 2:], WALK.positions(), atol=1e-9)
    core, carriers = set_aside(motion)
    assert carriers is not None
    assert carriers.names == ("World", "Armature")
    assert core.translations is None
    again = put_back(core, carriers)
    assert again.skeleton.names == motion.skeleton.names
    np.testing.assert_allclose(again.positions(), motion.positions(), atol=1e-9)
    np.testing.assert_allclose(again.end_positions(), motion.end_positions(), atol=1e-9)


@pytest.mark.parametrize("mode", MODES)
def test_a_carried_clip_is_compressed_like_any(mode: Mode) -> None:
    motion = carried(WALK)
    clip = compress(motion, mode=mode)
    again = clip.decode()
    assert clip.joints == again.joints == motion.joints
    assert clip.skeleton.names == again.skeleton.names == motion.skeleton.names
    assert joint_error(motion, again).maximum <= (0.01 if mode == "transform" else 0.5)
    assert clip.bytes < compress(WALK, mode=mode).bytes + 250


@pytest.mark.parametrize("max_error", [0.01, 0.0005])
def test_root_motion_above_hips_that_move_too_is_kept(max_error: float) -> None:
    motion = driven(WALK)
    np.testing.assert_allclose(motion.positions()[:, 2:], WALK.positions(), atol=1e-9)
    clip = CompressedMotion(compress(motion, max_error=max_error).data)
    again = clip.decode()
    assert joint_error(motion, again).maximum <= max_error
    turned = so3.distance(
        again.forward_kinematics().rotations[:, :2], motion.forward_kinematics().rotations[:, :2]
    )
    assert turned.max() < 0.5 * max_error
    part = clip.decode(slice(40, 60))
    np.testing.assert_array_equal(part.positions(), again.positions()[40:60])
    np.testing.assert_array_equal(clip.decode(slice(None, None, -2)).positions(), again.positions()[::-2])
    assert clip.skeleton.names == motion.skeleton.names


def test_root_motion_is_kept_by_the_source_codec_too() -> None:
    motion = driven(WALK)
    again = compress(motion, mode="source").decode()
    assert joint_error(motion, again).mean < 0.02
    assert np.abs(again.positions()[:, 0] - motion.positions()[:, 0]).max() < 0.01


def test_damage_to_stored_root_motion_is_told() -> None:
    data = bytearray(compress(driven(WALK)).data)
    rng = np.random.default_rng(0)
    for _ in range(300):
        broken = bytearray(data)
        broken[int(rng.integers(5, 600))] ^= 1 << int(rng.integers(8))
        broken[-4:] = zlib.crc32(broken[:-4]).to_bytes(4, "little")
        try:
            CompressedMotion(bytes(broken)).decode(0)
        except MareyError:
            continue


def test_joints_that_slide_are_refused_by_name() -> None:
    motion = carried(WALK)
    assert motion.translations is not None
    translations = np.array(motion.translations)
    translations[10:, 7] += 0.05
    with pytest.raises(InputError, match="'RightUpLeg' slides|'Hips' slides"):
        compress(replace(motion, translations=translations))


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
    newer = b"MRYC\x20" + small.data[5:]
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
    header = bytearray(pack_header(replace(WALK, name=""), quantum=1e-3))
    endless = bytes(header[:2]) + b"\xff" * 5 + b"\x01" + bytes(header[4:])
    clip = assembled("transform", None, endless + b"\x00" * 100)
    assert clip.frames > 10**9
    with pytest.raises(MareyError):
        clip.decode()
