"""The stored body of walking crowds: what its script makes, at four levels of detail."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from marey.stage.walk.figure import ASSET, PARTS, figure

TOOLS = Path(__file__).parents[2] / "tools"


def test_the_stored_figure_is_what_its_script_makes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(TOOLS))
    import walking_figure

    made = walking_figure.arrays()
    with np.load(ASSET) as stored:
        assert sorted(made) == sorted(stored.files), "run tools/walking_figure.py"
        for name, values in made.items():
            assert values.dtype == stored[name].dtype
            if values.dtype.kind == "f":
                np.testing.assert_allclose(stored[name], values, atol=1e-6, err_msg=name)
            else:
                assert np.array_equal(stored[name], values), name


def test_a_cut_adds_vertices_on_the_line_and_splits_faces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(TOOLS))
    from walking_figure import SkinnedPatch, cut

    corners = np.array([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1.0, 0]])
    square = SkinnedPatch(corners, np.array([[0, 1, 2], [0, 2, 3]]), np.eye(4))
    halves = cut(square, square.vertices[:, 1] - 0.25, np.array([True, True]))
    assert len(halves.vertices) == 7 and len(halves.faces) == 6
    np.testing.assert_allclose(halves.vertices[4:, 1], 0.25)
    np.testing.assert_allclose(halves.weights.sum(axis=1), 1.0)


@pytest.mark.parametrize("level", range(4))
def test_every_level_has_all_clothes_and_one_skeleton(level: int) -> None:
    body = figure(level)
    assert set(body.parts) == set(range(len(PARTS)))
    assert body.skeleton.names == figure().skeleton.names == body.skin.joint_names
    assert abs(body.height - figure().height) < 0.02
    assert abs(body.skin.vertices[:, 1].min()) < 0.03
