"""The sample human: a closed surface, an atlas without folds, weights that bend it without collapse."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from marey.character import Character
from marey.geometry import mesh
from marey.samples import human, mesh_sequence, walk
from marey.samples.human import ASSET

TOOLS = Path(__file__).parents[2] / "tools"


@pytest.fixture(scope="module")
def person() -> Character:
    return human(walk(cycles=1, frame_rate=30))


def edge_counts(faces: np.ndarray) -> np.ndarray:
    """How often each directed edge occurs."""
    directed = np.concatenate([faces[:, [0, 1]], faces[:, [1, 2]], faces[:, [2, 0]]])
    return np.unique(directed, axis=0, return_counts=True)[1]


def test_surface_is_closed_manifold_and_in_one_piece(person: Character) -> None:
    faces, vertices = person.skin.faces, person.skin.vertices
    assert (edge_counts(faces) == 1).all()
    edges = mesh.unique_edges(faces)
    assert len(edges) * 2 == len(faces) * 3
    assert len(vertices) - len(edges) + len(faces) == 2
    label = np.arange(len(vertices))
    for _ in range(len(vertices)):
        least = np.minimum(label[edges[:, 0]], label[edges[:, 1]])
        before = label.copy()
        np.minimum.at(label, edges[:, 0], least)
        np.minimum.at(label, edges[:, 1], least)
        label = label[label]
        if (label == before).all():
            break
    assert (label == 0).all()


def test_body_is_of_human_size_and_faces_look_outwards(person: Character) -> None:
    low, high = mesh.bounding_box(person.skin.vertices)
    assert high[1] == pytest.approx(1.76, abs=0.02)
    assert low[1] == pytest.approx(0.0, abs=0.005)
    # A litre of body weighs about a kilogram.
    assert 0.055 < mesh.volume(person.skin.vertices, person.skin.faces) < 0.085
    assert 5_000 < len(person.skin.vertices) < 9_000


def test_triangles_are_well_shaped(person: Character) -> None:
    corners = person.skin.vertices[person.skin.faces]
    sides = np.linalg.norm(corners - np.roll(corners, 1, axis=1), axis=-1)
    areas = mesh.face_areas(person.skin.vertices, person.skin.faces)
    roundness = 4 * np.sqrt(3) * areas / (sides**2).sum(axis=1)
    assert np.median(roundness) > 0.8
    assert np.mean(roundness < 0.1) < 0.002


def test_texture_coordinates_lie_in_the_unit_square_and_do_not_fold(person: Character) -> None:
    skin = person.skin
    assert skin.uv is not None
    assert skin.uv.min() >= 0
    assert skin.uv.max() <= 1
    a, b, c = (skin.uv[skin.uv_faces[:, k]] for k in range(3))
    area = ((b - a)[:, 0] * (c - a)[:, 1] - (b - a)[:, 1] * (c - a)[:, 0]) / 2
    assert np.mean(area <= 0) < 0.01
    # No triangle across a seam is smeared over the whole chart.
    longest = np.max([np.linalg.norm(p - q, axis=1) for p, q in ((a, b), (b, c), (c, a))])
    assert longest < 0.06
    density = area / mesh.face_areas(skin.vertices, skin.faces)
    assert np.mean((density > np.median(density) / 4) & (density < np.median(density) * 5)) > 0.97


def test_charts_do_not_overlap(person: Character) -> None:
    skin = person.skin
    assert skin.uv is not None
    corners = skin.uv[skin.uv_faces]
    pixels = 256
    middle = np.floor(corners.mean(axis=1) * pixels).astype(int)
    cell = middle[:, 0] * pixels + middle[:, 1]
    where = skin.vertices[skin.faces].mean(axis=1)
    order = np.argsort(cell, kind="stable")
    same = cell[order][1:] == cell[order][:-1]
    apart = np.linalg.norm(where[order][1:] - where[order][:-1], axis=1)
    assert same.sum() > 100
    assert np.mean(apart[same] > 0.1) < 0.005


def test_texture_shows_shoes_on_feet_and_hair_on_the_head(person: Character) -> None:
    skin = person.skin
    assert skin.texture is not None
    assert skin.uv is not None
    image = skin.texture.read()
    rows = np.clip(((1 - skin.uv[:, 1]) * len(image)).astype(int), 0, len(image) - 1)
    columns = np.clip((skin.uv[:, 0] * len(image)).astype(int), 0, len(image) - 1)
    colour = np.empty((len(skin.uv), 3))
    colour[:] = image[rows, columns]
    at = np.empty((len(skin.uv), 3))
    at[skin.uv_faces] = skin.vertices[skin.faces]
    toe_caps = (at[:, 1] > 0.03) & (at[:, 1] < 0.05) & (at[:, 2] > 0.15)
    crown = at[:, 1] > 1.73
    assert toe_caps.sum() > 10
    assert np.median(colour[toe_caps], axis=0) == pytest.approx([153, 46, 38], abs=12)
    assert np.median(colour[crown], axis=0) == pytest.approx([64, 41, 28], abs=12)


def test_weights_are_smooth_and_sum_to_one(person: Character) -> None:
    skin = person.skin
    assert skin.weights.shape[1] == 4
    np.testing.assert_allclose(skin.weights.sum(axis=1), 1)
    dense = np.zeros((len(skin.vertices), len(skin.joint_names)))
    np.add.at(dense, (np.arange(len(dense))[:, None], skin.influences), skin.weights)
    edges = mesh.unique_edges(skin.faces)
    length = np.linalg.norm(skin.vertices[edges[:, 0]] - skin.vertices[edges[:, 1]], axis=1)
    jump = np.abs(dense[edges[:, 0]] - dense[edges[:, 1]]).max(axis=1)
    assert (jump / (length + 0.01)).max() < 30
    assert set(range(len(skin.joint_names))) == set(skin.influences[skin.weights > 0.3].tolist())


def test_no_arm_pulls_on_a_leg_or_on_the_other_side(person: Character) -> None:
    skin = person.skin
    names = np.array(skin.joint_names)
    pulled = skin.weights > 0.02
    for vertex_side, other in ((skin.vertices[:, 0] > 0.12, "Right"), (skin.vertices[:, 0] < -0.12, "Left")):
        joints = names[skin.influences[vertex_side][pulled[vertex_side]]]
        assert not [name for name in set(joints) if name.startswith(other) and "Shoulder" not in name]


def test_walking_keeps_the_volume(person: Character) -> None:
    at_rest = mesh.volume(person.skin.vertices, person.skin.faces)
    posed = person.pose()
    volumes = mesh.volume(posed.vertices, posed.faces)
    assert np.abs(volumes / at_rest - 1).max() < 0.05


def test_soles_stand_on_the_ground(person: Character) -> None:
    lowest = person.pose().vertices[..., 1].min(axis=1)
    assert lowest.min() > -0.02
    assert lowest.max() < 0.02


def test_standing_foot_does_not_slide() -> None:
    motion = walk(cycles=1, frame_rate=60)
    sequence = human(motion).pose()
    low = sequence.vertices[..., 1] < 0.015
    both = low[1:] & low[:-1]
    speed = np.linalg.norm(np.diff(sequence.vertices, axis=0)[..., [0, 2]], axis=-1) * motion.frame_rate
    assert speed[both].mean() < 0.06


def test_performance_is_a_textured_sequence() -> None:
    sequence = mesh_sequence(walk(cycles=1, frame_rate=20))
    assert sequence.frames == walk(cycles=1, frame_rate=20).frames
    assert sequence.texture(0) is not None
    assert sequence.uv is not None
    assert sequence.vertices.dtype == np.float32


def test_the_stored_human_is_what_its_script_makes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(TOOLS))
    from human import build

    made = build.arrays()
    with np.load(ASSET) as stored:
        assert sorted(made) == sorted(stored.files), "run tools/human/build.py"
        for name in set(made) - {"texture"}:
            assert made[name].dtype == stored[name].dtype
            np.testing.assert_allclose(stored[name], made[name], atol=1e-6, err_msg=name)
        same = np.abs(len(stored["texture"]) - len(made["texture"])) < 5_000
        assert same, "run tools/human/build.py"


def test_surface_nets_of_touching_spheres_is_a_manifold(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(TOOLS))
    from human.surface_nets import polygonise, triangulated

    axis = np.linspace(-2, 2, 23)
    x, y, z = np.meshgrid(axis, axis, axis, indexing="ij")
    value = np.minimum(
        np.sqrt((x - 0.72) ** 2 + (y - 0.31) ** 2 + z**2) - 0.9,
        np.sqrt((x + 0.72) ** 2 + (y + 0.31) ** 2 + z**2) - 0.9,
    )
    vertices, quads = polygonise(value, (axis, axis, axis))
    faces = triangulated(vertices, quads)
    assert (edge_counts(faces) == 1).all()
    assert mesh.volume(vertices, faces) == pytest.approx(2 * 4 / 3 * np.pi * 0.9**3, rel=0.1)


def test_heat_weights_meet_halfway_between_two_bones(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(TOOLS))
    from human.skin_binding import heat_weights

    steps = np.linspace(0, 1, 41)
    vertices = np.stack([np.repeat(steps, 2), np.tile([0.0, 0.05], 41), np.zeros(82)], axis=1)
    first = np.arange(0, 80, 2)
    faces = np.concatenate([first[:, None] + [0, 2, 1], first[:, None] + [1, 2, 3]])
    owner = (vertices[:, 0] > 0.5).astype(np.int64)
    joints, weights = heat_weights(vertices, faces, owner, np.full(82, 0.1))
    second = np.where(joints == 1, weights, 0).sum(axis=1)
    assert (np.diff(second[::2]) >= -1e-9).all()
    assert second[40] == pytest.approx(0.5, abs=0.08)
    assert second[0] < 0.01
