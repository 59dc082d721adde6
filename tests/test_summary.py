"""The table at the end of a run: what was skipped and why, and whether real data was there."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.browser import LONG

ROOT = Path(__file__).resolve().parents[1]
SMALL = """
import pytest

@pytest.mark.parametrize("number", range(3))
def test_with_data(data_dir, number):
    if number == 2:
        pytest.skip("this clip is not here")

@pytest.mark.skip(reason="no browser here")
def test_with_a_browser(): ...

def test_without(): ...
"""


@pytest.mark.parametrize(("there", "processes"), [(True, "1"), (False, "0")])
def test_skipped_tests_are_counted_by_reason(there: bool, processes: str, tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text("from tests.conftest import *")
    (tmp_path / "test_small.py").write_text(SMALL)
    (tmp_path / "data" / ("skeleton" if there else "none")).mkdir(parents=True)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-n", processes, "-p", "no:cacheprovider", str(tmp_path)],
        env={**os.environ, "PYTHONPATH": str(ROOT), "MAREY_DATA": str(tmp_path / "data")},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
        timeout=LONG,
    )
    rows = [" ".join(line.split()) for line in done.stdout.splitlines()]
    assert "1 no browser here" in rows
    if there:
        assert "1 this clip is not here" in rows
        assert "real data: 2 tests ran on it, 1 were skipped" in rows
    else:
        assert "3 real data is not here (set MAREY_DATA)" in rows
        assert "real data: 0 tests ran on it, 3 were skipped" in rows
