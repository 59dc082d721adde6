"""Characters of MPFB: a mesh with helpers, a rig and weights in a folder."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from marey.errors import FormatError
from marey.io import mpfb

CUBE = [(x, y, z) for y in (2, 12) for x in (-1, 1) for z in (-1, 1)]
QUADS = [(1, 3, 4, 2), (5, 6, 8, 7), (1, 2, 6, 5), (3, 7, 8, 4), (1, 5, 7, 3), (2, 4, 8, 6)]


def bone(parent: str, head: tuple[float, float, float]) -> dict[str, object]:
    return {"parent": parent, "head": {"default_position": list(head)}}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    lines = [f"v {x} {y} {z}" for x, y, z in CUBE] + ["v 9 9 9", "v 9 8 9", "v 8 9 9"]
    lines += ["g body"] + ["f " + " ".join(map(str, quad)) for quad in QUADS]
    lines += ["g helper-tights", "f 9 10 11"]
    (tmp_path / "base.obj").write_text("\n".join(lines) + "\n")
    # Listed with the child first; z up, metres.
    rig = {"Head": bone("Hips", (0.0, -0.05, 1.0)), "Hips": bone("", (0.0, 0.0, 0.5))}
    (tmp_path / "rig.two.json").write_text(json.dumps(rig))
    low, high = [[v, 1.0] for v in range(4)], [[v, 0.75] for v in range(4, 8)]
    weights = {"Hips": [*low, *([v, 0.25] for v in range(4, 8))], "Head": [*high, [9, 1.0]]}
    (tmp_path / "weights.two.json").write_text(json.dumps({"weights": weights}))
    return tmp_path


def test_only_the_body_is_read_in_metres_on_the_ground(folder: Path) -> None:
    skin = mpfb.read(folder).skin
    assert skin.vertices.shape == (8, 3) and skin.faces.shape == (12, 3)
    np.testing.assert_allclose(skin.vertices.min(axis=0), [-0.1, 0.0, -0.1])
    np.testing.assert_allclose(skin.vertices.max(axis=0), [0.1, 1.0, 0.1])


def test_joints_come_parents_first_where_the_mesh_has_them(folder: Path) -> None:
    character = mpfb.read(folder)
    assert character.skin.joint_names == ("Hips", "Head")
    # 0.2 m below the mesh's own origin is the ground.
    np.testing.assert_allclose(character.skin.bind[1, :3, 3], [0.0, 0.8, 0.05])
    np.testing.assert_allclose(character.pose().vertices[0], character.skin.vertices, atol=1e-12)


def test_weights_belong_to_the_joints_that_have_them(folder: Path) -> None:
    skin = mpfb.read(folder).skin
    of_head = (skin.weights * (skin.influences == 1)).sum(axis=1)
    np.testing.assert_allclose(of_head, [0.0] * 4 + [0.75] * 4)


def test_a_rig_is_chosen_by_name(folder: Path) -> None:
    (folder / "rig.other.json").write_text("{}")
    assert mpfb.read(folder, rig="two").skin.joint_names == ("Hips", "Head")
    with pytest.raises(FormatError, match="several rigs.*other, two"):
        mpfb.read(folder)
    with pytest.raises(FormatError, match="no rig 'third'"):
        mpfb.read(folder, rig="third")


@pytest.mark.parametrize(
    ("file", "text", "message"),
    [
        ("rig.two.json", "{", "not JSON"),
        ("rig.two.json", "[]", "expected an object"),
        ("rig.two.json", '{"Hips": {"parent": "Head"}, "Head": {"parent": "Hips"}}', "Hips: head is missing"),
        ("rig.two.json", '{"Hips": {"parent": "", "head": {}}}', "default_position is missing"),
        ("rig.two.json", '{"Hips": 3}', "Hips: expected an object with parent"),
        ("weights.two.json", "{}", "weights is missing"),
        ("weights.two.json", '{"weights": {"Hips": [[0, 1]]}}', "vertex 1 is bound to no bone"),
        ("weights.two.json", '{"weights": {"Hips": [[0, "x"]]}}', "expected a number"),
        ("base.obj", "v 0 0 0\nv 1 0 0\nv 0 1 0\ng hair\nf 1 2 3\n", "no face in a group 'body'"),
    ],
)
def test_broken_files_are_named(folder: Path, file: str, text: str, message: str) -> None:
    (folder / file).write_text(text)
    with pytest.raises(FormatError, match=message) as caught:
        mpfb.read(folder)
    assert file in str(caught.value)


def test_a_missing_folder_or_file_is_named(folder: Path) -> None:
    with pytest.raises(FormatError, match="is no folder"):
        mpfb.read(folder / "none")
    (folder / "weights.two.json").unlink()
    with pytest.raises(FormatError, match="weights.two.json"):
        mpfb.read(folder)


def test_the_real_human_is_a_closed_body_of_ordinary_height(data_dir: Path) -> None:
    skin = mpfb.read(data_dir / "mesh4d" / "mpfb2_human_CC0").skin
    assert skin.vertices.shape == (13380, 3) and skin.faces.shape == (26756, 3)
    assert 1.5 < np.ptp(skin.vertices[:, 1]) < 1.9
    assert len(skin.joint_names) == 31 and skin.uv is not None
