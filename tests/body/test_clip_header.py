"""The header of a compressed clip: nothing lost, few bytes, and no harm from damaged ones."""

from __future__ import annotations

import contextlib
import json
import zlib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import marey
from marey.body.clip_header import LONGEST_TEXT, Header, _dictionary, joint_trees, pack_header, unpack_header
from marey.body.motion import Motion
from marey.body.skeleton import Skeleton
from marey.errors import FormatError, InputError
from marey.geometry.convention import CMU_UNIT, Convention

MOVES = ("Xposition", "Yposition", "Zposition")
TURNS = ("Zrotation", "Yrotation", "Xrotation")


def still(skeleton: Skeleton, **fields: object) -> Motion:
    """A clip of one frame."""
    rotations = np.tile([1.0, 0.0, 0.0, 0.0], (1, skeleton.joints, 1))
    return Motion(skeleton, rotations, np.zeros((1, 3)), **{"frame_rate": 120.0, **fields})  # type: ignore[arg-type]


def again(motion: Motion, quantum: float | None = None) -> Header:
    header, rest = unpack_header(pack_header(Header.of(motion, quantum=quantum)) + b"what follows")
    assert rest == b"what follows"
    return header


def assert_same(header: Header, motion: Motion, *, off: float = 0.0) -> None:
    mine, theirs = header.skeleton, motion.skeleton
    assert (mine.names, header.name, header.frames) == (theirs.names, motion.name, motion.frames)
    assert (header.frame_rate, header.convention, header.channels) == (
        motion.frame_rate,
        motion.convention,
        motion.channels,
    )
    assert mine.parents.tolist() == theirs.parents.tolist()
    assert mine.end_parents.tolist() == theirs.end_parents.tolist()
    np.testing.assert_allclose(mine.offsets, theirs.offsets, rtol=0, atol=off)
    np.testing.assert_allclose(mine.end_offsets, theirs.end_offsets, rtol=0, atol=off)


@st.composite
def motions(draw: st.DrawFn) -> Motion:
    """Clips of any tree: joints in any order, names of any letters, end sites anywhere, odd units."""
    joints = draw(st.integers(1, 12))
    names = draw(st.lists(st.text(max_size=6), min_size=joints, max_size=joints, unique=True))
    parents = [-1] + [draw(st.integers(0, j - 1)) for j in range(1, joints)]
    ends = draw(st.lists(st.integers(0, joints - 1), max_size=6))
    length = st.floats(-2, 2) | st.sampled_from([0.0, 0.1, -0.25]) | st.floats(-1e9, 1e9)
    vectors = st.tuples(length, length, length)
    offsets = draw(st.lists(vectors, min_size=joints, max_size=joints))
    end_offsets = draw(st.lists(vectors, min_size=len(ends), max_size=len(ends)))
    words = st.sampled_from([(), MOVES + TURNS, TURNS, TURNS[::-1], MOVES, TURNS[:1], ("Xscale", "é")])
    channels = draw(st.none() | st.tuples(*[words] * joints))
    unit = draw(st.sampled_from([1.0, 0.01, 0.001, CMU_UNIT]) | st.floats(1e-6, 1e6))
    return still(
        Skeleton(tuple(names), parents, offsets, ends, end_offsets),
        frame_rate=draw(st.sampled_from([24.0, 29.97, 1 / 0.0083333]) | st.floats(1e-3, 1e6)),
        convention=Convention(unit, draw(st.sampled_from(["y", "z"]))),
        channels=channels,
        name=draw(st.text(max_size=30)),
    )


@given(motions())
@settings(max_examples=150)
def test_without_a_quantum_nothing_is_lost(motion: Motion) -> None:
    assert_same(again(motion), motion)


@given(motions(), st.floats(1e-5, 1e-2))
@settings(max_examples=150)
def test_offsets_are_off_by_at_most_half_a_quantum(motion: Motion, quantum: float) -> None:
    assert_same(again(motion, quantum), motion, off=0.5 * quantum + 1e-6)
    within = np.abs(motion.skeleton.offsets) < 100
    off = np.abs(again(motion, quantum).skeleton.offsets - motion.skeleton.offsets)
    assert off[within].max(initial=0.0) <= 0.5 * quantum * (1 + 1e-9)


@given(motions(), st.floats(1e-5, 1e-2))
def test_a_header_is_read_as_it_was_made(motion: Motion, quantum: float) -> None:
    header = Header.of(motion, quantum=quantum)
    read = again(motion, quantum)
    np.testing.assert_array_equal(read.skeleton.offsets, header.skeleton.offsets)
    assert pack_header(read) == pack_header(header)


def test_common_figures_cost_little_but_their_bones() -> None:
    for tool, tree in joint_trees().items():
        leaves = [j for j in range(len(tree.names)) if j not in tree.parents]
        offsets, ends = np.zeros((len(tree.names), 3)), np.zeros((len(leaves), 3))
        skeleton = Skeleton(tree.names, tree.parents, offsets, leaves, ends)
        channels = (MOVES + TURNS,) + (TURNS,) * (len(tree.names) - 1)
        header = Header.of(still(skeleton, channels=channels, name="02_01"), quantum=5e-4)
        assert len(pack_header(header)) <= 75, tool


