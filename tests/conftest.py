"""Fixtures shared by all tests."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import settings

settings.register_profile("marey", deadline=None, derandomize=True)
settings.load_profile("marey")


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """Real data: the folder MAREY_DATA names, or `../shared/data` beside the checkout."""
    beside = Path(__file__).resolve().parents[2] / "shared" / "data"
    folder = Path(os.environ.get("MAREY_DATA", beside))
    if not (folder / "skeleton").is_dir():
        pytest.skip("real data is not here (set MAREY_DATA)")
    return folder
