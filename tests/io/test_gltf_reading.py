"""What glTF files from elsewhere may hold: odd layouts, interpolations, hierarchies, and bad ones."""

from __future__ import annotations

import base64
import json
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from marey.body.motion import Motion
from marey.character import Character
from marey.errors import FormatError, MareyWarning
from marey.geometry import rotations as rot
from marey.io import gltf, header
from marey.io._atlas import Look, atlas
from marey.surface.sequence import MeshSequence, Texture

COMPONENTS = {"int8": 5120, "uint8": 5121, "int16": 5122, "uint16": 5123, "uint32": 5125, "float32": 5126}
TYPES = {1: "SCALAR", 2: "VEC2", 3: "VEC3", 4: "VEC4", 16: "MAT4"}
TRIANGLE = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0]], dtype=np.float32)


class File:
    """A glTF file put together by hand."""

    def __init__(self) -> None:
        self.data = b""
        self.json: dict[str, Any] = {"asset": {"version": "2.0"}, "accessors": [], "bufferViews": []}

    def view(self, data: bytes, **options: int) -> int:
        self.data += bytes(-len(self.data) % 4)
        view = {"buffer": 0, "byteOffset": len(self.data), "byteLength": len(data), **options}
        self.json["bufferViews"].append(view)
        self.data += data
        return len(self.json["bufferViews"]) - 1

    def accessor(self, values: Any, dtype: str = "float32", **options: Any) -> int:
        array = np.asarray(values, dtype=dtype)
        rows = array.reshape(len(array), -1)
        self.json["accessors"].append(
            {
                "bufferView": self.view(rows.tobytes()),
                "componentType": COMPONENTS[dtype],
                "count": len(rows),
                "type": TYPES[rows.shape[1]],
                **options,
            }
        )
        return len(self.json["accessors"]) - 1

    def mesh(self, vertices: Any = TRIANGLE, **primitive: Any) -> int:
        attributes = {"POSITION": self.accessor(vertices), **primitive.pop("attributes", {})}
        meshes = self.json.setdefault("meshes", [])
        meshes.append({"primitives": [{"attributes": attributes, **primitive}]})
        return len(meshes) - 1

    def animate(
        self, *tracks: tuple[int, str, Any, Any], interpolation: str = "LINEAR", name: str = ""
    ) -> None:
        animation: dict[str, Any] = {"samplers": [], "channels": [], **({"name": name} if name else {})}
        for number, (node, path, times, values) in enumerate(tracks):
            sampler = {"input": self.accessor(times), "output": self.accessor(values)}
            animation["samplers"].append({**sampler, "interpolation": interpolation})
            animation["channels"].append({"sampler": number, "target": {"node": node, "path": path}})
        self.json.setdefault("animations", []).append(animation)

    def skin(self, joints: list[int], inverse_bind: Any = None) -> int:
        skin: dict[str, Any] = {"joints": joints}
        if inverse_bind is not None:
            columns = np.swapaxes(np.asarray(inverse_bind), -1, -2).reshape(-1, 16)
            skin["inverseBindMatrices"] = self.accessor(columns)
        skins = self.json.setdefault("skins", [])
        skins.append(skin)
        return len(skins) - 1

    def skinned_mesh(self, vertices: Any, joints: Any, weights: Any) -> int:
        attributes = {"JOINTS_0": self.accessor(joints, "uint8"), "WEIGHTS_0": self.accessor(weights)}
        return self.mesh(vertices, attributes=attributes)

    def save(self, path: Path) -> Path:
        document = {**self.json, "buffers": [{"byteLength": len(self.data)}]}
        if path.suffix == ".gltf":
            uri = "data:application/octet-stream;base64," + base64.b64encode(self.data).decode()
            document["buffers"][0]["uri"] = uri
            path.write_text(json.dumps(document))
            return path
        text = json.dumps(document).encode()
        text += b" " * (-len(text) % 4)
        body = self.data + bytes(-len(self.data) % 4)
        length = 28 + len(text) + len(body)
        head = b"glTF" + struct.pack("<II", 2, length) + struct.pack("<I4s", len(text), b"JSON")
        path.write_bytes(head + text + struct.pack("<I4s", len(body), b"BIN\0") + body)
        return path


def shift(x: float, y: float, z: float) -> np.ndarray:
    matrix = np.eye(4)
    matrix[:3, 3] = [x, y, z]
    return matrix


def one_mesh(file: File, **node: Any) -> File:
    file.json["nodes"] = [{"mesh": 0, **node}]
    return file


def quaternion(axis_angle: Any) -> np.ndarray:
    """In the order of the file: x, y, z, w."""
    return np.roll(rot.exp(axis_angle), -1, axis=-1)


@pytest.mark.parametrize("ending", [".glb", ".gltf"])
def test_a_still_mesh_is_a_sequence_of_one_frame(tmp_path: Path, ending: str) -> None:
    file = File()
    file.mesh()
    mesh = gltf.read(one_mesh(file, translation=[0, 2, 0], scale=[2, 2, 2]).save(tmp_path / f"a{ending}"))
    assert isinstance(mesh, MeshSequence)
    np.testing.assert_allclose(mesh.vertices, [2 * TRIANGLE + np.float32([0, 2, 0])])
    np.testing.assert_array_equal(mesh.faces, [[0, 1, 2]])


def test_matrices_of_nodes_are_applied_from_child_to_root(tmp_path: Path) -> None:
    file = File()
    file.mesh()
    shear = np.array([[1, 0.5, 0, 0], [0, 1, 0, 0], [0, 0, -1, 0], [0, 0, 0, 1]])
    turn = np.eye(4)
    turn[:3, :3] = rot.to_matrix(rot.exp([0, 0, 0.4]))
    file.json["nodes"] = [
        {"children": [1], "matrix": (shift(0, 0, 3) @ turn).T.reshape(-1).tolist()},
        {"mesh": 0, "matrix": shear.T.reshape(-1).tolist()},
    ]
    expected = np.c_[TRIANGLE, np.ones(3)] @ (shift(0, 0, 3) @ turn @ shear).T
    found = gltf.read(file.save(tmp_path / "a.glb")).vertices[0]
    np.testing.assert_allclose(found, expected[:, :3], atol=1e-6)


