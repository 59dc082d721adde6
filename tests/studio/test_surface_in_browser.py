"""The surface room in a real browser: click the matrix, draw a path, move the slider between two poses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import marey
from marey.studio.app import Studio
from marey.studio.surface.billboard import on_circle
from marey.studio.surface.room import SurfaceRoom
from marey.surface import Library, SurfaceGraph
from tests.browser import Tab, keep_screenshot, page_of, until
from tests.studio.pointing import Eye

if TYPE_CHECKING:
    from playwright.sync_api import Browser

# Small: every pixel is painted by software.
SIZE = (720, 480)


@pytest.fixture(scope="module")
def repertoire() -> SurfaceGraph:
    whole = marey.samples.mesh_library(vertices=300)
    return marey.surface.graph(Library(tuple(whole.sequences[k] for k in (1, 4, 6))))


def test_pictures_are_clicked_a_path_is_drawn_and_walked_and_a_slider_goes_between_poses(
    chromium: Browser, studio: Studio, repertoire: SurfaceGraph
) -> None:
    room = studio.room("Surface")
    assert isinstance(room, SurfaceRoom)
    studio.show(repertoire, "subject.mry")
    assert studio.workspace.jobs.wait()
    eye = Eye(studio)
    with page_of(chromium, studio.address, size=SIZE) as tab:
        tab.page.get_by_role("button", name="Draw a path").wait_for()
        _click_matrix(tab, eye, studio, room)
        _click_graph(tab, eye, studio, room, repertoire)
        _draw_path(tab, eye, studio, room)
        _go_between(tab, studio, room)
        assert not tab.errors
    assert not [notice for notice in studio.workspace.notices if notice.wrong]


def _click_matrix(tab: Tab, eye: Eye, studio: Studio, room: SurfaceRoom) -> None:
    with studio.workspace.lock:
        room.figures.look_at("Matrix")
    row, column = 30, 170
    eye.click(tab, room.scene.matrix.to_scene([column, row]), lambda: room.state.pair is not None)
    assert room.state.pair is not None
    # A pixel of this picture is about a frame.
    assert np.abs(np.subtract(room.state.pair, (row, column))).max() <= 4
    keep_screenshot(tab.page, "surface-matrix")


def _click_graph(tab: Tab, eye: Eye, studio: Studio, room: SurfaceRoom, repertoire: SurfaceGraph) -> None:
    with studio.workspace.lock:
        room.figures.look_at("Graph")
    wanted = repertoire.library.number(repertoire.library.names[2], 20)
    place = room.scene.graph.to_scene(on_circle(repertoire.graph, wanted))
    eye.click(tab, place, lambda: room.state.sequence == 2)
    with studio.workspace.lock:
        assert abs(studio.workspace.timeline.frame - 20) <= 4


def _draw_path(tab: Tab, eye: Eye, studio: Studio, room: SurfaceRoom) -> None:
    tab.page.get_by_role("button", name="Draw a path").click()
    until(tab, lambda: room.walk.pen.down)
    way = [np.array([0.4 * np.sin(t), 0.0, -1.0 + t]) for t in np.linspace(0, 2.2, 9)]
    eye.rest_on(tab, way[0])
    tab.page.mouse.down()
    for place in way[1:]:
        eye.drag_to(tab, place, lambda at=place[[0, 2]]: _ends_at(room.walk.pen._points, at))
    tab.page.mouse.up()
    until(tab, lambda: room.state.shown == "animation")
    path, made = room.state.path, room.state.animation
    assert path is not None and made is not None and made.report is not None
    assert made.report.path_error is not None and made.report.path_error < 0.2
    np.testing.assert_allclose(path[[0, -1]], [way[0][[0, 2]], way[-1][[0, 2]]], atol=0.15)
    tab.page.get_by_text("Off the path by").wait_for()
    until(tab, lambda: studio.workspace.timeline.frame > 10)
    with studio.workspace.lock:
        studio.workspace.timeline.play(False)
    keep_screenshot(tab.page, "surface-path")


def _ends_at(stroke: list[Any], place: Any) -> bool:
    return bool(stroke) and np.allclose(stroke[-1], place, atol=0.1)


def _go_between(tab: Tab, studio: Studio, room: SurfaceRoom) -> None:
    tab.page.get_by_role("button", name="Captured").click()
    until(tab, lambda: room.state.shown == "captured")
    tab.page.get_by_text("Between two poses").click()
    tab.page.get_by_role("button", name="From here").click()
    until(tab, lambda: room.state.ends[0] is not None)
    with studio.workspace.lock:
        studio.workspace.timeline.seek(40)
    tab.page.get_by_role("button", name="To here").click()
    until(tab, lambda: room.state.ends[1] is not None)
    tab.page.get_by_role("button", name="Interpolate").click()
    until(tab, lambda: room.state.shown == "between" and not studio.workspace.jobs.busy)
    way = tab.page.get_by_role("slider").last
    # A slider that cannot be moved yet has no thumb.
    until(tab, lambda: way.get_attribute("aria-valuemax") == "1")
    way.focus()
    way.press("Home")
    until(tab, lambda: studio.workspace.timeline.frame == 0 and room.between.weight.value == 0)
    tab.page.get_by_text("volume off by").first.wait_for()
    keep_screenshot(tab.page, "surface-between")
