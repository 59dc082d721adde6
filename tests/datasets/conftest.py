"""A clean environment: the tests decide where data is, not whoever runs them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from .small import WALK, Site, serving


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache; no MAREY_DATA, no mirror, no proxy."""
    for name in ("MAREY_DATA", "MAREY_DATA_URL", "http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    folder = tmp_path / "cache"
    monkeypatch.setenv("MAREY_CACHE", str(folder))
    return folder


@pytest.fixture
def site(cache: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    """A mirror on this machine that has the walk."""
    with serving({"/body/walk.bvh": WALK}) as served:
        monkeypatch.setenv("MAREY_DATA_URL", served.address)
        yield served