@pytest.mark.parametrize("dtype", ["uint8", "uint16", "uint32"])
def test_all_index_types_are_read(tmp_path: Path, dtype: str) -> None:
    file = File()
    square = [[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]]
    file.mesh(square, indices=file.accessor([0, 1, 2, 0, 2, 3], dtype))
    mesh = gltf.read(one_mesh(file).save(tmp_path / "a.glb"))
    np.testing.assert_array_equal(mesh.faces, [[0, 1, 2], [0, 2, 3]])


@pytest.mark.parametrize(
    ("mode", "faces"), [(5, [[0, 1, 2], [2, 1, 3], [2, 3, 4]]), (6, [[0, 1, 2], [0, 2, 3], [0, 3, 4]])]
)
def test_strips_and_fans_become_triangles(tmp_path: Path, mode: int, faces: list[list[int]]) -> None:
    file = File()
    file.mesh(np.random.default_rng(0).random((5, 3)), mode=mode)
    np.testing.assert_array_equal(gltf.read(one_mesh(file).save(tmp_path / "a.glb")).faces, faces)


@pytest.mark.parametrize(
    ("dtype", "largest"), [("int8", 127), ("uint8", 255), ("int16", 32767), ("uint16", 65535)]
)
def test_normalised_integers_become_fractions(tmp_path: Path, dtype: str, largest: int) -> None:
    file = File()
    values = (TRIANGLE * largest).astype(dtype)
    mesh = file.mesh()
    position = file.accessor(values, dtype, normalized=True)
    file.json["meshes"][mesh]["primitives"][0]["attributes"]["POSITION"] = position
    np.testing.assert_allclose(gltf.read(one_mesh(file).save(tmp_path / "a.glb")).vertices[0], TRIANGLE)


def test_interleaved_attributes_are_told_apart(tmp_path: Path) -> None:
    file = File()
    rng = np.random.default_rng(0)
    points, uv = rng.random((9, 3)).astype("<f4"), rng.random((9, 2)).astype("<f4")
    rows = np.concatenate([points, uv, np.zeros((9, 1), "<f4")], axis=1)
    view = file.view(b"\xff" * 8 + rows.tobytes(), byteStride=24)
    common = {"bufferView": view, "componentType": 5126, "count": 9}
    file.json["accessors"] = [
        {**common, "byteOffset": 8, "type": "VEC3"},
        {**common, "byteOffset": 20, "type": "VEC2"},
    ]
    file.json["meshes"] = [{"primitives": [{"attributes": {"POSITION": 0, "TEXCOORD_0": 1}}]}]
    mesh = gltf.read(one_mesh(file).save(tmp_path / "a.glb"))
    np.testing.assert_array_equal(mesh.vertices[0], points)
    np.testing.assert_allclose(mesh.uv, np.stack([uv[:, 0], 1 - uv[:, 1]], axis=1), atol=1e-7)


@pytest.mark.parametrize("based", [True, False])
def test_sparse_accessors_are_filled_in(tmp_path: Path, based: bool) -> None:
    file = File()
    base = np.random.default_rng(0).random((6, 3)).astype("<f4") if based else np.zeros((6, 3), "<f4")
    accessor = file.accessor(base)
    if not based:
        del file.json["accessors"][accessor]["bufferView"]
    file.json["accessors"][accessor]["sparse"] = {
        "count": 2,
        "indices": {"bufferView": file.view(np.array([1, 4], "<u2").tobytes()), "componentType": 5123},
        "values": {"bufferView": file.view(np.array([[7, 8, 9], [1, 2, 3]], "<f4").tobytes())},
    }
    file.json["meshes"] = [{"primitives": [{"attributes": {"POSITION": accessor}}]}]
    expected = base.copy()
    expected[[1, 4]] = [[7, 8, 9], [1, 2, 3]]
    np.testing.assert_array_equal(gltf.read(one_mesh(file).save(tmp_path / "a.glb")).vertices[0], expected)


def test_several_meshes_are_merged_with_their_colours(tmp_path: Path) -> None:
    file = File()
    file.json["materials"] = [
        {"pbrMetallicRoughness": {"baseColorFactor": [1, 0, 0, 1]}},
        {"pbrMetallicRoughness": {"baseColorFactor": [0.5, 0.5, 0.5, 1]}},
    ]
    file.mesh(material=0)
    file.mesh(TRIANGLE + np.float32(5), material=1)
    file.json["nodes"] = [{"mesh": 0}, {"mesh": 1}]
    mesh = gltf.read(file.save(tmp_path / "a.glb"))
    np.testing.assert_array_equal(mesh.faces, [[0, 1, 2], [3, 4, 5]])
    # Half the light is 0.735 of the brightest value of an ordinary image.
    np.testing.assert_allclose(mesh.colours[[0, 5]], [[1, 0, 0], [0.735357] * 3], atol=1e-5)


def test_texture_coordinates_follow_the_texture_transform(tmp_path: Path) -> None:
    file = File()
    uv = file.accessor([[0, 0], [100, 0], [0, 200]], "uint16")
    transform = {"offset": [0.1, 0.2], "scale": [0.01, 0.002]}
    info = {"index": 0, "extensions": {"KHR_texture_transform": transform}}
    file.json["materials"] = [{"pbrMetallicRoughness": {"baseColorTexture": info}}]
    file.json["textures"] = [{}]
    file.mesh(material=0, attributes={"TEXCOORD_0": uv})
    mesh = gltf.read(one_mesh(file).save(tmp_path / "a.glb"))
    np.testing.assert_allclose(mesh.uv, [[0.1, 0.8], [1.1, 0.8], [0.1, 0.4]], atol=1e-6)


