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
from marey.body.codec.transform.range_coder import RangeCoder, decide
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
        decide(values, [40], thrift=0.0), np.sign(values) * np.floor(np.abs(values) + 0.5)
    )
    steps = np.full(values.shape, 0.5)
    np.testing.assert_array_equal(
        decide(values, [40], steps=steps, thrift=0.0), np.sign(values) * np.floor(np.abs(2 * values) + 0.5)
    )


def test_thrift_only_makes_numbers_smaller() -> None:
    values = np.random.default_rng(4).laplace(scale=1.0, size=(64, 6))
    sizes = band_sizes(64, 3)
    rounded, thrifty = decide(values, sizes, thrift=0.0), decide(values, sizes, thrift=1.5)
    assert (np.abs(thrifty) <= np.abs(rounded)).all() and np.abs(thrifty).sum() < np.abs(rounded).sum()
    assert np.abs(values - thrifty).max() < 1


def test_later_curves_make_up_for_earlier_errors() -> None:
    values = np.random.default_rng(5).normal(scale=8, size=(200, 2))
    feedback = np.array([[0.0, 0.0], [1.0, 0.0]])  # what counts is the sum of both
    apart = decide(values, [200], thrift=0.0)
    together = decide(values, [200], feedback=feedback, thrift=0.0)
    assert np.abs((together - values).sum(axis=1)).max() <= 0.5 + 1e-9
    assert np.abs((apart - values).sum(axis=1)).max() > 0.7


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
    "4d52594310161e1e0877616c6b0f41140c68edeb0dc161c42dfe1220a287d28ffa6a129f4a1d8e9a356ef2f42996984f"
    "bd3d304aa608f0c6773326f6ca605a3c5ca857ac71d5d2ce7e33e8011eae01402fffff75643a666cc3eff6c8705baae8"
    "88d7ba45e822ef8a9d90c3c96e8de8fdde1feca2297b2f3837116c76afaf03ce2a9da7dc27b4cb8513611c828ed1c00b"
    "33dee54e3df1c225ce9a0c4c1c8130d6e9da5d8c2cfc1212a93c5345d2e2bfae88f2c4e89656d8a58556dff672b78073"
    "90c811d4dadde7b962f73274ca975fa9939fa2426467f9ee2379b93ffd7fa28b9cc7882957e9565e42cb7e40d73eb8ab"
    "6743c1a876aa116c346e5cd52c5ba467b5"
)
FILE_SUMS = (884.4210342867926, 0.05254949101000347, 28.479785977060853, 10.978477346594355)
