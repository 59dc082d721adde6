"""Bytes of stored clips: exact, compact, and damaged ones refused in one line."""

from __future__ import annotations

import json
import struct
import zlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import marey
from marey.body.codec import SourceClip, channel_bytes, compress_source, decompress_source
from marey.body.codec.source_bytes import _HEAD, MAGIC, VERSION
from marey.errors import FormatError, MareyError

WALK = marey.samples.walk()
DATA = compress_source(WALK[:60], modes=4, improved=True).to_bytes()


def packed(raw: bytes) -> bytes:
    """Raw content with a head and checksum that fit."""
    payload = zlib.compress(raw)
    return _HEAD.pack(MAGIC, VERSION, zlib.crc32(payload), len(payload), len(raw)) + payload


RAW = zlib.decompress(DATA[_HEAD.size :])
LENGTH = struct.unpack_from("<I", RAW)[0]


@pytest.mark.parametrize("store", ["end joints", "coordinates"])
def test_bytes_decode_to_the_same_motion(store: str) -> None:
    clip = compress_source(WALK, modes=5, store=store)  # type: ignore[arg-type]
    data = clip.to_bytes()
    again = SourceClip.from_bytes(data)
    assert again.to_bytes() == data
    assert np.array_equal(decompress_source(clip).rotations, decompress_source(again).rotations)
    assert np.array_equal(decompress_source(clip).root, decompress_source(again).root)
    assert again.skeleton.names == WALK.skeleton.names


def test_bytes_are_few() -> None:
    clip = compress_source(WALK, modes=5, dropped_root=4, dropped_effectors=4)
    assert len(clip.to_bytes()) < channel_bytes(WALK) / 10


def test_every_cut_and_flip_is_noticed() -> None:
    for size in range(0, len(DATA), 97):
        with pytest.raises(FormatError):
            SourceClip.from_bytes(DATA[:size])
    for at in range(0, len(DATA), 31):
        damaged = bytearray(DATA)
        damaged[at] ^= 0x10
        with pytest.raises(FormatError):
            SourceClip.from_bytes(bytes(damaged))


def test_other_versions_say_so() -> None:
    newer = bytearray(DATA)
    newer[6] = 9
    with pytest.raises(FormatError, match="newer marey"):
        SourceClip.from_bytes(bytes(newer))


def test_a_block_that_claims_too_much_is_refused() -> None:
    payload = zlib.compress(b"\0" * 1000)
    for claimed in (1 << 60, 999, 1001):
        head = _HEAD.pack(MAGIC, VERSION, zlib.crc32(payload), len(payload), claimed)
        with pytest.raises(FormatError):
            SourceClip.from_bytes(head + payload)


@settings(max_examples=200)
@given(st.data())
def test_damage_behind_a_right_checksum_is_a_marey_error_or_a_clip(data: st.DataObject) -> None:
    raw = bytearray(RAW)
    for _ in range(data.draw(st.integers(1, 4))):
        where = data.draw(st.integers(0, LENGTH + 40) | st.integers(0, len(raw) - 1))
        raw[where] = data.draw(st.integers(0, 255))
    try:
        clip = SourceClip.from_bytes(packed(bytes(raw)))
        assert clip.frames <= 1024 * len(RAW)
        decompress_source(clip, frames=slice(0, 2))
    except MareyError:
        pass


VALUES = st.sampled_from(
    [None, -1, 0, 1, 2**70, 1.5, float("1e300"), "x", [], [[]], {}, True, [1, 2], [[0, 1]], ["a", "a"]]
)


@given(st.sampled_from(sorted(json.loads(RAW[4 : 4 + LENGTH]))), VALUES)
def test_senseless_descriptions_are_marey_errors(key: str, value: object) -> None:
    about = json.loads(RAW[4 : 4 + LENGTH])
    about[key] = value
    text = json.dumps(about).encode()
    try:
        clip = SourceClip.from_bytes(packed(struct.pack("<I", len(text)) + text + RAW[4 + LENGTH :]))
        decompress_source(clip, frames=slice(0, 2))
    except MareyError:
        pass


def test_deeply_nested_descriptions_are_refused() -> None:
    text = b"[" * 200_000
    with pytest.raises(FormatError):
        SourceClip.from_bytes(packed(struct.pack("<I", len(text)) + text))


@given(st.binary(max_size=200))
def test_noise_is_not_a_clip(data: bytes) -> None:
    with pytest.raises(FormatError):
        SourceClip.from_bytes(data)
