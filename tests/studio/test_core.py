"""What the rooms share: undo, work aside, uploads."""

from __future__ import annotations

import threading
import urllib.request
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import marey
from marey._work import Progress
from marey.errors import InputError, MissingExtraError
from marey.studio import ground_pen
from marey.studio.app import Studio
from marey.studio.jobs import LatestOnly
from marey.studio.room import History
from marey.studio.scene import FRAMING, around
from marey.studio.server import CORRECTION
from marey.studio.settings import LIMITS
from marey.studio.text import safe_filename
from tests.browser import LONG


@given(st.lists(st.integers(), min_size=1, max_size=30), st.integers(0, 40))
def test_undo_walks_back_through_the_states_and_stops_at_the_first(states: list[int], steps: int) -> None:
    history = History(states[0])
    for state in states[1:]:
        history.push(state)
    for _ in range(steps):
        history.undo()
    assert history.now == states[max(len(states) - 1 - steps, 0)]
    assert history.reset() == states[0] and history.steps == 0


@given(st.lists(st.integers(), min_size=1, max_size=20), st.integers(0, 25), st.integers(0, 25))
def test_redo_takes_back_undo_until_something_new_is_done(states: list[int], back: int, again: int) -> None:
    history = History(states[0])
    for state in states[1:]:
        history.push(state)
    for _ in range(back):
        history.undo()
    for _ in range(again):
        history.redo()
    last = len(states) - 1
    assert history.now == states[min(max(last - back, 0) + again, last)]
    history.push(99)
    assert history.undone == 0 and history.redo() == 99


def test_a_long_history_forgets_the_oldest_but_never_what_was_opened() -> None:
    history = History(-1)
    for state in range(LIMITS.steps + 50):
        history.push(state)
    assert history.steps == LIMITS.steps
    for _ in range(LIMITS.steps - 1):
        history.undo()
    assert history.now == 50
    assert history.undo() == -1


def test_only_the_newest_of_waiting_values_is_worked_on() -> None:
    seen, hold = [], threading.Event()

    def work(value: int) -> None:
        seen.append(value)
        hold.wait(LONG)

    latest = LatestOnly(work)
    latest.submit(0)
    while not seen:
        pass
    for value in range(1, 20):
        latest.submit(value)
    hold.set()
    assert latest.wait()
    assert seen == [0, 19]


@given(st.text(max_size=300))
def test_no_name_of_an_upload_leads_out_of_its_folder(name: str) -> None:
    kept = safe_filename(name)
    assert 0 < len(kept) <= 100
    assert Path(kept).name == kept and kept not in (".", "..")
    assert kept.isprintable()


def test_the_ground_under_the_pointer_is_where_the_camera_s_ray_meets_it() -> None:
    # Looking straight down from 2 m with a right angle of view: the edge of the screen is 2 m away.
    down = marey.geometry.rotations.between([0.0, 0.0, 1.0], [0.0, -1.0, 0.0])
    camera = SimpleNamespace(position=np.array([1.0, 2.0, 3.0]), wxyz=down, fov=np.pi / 2, aspect=1.0)
    np.testing.assert_allclose(ground_pen.under_pointer(camera, (0.5, 0.5)), [1, 3], atol=1e-12)
    edge = ground_pen.under_pointer(camera, (1.0, 0.5))
    assert edge is not None
    assert np.hypot(*(edge - [1, 3])) == pytest.approx(2.0)
    assert ground_pen.on_ground([0, 1, 0], [1, 0.1, 0]) is None


def test_long_work_reports_finishes_at_the_desk_and_refuses_company(studio: Studio) -> None:
    jobs, workspace = studio.workspace.jobs, studio.workspace
    go, results = threading.Event(), []

    def work(progress: Progress) -> int:
        progress(1, 2)
        go.wait(LONG)
        return 7

    jobs.run("counting", work, results.append)
    jobs.run("something else", lambda _: 8, results.append)
    assert workspace.notices[-1].wrong and "counting" in workspace.notices[-1].title
    go.set()
    assert jobs.wait() and results == [7]