def test_real_figures_take_few_bytes(data_dir: Path) -> None:
    most = {"cmu_bvh/02_01.bvh": 200, "cmu_bvh/143_20.bvh": 200, "manipnet_hand_NC/mug1_rightHand.bvh": 120}
    for name, size in most.items():
        path = data_dir / "skeleton" / name
        if path.exists():
            motion = marey.load(path)
            assert len(pack_header(Header.of(motion, quantum=5e-4))) <= size, name
            assert_same(again(motion), motion)


def test_a_tree_unlike_any_known_is_deflated_with_their_names() -> None:
    walk = marey.samples.walk()
    names = tuple(f"rig:{name}" for name in walk.skeleton.names)
    renamed = replace(walk, skeleton=replace(walk.skeleton, names=names))
    assert_same(again(renamed), renamed)
    spelt = sum(map(len, names))
    known, unknown = (len(pack_header(Header.of(clip, quantum=1e-3))) for clip in (walk, renamed))
    assert unknown < known + spelt / 2


def test_figures_without_end_sites_and_with_odd_ones_come_back() -> None:
    walk = marey.samples.walk()
    bare = replace(walk, skeleton=replace(walk.skeleton, end_parents=[], end_offsets=[]))
    assert_same(again(bare), bare)
    odd = replace(
        walk.skeleton, end_parents=[25, 3, 3, 0, 4, 4], end_offsets=np.arange(18.0).reshape(6, 3) / 100
    )
    assert_same(again(replace(walk, skeleton=odd)), replace(walk, skeleton=odd))


def test_joints_slide_where_their_translation_varies() -> None:
    walk = marey.samples.walk(seconds=1, frame_rate=30)
    translations = np.tile(walk.skeleton.offsets + 0.01, (walk.frames, 1, 1))
    fixed = again(replace(walk, translations=translations))
    assert fixed.sliding == (0,)
    np.testing.assert_allclose(fixed.skeleton.offsets[1:], walk.skeleton.offsets[1:] + 0.01, atol=1e-12)
    translations[3, 5] += 0.02
    sliding = again(replace(walk, translations=translations))
    assert sliding.sliding == (0, 5)
    np.testing.assert_array_equal(sliding.skeleton.offsets[5], walk.skeleton.offsets[5])


def test_a_quantum_that_makes_no_sense_is_refused() -> None:
    for quantum in (0.0, -1.0, float("nan"), float("inf")):
        with pytest.raises(InputError, match="quantum"):
            Header.of(marey.samples.walk(), quantum=quantum)


def test_the_dictionary_is_part_of_the_format() -> None:
    # Files written before must be read for ever. Deflate refers to it from its end: trees that are put first
    # change nothing for them, as long as what comes after stays within its window.
    assert zlib.crc32(_dictionary()[-10_000:]) == 107275151
    assert len(_dictionary()) < 32768 - 1024


@given(st.binary(max_size=200))
@settings(max_examples=300)
def test_noise_is_a_format_error(noise: bytes) -> None:
    with contextlib.suppress(FormatError):
        unpack_header(noise)


def test_damaged_headers_are_format_errors_or_other_headers() -> None:
    rng = np.random.default_rng(2)
    walk = marey.samples.walk()
    renamed = replace(walk.skeleton, names=tuple(f"b{i}" for i in range(walk.joints)))
    channels = (MOVES + TURNS,) * 3 + (TURNS,) * (walk.joints - 3)
    for motion in (walk, replace(walk, skeleton=renamed, channels=channels)):
        packed = pack_header(Header.of(motion, quantum=1e-3))
        for cut in range(len(packed)):
            with pytest.raises(FormatError):
                unpack_header(packed[:cut])
        for _ in range(400):
            spoilt = bytearray(packed)
            for place in rng.integers(len(packed), size=rng.integers(1, 4)):
                spoilt[place] = rng.integers(256)
            try:
                header, _ = unpack_header(bytes(spoilt))
            except FormatError:
                continue
            assert header.skeleton.joints < 10_000


def deflated(text: bytes) -> bytes:
    packer = zlib.compressobj(9, zlib.DEFLATED, -15, zdict=_dictionary())
    return packer.compress(text) + packer.flush()


FIELDS = json.loads(
    zlib.decompressobj(-15, zdict=_dictionary()).decompress(pack_header(Header.of(marey.samples.walk())))
)
VALUES = st.sampled_from(
    [
        None,
        -1,
        0,
        1,
        2**70,
        1.5,
        float("1e300"),
        float("nan"),
        "x",
        [],
        [[]],
        {},
        True,
        [1, 2],
        [[0, 1]],
        ["a"],
    ]
)


@given(st.sampled_from(sorted(FIELDS)), VALUES)
@settings(max_examples=300)
def test_senseless_fields_are_format_errors_or_other_headers(key: str, value: object) -> None:
    with contextlib.suppress(FormatError):
        unpack_header(deflated(json.dumps({**FIELDS, key: value}).encode()))


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"[]",
        b"1",
        b"null",
        b"[" * 200_000,
        b'{"names":1}',
        b"9" * 10_000,
        b"\xff",
        b"a" * LONGEST_TEXT * 2,
    ],
)
def test_text_that_is_no_header_is_a_format_error(text: bytes) -> None:
    with pytest.raises(FormatError):
        unpack_header(deflated(text))


def test_names_too_long_to_be_stored_are_refused() -> None:
    skeleton = Skeleton(("a" * LONGEST_TEXT,), [-1], [[0, 0, 0]])
    with pytest.raises(InputError, match="too large"):
        pack_header(Header.of(still(skeleton)))