def test_morph_targets_and_moving_nodes_make_a_sequence(tmp_path: Path) -> None:
    file = File()
    up, out = file.accessor([[0, 1, 0]] * 3), file.accessor([[0, 0, 2]] * 3)
    file.mesh(targets=[{"POSITION": up}, {"POSITION": out}])
    times = np.arange(4) / 10
    weights = np.array([[0, 0], [1, 0], [0.5, 0.5], [0, 1]])
    moves = np.array([[0, 0, 0], [1, 0, 0], [2, 0, 0], [3, 0, 0]])
    file.animate((0, "weights", times, weights.reshape(-1)), (0, "translation", times, moves))
    sequence = gltf.read(one_mesh(file).save(tmp_path / "a.glb"))
    assert (sequence.frames, sequence.frame_rate) == (4, 10)
    shifts = np.stack([moves[:, 0], weights[:, 0], 2 * weights[:, 1]], axis=1)
    np.testing.assert_allclose(sequence.vertices, TRIANGLE + shifts[:, None], atol=1e-6)


def test_default_weights_shape_a_still_mesh(tmp_path: Path) -> None:
    file = File()
    mesh = file.mesh(targets=[{"POSITION": file.accessor([[0, 1, 0]] * 3)}, {}])
    file.json["meshes"][mesh]["weights"] = [0.25, 1]
    found = gltf.read(one_mesh(file).save(tmp_path / "a.glb")).vertices[0]
    np.testing.assert_allclose(found, TRIANGLE + np.float32([0, 0.25, 0]))


def moving_node(tmp_path: Path, *tracks: Any, interpolation: str = "LINEAR", **options: Any) -> Motion:
    file = File()
    file.json["nodes"] = [{"name": "hips"}]
    file.animate(*((0, *track) for track in tracks), interpolation=interpolation)
    motion = gltf.read(file.save(tmp_path / "a.glb"), **options)
    assert isinstance(motion, Motion)
    return motion


def test_keys_off_any_grid_are_sampled_thirty_times_a_second(tmp_path: Path) -> None:
    times = [0, 0.11, 0.37, 1.0]
    motion = moving_node(tmp_path, ("translation", times, [[0, 0, 0], [1, 0, 0], [1, 2, 0], [4, 2, 0]]))
    assert (motion.frames, motion.frame_rate) == (31, 30)
    t = np.arange(31) / 30
    np.testing.assert_allclose(motion.root[:, 0], np.interp(t, times, [0, 1, 1, 4]), atol=1e-6)


def test_missing_keys_do_not_hide_the_grid(tmp_path: Path) -> None:
    frames = np.array([0, 3, 4, 9, 23, 24])
    motion = moving_node(tmp_path, ("translation", frames / 24, np.c_[frames, frames, frames]))
    assert (motion.frames, motion.frame_rate) == (25, 24)
    np.testing.assert_allclose(motion.root[:, 0], np.arange(25), atol=1e-5)


def test_the_clip_starts_with_its_first_key(tmp_path: Path) -> None:
    motion = moving_node(tmp_path, ("translation", 100 + np.arange(5) / 50, np.eye(5)[:, :3]))
    assert (motion.frames, motion.frame_rate) == (5, 50)
    np.testing.assert_allclose(motion.root, np.eye(5)[:, :3], atol=1e-6)


def test_rotations_are_interpolated_on_the_sphere(tmp_path: Path) -> None:
    ends = quaternion([[0, 0, 0], [0, 2.5, 0]])
    motion = moving_node(tmp_path, ("rotation", [0, 1], ends * [[1], [-1]]))
    angles = rot.log(motion.rotations[:, 0])[:, 1]
    np.testing.assert_allclose(angles, np.linspace(0, 2.5, 31), atol=1e-6)


def test_steps_hold_until_the_next_key(tmp_path: Path) -> None:
    motion = moving_node(tmp_path, ("translation", [0, 0.4, 0.8], np.eye(3)), interpolation="STEP")
    np.testing.assert_array_equal(motion.root.argmax(axis=1), [0] * 12 + [1] * 12 + [2])


def test_cubic_splines_follow_their_tangents(tmp_path: Path) -> None:
    # The Hermite form reproduces any cubic: x(t) = t³ - t, with its derivative as tangents.
    keys = np.array([0.0, 0.7, 1.5])
    rows = np.zeros((3, 3, 3))
    rows[:, 1, 0], rows[:, 0, 0] = keys**3 - keys, 3 * keys**2 - 1
    rows[:, 2] = rows[:, 0]
    motion = moving_node(
        tmp_path, ("translation", keys, rows.reshape(-1, 3)), interpolation="CUBICSPLINE", frame_rate=100
    )
    t = np.arange(motion.frames) / 100
    np.testing.assert_allclose(motion.root[:, 0], t**3 - t, atol=1e-6)


def test_cubic_rotations_stay_unit(tmp_path: Path) -> None:
    rows = np.zeros((2, 3, 4))
    rows[:, 1] = quaternion([[0, 0, 0], [0, 0, 1.0]])
    motion = moving_node(tmp_path, ("rotation", [0, 1], rows.reshape(-1, 4)), interpolation="CUBICSPLINE")
    np.testing.assert_allclose(rot.log(motion.rotations[[0, 15, 30], 0])[:, 2], [0, 0.5, 1], atol=1e-6)


