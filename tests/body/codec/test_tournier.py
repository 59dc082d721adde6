"""Tournier's codec: what it promises on the sample clip, its table on real clips, its bytes."""

from __future__ import annotations

import contextlib
import zlib
from dataclasses import replace
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import marey
from marey.body import Motion, Skeleton
from marey.body.clip_header import Header
from marey.body.codec import CompressedMotion, channel_bytes
from marey.body.codec.clip import assemble
from marey.body.codec.tournier import TournierClip, decode, encode, encode_within, published_ratio
from marey.body.codec.tournier.clip import decode_frames
from marey.body.compare import joint_error, relative_distortion
from marey.errors import FormatError, InputError, MareyError, UnreachableError
from marey.geometry import rotations as so3
from tests.body.trees import random_motion


@pytest.fixture(scope="module")
def walk() -> Motion:
    return marey.samples.walk()


def test_whole_paths_of_end_effectors_give_nearly_the_clip_back(walk: Motion) -> None:
    clip = encode(walk, modes=8, dropped_levels=0)
    assert joint_error(walk, decode(clip)).mean < 0.015


def test_ratio_is_the_published_count(walk: Motion) -> None:
    clip = encode(walk, modes=6, dropped_levels=[4, 4, 5, 4, 4, 3, 3])
    expected = published_ratio(walk.frames, walk.joints, modes=6, dropped_levels=[4, 4, 5, 4, 4, 3, 3])
    assert clip.ratio == pytest.approx(expected, rel=1e-12)


def test_bones_keep_their_length(walk: Motion) -> None:
    clip = encode(walk, modes=6, dropped_levels=5)
    positions = decode(clip).positions()
    bones = np.linalg.norm(positions[:, 1:] - positions[:, walk.skeleton.parents[1:]], axis=-1)
    assert np.ptp(bones, axis=0).max() < 1e-12


def test_a_range_of_frames_equals_that_of_the_whole(walk: Motion) -> None:
    clip = encode(walk, modes=6)
    whole, part = decode(clip), decode(clip, frames=slice(40, 90, 2))
    assert part.frame_rate == walk.frame_rate / 2
    assert np.abs(part.positions() - whole[40:90:2].positions()).max() < 1e-12
    assert decode(clip, frames=-1).frames == 1


def test_the_decoded_clip_is_written_like_the_original(walk: Motion) -> None:
    named = replace(walk.with_convention(unit="cm", up="z"), name="stroll")
    decoded = decode(encode(named, modes=4))
    assert (decoded.convention, decoded.channels, decoded.name) == (
        named.convention,
        named.channels,
        "stroll",
    )


@pytest.mark.parametrize("frames", [1, 2, 3, 5])
def test_very_short_clips_pass(walk: Motion, frames: int) -> None:
    clip = encode(walk[:frames], dropped_levels=1)
    decoded = decode(TournierClip.unpack(*clip.pack()))
    assert decoded.frames == frames
    assert joint_error(walk[:frames], decoded).mean < 0.02


def test_no_modes_leave_the_mean_pose(walk: Motion) -> None:
    clip = encode(walk, modes=0)
    poses = decode(clip).rotations[:, 1:]
    assert so3.distance(poses, poses[0]).max() < 1e-7


def test_more_modes_than_the_clip_has_are_held_still(walk: Motion) -> None:
    clip = encode(walk[:4], modes=40)
    assert np.isfinite(decode(clip).rotations).all()


def test_any_tree_can_be_stored() -> None:
    motion = random_motion(5, joints=9, frames=30)
    for joints in (1, 9):
        clip = motion if joints == 9 else motion.pick([motion.skeleton.names[0]])
        decoded = decode(encode(clip, modes=2 if joints > 1 else 0))
        assert decoded.frames == 30


def test_the_root_may_turn_all_the_way_round() -> None:
    figure = Skeleton(("hips", "head"), [-1, 0], [[0, 0, 0], [0, 0.5, 0]])
    turns = so3.exp(np.linspace(0, 20, 200)[:, None] * [0.0, 1.0, 0.0])
    spin = Motion(figure, np.stack([turns, so3.identity(200)], axis=1), np.zeros((200, 3)), 30)
    decoded = decode(encode(spin, modes=0, dropped_levels=3))
    assert so3.distance(decoded.rotations[:, 0], turns).max() < 1e-5


def test_what_cannot_be_stored_is_said(walk: Motion) -> None:
    with pytest.raises(InputError, match="slide"):
        encode(random_motion(1, sliding=True))
    with pytest.raises(InputError, match="modes"):
        encode(walk, modes=76)
    with pytest.raises(InputError, match="dropped levels"):
        encode(walk, dropped_levels=11)
    with pytest.raises(InputError, match="dropped levels"):
        encode(walk, dropped_levels=[3, 3, 3])


