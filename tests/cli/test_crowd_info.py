"""`marey crowd info`: sizes, speeds and information of a flow, plain and compressed."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import marey
from marey.crowd.codec import compress
from marey.crowd.fields import FieldSeries
from marey.crowd.spectrum import compress as fourier
from tests.cli.commands import refused, result, run
from tests.crowd.flows import street


def test_the_facts_of_a_uniform_stream(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    foreground = np.zeros((40, 6, 8), np.uint8)
    foreground[:, :3] = 255
    path = tmp_path / "south.zarr"
    marey.save(FieldSeries(np.tile([0.0, 2.0], (40, 6, 8, 1)), 20, foreground=foreground), path)
    facts = result(capsys, "crowd", "info", path)
    assert (facts["frames"], facts["rows"], facts["columns"], facts["duration"]) == (40, 6, 8, 2.0)
    assert facts["speed"] == {"mean": 2.0, "median": 2.0, "p99": 2.0, "max": 2.0}
    assert facts["direction_degrees"] == 90.0 and facts["foreground_share"] == 0.5
    assert facts["divergence"] == facts["vorticity"] == {"min": 0.0, "max": 0.0}
    assert facts["information"] == {"1%": 100.0, "5%": 100.0, "10%": 100.0}


def test_information_is_that_of_compression(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    series = street(100, noise=0.1)
    path = tmp_path / "small.mry"
    marey.save(compress(series, max_error=0.02), path)
    facts = result(capsys, "crowd", "info", path)
    again = fourier(marey.load(path), keep=0.1)
    assert facts["information"]["10%"] == pytest.approx(again.information, abs=1e-2)
    assert facts["vorticity"]["max"] > 0.1 and facts["masked_share"] == pytest.approx(16 / 560, abs=1e-4)


def test_a_picture_is_drawn(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, picture = tmp_path / "street.zarr", tmp_path / "spectrum.png"
    marey.save(street(30), path)
    code, out, _ = run(capsys, "crowd", "info", path, "--figure", picture)
    assert code == 0 and "speed" in out and picture.read_bytes()[1:4] == b"PNG"


def test_other_files_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "crowd.csv"
    marey.save(marey.samples.crowd(), path)
    assert "not velocity fields" in refused(capsys, "crowd", "info", path)
    assert "no such" in refused(capsys, "crowd", "info", tmp_path / "none.zarr")