def test_bare_nodes_are_a_motion_with_all_that_hangs_on_them(tmp_path: Path) -> None:
    file = File()
    file.json["nodes"] = [
        {"children": [1], "translation": [0, 5, 0]},
        {"name": "hips", "children": [2, 3]},
        {"name": "leg", "translation": [0, -1, 0]},
        {"name": "leg", "translation": [0, -1, 1]},
    ]
    file.animate((1, "rotation", [0, 0.1, 0.2], quaternion([[0, 0, 0], [0.1, 0, 0], [0.2, 0, 0]])))
    motion = gltf.read(file.save(tmp_path / "a.glb"))
    assert motion.skeleton.names == ("hips", "leg", "leg_2")
    np.testing.assert_allclose(motion.root, [[0, 5, 0]] * 3)
    np.testing.assert_allclose(motion.skeleton.offsets[1:], [[0, -1, 0], [0, -1, 1]])


def two_bones(file: File, **top: Any) -> None:
    """Nodes: 0 armature, 1 hips, 2 twist (no joint of the skin), 3 knee, 4 the mesh."""
    file.json["nodes"] = [
        {"name": "armature", "children": [1], **top},
        {"name": "hips", "children": [2], "translation": [0, 1, 0]},
        {"name": "twist", "children": [3], "translation": [0, -0.2, 0]},
        {"name": "knee", "translation": [0, -0.3, 0]},
        {"name": "body"},
    ]
    inverse = [shift(0, -1, 0), shift(0, -0.5, 0)]
    vertices = np.array([[0.1, 1, 0], [0.1, 0.5, 0], [0.1, 0, 0.1]], dtype=np.float32)
    weights = [[1, 0, 0, 0], [0.5, 0.5, 0, 0], [0, 1, 0, 0]]
    file.json["nodes"][4] |= {
        "mesh": file.skinned_mesh(vertices, [[0, 0, 0, 0], [0, 1, 0, 0], [0, 1, 0, 0]], weights),
        "skin": file.skin([1, 3], inverse),
    }


def test_joints_on_the_way_are_kept(tmp_path: Path) -> None:
    file = File()
    two_bones(file)
    character = gltf.read(file.save(tmp_path / "a.glb"))
    assert isinstance(character, Character)
    assert character.motion.skeleton.names == ("hips", "twist", "knee")
    assert character.skin.joint_names == ("hips", "knee")
    assert character.motion.frames == 1
    np.testing.assert_allclose(character.pose().vertices[0], character.skin.vertices, atol=1e-6)


def test_what_is_above_the_skeleton_is_folded_into_it(tmp_path: Path) -> None:
    turned = rot.exp([-np.pi / 2, 0, 0])
    file = File()
    two_bones(file, rotation=np.roll(turned, -1).tolist(), scale=[0.5] * 3, translation=[3, 0, 0])
    character = gltf.read(file.save(tmp_path / "a.glb"))
    expected = rot.rotate(turned, 0.5 * np.array([[0.1, 1, 0], [0.1, 0.5, 0], [0.1, 0, 0.1]])) + np.array(
        [3, 0, 0]
    )
    np.testing.assert_allclose(character.pose().vertices[0], expected, atol=1e-6)
    np.testing.assert_allclose(character.skin.vertices, expected, atol=1e-6)
    np.testing.assert_allclose(
        character.motion.skeleton.offsets[1:], [[0, -0.1, 0], [0, -0.15, 0]], atol=1e-7
    )
    np.testing.assert_allclose(np.linalg.det(character.skin.bind[:, :3, :3]), 1, atol=1e-6)


def test_an_animated_armature_carries_the_root(tmp_path: Path) -> None:
    file = File()
    two_bones(file, scale=[2, 2, 2])
    moves = np.array([[0, 0, 0], [1, 0, 0], [2, 0, 1]])
    turns = np.array([[0, 0, 0], [0, 0.5, 0], [0, 1.0, 0]])
    times = np.arange(3) / 30
    file.animate((0, "translation", times, moves), (0, "rotation", times, quaternion(turns)), name="go")
    character = gltf.read(file.save(tmp_path / "a.glb"))
    assert character.motion.name == "go"
    expected = rot.rotate(rot.exp(turns)[:, None], 2 * np.array([[0.1, 1, 0], [0.1, 0.5, 0], [0.1, 0, 0.1]]))
    np.testing.assert_allclose(character.pose().vertices, expected + moves[:, None], atol=1e-5)
    assert character.motion.translations is None


def test_translation_tracks_that_say_nothing_new_are_dropped(tmp_path: Path) -> None:
    for extra, slides in ((0.0, False), (0.01, True)):
        file = File()
        two_bones(file)
        places = [[0, -0.3, 0], [0, -0.3 - extra, 0]]
        file.animate(
            (3, "translation", [0, 1], places), (1, "rotation", [0, 1], quaternion([[0, 0, 0], [1, 0, 0]]))
        )
        motion = gltf.read(file.save(tmp_path / "a.glb")).motion
        assert (motion.translations is not None) == slides
        if slides:
            np.testing.assert_allclose(motion.translations[-1, 2], places[1], atol=1e-6)


def test_a_constant_scale_of_a_joint_goes_into_the_skin(tmp_path: Path) -> None:
    file = File()
    two_bones(file)
    file.json["nodes"][1]["scale"] = [2, 2, 2]
    file.json["nodes"][3]["scale"] = [1, 3, 1]
    turns = np.array([[0, 0, 0], [0.7, 0, 0]])
    file.animate((3, "rotation", [0, 1 / 30], quaternion(turns)))
    character = gltf.read(file.save(tmp_path / "a.glb"))
    vertices = np.array([[0.1, 1, 0], [0.1, 0.5, 0], [0.1, 0, 0.1]])
    hips = vertices - np.array([0, 1, 0])
    knee = (vertices - np.array([0, 0.5, 0])) * [1, 3, 1]
    for frame in range(2):
        by_hips = np.array([0, 1, 0]) + 2 * hips
        by_knee = np.array([0, 0, 0]) + 2 * rot.rotate(rot.exp(turns[frame]), knee)
        expected = [by_hips[0], (by_hips[1] + by_knee[1]) / 2, by_knee[2]]
        np.testing.assert_allclose(character.pose().vertices[frame], expected, atol=1e-6)


