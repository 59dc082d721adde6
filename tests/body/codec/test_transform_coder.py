"""The range coder: any whole numbers come back, tables are the same everywhere, the format does not drift."""

from __future__ import annotations

import math
import zlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from marey.body.codec import CompressedMotion
from marey.body.codec.transform import _kernels
from marey.body.codec.transform.channels import decide
from marey.body.codec.transform.segment import RangeCoder
from marey.statistics.coding import range_coder
from marey.statistics.coding.wavelet import band_sizes

HUGE = st.integers(-(2**40), 2**40)
SMALL = st.integers(-3, 3)


@settings(max_examples=60)
@given(st.lists(st.one_of(SMALL, HUGE), max_size=40), st.integers(0, 6), st.floats(0.02, 1e6))
def test_any_numbers_come_back(numbers: list[int], family: int, expected: float) -> None:
    writer = RangeCoder()
    writer.plain(np.array(numbers, dtype=np.int64), family=family, expected=expected)
    data = writer.finish()
    reader = RangeCoder(data)
    again = reader.plain(np.zeros(len(numbers), dtype=np.int64), family=family, expected=expected)
    assert again.tolist() == numbers


@settings(max_examples=60)
@given(
    hnp.arrays(np.int64, st.tuples(st.integers(0, 20), st.integers(0, 6)), elements=st.one_of(SMALL, HUGE)),
    st.integers(0, 4),
)
def test_any_bands_come_back(numbers: np.ndarray, levels: int) -> None:
    levels = min(levels, int(math.log2(max(len(numbers), 1))))
    sizes = band_sizes(len(numbers), levels)
    writer = RangeCoder()
    writer.bands(numbers, sizes)
    again = RangeCoder(writer.finish()).bands(np.zeros_like(numbers), sizes)
    np.testing.assert_array_equal(again, numbers)


def test_streams_of_all_kinds_come_back_in_order() -> None:
    rng = np.random.default_rng(0)
    plain = rng.integers(-1000, 1000, 50)
    bands = np.round(rng.laplace(size=(64, 10)) * np.geomspace(30, 0.1, 10)).astype(np.int64)
    writer = RangeCoder()
    writer.plain(plain, family=1)
    writer.bands(bands, band_sizes(64, 3))
    writer.plain(plain, family=2)
    reader = RangeCoder(writer.finish())
    np.testing.assert_array_equal(reader.plain(np.zeros_like(plain), family=1), plain)
    np.testing.assert_array_equal(reader.bands(np.zeros_like(bands), band_sizes(64, 3)), bands)
    np.testing.assert_array_equal(reader.plain(np.zeros_like(plain), family=2), plain)


def test_numbers_cost_little_more_than_their_entropy() -> None:
    numbers = np.random.default_rng(1).laplace(scale=0.7, size=(512, 20)).round().astype(np.int64)
    _, counts = np.unique(numbers, return_counts=True)
    entropy = -(counts * np.log2(counts / numbers.size)).sum() / 8
    writer = RangeCoder()
    writer.bands(numbers, [512])
    assert len(writer.finish()) < 1.04 * entropy


def test_nothing_costs_next_to_nothing() -> None:
    writer = RangeCoder()
    writer.bands(np.zeros((4096, 30), dtype=np.int64), band_sizes(4096, 6))
    assert len(writer.finish()) < 200


def test_what_does_not_fit_is_said() -> None:
    writer = RangeCoder(room=8)
    writer.plain(np.arange(1000))
    with pytest.raises(BufferError):
        writer.finish()


def test_reading_random_bytes_ends_and_stays_in_bounds() -> None:
    rng = np.random.default_rng(2)
    for size in (0, 1, 3, 10, 300):
        for bits in (rng.integers(0, 256, size), np.zeros(size), np.full(size, 255)):
            reader = RangeCoder(bits.astype(np.uint8).tobytes())
            plain = reader.plain(np.zeros(200, dtype=np.int64))
            bands = reader.bands(np.zeros((64, 8), dtype=np.int64), band_sizes(64, 4))
            assert max(np.abs(plain).max(), np.abs(bands).max()) < 2**62


