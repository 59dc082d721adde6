"""A studio to test with."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from marey.studio.app import Studio
from marey.studio.body.room import BodyRoom

pytest.importorskip("viser", reason="the extra studio is not installed")


@pytest.fixture(scope="module")
def studio() -> Iterator[Studio]:
    """A studio with its first sample, served on a free port."""
    with Studio(port=0) as opened:
        assert opened.workspace.jobs.wait()
        # What is compiled meanwhile in another thread would swallow the warnings of what is opened next.
        body = opened.room("Body")
        assert isinstance(body, BodyRoom) and body.preparing.wait()
        yield opened
