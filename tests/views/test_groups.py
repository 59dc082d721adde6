"""Several figures on one stage."""

from __future__ import annotations

import numpy as np
import pytest

import marey
from marey.errors import InputError
from marey.views import shots
from marey.views.actors import across_view, actor, group

WALK = marey.samples.walk(seconds=0.5)
SIZE = (160, 96)


def test_a_figure_alone_is_drawn_as_its_own_actor_draws_it() -> None:
    assert np.array_equal(shots.strip(group([WALK]), SIZE), shots.strip(actor(WALK), SIZE))


def test_shifts_move_figures_and_marks_stay_in_the_world() -> None:
    mark = np.full((WALK.frames, 1, 3), 7.0)
    alone, both = group([WALK]), group([WALK, WALK], shifts=[[0, 0, 0], [2, 0, 0]], marks=mark)
    count = len(alone.vertices(3))
    assert np.allclose(both.vertices(3)[count : 2 * count], np.add(alone.vertices(3), [2, 0, 0]))
    assert np.allclose(both.vertices(3)[2 * count :].mean(axis=0), 7.0, atol=1e-3)
    assert np.allclose(both.anchors, np.add(alone.anchors, [1, 0, 0]))


def test_a_missing_mark_is_not_drawn() -> None:
    marks = np.full((WALK.frames, 1, 3), np.nan)
    assert np.array_equal(shots.strip(group([WALK], marks=marks), SIZE), shots.strip(actor(WALK), SIZE))


def test_two_colours_seen_through_each_other_make_their_mean() -> None:
    one, other = group([WALK[0]], colours=["#ff0000"]), group([WALK[0]], colours=["#0000ff"])
    first, second = (shots.strip(a, SIZE).astype(int) for a in (one, other))
    through = shots.strip(one, SIZE, overlay=other).astype(int)
    assert (np.abs(through - (first + second) / 2) <= 1).all()
    assert not np.array_equal(first, second)


def test_a_clip_can_be_seen_through_another() -> None:
    images = list(shots.clip(group([WALK[:4]]), SIZE, overlay=group([WALK[:4]])))
    assert np.array_equal(images, list(shots.clip(actor(WALK[:4]), SIZE)))


def test_across_the_view_is_to_the_right_of_the_picture() -> None:
    pose, right = WALK[0], across_view(WALK[0])
    row = group([pose, pose], colours=["#ff0000", "#0000ff"], shifts=[np.zeros(3), right])
    picture = shots.strip(row, (320, 160)).astype(int)
    red, blue = (
        np.argwhere(picture[..., a] - picture[..., b] > 60)[:, 1].mean() for a, b in ((0, 2), (2, 0))
    )
    assert red < blue


def test_clips_of_different_length_do_not_share_a_stage() -> None:
    with pytest.raises(InputError, match="equal length"):
        group([WALK, WALK[:3]])
    with pytest.raises(InputError, match="marks"):
        group([WALK], marks=np.zeros((2, 1, 3)))
