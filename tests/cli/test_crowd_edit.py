"""`marey crowd edit`: what is written is what was asked for, and the figures are those of the file."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import marey
from marey.crowd.edit import restyle
from marey.crowd.spectrum import compress, field_error, information
from tests.cli.commands import refused, result
from tests.crowd.flows import street


@pytest.fixture
def flow(tmp_path: Path) -> Path:
    path = tmp_path / "street.zarr"
    marey.save(street(100, noise=0.03), path)
    return path


def test_a_tenth_of_the_frequencies_is_stored_in_a_tenth(
    flow: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = flow.parent / "small.mry"
    facts = result(capsys, "crowd", "edit", flow, out, "--keep", "0.1")
    series = marey.load(flow)
    assert facts["kind"] == "fourier" and facts["bytes"] == out.stat().st_size
    assert facts["information"] == pytest.approx(compress(series, keep=0.1).information, abs=1e-3)
    assert facts["bytes"] <= 0.1 * facts["raw_bytes"] + 2500
    assert facts["information_without_mean"] < facts["information"] < 100


def test_our_coder_keeps_the_error_it_is_given(flow: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = flow.parent / "small.mry"
    facts = result(capsys, "crowd", "edit", flow, out, "--max-error", "0.1")
    assert facts["kind"] == "wavelets" and facts["error_max"] <= 0.1
    assert field_error(marey.load(flow), marey.load(out)).largest <= 0.1


def test_mry_alone_is_within_five_per_cent(flow: Path, capsys: pytest.CaptureFixture[str]) -> None:
    facts = result(capsys, "crowd", "edit", flow, flow.parent / "small.mry")
    assert facts["information"] >= 99.75 and facts["ratio"] > 5


def test_style_and_parts_are_written_plainly(flow: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = flow.parent / "nervous.zarr"
    facts = result(capsys, "crowd", "edit", flow, out, "--style", "1.5")
    series = marey.load(flow)
    np.testing.assert_allclose(marey.load(out).velocities, restyle(series, 1.5).velocities, atol=1e-6)
    assert facts["kind"] == "fields" and facts["error_max"] == 0
    assert facts["information"] == pytest.approx(information(series, marey.load(out)).whole, abs=1e-3)
    calm = flow.parent / "calm.zarr"
    result(capsys, "crowd", "edit", flow, calm, "--style", "calm", "--vorticity", "0", "--denoise")
    assert np.abs(marey.load(calm).velocities).sum() < np.abs(series.velocities).sum()


def test_where_people_are_seen_stays(flow: Path, capsys: pytest.CaptureFixture[str]) -> None:
    series = marey.load(flow)
    seen = replace(series, foreground=np.full(series.velocities.shape[:3], 200, np.uint8))
    given, out = flow.parent / "seen.zarr", flow.parent / "out.zarr"
    marey.save(seen, given)
    result(capsys, "crowd", "edit", given, out, "--keep", "0.2", "--denoise")
    assert (marey.load(out).foreground == 200).all()


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["out.mp4"], "write velocity fields as"),
        (["out.zarr", "--max-error", "0.1"], "ending .mry"),
        (["out.mry", "--max-error", "-1"], "positive"),
        (["out.zarr", "--keep", "2"], "share above 0"),
        (["out.zarr", "--basis", "haar"], "one of dct"),
        (["out.zarr", "--select", "all"], "one of low"),
        (["out.zarr", "--style", "wild"], "a number"),
        (["out.zarr", "--style", "99"], "style 99"),
        (["nowhere/out.zarr"], "no folder"),
        (["out.zarr", "--vorticity", "1e300"], "rotation 1e+300: a gain from -1000 to 1000"),
        (["out.zarr", "--divergence", "nan"], "a number"),
        (["street.zarr/out.zarr"], "into its own input"),
    ],
)
def test_what_cannot_be_is_told_and_nothing_written(
    flow: Path, capsys: pytest.CaptureFixture[str], words: list[str], told: str
) -> None:
    out = flow.parent / words[0]
    assert told in refused(capsys, "crowd", "edit", flow, out, *words[1:])
    assert not out.exists()


def test_the_input_is_never_written_over(flow: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "its own input" in refused(capsys, "crowd", "edit", flow, flow, "--style", "2")


def test_a_field_without_a_free_pixel_stays_as_it_is(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    series = street(10)
    marey.save(
        replace(series, mask=np.zeros(series.velocities.shape[1:3], np.bool_)), tmp_path / "walls.zarr"
    )
    facts = result(capsys, "crowd", "edit", tmp_path / "walls.zarr", tmp_path / "o.zarr", "--denoise")
    assert facts["information"] == 100


def test_any_error_may_be_allowed(flow: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = flow.parent / "small.mry"
    facts = result(capsys, "crowd", "edit", flow, out, "--max-error", "1e300")
    assert facts["bytes"] < 300 and facts["information"] < 100