@pytest.mark.parametrize("keys", [[[1, 1, 1], [1.5, 1, 1]], [[1, 1, 1], [2, 2, 2]]])
def test_scales_that_change_are_left_out_with_a_note(tmp_path: Path, keys: list[list[float]]) -> None:
    file = File()
    two_bones(file)
    file.animate((3, "scale", [0, 1], keys), name="squash")
    with pytest.warns(MareyWarning, match="animations scale 1 joints .'knee'.*rigid"):
        character = gltf.read(file.save(tmp_path / "a.glb"))
    assert [motion.name for motion in character.motions] == ["squash"]


def test_a_missing_image_is_left_out_with_a_note(tmp_path: Path) -> None:
    file = File()
    mesh = file.mesh(np.eye(3), attributes={"TEXCOORD_0": file.accessor(np.zeros((3, 2)))})
    file.json["meshes"][mesh]["primitives"][0]["material"] = 0
    file.json["materials"] = [{"pbrMetallicRoughness": {"baseColorTexture": {"index": 0}}}]
    file.json["textures"] = [{"source": 0}]
    file.json["images"] = [{"uri": "none.png"}]
    file.json["nodes"] = [{"mesh": mesh}]
    with pytest.warns(MareyWarning, match=r"its image none\.png is missing"):
        assert gltf.read(file.save(tmp_path / "a.glb")).textures == ()


def test_a_node_that_mirrors_its_mesh_turns_its_faces(tmp_path: Path) -> None:
    file = File()
    file.mesh(np.eye(3))
    one_mesh(file, scale=[-1, 1, 1])
    mirrored = gltf.read(file.save(tmp_path / "a.glb"))
    assert mirrored.faces.tolist() == [[0, 2, 1]]


def test_hidden_nodes_are_not_shown(tmp_path: Path) -> None:
    file = File()
    mesh = file.mesh(np.eye(3))
    hidden = {"KHR_node_visibility": {"visible": False}}
    file.json["nodes"] = [{"mesh": mesh}, {"children": [2], "extensions": hidden}, {"mesh": mesh}]
    assert gltf.read(file.save(tmp_path / "a.glb")).vertices.shape == (1, 3, 3)


def test_unknown_extensions_that_place_geometry_are_refused(tmp_path: Path) -> None:
    for name in ("EXT_mesh_other_instancing", "XYZ_mesh_compression", "EXT_meshopt_compression"):
        file = File()
        file.mesh(np.eye(3))
        one_mesh(file)
        file.json["extensionsRequired"] = ["KHR_materials_unlit", name]
        with pytest.raises(FormatError, match=f"(needs the extension|is compressed with) {name}"):
            gltf.read(file.save(tmp_path / "a.glb"))


def test_instances_of_a_mesh_stand_where_their_attributes_say(tmp_path: Path) -> None:
    file = File()
    mesh = file.mesh(np.eye(3))
    turn = quaternion([[0, 0, 0], [0, np.pi / 2, 0]])
    attributes = {
        "TRANSLATION": file.accessor([[1, 0, 0], [0, 0, 5]]),
        "ROTATION": file.accessor(turn),
        "SCALE": file.accessor([[1, 1, 1], [2, 2, 2]]),
    }
    extensions = {"EXT_mesh_gpu_instancing": {"attributes": attributes}}
    file.json["nodes"] = [{"mesh": mesh, "translation": [0, 10, 0], "extensions": extensions}]
    file.json["extensionsRequired"] = ["EXT_mesh_gpu_instancing"]
    read = gltf.read(file.save(tmp_path / "a.glb"))
    assert read.faces.tolist() == [[0, 1, 2], [3, 4, 5]]
    np.testing.assert_allclose(read.vertices[0, :3], np.add(np.eye(3), [1, 10, 0]), atol=1e-6)
    turned = [[0, 10, 3], [0, 12, 5], [2, 10, 5]]
    np.testing.assert_allclose(read.vertices[0, 3:], turned, atol=1e-6)


def test_quantised_attributes_are_decoded(tmp_path: Path) -> None:
    file = File()
    mesh = file.mesh(np.eye(3))
    corners = np.array([[0, 0, 0, 0], [65535, 0, 0, 0], [0, 65535, 65535, 0]], "<u2")
    accessor = file.accessor(corners[:, :3], "uint16")
    file.json["bufferViews"][-1]["byteStride"] = 6
    size = 2 / 65535
    matrix = [size, 0, 0, 0, 0, size, 0, 0, 0, 0, size, 0, -1, -1, -1, 1]
    file.json["accessors"][accessor]["extensions"] = {"WEB3D_quantized_attributes": {"decodeMatrix": matrix}}
    file.json["meshes"][mesh]["primitives"][0]["attributes"]["POSITION"] = accessor
    one_mesh(file)
    file.json["extensionsRequired"] = ["WEB3D_quantized_attributes"]
    read = gltf.read(file.save(tmp_path / "a.glb"))
    np.testing.assert_allclose(read.vertices[0], [[-1, -1, -1], [1, -1, -1], [-1, 1, 1]], atol=1e-5)


