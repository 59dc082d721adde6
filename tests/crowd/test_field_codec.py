"""Our coder of fields: errors are guaranteed, blocks stand alone, damage is told, the format stays."""

from __future__ import annotations

import zlib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import marey
from marey.crowd.codec import CompressedFields, compress
from marey.crowd.codec.coder import Step, VolumeCoder, backward, forward
from marey.crowd.fields import FieldSeries, fill_masked
from marey.crowd.spectrum import compress as fourier
from marey.crowd.spectrum import field_error
from marey.errors import FormatError, InputError
from tests.crowd.flows import street

SHAPES = st.tuples(st.integers(1, 11), st.integers(1, 10), st.integers(1, 11), st.integers(1, 2))


@settings(max_examples=25)
@given(SHAPES, st.integers(0, 99))
def test_wavelets_of_any_volume_come_back_from_whole_numbers(shape: tuple[int, ...], seed: int) -> None:
    volume = np.random.default_rng(seed).normal(size=shape)
    again = backward(np.rint(65536 * forward(volume)).astype(np.int64)) / 65536
    np.testing.assert_allclose(again, volume, atol=1e-3)


@settings(max_examples=25)
@given(
    hnp.arrays(
        np.int64, SHAPES, elements=st.one_of(st.just(0), st.integers(-3, 3), st.integers(-(2**40), 2**40))
    )
)
def test_any_numbers_come_back(numbers: np.ndarray) -> None:
    mask = np.random.default_rng(0).random(numbers.shape[1:3]) < 0.8
    fixes = np.where(mask[None, :, :, None], numbers, 0)
    writer = VolumeCoder(room=1 << 20)
    writer.coefficients(numbers)
    writer.corrections(fixes, mask)
    reader = VolumeCoder(writer.finish())
    np.testing.assert_array_equal(reader.coefficients(np.zeros_like(numbers)), numbers)
    np.testing.assert_array_equal(reader.corrections(np.zeros_like(numbers), mask), fixes)


@pytest.mark.parametrize("max_error", [0.3, 0.05, 0.004])
@pytest.mark.parametrize("noise", [0.0, 0.1])
def test_no_velocity_is_further_off_than_allowed(max_error: float, noise: float) -> None:
    series = street(noise=noise)
    small = compress(series, max_error=max_error)
    assert field_error(series, small.decode()).largest <= max_error
    assert (small.decode().velocities[:, ~series.mask] == 0).all()


def test_a_spike_among_calm_is_kept_too() -> None:
    velocities = np.zeros((20, 16, 16, 2))
    velocities[7, 3, 4] = [9.0, -9.0]
    series = FieldSeries(velocities, 25)
    assert field_error(series, compress(series, max_error=0.1).decode()).largest <= 0.1


@pytest.mark.parametrize("rms_error", [0.1, 0.02])
def test_the_mean_error_is_met_and_used(rms_error: float) -> None:
    series = street(noise=0.15)
    error = field_error(series, compress(series, rms_error=rms_error).decode()).rms
    assert 0.9 * rms_error < error <= rms_error


def test_at_equal_error_it_is_far_smaller_than_a_tenth_of_the_frequencies(tmp_path: Path) -> None:
    series = street(120, 40, 48, noise=0.05)
    plain = fourier(series, keep=0.1)
    ours = compress(series, rms_error=field_error(series, plain.decode()).rms)
    assert 3 * ours.bytes < len(zlib.compress(plain.coefficients.astype(np.float16).tobytes(), 9))
    assert field_error(series, ours.decode()).rms <= field_error(series, plain.decode()).rms


def test_any_stretch_of_frames_is_the_same_as_in_the_whole() -> None:
    series = replace(street(300, 12, 14), foreground=np.full((300, 12, 14), 90, np.uint8))
    small = compress(series, max_error=0.05)
    assert len(small.blocks) > 2 and small.blocks[-1].stop == 300
    whole = small.decode()
    for part in (slice(95, 160), slice(0, 1), slice(250, None), 7):
        np.testing.assert_array_equal(small.decode(part).velocities, whole[part].velocities)
        np.testing.assert_array_equal(small.decode(part).foreground, whole[part].foreground)
    for part in (slice(None, None, -2), slice(3, 150, 4), slice(-2, 7, -3)):
        np.testing.assert_array_equal(small.decode(part).velocities, whole[part].velocities)
    streamed = np.concatenate([part.velocities for part in small.stream()])
    np.testing.assert_array_equal(streamed, whole.velocities)


def test_a_capture_that_comes_in_pieces_keeps_its_error_too() -> None:
    series = street(200, 12, 14, noise=0.05)
    pieces = (series[start : start + 30] for start in range(0, 200, 30))
    small = compress(pieces, max_error=0.05)
    assert small.frames == 200
    assert field_error(series, small.decode()).largest <= 0.05


