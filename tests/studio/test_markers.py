"""The markers room: play, choose, cut, export."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import marey
from marey.body.markers import Markers
from marey.studio.app import Studio
from marey.studio.markers import MarkersRoom, sample


@pytest.fixture
def room(studio: Studio) -> MarkersRoom:
    """The room with markers of a walk, one of which is not seen for a while."""
    whole = sample()
    positions = np.array(whole.positions)
    positions[10:20, 3] = np.nan
    studio.show(replace(whole, positions=positions), "walk.c3d")
    found = studio.active
    assert isinstance(found, MarkersRoom)
    return found


def test_markers_play_as_points_and_missing_ones_are_named(room: MarkersRoom) -> None:
    with room.workspace.lock:
        room.workspace.timeline.seek(12)
    assert room.points.points is not None
    shown, markers = room.points.points.points, room.state.markers
    seen = markers.present[12]
    np.testing.assert_allclose(shown[seen], markers.positions[12][seen], atol=1e-5)
    assert (shown[~seen] < -100).all() and markers.names[3] in room.display.report.content


def test_a_chosen_marker_is_removed_and_comes_back_by_undo(room: MarkersRoom, studio: Studio) -> None:
    with pytest.raises(marey.InputError, match="choose a marker"):
        room.cut.remove()
    room.display.which.value = room.state.markers.names[2]
    room.perform(room.display.choose())
    count = len(room.state.markers.names)
    room.cut.remove()
    assert len(room.state.markers.names) == count - 1
    studio.undo()
    assert len(room.state.markers.names) == count and room.state.chosen == 2
    studio.redo()
    assert len(room.state.markers.names) == count - 1


def test_cutting_keeps_the_part_between(room: MarkersRoom) -> None:
    frames, rate = room.state.markers.frames, room.state.markers.frame_rate
    room.cut.first.value, room.cut.last.value = 0.5, 0.5
    room.cut.cut()
    assert room.state.markers.frames == frames - 2 * round(0.5 * rate)
    assert room.workspace.timeline.frames == room.state.markers.frames
    room.cut.first.value = 10.0
    with pytest.raises(marey.InputError, match="nothing would be left"):
        room.cut.cut()
    room.cut.first.value = room.cut.last.value = 0.0


def test_markers_are_exported_as_a_table_and_a_file_that_opens_again(
    room: MarkersRoom, tmp_path: Path
) -> None:
    files = {export.label: export for export in room.exports(room.state)}
    for label in ("markers (CSV)", "markers (MRY)"):
        files[label].write(tmp_path / files[label].name, lambda done, total: None)
    rows = np.genfromtxt(tmp_path / "walk.csv", delimiter=",", skip_header=1)
    np.testing.assert_allclose(rows[5, 1:4], room.state.markers.positions[5, 0], atol=1e-4)
    assert isinstance(marey.load(tmp_path / "walk.mry"), Markers)


def test_markers_that_are_never_seen_are_refused(studio: Studio) -> None:
    with pytest.raises(marey.InputError, match="ever seen"):
        studio.show(Markers(("head",), np.full((2, 1, 3), np.nan), 100), "nothing.c3d")
