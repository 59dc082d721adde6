"""Compressed clips as files: saved, loaded, described, never half-written, never a crash."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import marey
from marey.body.codec import CompressedMotion, compress
from marey.body.motion import Motion
from marey.describe import info
from marey.errors import FormatError, InputError
from marey.io import container


@pytest.fixture(scope="module")
def small() -> CompressedMotion:
    return compress(marey.samples.walk(seconds=1, frame_rate=30), method="tournier", modes=6)


def test_a_saved_clip_loads_as_the_decoded_motion(small: CompressedMotion, tmp_path: Path) -> None:
    path = tmp_path / "walk.mry"
    marey.save(small, path)
    assert path.read_bytes() == small.data
    motion = marey.load(path)
    assert isinstance(motion, Motion)
    np.testing.assert_array_equal(motion.rotations, small.decode().rotations)
    assert motion.name == "walk"


def test_a_clip_can_be_loaded_as_it_is(small: CompressedMotion, tmp_path: Path) -> None:
    path = tmp_path / "walk.mry"
    marey.save(small, path)
    assert marey.load(path, compressed=True) == small
    marey.save(small.decode(), tmp_path / "plain.mry")
    assert not container.is_compressed(tmp_path / "plain.mry")
    with pytest.raises(FormatError, match="plain.mry: neither a compressed clip"):
        marey.load(tmp_path / "plain.mry", compressed=True)


def test_it_describes_itself(small: CompressedMotion) -> None:
    facts = info(small)
    assert facts["kind"] == "compressed motion"
    assert (facts["frames"], facts["frame_rate"], facts["duration"]) == (30, 30.0, 1.0)
    assert (facts["joints"], facts["method"], facts["bytes"]) == (26, "tournier", small.bytes)
    assert facts["ratio"] == pytest.approx(small.ratio, abs=0.01)


def test_other_formats_do_not_take_it(small: CompressedMotion, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"cannot hold a CompressedMotion; use one of \.mry"):
        marey.save(small, tmp_path / "walk.bvh")


def test_damaged_files_are_one_line_with_the_path(small: CompressedMotion, tmp_path: Path) -> None:
    path = tmp_path / "walk.mry"
    spoilt = bytearray(small.data)
    spoilt[len(spoilt) // 2] ^= 1
    for content in (small.data[:100], bytes(spoilt), b"MRYC", small.data + b"more"):
        path.write_bytes(content)
        with pytest.raises(FormatError) as caught:
            marey.load(path)
        assert str(caught.value).startswith(f"{path}: ")
        assert "\n" not in str(caught.value)
