"""The header of a compressed clip: nothing lost, few bytes, and no harm from damaged ones."""

from __future__ import annotations

import contextlib
import hashlib
import zlib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import marey
from marey.body.codec._packing import LONGEST_TEXT, BitReader, BitWriter, Reader, pack_text, pack_varint
from marey.body.codec._rate_codes import pack_rate, read_rate
from marey.body.codec._tree_text import dictionary, known_trees
from marey.body.codec.header import Header, pack_header, unpack_header, with_fixed_joints
from marey.body.conventions import joint_trees
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
    header, rest = unpack_header(pack_header(motion, quantum=quantum) + b"what follows")
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
    words = st.sampled_from([(), MOVES + TURNS, TURNS, TURNS[::-1], MOVES, TURNS[:1]])
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


def test_decimals_of_the_files_unit_are_kept_exactly_and_cheaply() -> None:
    rng = np.random.default_rng(0)
    names, parents = joint_trees()["cmu"]
    for unit in (CMU_UNIT, 0.01, 1.0):
        offsets = rng.integers(-800_000, 800_000, (len(names), 3)) / 1e5 * unit
        motion = still(Skeleton(names, parents, offsets), convention=Convention(unit))
        assert_same(again(motion), motion)
        assert len(pack_header(motion, quantum=None)) < 4 * offsets.size


@pytest.mark.parametrize(
    ("rate", "size"),
    [
        *((120.0, 1), (30.0, 1), (24.0, 1), (29.97, 3), (59.94, 3), (0.5, 2), (119.999, 4), (np.pi, 9)),
        *((30000 / 1001, 2), (24000 / 1001, 2), (1 / 0.0083333, 4), (1 / 0.008333, 4), (1 / 0.0416667, 5)),
    ],
)
def test_frame_rates_are_exact_in_few_bytes(rate: float, size: int) -> None:
    packed = pack_rate(rate)
    assert read_rate(Reader(packed)) == rate
    assert len(packed) <= size


@given(st.floats(min_value=1e-300, max_value=1e300))
def test_any_frame_rate_is_exact_in_nine_bytes(rate: float) -> None:
    packed = pack_rate(rate)
    assert read_rate(Reader(packed)) == rate
    assert len(packed) <= 9


@given(st.lists(st.tuples(st.integers(0, 2**40), st.integers(0, 31)), max_size=30))
def test_golomb_codes_invert(numbers: list[tuple[int, int]]) -> None:
    writer = BitWriter()
    for number, order in numbers:
        writer.golomb(number, order)
    packed = writer.tobytes()
    reader = Reader(packed + b"\xff")
    bits = BitReader(reader)
    assert [bits.golomb(order) for _, order in numbers] == [number for number, _ in numbers]
    assert reader.place == len(packed)


def test_names_and_trees_of_common_figures_cost_a_byte() -> None:
    for names, parents in joint_trees().values():
        leaves = [j for j in range(len(names)) if j not in parents]
        skeleton = Skeleton(names, parents, np.zeros((len(names), 3)), leaves, np.zeros((len(leaves), 3)))
        channels = (MOVES + TURNS,) + (TURNS,) * (len(names) - 1)
        packed = pack_header(still(skeleton, channels=channels, name="02_01"), quantum=5e-4)
        zeros = (len(names) + len(leaves)) / 8 + 2
        assert len(packed) <= 13 + zeros


def test_the_other_side_of_a_figure_costs_little() -> None:
    walk = marey.samples.walk()
    turns = np.where([name.startswith("Right") for name in walk.skeleton.names], 0.9, 1.0)
    lopsided = replace(walk.skeleton, offsets=walk.skeleton.offsets * turns[:, None])
    small, large = (pack_header(replace(walk, skeleton=s), quantum=5e-4) for s in (walk.skeleton, lopsided))
    assert len(small) < 75
    assert len(large) > len(small) + 10


def test_real_figures_take_few_bytes(data_dir: Path) -> None:
    most = {"cmu_bvh/02_01.bvh": 90, "cmu_bvh/143_20.bvh": 95, "manipnet_hand_NC/mug1_rightHand.bvh": 60}
    for name, size in most.items():
        path = data_dir / "skeleton" / name
        if path.exists():
            motion = marey.load(path)
            assert len(pack_header(motion, quantum=5e-4)) <= size, name
            assert_same(again(motion), motion)


def test_a_tree_unlike_any_known_is_deflated_with_their_names() -> None:
    walk = marey.samples.walk()
    names = tuple(f"rig:{name}" for name in walk.skeleton.names)
    renamed = replace(walk, skeleton=replace(walk.skeleton, names=names))
    assert_same(again(renamed), renamed)
    spelt = sum(map(len, names))
    assert len(pack_header(renamed, quantum=1e-3)) < len(pack_header(walk, quantum=1e-3)) + spelt / 2


def test_figures_without_end_sites_and_with_odd_ones_come_back() -> None:
    walk = marey.samples.walk()
    bare = replace(walk, skeleton=replace(walk.skeleton, end_parents=[], end_offsets=[]))
    assert_same(again(bare), bare)
    odd = replace(
        walk.skeleton, end_parents=[25, 3, 3, 0, 4, 4], end_offsets=np.arange(18.0).reshape(6, 3) / 100
    )
    assert_same(again(replace(walk, skeleton=odd)), replace(walk, skeleton=odd))


def test_constant_translations_become_offsets_and_sliding_ones_are_refused() -> None:
    walk = marey.samples.walk(seconds=1, frame_rate=30)
    translations = np.tile(walk.skeleton.offsets + 0.01, (walk.frames, 1, 1))
    fixed = with_fixed_joints(replace(walk, translations=translations))
    assert fixed.translations is None
    np.testing.assert_allclose(fixed.skeleton.offsets[1:], walk.skeleton.offsets[1:] + 0.01, atol=1e-12)
    translations[3, 5] += 0.02
    with pytest.raises(InputError, match="RightUpLeg.*slides by 2 cm"):
        pack_header(replace(walk, translations=translations), quantum=None)


def test_a_quantum_that_makes_no_sense_is_refused() -> None:
    for quantum in (0.0, -1.0, float("nan"), float("inf")):
        with pytest.raises(InputError, match="quantum"):
            pack_header(marey.samples.walk(), quantum=quantum)
    assert_same(again(marey.samples.walk(), 1e-6), marey.samples.walk())


def test_the_dictionary_is_part_of_the_format() -> None:
    # Files written before must be read for ever: a change here needs a new version of the format.
    assert hashlib.sha256(dictionary()).hexdigest()[:16] == "8daaf1578d42618b"
    assert len(known_trees()) == 16
    assert len(dictionary()) < 32768


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
        for quantum in (None, 1e-3):
            packed = pack_header(motion, quantum=quantum)
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


def test_text_that_unpacks_to_too_much_is_refused() -> None:
    packer = zlib.compressobj(9, zlib.DEFLATED, -15, zdict=dictionary())
    bomb = packer.compress(b"a" * (64 * LONGEST_TEXT)) + packer.flush()
    packed = pack_varint(2 * len(bomb) + 1) + bomb
    with pytest.raises(FormatError, match="do not unpack"):
        Reader(packed).text(dictionary())
    with pytest.raises(InputError, match="too long"):
        pack_text("a" * (LONGEST_TEXT + 1), dictionary())