def draco_file(path: Path, *, damaged: bool = False) -> Path:
    draco = pytest.importorskip("DracoPy")
    file = File()
    rng = np.random.default_rng(0)
    points = np.round(rng.random((6, 3)), 3)
    data = draco.encode(points, np.array([[0, 1, 2], [2, 3, 4], [4, 5, 0]]), quantization_bits=20)
    data = data[:40] + bytes(20) + data[60:] if damaged else data
    accessors = [
        {"componentType": 5126, "count": 6, "type": "VEC3"},
        {"componentType": 5125, "count": 9, "type": "SCALAR"},
    ]
    file.json["accessors"] = accessors
    extension = {"bufferView": file.view(data), "attributes": {"POSITION": 0}}
    primitive = {"attributes": {"POSITION": 0}, "indices": 1}
    primitive["extensions"] = {"KHR_draco_mesh_compression": extension}
    file.json["meshes"] = [{"primitives": [primitive]}]
    file.json["nodes"] = [{"mesh": 0, "scale": [2, 2, 2]}]
    file.json["extensionsRequired"] = ["KHR_draco_mesh_compression"]
    return file.save(path)


def test_meshes_compressed_by_draco_are_read(tmp_path: Path) -> None:
    read = gltf.read(draco_file(tmp_path / "a.glb"))
    points = 2 * np.round(np.random.default_rng(0).random((6, 3)), 3)
    # The order of the vertices is the encoder's: corners of the faces compare.
    corners = points[[[0, 1, 2], [2, 3, 4], [4, 5, 0]]].mean(axis=1)
    found = read.vertices[0][read.faces].mean(axis=1)
    np.testing.assert_allclose(np.sort(found, axis=0), np.sort(corners, axis=0), atol=1e-5)
    assert header(draco_file(tmp_path / "b.glb"))["faces"] == 3


def test_damage_in_compressed_meshes_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="damaged|cannot be decoded"):
        gltf.read(draco_file(tmp_path / "a.glb", damaged=True))


def test_several_materials_become_one_image(tmp_path: Path) -> None:
    file = File()
    colours = {"red": [255, 0, 0], "blue": [0, 0, 255]}
    file.json["images"], file.json["textures"] = [], []
    for number, colour in enumerate(colours.values()):
        png = Texture.from_image(np.full((8, 8, 3), colour, np.uint8)).encoded()
        file.json["images"].append({"bufferView": file.view(png), "mimeType": "image/png"})
        file.json["textures"].append({"source": number})
    file.json["materials"] = [
        {"pbrMetallicRoughness": {"baseColorTexture": {"index": 0}}},
        {"extensions": {"KHR_materials_pbrSpecularGlossiness": {"diffuseTexture": {"index": 1}}}},
        {"pbrMetallicRoughness": {"baseColorFactor": [0, 1, 0, 1]}},
        {"pbrMetallicRoughness": {"baseColorTexture": {"index": 0}, "baseColorFactor": [0, 0, 0, 1]}},
    ]
    uv = file.accessor([[3.25, 0.25], [3.75, 0.25], [3.25, 0.75]])  # three images further on
    primitives = []
    for material in range(4):
        attributes = {"POSITION": file.accessor(np.eye(3) + material)}
        attributes |= {"TEXCOORD_0": uv} if material != 2 else {}
        primitives.append({"attributes": attributes, "material": material})
    file.json["meshes"] = [{"primitives": primitives}]
    file.json["nodes"] = [{"mesh": 0}]
    read = gltf.read(file.save(tmp_path / "a.glb"))
    shown = [[255, 0, 0], [0, 0, 255], [0, 255, 0], [0, 0, 0]]
    assert [seen_in_the_middle(read, face) for face in range(4)] == shown
    assert read.colours is None
    # And so it is written and read again.
    gltf.write(read, tmp_path / "b.glb")
    again = gltf.read(tmp_path / "b.glb")
    assert [seen_in_the_middle(again, face) for face in range(4)] == shown


def seen_in_the_middle(mesh: MeshSequence, face: int) -> list[int]:
    """The pixel of the texture in the middle of a face."""
    assert mesh.uv is not None and mesh.uv_faces is not None
    image = mesh.textures[0].read()
    u, v = mesh.uv[mesh.uv_faces[face]].mean(axis=0)
    return image[int((1 - v) * image.shape[0]), int(u * image.shape[1])].tolist()


def test_an_image_that_repeats_across_a_face_repeats_in_the_atlas(tmp_path: Path) -> None:
    stripes = np.zeros((4, 8, 3), np.uint8)
    stripes[:, 4:] = 255
    looks = [Look(Texture.from_image(stripes), np.ones(3)), Look(None, np.zeros(3))]
    corners = np.array([[[0, 0], [3, 0], [0, 1.0]], [[0, 0], [0, 0], [0, 0]]])
    uv, uv_faces, texture = atlas(corners, np.array([0, 1]), looks)
    left, right = uv[uv_faces[0, 0]], uv[uv_faces[0, 1]]
    image = texture.read()
    places = left + (right - left) * np.linspace(1 / 12, 11 / 12, 6)[:, None]
    row = int((1 - left[1]) * image.shape[0]) - 1
    seen = image[row, (places[:, 0] * image.shape[1]).astype(int), 0]
    assert seen.tolist() == [0, 255] * 3


def test_null_stands_for_the_usual_interpolation(tmp_path: Path) -> None:
    file = File()
    two_bones(file)
    file.animate((3, "rotation", [0, 1 / 30], quaternion([[0, 0, 0], [1, 0, 0]])))
    file.json["animations"][0]["samplers"][0]["interpolation"] = None
    assert gltf.read(file.save(tmp_path / "a.glb")).motion.frames == 2