def test_plain_rounding_where_bits_are_free() -> None:
    values = np.random.default_rng(3).normal(scale=5, size=(40, 4))
    np.testing.assert_array_equal(
        decide(values, [40], lagrangian=0.0), np.sign(values) * np.floor(np.abs(values) + 0.5)
    )
    steps = np.full(values.shape, 0.5)
    np.testing.assert_array_equal(
        decide(values, [40], steps=steps, lagrangian=0.0),
        np.sign(values) * np.floor(np.abs(2 * values) + 0.5),
    )


def test_the_lagrangian_only_makes_numbers_smaller() -> None:
    values = np.random.default_rng(4).laplace(scale=1.0, size=(64, 6))
    sizes = band_sizes(64, 3)
    rounded, balanced = decide(values, sizes, lagrangian=0.0), decide(values, sizes, lagrangian=1.5)
    assert (np.abs(balanced) <= np.abs(rounded)).all() and np.abs(balanced).sum() < np.abs(rounded).sum()
    assert np.abs(values - balanced).max() < 1


def test_tables_stay_clear_of_halves_so_that_all_machines_agree() -> None:
    logits = (np.arange(4096) - 2048) / 256
    chances = (np.arange(4096) + 0.5) / 4096
    for values in (65536 / (1 + np.exp(-logits)), 256 * np.log(chances / (1 - chances))):
        assert np.abs(values % 1 - 0.5).min() > 1e-5


def test_tables_are_those_of_the_format() -> None:
    squash, stretch = range_coder.logistic_tables()
    probabilities, counts = range_coder.first_probabilities(_kernels.END)
    tables = (squash, stretch, range_coder.rates(), probabilities, counts)
    assert [zlib.crc32(np.asarray(table, dtype="<i4").tobytes()) for table in tables] == CHECKSUMS


def test_numbers_are_written_as_the_format_says() -> None:
    writer = RangeCoder()
    writer.plain(np.array([0, 1, -5, 300, 70_000]), family=3)
    wave = np.round(20 * np.sin(np.arange(32)[:, None] / (1 + np.arange(3)))).astype(np.int64)
    writer.bands(wave, band_sizes(32, 2))
    assert writer.finish().hex() == WRITTEN


def test_files_written_before_still_decode_to_the_same_motion() -> None:
    clip = CompressedMotion(bytes.fromhex(FILE))
    motion = clip.decode()
    assert (clip.frames, clip.frame_rate, clip.joints) == (30, 30.0, 26)
    assert np.abs(motion.rotations).sum() == pytest.approx(FILE_SUMS[0], abs=1e-9)
    np.testing.assert_allclose(motion.root.sum(axis=0), FILE_SUMS[1:], atol=1e-9)


CHECKSUMS = [1981583311, 3470203142, 1994741176, 2955158526, 501340018]
WRITTEN = (
    "ad7df5ed864b494b81abd96b462e05509888b31e6bd62802ad7574faf4fdaf95bcce188301bc6d09f1351b8456005d25"
    "30864ba42fab10802045247b0f6150b72ab78a2af6e4378bc2a77af5ef2a0de3e98ec56847"
)
FILE = (
    "4d52594301ed5b310ec3200cfc1037601b30cfe95cd4adeaf76b03098d94211d2b7540392c8e60c41d72a4fcafed1fbf"
    "b61fcfd62ec829160dd081a15227283c4035974835e0da30f71feb91674b243d4bca7946c4ca21c4fe5225b7a66c3595"
    "9d6c4f524b1fe42de5dc274d12e70a5380cf64f5136c9712052c263ea9d8b8d8c8d8d95874eff8d74e39208e75fc6cc6"
    "73952a06cc7aedb182d8a3e75a8d2ec753a9f241a9bc84fabab5fb9762653f38eef02ed5374029ffffa1ef20739d4182"
    "ec06855fed555dd8cb81a2b9c8cb41cf1e2b3c103d5b591f3d69dbc8c0cd8a22a3d9734d0fa43d161ea782756c6d27cf"
    "13b08834ce1e4a688eff2e28f05ba94a3c1959d3f83e11210a8e589f5bf61f577ecab09ede61aab92ace808dd6f9c780"
    "c90f8e2ff3f0f83716c2124527"
)
FILE_SUMS = (852.1564446774405, -0.06195626065191586, 28.44780630407473, 10.929635738172895)
