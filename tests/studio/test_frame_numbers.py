"""The studio's slider counts frames as the file does."""

from __future__ import annotations

import marey
from marey.studio.app import Studio


def test_the_slider_begins_at_the_number_of_the_first_frame(studio: Studio) -> None:
    walk = marey.samples.walk(seconds=2)
    studio.show(walk[7:], "walk.bvh")
    timeline = studio.workspace.timeline
    with studio.workspace.lock:
        timeline.seek(0)
        assert (timeline._slider.min, timeline._slider.max, timeline._slider.value) == (7, walk.frames - 1, 7)
        timeline._slider.value = 20
        timeline._scrubbed()
        assert timeline.frame == 13
