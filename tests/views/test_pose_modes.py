"""Pictures of pose models: the modes, the sweep, the variance curve."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import marey
from marey.body import PoseModel
from marey.errors import InputError
from marey.geometry import rotations as so3
from marey.views import figures, view
from marey.views.figures import models

from ..body.trees import random_motion


@pytest.fixture(scope="module")
def model() -> PoseModel:
    return PoseModel.fit([marey.samples.walk(seconds=1)], modes=2)


def pixels(figure) -> np.ndarray:
    figure.canvas.draw()
    return np.asarray(figure.canvas.buffer_rgba())[..., :3]


def test_sheet_is_written_and_shows_a_row_a_mode(model, tmp_path):
    view(model, tmp_path / "modes.png", size=(640, 360))
    assert (tmp_path / "modes.png").read_bytes()[1:4] == b"PNG"
    figure = figures.pose_modes(model, (640, 360))
    labels = [axes.get_ylabel().split("\n")[0] for axes in figure.axes]
    assert [label for label in labels if label] == ["mode 1", "mode 2"]
    titles = [axes.get_title("center") for axes in figure.axes[:7]]
    assert titles == ["−3 sd", "−2 sd", "−1 sd", "mean", "+1 sd", "+2 sd", "+3 sd"]


def test_poses_far_along_a_mode_look_different_from_the_mean(model):
    steps = np.array([[-3.0, 0.0], [0.0, 0.0], [3.0, 0.0]]) * model.geodesics.deviations
    stage = models._Stage(model, steps, (96, 128))
    low, mean, high = (stage.image(i).astype(int) for i in range(3))
    assert np.abs(low - mean).mean() > 1.0
    assert np.abs(high - mean).mean() > 1.0
    assert mean.min() < 200 < mean.max()


def test_sweep_has_pictures_of_the_size_asked_for_and_closes(model):
    pictures = list(figures.pose_sweep(model, (160, 120), 5.0))
    assert len(pictures) == figures.sweep_frames(5.0) == 12
    assert all(picture.shape == (120, 160, 3) for picture in pictures)
    assert np.abs(pictures[3].astype(int) - pictures[9]).mean() > 0.5


def test_sweep_is_written_as_a_clip(model, tmp_path):
    view(model, tmp_path / "modes.gif", size=(96, 64), frame_rate=4)
    assert marey.load(tmp_path / "modes.gif").frames == figures.sweep_frames(4.0)


def test_variance_curve_marks_what_is_kept(model, tmp_path):
    view(model, tmp_path / "variance.png", kind="variance", size=(320, 200))
    axes = figures.mode_variance(model, (640, 360)).axes[0]
    labels = axes.get_legend_handles_labels()[1]
    assert "kept: 2 modes" in labels


def test_models_without_modes_or_variance(model, tmp_path):
    still = PoseModel.fit([marey.samples.walk(seconds=1)[3]])
    assert len(figures.pose_modes(still, (320, 180)).axes) == 7
    with pytest.raises(InputError, match="no variance"):
        view(still, tmp_path / "v.png", kind="variance")
    assert not (tmp_path / "v.png").exists()


def test_figures_that_are_nobody_can_be_drawn():
    creature = PoseModel.fit([random_motion(3, joints=5, frames=20)], modes=1)
    assert pixels(figures.pose_modes(creature, (320, 120))).min() < 200


def test_a_figure_whose_frames_lie_stands_as_it_did(model):
    # The same body with its root's frame turned, as in files made z up: unturned, it lies on its back.
    walk = marey.samples.walk(seconds=1)
    turn = so3.exp([np.pi / 2, 0, 0])
    skeleton = walk.skeleton
    offsets = np.array(skeleton.offsets)
    below = np.flatnonzero(skeleton.parents == 0)
    offsets[below] = so3.rotate(so3.inverse(turn), offsets[below])
    rotations = np.array(walk.rotations)
    rotations[:, 0] = so3.multiply(rotations[:, 0], turn)
    rotations[:, below] = so3.multiply(so3.inverse(turn), rotations[:, below])
    lying = replace(walk, skeleton=replace(skeleton, offsets=offsets), rotations=rotations)
    assert np.abs(lying.positions() - walk.positions()).max() < 1e-9
    upright = [
        models._Stage(PoseModel.fit([clip], modes=1), np.zeros((1, 1)), (64, 96)).actor.vertices(0)
        for clip in (walk, lying)
    ]
    heights = [np.ptp(vertices[:, 1]) for vertices in upright]
    assert heights[1] == pytest.approx(heights[0], rel=0.1)


def test_unknown_kinds_list_the_known_ones(model, tmp_path):
    with pytest.raises(InputError, match="modes, variance"):
        view(model, tmp_path / "x.png", kind="strip")
