"""Fixtures shared by all tests."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

from tests.browser import opened_chromium

if TYPE_CHECKING:
    from playwright.sync_api import Browser

settings.register_profile("marey", deadline=None, derandomize=True)
settings.load_profile("marey")


LONGEST_FIRST = (
    "tests/test_readme.py",
    "tests/test_docs.py",
    "tests/test_demo.py",
    "tests/cli/",
    "tests/test_cli.py",
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests that run whole programs come first, so that no core waits for the last of them."""

    def rank(item: pytest.Item) -> int:
        ranks = (i for i, name in enumerate(LONGEST_FIRST) if item.nodeid.startswith(name))
        return next(ranks, len(LONGEST_FIRST))

    items.sort(key=rank)


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """Real data: the folder MAREY_DATA names, or `../shared/data` beside the checkout."""
    beside = Path(__file__).resolve().parents[2] / "shared" / "data"
    folder = Path(os.environ.get("MAREY_DATA", beside))
    if not (folder / "skeleton").is_dir():
        pytest.skip("real data is not here (set MAREY_DATA)")
    return folder


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    """One browser for all tests of a process; see `tests.browser`."""
    with opened_chromium() as browser:
        yield browser