def test_skeletons_without_a_common_root_get_one(tmp_path: Path) -> None:
    file = File()
    file.json["nodes"] = [
        {"name": "a", "translation": [1, 0, 0]},
        {"name": "b", "translation": [0, 1, 0]},
        {},
    ]
    weights = [[1, 0, 0, 0], [0, 1, 0, 0], [0, 1, 0, 0]]
    file.json["nodes"][2] = {
        "mesh": file.skinned_mesh(TRIANGLE, [[0, 0, 0, 0], [0, 1, 0, 0], [0, 1, 0, 0]], weights),
        "skin": file.skin([0, 1], [shift(-1, 0, 0), shift(0, -1, 0)]),
    }
    file.animate((1, "translation", [0, 0.1], [[0, 1, 0], [0, 3, 0]]))
    character = gltf.read(file.save(tmp_path / "a.glb"))
    assert character.motion.skeleton.names == ("root", "a", "b")
    np.testing.assert_allclose(character.pose().vertices[-1], [[0, 0, 0], [1, 2, 0], [0, 3, 0]], atol=1e-6)


def test_things_that_hang_on_joints_follow_them(tmp_path: Path) -> None:
    file = File()
    two_bones(file)
    file.mesh(TRIANGLE)
    file.mesh(TRIANGLE)
    file.json["nodes"] += [
        {"name": "hat", "mesh": 1, "translation": [0, 0.5, 0], "scale": [0.1, 0.1, 0.1]},
        {"name": "floor", "mesh": 2},
    ]
    file.json["nodes"][2]["children"].append(5)
    turns = np.array([[0, 0, 0], [0, 0, 1.2]])
    file.animate((1, "rotation", [0, 1 / 30], quaternion(turns)))
    with pytest.warns(MareyWarning, match="1 meshes that hang on no joint"):
        character = gltf.read(file.save(tmp_path / "a.glb"))
    hat = 0.1 * TRIANGLE + np.array([0, 0.3, 0])
    expected = rot.rotate(rot.exp(turns)[:, None], hat) + np.array([0, 1, 0])
    np.testing.assert_allclose(character.pose().vertices[:, 3:], expected, atol=1e-6)


def test_meshes_bound_at_different_poses_stay_apart(tmp_path: Path) -> None:
    file = File()
    two_bones(file)
    vertices = np.array([[0.2, 0, 0], [0.2, 0.1, 0], [0.2, 0, 0.1]])
    second = {
        "mesh": file.skinned_mesh(vertices, [[1, 0, 0, 0]] * 3, [[1, 0, 0, 0]] * 3),
        "skin": file.skin([1, 3], [np.eye(4), shift(0.5, 0, 0)]),
    }
    file.json["nodes"].append(second)
    file.animate((1, "translation", [0, 0.1], [[0, 1, 0], [0, 4, 0]]))
    character = gltf.read(file.save(tmp_path / "a.glb"))
    posed = character.pose().vertices
    expected = vertices + np.array([0.5, 0.5, 0])
    np.testing.assert_allclose(posed[0, 3:], expected, atol=1e-6)
    np.testing.assert_allclose(posed[-1, 3:], expected + np.array([0, 3, 0]), atol=1e-6)
    np.testing.assert_allclose(posed[-1, 0], [0.1, 4, 0], atol=1e-6)


def test_only_the_default_scene_is_read(tmp_path: Path) -> None:
    file = File()
    file.mesh()
    file.mesh(TRIANGLE + np.float32(5))
    file.json |= {"nodes": [{"mesh": 0}, {"mesh": 1}], "scenes": [{"nodes": [0]}, {"nodes": [1]}], "scene": 1}
    assert gltf.read(file.save(tmp_path / "a.glb")).vertices.min() == 5


def test_buffers_and_images_beside_the_file_are_read(tmp_path: Path) -> None:
    import cv2

    file = File()
    uv = file.accessor([[0, 0], [1, 0], [0, 1]])
    file.json["images"] = [{"uri": "tex%20tures/red.png"}]
    file.json["textures"] = [{"source": 0}]
    file.json["materials"] = [{"pbrMetallicRoughness": {"baseColorTexture": {"index": 0}}}]
    file.mesh(material=0, attributes={"TEXCOORD_0": uv})
    (tmp_path / "tex tures").mkdir()
    (tmp_path / "tex tures" / "data.bin").write_bytes(file.data)
    cv2.imwrite(str(tmp_path / "tex tures" / "red.png"), np.full((2, 2, 3), [0, 0, 255], np.uint8))
    document = one_mesh(file).json
    document["buffers"] = [{"byteLength": len(file.data), "uri": "tex%20tures/data.bin"}]
    (tmp_path / "a.gltf").write_text(json.dumps(document))
    mesh = gltf.read(tmp_path / "a.gltf")
    np.testing.assert_array_equal(mesh.vertices[0], TRIANGLE)
    np.testing.assert_array_equal(mesh.textures[0].read()[0, 0], [255, 0, 0])


@pytest.mark.parametrize(
    "uri",
    [
        "../secret.bin",
        "%2e%2e/secret.bin",
        "inner/../../secret.bin",
        "/etc/hostname",
        "link.bin",
        "http://example.org/a.bin",
        "file:///etc/hostname",
        "..\\secret.bin",
        "a\0b",
        "",
    ],
)
def test_files_outside_the_folder_are_not_opened(tmp_path: Path, uri: str) -> None:
    (tmp_path / "secret.bin").write_bytes(bytes(1000))
    folder = tmp_path / "inner"
    folder.mkdir()
    (folder / "link.bin").symlink_to(tmp_path / "secret.bin")
    file = File()
    file.mesh()
    document = one_mesh(file).json
    document["buffers"] = [{"byteLength": len(file.data), "uri": uri}]
    (folder / "a.gltf").write_text(json.dumps(document))
    with pytest.raises(FormatError, match=r"buffers\[0\]\.uri"):
        gltf.read(folder / "a.gltf")