def test_cancelled_work_stops_at_its_next_report_and_leaves_no_result(studio: Studio) -> None:
    jobs = studio.workspace.jobs
    began, stopped, results = threading.Event(), threading.Event(), []

    def work(progress: Progress) -> None:
        try:
            while True:
                began.set()
                progress(0, 1)
        finally:
            stopped.set()

    jobs.run("going on for ever", work, results.append)
    assert began.wait(LONG)
    jobs.cancel()
    assert not jobs.busy
    assert stopped.wait(LONG) and not results
    assert "Cancelled" in studio.workspace.notices[-1].text


def test_errors_of_work_become_readable_notices(studio: Studio, capsys: pytest.CaptureFixture[str]) -> None:
    jobs, notices = studio.workspace.jobs, studio.workspace.notices

    def fail_for_people(_: Progress) -> None:
        raise InputError("the clip has one frame; two are needed")

    def fail_for_us(_: Progress) -> None:
        raise ZeroDivisionError("oh")

    jobs.run("one", fail_for_people, lambda _: None)
    assert jobs.wait() and notices[-1].text == "the clip has one frame; two are needed"
    jobs.run("two", fail_for_us, lambda _: None)
    assert jobs.wait() and "ZeroDivisionError" in notices[-1].text
    assert "Traceback" in capsys.readouterr().err


def test_a_damaged_file_and_a_missing_one_are_told_and_change_nothing(studio: Studio, tmp_path: Path) -> None:
    before = studio.active.state
    (tmp_path / "broken.bvh").write_text("HIERARCHY\nROOT Hips\n{ OFFSET 0 0")
    for name in ("broken.bvh", "not-there.bvh"):
        studio.open(tmp_path / name)
        assert studio.workspace.jobs.wait()
        assert studio.workspace.notices[-1].wrong and name in studio.workspace.notices[-1].text
    assert studio.active.state is before


def test_a_port_that_is_none_is_refused_in_a_line() -> None:
    with pytest.raises(InputError, match="--port 70000"):
        Studio(port=70000)


def test_without_viser_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "viser", None)
    with pytest.raises(MissingExtraError, match=r"marey\[studio\]"):
        Studio(port=0)


def test_what_has_no_room_is_told_with_another_way_to_see_it(studio: Studio) -> None:
    thing: Any = object()
    with pytest.raises(InputError, match="marey view odd.thing"):
        studio.show(thing, "odd.thing")


@pytest.mark.parametrize("shape", [2.0, 1.3, 0.46])
def test_what_is_framed_fills_the_view_and_is_seen_whole(shape: float) -> None:
    corners = np.array([[x, y, z] for x in (-20, 20) for y in (0, 2) for z in (-6, 6)], float)
    view = around(corners, (0.2, 0.7, 1.0), shape)
    back = (view.position - view.look_at) / np.linalg.norm(view.position - view.look_at)
    right = np.cross([0, 1, 0], back) / np.linalg.norm(np.cross([0, 1, 0], back))
    seen = corners - view.position
    depth = -(seen @ back) * np.tan(FRAMING.field / 2)
    across, upwards = seen @ right / (depth * shape), seen @ np.cross(back, right) / depth
    assert max(np.abs(across).max(), np.abs(upwards).max()) < 1.0
    assert np.abs(across).max() > 0.85 or np.ptp(upwards) > 1.5
    # On a telephone the controls cover the lower part.
    assert shape > 0.8 or upwards.min() > 0.2


def test_doubts_about_a_file_are_told(studio: Studio, tmp_path: Path) -> None:
    rows = [f"1,{frame},{frame * 0.05:.2f},1" for frame in range(30)]
    (tmp_path / "people.csv").write_text("\n".join(["id,frame,x,y", *rows]))
    studio.open(tmp_path / "people.csv")
    assert studio.workspace.jobs.wait()
    assert any("frame rate" in notice.text for notice in studio.workspace.notices)


def test_the_page_is_served_with_its_correction(studio: Studio) -> None:
    with urllib.request.urlopen(studio.address) as answer:
        page = answer.read()
    assert CORRECTION in page[:2000] and int(answer.headers["Content-Length"]) == len(page)
