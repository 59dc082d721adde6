"""Plots show the numbers they are made from, in one style, without global state."""

from __future__ import annotations

import numpy as np
import pytest

from marey.body.motion import Motion
from marey.body.skeleton import Skeleton
from marey.crowd.tracks import Tracks
from marey.errors import InputError
from marey.geometry import rotations as so3
from marey.views import figures, style
from marey.views.figures import fields
from tests.views.things import read_png, two_people, walking, whirl


def test_hip_curves_are_the_angles_of_the_thighs():
    motion = walking(30)
    hip = figures.curves(motion).axes[0]
    assert hip.get_title(loc="left") == "Hip"
    drawn = {line.get_label(): line.get_ydata() for line in hip.lines}
    swing = np.degrees(np.abs(0.5 * np.sin(2 * np.pi * np.arange(30) / 30)))
    assert drawn["left"] == pytest.approx(swing, abs=1e-6)
    assert hip.lines[0].get_xdata()[-1] == pytest.approx(29 / 30)


def test_chosen_joints_are_shown_as_rotation_vectors():
    skeleton = Skeleton(("a", "b"), [-1, 0], [[0, 0, 0], [1, 0, 0]])
    angle = np.linspace(-0.4, 0.4, 21)
    rotations = so3.identity((21, 2))
    rotations[:, 1] = so3.exp(np.stack([0 * angle, angle, 0 * angle], axis=1))
    figure = figures.curves(Motion(skeleton, rotations, np.zeros((21, 3)), 20), ["b"])
    x, y, z = (line.get_ydata() for line in figure.axes[0].lines)
    assert y == pytest.approx(np.degrees(angle), abs=1e-6)
    assert np.abs([x, z]).max() < 1e-9
    with pytest.raises(InputError, match="no joint 'c'"):
        figures.curves(walking(), ["c"])
    with pytest.raises(InputError, match="1 to"):
        figures.curves(walking(), [])


def test_a_skeleton_that_is_no_human_shows_its_liveliest_joints():
    skeleton = Skeleton(tuple("abcdefgh"), [-1, *range(7)], np.ones((8, 3)) * 0.1)
    rotations = so3.identity((10, 8))
    rotations[:, 5] = so3.exp(np.linspace([0, 0, 0], [1, 0, 0], 10))
    figure = figures.curves(Motion(skeleton, rotations, np.zeros((10, 3)), 20))
    titles = [axes.get_title(loc="left") for axes in figure.axes]
    assert len(titles) == 6 and "f" in titles


def test_the_path_is_drawn_to_scale_and_from_above():
    motion = walking(60, speed=2.0)
    axes = figures.trajectory(motion).axes[0]
    assert axes.get_xlabel() == "z (m)"
    line = np.array(axes.collections[0].get_segments())
    assert line[0, 0] == pytest.approx([0, 0], abs=1e-9)
    assert line[-1, 1] == pytest.approx([motion.root[-1, 2], 0], abs=1e-9)
    assert axes.get_aspect() == 1.0
    assert np.asarray(axes.collections[0].get_array()) == pytest.approx(np.full(59, 2.0))


def test_tracks_are_drawn_where_people_were_and_not_across_absences():
    tracks = two_people()
    axes = figures.tracks(tracks).axes[0]
    segments = np.array(axes.collections[0].get_segments())
    assert len(segments) == 19 + 11
    assert segments[0, 0] == pytest.approx(tracks.positions[0, 0])
    assert axes.get_aspect() == 1.0


@pytest.mark.parametrize("colour", ["person", "speed", "time"])
def test_tracks_can_be_coloured_three_ways(colour):
    figure = figures.tracks(two_people(), colour=colour)
    assert len(figure.axes) == (1 if colour == "person" else 2), "a colour bar for quantities"


def test_unknown_colourings_are_refused():
    with pytest.raises(InputError, match="person, speed, time"):
        figures.tracks(two_people(), colour="rainbow")


def test_one_person_in_one_frame_can_be_plotted(tmp_path):
    style.save(figures.tracks(Tracks([[[1.0, 2.0]]], 25)), tmp_path / "one.png")
    assert read_png(tmp_path / "one.png").std() > 2


def test_figures_have_the_pixels_asked_for(tmp_path):
    for size in ((1280, 720), (640, 640), (320, 180)):
        style.save(figures.trajectory(walking(5), size=size), tmp_path / "p.png")
        assert read_png(tmp_path / "p.png").shape == (size[1], size[0], 3)


@pytest.mark.parametrize(("ending", "start"), [("svg", b"<?xml"), ("pdf", b"%PDF")])
def test_plots_can_be_written_for_print(ending, start, tmp_path):
    style.save(figures.tracks(two_people()), tmp_path / f"p.{ending}")
    assert (tmp_path / f"p.{ending}").read_bytes().startswith(start)
    with pytest.raises(InputError, match=r"\.svg"):
        style.save(figures.tracks(two_people()), tmp_path / "p.docx")


def test_the_style_leaves_other_plots_alone():
    import matplotlib

    before = dict(matplotlib.rcParams)
    figures.curves(walking(4))
    assert dict(matplotlib.rcParams) == before


def test_flow_colours_say_direction_and_speed():
    right, left, slow, rest = figures.flow_colours(np.array([[[1.0, 0], [-1, 0], [0.1, 0], [0, 0]]]), 1.0)[
        0
    ].astype(int)
    assert np.abs(right - left).max() > 80
    assert rest.tolist() == [255, 255, 255]
    assert np.abs(slow - rest).sum() < np.abs(right - rest).sum()
    assert style.linear(fields.WHEEL[0]) == pytest.approx(style.from_srgb(right / 255), abs=0.01)


def test_opposite_sides_of_a_whirl_have_opposite_colours():
    image = figures.flow_colours(whirl().velocities[0], 2.0).astype(int)
    assert np.abs(image[2, 20] - image[-3, 20]).max() > 60
    assert np.abs(image[15, 2] - image[15, -3]).max() > 60