def broken(tmp_path: Path, change: Any) -> Path:
    file = File()
    file.mesh(indices=file.accessor([0, 1, 2], "uint16"))
    one_mesh(file)
    change(file.json)
    return file.save(tmp_path / "a.gltf")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda d: d["accessors"][1].update(count=1000), r"accessors\[1\].count: 1000 elements"),
        (lambda d: d["accessors"][1].update(count=4_000_000_000), "more than 16777216 vertices"),
        (lambda d: d["accessors"][1].update(count=10**400), r"accessors\[1\].count"),
        (lambda d: d["accessors"][1].update(count=-1), r"accessors\[1\].count"),
        (lambda d: d["accessors"][1].update(count=True), "whole number"),
        (lambda d: d["accessors"][1].update(type="VEC2"), "where 3 numbers each are needed"),
        (lambda d: d["accessors"][1].update(componentType=1), "componentType: 1 is unknown"),
        (lambda d: d["accessors"][1].update(byteOffset=8), "beyond"),
        (
            lambda d: (d["accessors"][1].pop("bufferView"), d["accessors"][1].update(count=10**7)),
            "stored nowhere",
        ),
        (lambda d: d["bufferViews"][0].update(byteLength=10**9), r"bufferViews\[0\].byteLength"),
        (lambda d: d["bufferViews"][1].update(byteStride=0), "byteStride"),
        (lambda d: d["meshes"][0]["primitives"][0].update(indices=7), "refers to number 7 of 2"),
        (lambda d: d["nodes"].append({"children": [1]}), r"nodes\[1\].children"),
        (lambda d: d["nodes"].extend([{"children": [2]}, {"children": [1]}]), "circle"),
        (lambda d: d["nodes"][0].update(rotation=[0, 0, 0, 0]), r"nodes\[0\].rotation: is zero"),
        (lambda d: d["nodes"][0].update(translation=[1, 2]), "3 finite numbers"),
        (lambda d: d["nodes"][0].update(mesh={}), "whole number"),
        (lambda d: d.update(nodes=3), "nodes: should be a list"),
        (lambda d: d.update(nodes=[3]), r"nodes\[0\]: should be an object"),
        (lambda d: d.update(asset={"version": "1.0"}), "is not glTF 2.0: it states version '1.0'"),
        (lambda d: d.update(asset={}), "states no asset.version"),
        (lambda d: d.update(nodes=[]), "neither a mesh nor an animation"),
        (lambda d: d.update(extensionsRequired=["EXT_meshopt_compression"]), "EXT_meshopt_compression"),
    ],
)
def test_broken_files_say_what_and_where(tmp_path: Path, change: Any, message: str) -> None:
    with pytest.raises(FormatError, match=message) as caught:
        gltf.read(broken(tmp_path, change))
    assert str(caught.value).startswith(str(tmp_path / "a.gltf"))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "empty"),
        (b"glTF", "cut off"),
        (b"glTF" + struct.pack("<II", 1, 20) + bytes(8), "GLB version 1"),
        (b"glTF" + struct.pack("<II", 2, 4000) + bytes(8), "says 4000 bytes, there are 20"),
        (
            b"glTF" + struct.pack("<II", 2, 20) + struct.pack("<I4s", 9999, b"JSON"),
            "chunk at byte 12 is cut off",
        ),
        (b"glTF" + struct.pack("<II", 2, 20) + struct.pack("<I4s", 0, b"NOPE"), "no JSON chunk"),
        (b"\xff\xfe\x00", "not JSON: invalid character"),
        (b'{"asset":\n{"version"', "a.glb:2: not JSON"),
        (b"[" * 100_000, "expected an object"),
        (b'{"asset": NaN}', "not JSON: invalid character"),
        (b"[]", "expected an object"),
    ],
)
def test_files_that_are_not_gltf_say_so(tmp_path: Path, content: bytes, message: str) -> None:
    (tmp_path / "a.glb").write_bytes(content)
    with pytest.raises(FormatError, match=message):
        gltf.read(tmp_path / "a.glb")


def test_numbers_that_are_not_finite_are_refused(tmp_path: Path) -> None:
    file = File()
    vertices = TRIANGLE.copy()
    vertices[1, 2] = np.nan
    file.mesh(vertices)
    with pytest.raises(FormatError, match=r"accessors\[0\]: value 1 is not a finite number"):
        gltf.read(one_mesh(file).save(tmp_path / "a.glb"))


@pytest.mark.parametrize("last", [1e5, 1e30])
def test_endless_animations_are_refused_before_they_are_sampled(tmp_path: Path, last: float) -> None:
    with pytest.raises(FormatError, match="give a lower frame_rate"):
        moving_node(tmp_path, ("translation", [0, 0.123, last], np.zeros((3, 3))))
    if last == 1e5:
        assert (
            moving_node(tmp_path, ("translation", [0, last], np.zeros((2, 3))), frame_rate=0.01).frames
            == 1001
        )


def test_key_times_must_increase(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="do not increase"):
        moving_node(tmp_path, ("translation", [0, 0.5, 0.4], np.zeros((3, 3))))


def test_of_keys_at_one_time_the_last_counts(tmp_path: Path) -> None:
    keys = [[0, 0, 0], [9, 0, 0], [1, 0, 0], [2, 0, 0]]
    moved = moving_node(tmp_path, ("translation", [0, 0.1, 0.1, 0.2], keys))
    assert moved.root[:, 0].tolist() == [0, 1, 2]


def test_the_header_names_all_animations_of_a_file_without_skin(tmp_path: Path) -> None:
    file = File()
    file.mesh(np.eye(3))
    one_mesh(file)
    for name, reach in (("near", 1), ("far", 9)):
        file.animate((0, "translation", [0, 1 / 30], [[0, 0, 0], [reach, 0, 0]]), name=name)
    path = file.save(tmp_path / "a.glb")
    assert header(path)["clips"] == ["near", "far"]
    assert gltf.read(path, clip="far").vertices.max() == 10
