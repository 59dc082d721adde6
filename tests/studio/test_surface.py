"""The surface panel without a browser: opening, clicking pictures, walking paths, going between poses."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import marey
from marey.errors import InputError
from marey.studio.app import Studio
from marey.studio.surface.making import with_pictures
from marey.studio.surface.paint import MOST_COLOURS, parts
from marey.studio.surface.panel import SurfacePanel
from marey.studio.surface.pictures import Picture, frame_at, graph_picture, matrix_picture, on_circle, pair_at
from marey.studio.surface.state import State
from marey.studio.surface.trails import stroke
from marey.surface import Library, MeshSequence, SurfaceGraph


@pytest.fixture(scope="module")
def repertoire() -> SurfaceGraph:
    whole = marey.samples.mesh_library(vertices=300)
    chosen = (1, 4, 6)
    return marey.surface.graph(
        Library(tuple(whole.sequences[k] for k in chosen), tuple(whole.labels[k] for k in chosen))
    )


@pytest.fixture(scope="module")
def known(repertoire: SurfaceGraph) -> State:
    """The library with its graph and both pictures."""
    return with_pictures(State(repertoire.library, repertoire.distances, repertoire=repertoire))


@pytest.fixture
def panel(studio: Studio, repertoire: SurfaceGraph) -> Iterator[SurfacePanel]:
    """The panel with the library open and nothing known of it."""
    found = studio.panel("Surface")
    assert isinstance(found, SurfacePanel)
    studio.show(repertoire.library, "subject")
    yield found
    studio.desk.timeline.play(False)
    studio.desk.notices.clear()


def _done(panel: SurfacePanel) -> None:
    assert panel.desk.jobs.wait()
    assert not [notice for notice in panel.desk.notices if notice.wrong], list(panel.desk.notices)


def test_a_library_plays_sequence_by_sequence_and_undo_goes_back(
    panel: SurfacePanel, repertoire: SurfaceGraph
) -> None:
    library = repertoire.library
    assert tuple(panel.sequence.choice.options) == library.names
    panel.choose(1)
    timeline = panel.desk.timeline
    assert timeline.frames == library.sequences[1].frames and panel.stage.figure.visible
    timeline.seek(7)
    assert panel.state.frame_of_library(timeline.frame) == library.number(library.names[1], 7)
    assert panel.undo() and panel.state.sequence == 0
    assert panel.redo() and panel.state.sequence == 1 and not panel.redo()
    assert panel.undo() and panel.state.sequence == 0


def test_sequences_of_one_subject_join_the_library_and_others_replace_it(
    studio: Studio, panel: SurfacePanel
) -> None:
    one = panel.state.library
    assert one is not None
    again = one.sequences[0][10:30].renamed("")
    studio.show(again, "again.npz")
    assert panel.state.library is not None and panel.state.library.names[-1] == "again"
    assert panel.state.sequence == 3
    triangle = MeshSequence(np.eye(3)[None], np.array([[0, 1, 2]]), 30)
    studio.show(triangle, "triangle.obj")
    assert panel.state.library.names == ("triangle",)
    assert panel.desk.timeline.frames == 1


def test_points_without_faces_are_refused_in_words_and_what_was_open_stays(
    studio: Studio, panel: SurfacePanel
) -> None:
    before = panel.state
    with pytest.raises(InputError, match="no faces"):
        studio.show(MeshSequence(np.zeros((1, 3, 3)), np.zeros((0, 3), int), 30), "points.ply")
    assert panel.state is before and panel.stage.figure.visible


def test_large_meshes_are_drawn_by_some_of_their_vertices(studio: Studio, panel: SurfacePanel) -> None:
    across = 150
    x, z = np.meshgrid(np.linspace(0, 1, across), np.linspace(0, 1, across))
    corner = (np.arange(across - 1)[:, None] * across + np.arange(across - 1)).ravel()
    halves = [[corner, corner + across, corner + 1], [corner + 1, corner + across, corner + across + 1]]
    faces = np.concatenate([np.stack(half, axis=1) for half in halves])
    sheet = np.stack([x.ravel(), 0.1 * np.sin(6 * x.ravel()), z.ravel()], axis=1)
    studio.show(MeshSequence(np.stack([sheet, sheet + 1]), faces, 30), "sheet.npz")
    assert panel.state.played is not None and panel.state.played.vertices.shape[1] == across**2
    assert 0 < panel.stage.figure.vertices_shown <= 10_000
    assert "drawn here" in panel.sequence.facts.content


def test_clicking_the_matrix_shows_both_frames_and_tells_their_distance(
    studio: Studio, panel: SurfacePanel, repertoire: SurfaceGraph
) -> None:
    panel.compare()
    _done(panel)
    distances, board = panel.state.distances, panel.stage.matrix
    assert distances is not None and board.visible
    np.testing.assert_allclose(distances.values, repertoire.distances.values, atol=1e-6)
    row, column = 20, 140
    _click(panel, board.in_world([column, row]), board)
    assert panel.state.pair == (row, column)
    assert panel.desk.timeline.frame == row - distances.starts[panel.state.sequence]
    assert f"{distances.values[row, column]:.3f}" in panel.pictures.told.content
    # Played on, the second body plays along; beyond its sequence there is none.
    assert panel.stage.other_frame(panel.state, 25) == column + 5
    last = int(distances.starts[2]) - column + row
    assert panel.stage.other_frame(panel.state, last) is None
    assert panel.undo() and panel.state.pair is None


def test_clicking_the_circle_of_the_graph_goes_to_that_frame(
    studio: Studio, panel: SurfacePanel, repertoire: SurfaceGraph
) -> None:
    studio.show(repertoire, "subject.mry")
    _done(panel)
    assert panel.history is not None and panel.history.steps == 0
    wanted = repertoire.library.number(repertoire.library.names[2], 11)
    board = panel.stage.graph
    _click(panel, board.in_world(on_circle(repertoire.graph, wanted)), board)
    assert panel.state.sequence == 2 and panel.desk.timeline.frame == 11
    before = panel.state
    _click(panel, board.in_world([0.0, 0.0]), board)
    assert panel.state is before


def test_places_in_pictures_are_frames_and_back(repertoire: SurfaceGraph) -> None:
    matrix = matrix_picture(repertoire.distances)
    for row, column in ((0, 0), (17, 230), (233, 1)):
        place = matrix.place([column, row])
        assert (place > 0).all() and (place < 1).all()
        assert pair_at(repertoire.distances, matrix.meant(place)) == (row, column)
    graph = graph_picture(repertoire.graph, repertoire.library.names)
    for frame in (0, 99, 233):
        assert (
            frame_at(repertoire.graph, graph.meant(graph.place(on_circle(repertoire.graph, frame)))) == frame
        )
    # Similar poses are dark: the diagonal is darker than what lies about it.
    assert _brightness(matrix, [100, 100]) < _brightness(matrix, [100, 110])


def test_a_drawn_path_is_walked_and_told_in_numbers(panel: SurfacePanel) -> None:
    panel.draw()
    assert panel.pen.down and not panel.stage.pictures_visible
    panel._drawn(np.array([[0.0, -2.0], [0.0, 0.0]]), False)
    panel._drawn(np.array([[0.0, -2.0], [0.0, 0.0], [0.5, 1.5]]), True)
    _done(panel)
    state = panel.state
    assert not panel.pen.down and state.shown == "animation" and panel.desk.timeline.playing
    assert state.repertoire is not None and state.made is not None and state.made.report is not None
    error = state.made.report.path_error
    assert error is not None and error < 0.2
    assert f"{100 * error:.1f} cm" in panel.ways.told.content
    assert panel.ways.strip.visible
    synthetic = state.made.animation.provenance.synthetic
    panel.desk.timeline.play(False)
    for kind in (False, True):
        if (synthetic == kind).any():
            panel.desk.timeline.seek(int(np.argmax(synthetic == kind)))
            assert panel.stage.figure._synthetic == kind
    assert panel.undo() and panel.state.shown == "captured" and panel.state.made is None


def test_a_stroke_that_cannot_be_walked_leaves_nothing_on_the_ground(
    panel: SurfacePanel, known: State
) -> None:
    panel.begin(known)
    panel.draw()
    panel._drawn(np.array([[0.0, 0.0], [0.1, 0.0]]), False)
    assert panel.stage.trails._asked.visible
    with pytest.raises(InputError, match="draw one of"):
        panel._drawn(np.array([[0.0, 0.0], [0.1, 0.0]]), True)
    assert not panel.stage.trails._asked.visible
    assert not panel.pen.down and panel.stage.matrix.visible


def test_turning_to_something_else_puts_the_pen_away(panel: SurfacePanel) -> None:
    panel.draw()
    panel.choose(1)
    assert not panel.pen.down and panel.ways.draw.label == "Draw a path"


def test_what_is_changed_while_poses_are_compared_stays(panel: SurfacePanel) -> None:
    panel.compare()
    panel.take_end(0)
    panel.choose(1)
    _done(panel)
    assert panel.state.distances is not None and panel.state.ends == (0, None)
    assert panel.state.sequence == 1


def test_another_compromise_is_used_when_walking(panel: SurfacePanel, known: State) -> None:
    panel.begin(known)
    assert panel.pictures.compromise.value == "True to capture"
    panel.pictures.compromise.value = "Quick to answer"
    panel._walk(np.array([[0.0, 0.0], [0.0, 1.0]]), look=True)
    _done(panel)
    assert panel.state.repertoire is not None and panel.state.repertoire.graph.alpha == 0.2
    assert "Now **" in panel.ways.now.content and not panel.stage.matrix.visible
    assert panel.undo() and panel.pictures.compromise.value == "True to capture"
    assert panel.stage.matrix.visible


def test_names_from_files_are_shown_as_words_and_lead_no_export_astray(
    studio: Studio, panel: SurfacePanel
) -> None:
    library = panel.state.library
    assert library is not None
    studio.show(library.sequences[0][:20].renamed("../<b>odd</b>"), "odd.npz")
    panel.take_end(0)
    assert "\\<b\\>odd" in panel.between.chosen.content
    studio._exporter._choice.value = "meshes (NPZ)"
    studio._exporter.run()
    _done(panel)


def test_controls_of_an_empty_panel_say_what_to_do() -> None:
    with Studio(port=0) as empty:
        panel = empty.panel("Surface")
        assert isinstance(panel, SurfacePanel)
        for ask in (panel.compare, panel.build, panel.draw, panel.interpolate, panel.go):
            with pytest.raises(InputError, match="first"):
                ask()
        assert empty.desk.jobs.wait()


def test_looking_at_a_picture_shows_all_of_it(panel: SurfacePanel, known: State) -> None:
    panel.begin(known)
    panel.look_at("Matrix")
    camera, corners = panel.desk.server.initial_camera, panel.stage.matrix.corners
    ahead = np.asarray(camera.look_at) - np.asarray(camera.position)
    ahead = ahead / np.linalg.norm(ahead)
    right = np.cross(ahead, [0.0, 1.0, 0.0])
    towards = corners - np.asarray(camera.position)
    slope = np.tan(camera.fov / 2) * (towards @ ahead)
    height = np.abs(towards @ np.cross(right, ahead)) / slope
    assert (height < 1).all() and height.max() > 0.6
    assert (np.abs(towards @ right) / slope < 1.4).all()


def test_a_path_too_short_to_walk_is_refused_in_words() -> None:
    with pytest.raises(InputError, match="draw one of"):
        stroke(np.array([[0.0, 0.0], [0.1, 0.0]]))
    with pytest.raises(InputError, match="draw one of"):
        stroke(np.array([[0.0, 0.0], [500.0, 0.0]]))


def test_a_stroke_loses_its_tremble_but_keeps_its_ends() -> None:
    rng = np.random.default_rng(4)
    along = np.linspace(0, 4, 60)
    shaky = np.stack([along, 0.03 * rng.standard_normal(60)], axis=1)
    smooth = stroke(shaky)
    np.testing.assert_allclose(smooth[[0, -1]], shaky[[0, -1]])
    assert np.abs(smooth[10:-10, 1]).max() < 0.5 * np.abs(shaky[:, 1]).max()


def test_the_slider_goes_between_two_poses_by_either_method(panel: SurfacePanel) -> None:
    with pytest.raises(InputError, match="choose two poses"):
        panel.interpolate()
    timeline, library = panel.desk.timeline, panel.state.library
    assert library is not None
    timeline.seek(3)
    panel.take_end(0)
    panel.choose(1)
    timeline.seek(30)
    panel.take_end(1)
    panel.interpolate()
    _done(panel)
    between = panel.state.between
    assert panel.state.shown == "between" and between is not None and not panel.between.way.disabled
    panel.between.ways.give(0.25)
    assert panel.between.ways.wait() and timeline.frame == 25
    assert panel.between.way.value == pytest.approx(0.25)
    np.testing.assert_allclose(between.at(0.0), library.vertices(3), atol=1e-5)
    turning, straight = between.distortions(0.5)
    assert turning[0] < straight[0] and turning[1] < straight[1]
    assert f"{turning[0]:.1%}" in panel.between.told.content or timeline.frame != 50
    panel.choose_method(True)
    assert panel.state.between is not None and panel.state.between.is_straight
    middle = 0.5 * (np.asarray(between.first, float) + between.second)
    np.testing.assert_allclose(panel.state.between.at(0.5), middle, atol=1e-5)


def test_one_goes_from_pose_to_pose_by_captured_motion(panel: SurfacePanel, known: State) -> None:
    panel.begin(known)
    panel.desk.timeline.seek(10)
    panel.take_end(0)
    panel.desk.timeline.seek(24)
    panel.take_end(1)
    panel.go()
    _done(panel)
    assert panel.state.made is not None and panel.state.shown == "animation"
    origin = panel.state.made.animation.provenance
    assert (origin.sources[0], origin.destinations[-1]) == (10, 24)
    panel.turn_to("captured")
    assert panel.state.shown == "captured"


def test_everything_shown_can_be_taken_away(
    panel: SurfacePanel, known: State, repertoire: SurfaceGraph, tmp_path: Path
) -> None:
    assert {export.label for export in panel.exports()} >= {"animation (GLB)", "clip (MP4)", "page (HTML)"}
    panel.begin(known)
    panel._walk(np.array([[0.0, 0.0], [0.0, 1.5]]), look=True)
    _done(panel)
    made = panel.state.made
    assert made is not None
    files = {export.label: export for export in panel.exports()}
    for label in ("animation (GLB)", "meshes (NPZ)", "origins (CSV)", "matrix (NPZ)", "graph (MRY)"):
        files[label].write(tmp_path / files[label].name, lambda done, total: None)
    meshes = marey.load(tmp_path / files["meshes (NPZ)"].name)
    np.testing.assert_allclose(meshes.vertices, made.animation.sequence.vertices, atol=1e-5)
    rows = (tmp_path / files["origins (CSV)"].name).read_text().splitlines()
    assert len(rows) == 1 + made.animation.sequence.frames
    assert marey.load(tmp_path / "distances.npz").frames == repertoire.library.frames
    assert marey.load(tmp_path / "graph.mry").graph.edges == repertoire.graph.edges
    assert (tmp_path / files["animation (GLB)"].name).read_bytes()[:4] == b"glTF"


def test_distances_alone_are_a_picture_and_asking_for_more_is_told(
    studio: Studio, panel: SurfacePanel, repertoire: SurfaceGraph
) -> None:
    triangle = MeshSequence(np.eye(3)[None], np.array([[0, 1, 2]]), 30)
    studio.show(triangle, "triangle.obj")
    studio.show(repertoire.distances, "distances.npz")
    _done(panel)
    assert panel.stage.matrix.visible and not panel.stage.figure.visible
    assert panel.desk.timeline.frames == repertoire.library.frames
    for ask in (panel.walk_ready_made, panel.draw, lambda: panel.take_end(0)):
        with pytest.raises(InputError, match="first"):
            ask()
    studio.show(repertoire.library, "subject")
    studio.show(repertoire.distances, "distances.npz")
    _done(panel)
    assert panel.state.library is repertoire.library and panel.stage.figure.visible


def test_an_animation_from_a_file_plays_in_its_two_kinds_of_frames(
    studio: Studio, panel: SurfacePanel, repertoire: SurfaceGraph
) -> None:
    made = repertoire.animate(start=5, end=120)
    studio.show(made, "animation.mry")
    assert panel.state.shown == "animation" and panel.desk.timeline.frames == made.sequence.frames
    assert "captured" in panel.ways.told.content
    with pytest.raises(InputError, match="captured"):
        panel.take_end(0)


def test_a_textured_surface_is_drawn_in_its_main_colours() -> None:
    walk = marey.samples.mesh_sequence(marey.samples.walk(seconds=0.1, frame_rate=30))
    painted = parts(walk)
    assert 4 <= len(painted) <= MOST_COLOURS
    assert sum(len(part.faces) for part in painted) == len(walk.faces)
    for part in painted:
        assert part.faces.max() < len(part.vertices)
    # Blue trousers cover more than anything else.
    largest = max(painted, key=lambda part: len(part.faces)).colour
    assert largest[2] > largest[0]


def _click(panel: SurfacePanel, place: np.ndarray, board: object) -> None:
    """Look at a place of a board from before it, as a click does."""
    from marey.studio.surface.boards import Board

    assert isinstance(board, Board)
    eye = place + 2.0 * board.facing + np.array([0.3, 0.5, 0.0])
    meant = board.meant(eye, place - eye)
    assert meant is not None
    board._clicked(meant)


def _brightness(picture: Picture, meant: list[float]) -> float:
    rows, columns = picture.image.shape[:2]
    across, down = picture.place(meant)
    return float(picture.image[int(down * rows), int(across * columns)].mean())