def test_chosen_settings_keep_the_bound(walk: Motion) -> None:
    short = walk[:90]
    loose, by_mean = (encode_within(short, mean_error=bound) for bound in (0.04, 0.02))
    assert loose.ratio > by_mean.ratio
    assert joint_error(short, decode(loose)).mean <= 0.04
    assert joint_error(short, decode(by_mean)).mean <= 0.02
    assert by_mean.ratio > encode(short, dropped_levels=0).ratio
    both = encode_within(short, mean_error=0.03, max_error=0.15)
    error = joint_error(short, decode(both))
    assert error.mean <= 0.03 and error.maximum <= 0.15


def test_a_bound_holds_on_frames_that_no_trial_saw() -> None:
    long = marey.samples.walk(seconds=12, frame_rate=60)
    clip = encode_within(long, max_error=0.12)
    assert joint_error(long, decode(clip)).maximum <= 0.12


def test_a_bound_takes_one_search_on_a_part_of_the_frames(monkeypatch: pytest.MonkeyPatch) -> None:
    long = marey.samples.walk(seconds=12, frame_rate=60)
    decoded: list[int] = []

    def counted(clip: TournierClip, chosen: np.ndarray) -> Motion:
        decoded.append(len(chosen))
        return decode_frames(clip, chosen)

    monkeypatch.setattr(import_module("marey.body.codec.tournier.encode"), "decode_frames", counted)
    encode_within(long, max_error=0.15)
    assert decoded.count(long.frames) == 1
    assert sum(decoded) < 20 * long.frames


def test_bounds_out_of_reach_are_reported(walk: Motion) -> None:
    with pytest.raises(UnreachableError, match="allow more"):
        encode_within(walk[:40], mean_error=1e-6)
    with pytest.raises(InputError):
        encode_within(walk)
    with pytest.raises(InputError):
        encode_within(walk, max_error=-1.0)


# Table 9.2 as replicated: modes, dropped levels, bound of d_sq.
TABLE = [("09_06", 6, 5, 5, 0.38), ("17_10", 12, 5, 4, 0.95), ("85_12", 15, 5, 5, 1.5)]


@pytest.mark.parametrize(("name", "modes", "root", "ends", "bound"), TABLE)
def test_distortion_of_the_published_clips(
    data_dir: Path, name: str, modes: int, root: int, ends: int, bound: float
) -> None:
    motion = marey.load(data_dir / "skeleton" / "cmu_bvh" / f"{name}.bvh", clean=True)
    decoded = decode(encode(motion, modes=modes, dropped_levels=[root, ends]))
    assert 0.32 < relative_distortion(motion, decoded).squared < bound


# Bytes


WALK = marey.samples.walk()
STORED = encode(WALK[:60], modes=4)


def stored(header: Header, payload: bytes) -> CompressedMotion:
    """A file with this header and payload, and a checksum that fits."""
    return assemble("tournier", header, payload)


def test_bytes_decode_to_the_same_motion() -> None:
    clip = encode(WALK, modes=5)
    again = stored(*clip.pack())
    assert again.tournier.pack()[1] == again.payload == clip.pack()[1]
    assert np.array_equal(decode(clip).rotations, again.decode().rotations)
    assert np.array_equal(decode(clip).root, again.decode().root)
    assert again.skeleton.names == WALK.skeleton.names


def test_bytes_are_few() -> None:
    clip = encode(WALK, modes=5, dropped_levels=4)
    assert stored(*clip.pack()).bytes < channel_bytes(WALK) / 10


def test_a_payload_of_another_size_than_the_header_says_is_refused() -> None:
    header, payload = STORED.pack()
    for content in ({"modes": 1 << 60}, {"modes": 3}, {"modes": 5}, {"ends": []}, {"dropped_levels": [3]}):
        with pytest.raises(FormatError):
            stored(replace(header, content={**header.content, **content}), payload)
    for other in (payload[:-1], payload + b"x", b"", zlib.compress(b"\0" * 1000)):
        with pytest.raises(FormatError):
            stored(header, other)


@settings(max_examples=200)
@given(st.data())
def test_damage_behind_a_right_checksum_is_a_marey_error_or_a_clip(data: st.DataObject) -> None:
    header, payload = STORED.pack()
    raw = bytearray(zlib.decompress(payload))
    for _ in range(data.draw(st.integers(1, 4))):
        raw[data.draw(st.integers(0, len(raw) - 1))] = data.draw(st.integers(0, 255))
    with contextlib.suppress(MareyError):
        stored(header, zlib.compress(raw)).decode(slice(0, 2))


VALUES = st.sampled_from(
    [None, -1, 0, 1, 2**70, 1.5, float("1e300"), "x", [], [[]], {}, True, [1, 2], [[0, 1]], ["a", "a"]]
)


@given(st.sampled_from(["modes", "ends", "dropped_levels", "prior"]), VALUES)
def test_senseless_descriptions_are_marey_errors(key: str, value: object) -> None:
    header, payload = STORED.pack()
    with contextlib.suppress(MareyError):
        stored(replace(header, content={**header.content, key: value}), payload).decode(slice(0, 2))