def test_foreground_comes_back_to_a_few_hundredths() -> None:
    foreground = (127 + 120 * np.sin(np.arange(60)[:, None, None] / 9 + np.arange(28) / 5)).astype(np.uint8)
    foreground = np.broadcast_to(foreground, (60, 20, 28)).copy()
    again = compress(replace(street(), foreground=foreground), max_error=0.1).decode().foreground
    assert np.abs(again.astype(int) - foreground).mean() < 8


def test_size_camera_mask_and_name_come_back(tmp_path: Path) -> None:
    camera = np.diag([0.1, -0.1, 1.0])
    series = replace(street(), homography=camera)
    path = tmp_path / "small.mry"
    marey.save(compress(series), path)
    again = marey.load(path)
    assert again.name == "street" and again.frame_rate == 25
    np.testing.assert_array_equal(again.mask, series.mask)
    np.testing.assert_array_equal(again.homography, camera)
    assert isinstance(marey.load(path, compressed=True), CompressedFields)


@pytest.mark.parametrize("shape", [(1, 1, 1), (1, 5, 3), (3, 1, 40), (2, 64, 2)])
def test_fields_of_any_size_are_stored(shape: tuple[int, int, int]) -> None:
    series = FieldSeries(np.random.default_rng(1).normal(size=(*shape, 2)), 25)
    assert field_error(series, compress(series, max_error=0.05).decode()).largest <= 0.05


def test_rest_and_nothing_cost_next_to_nothing() -> None:
    still = FieldSeries(np.zeros((100, 30, 40, 2)), 25)
    assert compress(still).bytes < 300 and not compress(still).decode().velocities.any()
    hidden = FieldSeries(np.ones((5, 4, 4, 2)), 25, mask=np.zeros((4, 4), bool))
    assert not compress(hidden, max_error=0.1).decode().velocities.any()


def test_pixels_behind_walls_become_smooth() -> None:
    volume = np.random.default_rng(2).normal(size=(2, 9, 7, 2))
    mask = np.random.default_rng(3).random((9, 7)) < 0.3
    smooth = fill_masked(volume, mask)
    np.testing.assert_array_equal(smooth[:, mask], volume[:, mask])
    assert smooth.min() >= volume[:, mask].min() and smooth.max() <= volume[:, mask].max()


def test_damage_is_told_never_decoded_to_something() -> None:
    data = compress(street(20), max_error=0.05).data
    for wrong in (
        data[:3],
        data[:20],
        data[:-1],
        data[:40] + bytes([data[40] ^ 1]) + data[41:],
        b"MRYF" + b"\x07" * 30,
    ):
        with pytest.raises(FormatError):
            CompressedFields(wrong)


def test_lies_behind_a_right_checksum_end_in_words() -> None:
    data = compress(street(12).crop(slice(0, 16), slice(0, 20)), max_error=0.05).data
    rng = np.random.default_rng(4)
    for _ in range(60):
        body = bytearray(data[:-4])
        body[int(rng.integers(9, len(body)))] = int(rng.integers(256))
        try:
            fields = CompressedFields(bytes(body) + zlib.crc32(bytes(body)).to_bytes(4, "little")).decode()
        except FormatError:
            continue
        assert np.isfinite(fields.velocities).all()


@pytest.mark.parametrize(
    "wrong", [{"max_error": 0.0}, {"max_error": -1}, {"rms_error": float("nan")}, {"max_error": 1e-9}]
)
def test_errors_that_make_no_sense_are_told(wrong: dict[str, float]) -> None:
    with pytest.raises(InputError, match="error"):
        compress(street(10), **wrong)
    with pytest.raises(InputError, match="no fields"):
        compress(iter([]), max_error=0.1)


@settings(max_examples=50)
@given(st.floats(1e-6, 1e6))
def test_steps_are_never_larger_than_asked(step: float) -> None:
    assert step * 0.999 <= Step.near(step).size <= step


def test_fields_are_written_as_the_format_says() -> None:
    """A fixed file of whole numbers: what decodes from it must never change."""
    writer = VolumeCoder(room=1 << 16)
    t, y, x, c = np.indices((9, 10, 11, 2))
    numbers = (37 * t + 11 * y * y + 5 * x * t + c) % 13 - 6
    writer.coefficients(np.where(numbers > 3, numbers, 0))
    data = writer.finish()
    volume = backward((1024 * numbers).astype(np.int64))
    assert (zlib.crc32(data), zlib.crc32(volume.astype("<i8").tobytes())) == CHECKSUMS


CHECKSUMS = (1428929666, 1914672997)
