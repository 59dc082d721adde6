"""Middlebury flow files: the same bits back, and no trust in headers."""

from __future__ import annotations

import struct

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import marey
from marey.crowd.fields import FieldSeries
from marey.errors import FormatError, InputError
from marey.io import flo

cv2 = pytest.importorskip("cv2")


def random_field(frames=1, rows=5, columns=7, seed=0, masked=False) -> FieldSeries:
    rng = np.random.default_rng(seed)
    velocities = rng.normal(size=(frames, rows, columns, 2)).astype(np.float32)
    mask = rng.random((rows, columns)) > 0.3 if masked else None
    if mask is not None:
        velocities[:, ~mask] = 0
    return FieldSeries(velocities, 25, mask)


@settings(max_examples=40)
@given(st.integers(1, 9), st.integers(1, 9), st.integers(0, 1000), st.booleans())
def test_a_field_comes_back_bit_for_bit(tmp_path_factory, rows, columns, seed, masked):
    field = random_field(1, rows, columns, seed, masked)
    path = tmp_path_factory.mktemp("flo") / "field.flo"
    flo.write(field, path)
    back = flo.read(path)
    assert back.velocities.dtype == np.float32
    assert np.array_equal(back.velocities, field.velocities)
    mask = np.ones((rows, columns), bool) if field.mask is None else field.mask
    assert np.array_equal(np.ones_like(mask) if back.mask is None else back.mask, mask)


def test_opencv_reads_what_we_write_and_we_read_what_it_writes(tmp_path):
    field = random_field(masked=True)
    flo.write(field, tmp_path / "ours.flo")
    theirs = cv2.readOpticalFlow(str(tmp_path / "ours.flo"))
    assert np.array_equal(theirs[field.mask], field.velocities[0][field.mask])
    assert (np.abs(theirs[~field.mask]) > 1e9).all()
    cv2.writeOpticalFlow(str(tmp_path / "theirs.flo"), theirs)
    assert (tmp_path / "theirs.flo").read_bytes() == (tmp_path / "ours.flo").read_bytes()
    assert np.array_equal(flo.read(tmp_path / "theirs.flo").velocities, field.velocities)


@pytest.mark.parametrize("unknown", [1.6e9, -2e9, float("nan"), float("inf")])
def test_unknown_pixels_are_masked(tmp_path, unknown):
    values = np.array([1.0, 2.0, unknown, 0.0], "<f4")
    (tmp_path / "a.flo").write_bytes(b"PIEH" + struct.pack("<ii", 2, 1) + values.tobytes())
    field = flo.read(tmp_path / "a.flo", frame_rate=10)
    assert field.mask.tolist() == [[True, False]]
    assert field.velocities[0, 0].tolist() == [[1.0, 2.0], [0.0, 0.0]]
    assert field.frame_rate == 10


def test_a_series_goes_to_numbered_files_and_back(tmp_path):
    fields = random_field(frames=12)
    pattern = tmp_path / "out" / "flow_%03d.flo"
    marey.save(fields, pattern)
    assert [f.name for f in sorted(pattern.parent.iterdir())][-1] == "flow_011.flo"
    for path in (pattern, pattern.parent):
        assert np.array_equal(flo.read(path).velocities, fields.velocities)
    assert np.array_equal(marey.load(pattern).velocities, fields.velocities)


def test_several_fields_need_a_numbered_name(tmp_path):
    with pytest.raises(InputError, match="flow_%04d.flo"):
        flo.write(random_field(frames=2), tmp_path / "flow.flo")
    assert list(tmp_path.iterdir()) == []


def test_files_of_another_size_are_named(tmp_path):
    flo.write(random_field(), tmp_path / "a0.flo")
    flo.write(random_field(rows=6), tmp_path / "a1.flo")
    with pytest.raises(FormatError, match=r"a1\.flo: is not 7 × 5 as a0"):
        flo.read(tmp_path / "a%d.flo")


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "empty"),
        (b"PIE", "PIEH"),
        (b"PIEH", "the header alone has 12"),
        (b"JUNKJUNKJUNKJUNK", "PIEH"),
        (b"PIEH" + struct.pack("<ii", 2, 1), "declares 2 × 1 pixels .28 bytes. and holds 12"),
        (b"PIEH" + struct.pack("<ii", 1, 1) + bytes(9), "holds 21 bytes"),
        (b"PIEH" + struct.pack("<ii", 2**31 - 1, 2**31 - 1) + bytes(8), "declares 2147483647"),
        (b"PIEH" + struct.pack("<ii", -1, -1) + bytes(8), "declares -1"),
        (b"PIEH" + struct.pack("<ii", 0, 5), "declares 0"),
    ],
)
def test_bad_files_are_refused_before_anything_is_allocated(tmp_path, data, message):
    (tmp_path / "bad.flo").write_bytes(data)
    with pytest.raises(FormatError, match=message):
        flo.read(tmp_path / "bad.flo")


def test_velocities_that_would_mean_unknown_are_refused(tmp_path):
    with pytest.raises(InputError, match="unknown"):
        flo.write(FieldSeries(np.full((1, 2, 2, 2), 2e9), 25), tmp_path / "a.flo")


def test_rubberwhale_is_read_as_opencv_reads_it(data_dir, tmp_path):
    path = data_dir / "flow/middlebury_rubberwhale/RubberWhale.flo"
    field = flo.read(path)
    assert (field.rows, field.columns) == (388, 584)
    assert field.mask.mean() == pytest.approx(0.984, abs=5e-4)
    theirs = cv2.readOpticalFlow(str(path))
    assert np.array_equal(field.velocities[0][field.mask], theirs[field.mask])
    flo.write(field, tmp_path / "again.flo")
    again = flo.read(tmp_path / "again.flo")
    assert np.array_equal(again.velocities, field.velocities)
    assert np.array_equal(again.mask, field.mask)
