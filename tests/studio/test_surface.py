"""The surface room without a browser: opening, clicking pictures, walking paths, going between poses."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import marey
from marey.errors import InputError
from marey.studio.app import Studio
from marey.studio.layers.figure import parts
from marey.studio.surface.billboard import (
    Billboard,
    FigureImage,
    frame_at,
    graph_figure,
    matrix_figure,
    on_circle,
    pair_at,
)
from marey.studio.surface.room import SurfaceRoom
from marey.studio.surface.state import State
from marey.studio.surface.tasks import stroke, with_figures
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
    """The library with its graph and both figures."""
    return with_figures(State(repertoire.library, repertoire.distances, repertoire=repertoire))


@pytest.fixture
def room(studio: Studio, repertoire: SurfaceGraph) -> Iterator[SurfaceRoom]:
    """The room with the library open and nothing known of it."""
    found = studio.room("Surface")
    assert isinstance(found, SurfaceRoom)
    studio.show(repertoire.library, "subject")
    yield found
    studio.workspace.timeline.play(False)
    studio.workspace.notices.clear()


def _done(room: SurfaceRoom) -> None:
    assert room.workspace.jobs.wait()
    assert not [notice for notice in room.workspace.notices if notice.wrong], list(room.workspace.notices)


def _choose(room: SurfaceRoom, sequence: int) -> None:
    room.sequence.which.value = room.sequence.which.options[sequence]
    room.sequence.choose()


def _take_end(room: SurfaceRoom, which: int) -> None:
    room.perform(room.between.take_end(("From here", "To here")[which]))


def test_a_library_plays_sequence_by_sequence_and_undo_goes_back(
    room: SurfaceRoom, repertoire: SurfaceGraph
) -> None:
    library = repertoire.library
    assert tuple(room.sequence.which.options) == library.names
    _choose(room, 1)
    timeline = room.workspace.timeline
    assert timeline.frames == library.sequences[1].frames and room.scene.figure.visible
    timeline.seek(7)
    assert room.state.frame_of_library(timeline.frame) == library.number(library.names[1], 7)
    assert room.undo() and room.state.sequence == 0
    assert room.redo() and room.state.sequence == 1 and not room.redo()
    assert room.undo() and room.state.sequence == 0


def test_sequences_of_one_subject_join_the_library_and_others_replace_it(
    studio: Studio, room: SurfaceRoom
) -> None:
    one = room.state.library
    assert one is not None
    again = one.sequences[0][10:30].renamed("")
    studio.show(again, "again.npz")
    assert room.state.library is not None and room.state.library.names[-1] == "again"
    assert room.state.sequence == 3
    triangle = MeshSequence(np.eye(3)[None], np.array([[0, 1, 2]]), 30)
    studio.show(triangle, "triangle.obj")
    assert room.state.library.names == ("triangle",)
    assert room.workspace.timeline.frames == 1


def test_points_without_faces_are_refused_in_words_and_what_was_open_stays(
    studio: Studio, room: SurfaceRoom
) -> None:
    before = room.state
    with pytest.raises(InputError, match="no faces"):
        studio.show(MeshSequence(np.zeros((1, 3, 3)), np.zeros((0, 3), int), 30), "points.ply")
    assert room.state is before and room.scene.figure.visible


def test_large_meshes_are_drawn_by_some_of_their_vertices(studio: Studio, room: SurfaceRoom) -> None:
    across = 150
    x, z = np.meshgrid(np.linspace(0, 1, across), np.linspace(0, 1, across))
    corner = (np.arange(across - 1)[:, None] * across + np.arange(across - 1)).ravel()
    halves = [[corner, corner + across, corner + 1], [corner + 1, corner + across, corner + across + 1]]
    faces = np.concatenate([np.stack(half, axis=1) for half in halves])
    sheet = np.stack([x.ravel(), 0.1 * np.sin(6 * x.ravel()), z.ravel()], axis=1)
    studio.show(MeshSequence(np.stack([sheet, sheet + 1]), faces, 30), "sheet.npz")
    assert room.state.played is not None and room.state.played.vertices.shape[1] == across**2
    assert 0 < room.scene.figure.vertices_shown <= 10_000
    assert "drawn here" in room.sequence.facts.content


def test_clicking_the_matrix_shows_both_frames_and_tells_their_distance(
    studio: Studio, room: SurfaceRoom, repertoire: SurfaceGraph
) -> None:
    room.figures.compare()
    _done(room)
    distances, board = room.state.distances, room.scene.matrix
    assert distances is not None and board.visible
    np.testing.assert_allclose(distances.values, repertoire.distances.values, atol=1e-6)
    row, column = 20, 140
    _click(room, board.to_scene([column, row]), board)
    assert room.state.pair == (row, column)
    assert room.workspace.timeline.frame == row - distances.starts[room.state.sequence]
    assert f"{distances.values[row, column]:.3f}" in room.figures.report.content
    # Played on, the second body plays along; beyond its sequence there is none.
    assert room.state.other_frame(25) == column + 5
    last = int(distances.starts[2]) - column + row
    assert room.state.other_frame(last) is None
    assert room.undo() and room.state.pair is None


def test_clicking_the_circle_of_the_graph_goes_to_that_frame(
    studio: Studio, room: SurfaceRoom, repertoire: SurfaceGraph
) -> None:
    studio.show(repertoire, "subject.mry")
    _done(room)
    assert room.history is not None and room.history.steps == 0
    wanted = repertoire.library.number(repertoire.library.names[2], 11)
    board = room.scene.graph
    _click(room, board.to_scene(on_circle(repertoire.graph, wanted)), board)
    assert room.state.sequence == 2 and room.workspace.timeline.frame == 11
    before = room.state
    _click(room, board.to_scene([0.0, 0.0]), board)
    assert room.state is before


def test_places_in_pictures_are_frames_and_back(repertoire: SurfaceGraph) -> None:
    matrix = matrix_figure(repertoire.distances)
    for row, column in ((0, 0), (17, 230), (233, 1)):
        place = matrix.to_image([column, row])
        assert (place > 0).all() and (place < 1).all()
        assert pair_at(repertoire.distances, matrix.to_data(place)) == (row, column)
    graph = graph_figure(repertoire.graph, repertoire.library.names)
    for frame in (0, 99, 233):
        assert (
            frame_at(repertoire.graph, graph.to_data(graph.to_image(on_circle(repertoire.graph, frame))))
            == frame
        )
    # Similar poses are dark: the diagonal is darker than what lies about it.
    assert _brightness(matrix, [100, 100]) < _brightness(matrix, [100, 110])


def test_a_drawn_path_is_walked_and_told_in_numbers(room: SurfaceRoom) -> None:
    room.walk.draw()
    assert room.walk.pen.down and not room.figures.shown.value
    room.walk.drawn(np.array([[0.0, -2.0], [0.0, 0.0]]), False)
    room.walk.drawn(np.array([[0.0, -2.0], [0.0, 0.0], [0.5, 1.5]]), True)
    _done(room)
    state = room.state
    assert not room.walk.pen.down and state.shown == "animation" and room.workspace.timeline.playing
    assert state.repertoire is not None and state.animation is not None and state.animation.report is not None
    error = state.animation.report.path_error
    assert error is not None and error < 0.2
    assert f"{100 * error:.1f} cm" in room.walk.report.content
    assert room.walk.strip.visible
    synthetic = state.animation.provenance.synthetic
    room.workspace.timeline.play(False)
    for kind in (False, True):
        if (synthetic == kind).any():
            room.workspace.timeline.seek(int(np.argmax(synthetic == kind)))
            assert room.scene.figure._synthetic == kind
    assert room.undo() and room.state.shown == "captured" and room.state.animation is None


def test_a_stroke_that_cannot_be_walked_leaves_nothing_on_the_ground(room: SurfaceRoom, known: State) -> None:
    room.begin(known)
    room.walk.draw()
    room.walk.drawn(np.array([[0.0, 0.0], [0.1, 0.0]]), False)
    assert room.scene.requested.visible
    with pytest.raises(InputError, match="draw one of"):
        room.walk.drawn(np.array([[0.0, 0.0], [0.1, 0.0]]), True)
    assert not room.scene.requested.visible
    assert not room.walk.pen.down and room.scene.matrix.visible


def test_turning_to_something_else_puts_the_pen_away(room: SurfaceRoom) -> None:
    room.walk.draw()
    _choose(room, 1)
    assert not room.walk.pen.down and room.walk.handles["draw"].label == "Draw a path"


def test_what_is_changed_while_poses_are_compared_stays(room: SurfaceRoom) -> None:
    room.figures.compare()
    _take_end(room, 0)
    _choose(room, 1)
    _done(room)
    assert room.state.distances is not None and room.state.ends == (0, None)
    assert room.state.sequence == 1


def test_another_compromise_is_used_when_walking(room: SurfaceRoom, known: State) -> None:
    room.begin(known)
    assert room.figures.compromise.value == "True to capture"
    room.figures.compromise.value = "Quick to answer"
    room.walk.walk_along(np.array([[0.0, 0.0], [0.0, 1.0]]), look=True)
    _done(room)
    assert room.state.repertoire is not None and room.state.repertoire.graph.alpha == 0.2
    assert "Now **" in room.walk.now.content and not room.scene.matrix.visible
    with room.workspace.lock:
        assert room.undo() and room.figures.compromise.value == "True to capture"
    assert room.scene.matrix.visible


def test_names_from_files_are_shown_as_words_and_lead_no_export_astray(
    studio: Studio, room: SurfaceRoom
) -> None:
    library = room.state.library
    assert library is not None
    studio.show(library.sequences[0][:20].renamed("../<b>odd</b>"), "odd.npz")
    _take_end(room, 0)
    assert "\\<b\\>odd" in room.between.chosen.content
    studio._exporter._choice.value = "meshes (NPZ)"
    studio._exporter.run()
    _done(room)


def test_controls_of_an_empty_panel_say_what_to_do() -> None:
    with Studio(port=0) as empty:
        room = empty.room("Surface")
        assert isinstance(room, SurfaceRoom)
        for ask in (
            room.figures.compare,
            room.figures.build,
            room.walk.draw,
            room.between.interpolate,
            room.between.go,
        ):
            with pytest.raises(InputError, match="first"):
                ask()
        assert empty.workspace.jobs.wait()


def test_looking_at_a_picture_shows_all_of_it(room: SurfaceRoom, known: State) -> None:
    room.begin(known)
    room.figures.look_at("Matrix")
    camera, corners = room.workspace.server.initial_camera, room.scene.matrix.corners
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


def test_the_slider_goes_between_two_poses_by_either_method(room: SurfaceRoom) -> None:
    with pytest.raises(InputError, match="choose two poses"):
        room.between.interpolate()
    timeline, library = room.workspace.timeline, room.state.library
    assert library is not None
    timeline.seek(3)
    _take_end(room, 0)
    _choose(room, 1)
    timeline.seek(30)
    _take_end(room, 1)
    room.between.interpolate()
    _done(room)
    between = room.state.between
    assert room.state.shown == "between" and between is not None and not room.between.weight.disabled
    room.between.live["weight"].submit(0.25)
    assert room.between.live["weight"].wait() and timeline.frame == 25
    assert room.between.weight.value == pytest.approx(0.25)
    np.testing.assert_allclose(between.at(0.0), library.vertices(3), atol=1e-5)
    turning, straight = between.distortion(0.5)
    assert turning[0] < straight[0] and turning[1] < straight[1]
    assert f"{turning[0]:.1%}" in room.between.report.content or timeline.frame != 50
    room.between.method.value = "Straight"
    room.perform(room.between.choose_method())
    assert room.state.between is not None and room.state.between.is_straight
    middle = 0.5 * (np.asarray(between.first, float) + between.second)
    np.testing.assert_allclose(room.state.between.at(0.5), middle, atol=1e-5)


def test_one_goes_from_pose_to_pose_by_captured_motion(room: SurfaceRoom, known: State) -> None:
    room.begin(known)
    room.workspace.timeline.seek(10)
    _take_end(room, 0)
    room.workspace.timeline.seek(24)
    _take_end(room, 1)
    room.between.go()
    _done(room)
    assert room.state.animation is not None and room.state.shown == "animation"
    origin = room.state.animation.provenance
    assert (origin.sources[0], origin.destinations[-1]) == (10, 24)
    room.sequence.turn_to("Captured")
    assert room.state.shown == "captured"


def test_everything_shown_can_be_taken_away(
    room: SurfaceRoom, known: State, repertoire: SurfaceGraph, tmp_path: Path
) -> None:
    assert {export.label for export in room.exports(room.state)} >= {
        "animation (GLB)",
        "clip (MP4)",
        "page (HTML)",
    }
    room.begin(known)
    room.walk.walk_along(np.array([[0.0, 0.0], [0.0, 1.5]]), look=True)
    _done(room)
    made = room.state.animation
    assert made is not None
    files = {export.label: export for export in room.exports(room.state)}
    for label in ("animation (GLB)", "meshes (NPZ)", "origins (CSV)", "matrix (NPZ)", "graph (MRY)"):
        files[label].write(tmp_path / files[label].name, lambda done, total: None)
    meshes = marey.load(tmp_path / files["meshes (NPZ)"].name)
    np.testing.assert_allclose(meshes.vertices, made.sequence.vertices, atol=1e-5)
    rows = (tmp_path / files["origins (CSV)"].name).read_text().splitlines()
    assert len(rows) == 1 + made.sequence.frames
    assert marey.load(tmp_path / "distances.npz").frames == repertoire.library.frames
    assert marey.load(tmp_path / "graph.mry").graph.edges == repertoire.graph.edges
    assert (tmp_path / files["animation (GLB)"].name).read_bytes()[:4] == b"glTF"


def test_distances_alone_are_a_picture_and_asking_for_more_is_told(
    studio: Studio, room: SurfaceRoom, repertoire: SurfaceGraph
) -> None:
    triangle = MeshSequence(np.eye(3)[None], np.array([[0, 1, 2]]), 30)
    studio.show(triangle, "triangle.obj")
    studio.show(repertoire.distances, "distances.npz")
    _done(room)
    assert room.scene.matrix.visible and not room.scene.figure.visible
    assert room.workspace.timeline.frames == repertoire.library.frames
    for ask in (room.walk.walk, room.walk.draw, lambda: _take_end(room, 0)):
        with pytest.raises(InputError, match="first"):
            ask()
    studio.show(repertoire.library, "subject")
    studio.show(repertoire.distances, "distances.npz")
    _done(room)
    assert room.state.library is repertoire.library and room.scene.figure.visible


def test_an_animation_from_a_file_plays_in_its_two_kinds_of_frames(
    studio: Studio, room: SurfaceRoom, repertoire: SurfaceGraph
) -> None:
    made = repertoire.animate(start=5, end=120)
    studio.show(made, "animation.mry")
    assert room.state.shown == "animation" and room.workspace.timeline.frames == made.sequence.frames
    assert "captured" in room.walk.report.content
    with pytest.raises(InputError, match="captured"):
        _take_end(room, 0)


def test_a_textured_surface_is_drawn_in_its_main_colours() -> None:
    walk = marey.samples.mesh_sequence(marey.samples.walk(seconds=0.1, frame_rate=30))
    painted = parts(walk)
    assert 4 <= len(painted) <= 12
    assert sum(len(part.faces) for part in painted) == len(walk.faces)
    for part in painted:
        assert part.faces.max() < len(part.vertices)
    # Blue trousers cover more than anything else.
    largest = max(painted, key=lambda part: len(part.faces)).colour
    assert largest[2] > largest[0]


def _click(room: SurfaceRoom, place: np.ndarray, board: object) -> None:
    """Look at a place of a board from before it, as a click does."""
    assert isinstance(board, Billboard)
    eye = place + 2.0 * board.facing + np.array([0.3, 0.5, 0.0])
    data = board.to_data(eye, place - eye)
    assert data is not None
    board._clicked(data)


def _brightness(figure: FigureImage, data: list[float]) -> float:
    rows, columns = figure.image.shape[:2]
    across, down = figure.to_image(data)
    return float(figure.image[int(down * rows), int(across * columns)].mean())
