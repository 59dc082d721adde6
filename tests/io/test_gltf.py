"""glTF written by marey, read back by marey, by pygltflib, by trimesh and by the Khronos validator."""

from __future__ import annotations

import json
import shutil
import subprocess
import warnings
from pathlib import Path

import numpy as np
import pygltflib
import pytest
import trimesh

import marey
from marey.body.motion import Motion
from marey.body.skeleton import Skeleton
from marey.character import Character
from marey.errors import FormatError, InputError, MareyWarning
from marey.geometry import rotations as rot
from marey.io import gltf
from marey.surface.sequence import MeshSequence, Texture
from marey.surface.skinning import SkinnedMesh

TOLERANCE = 1e-5  # metres
REPOSITORY = Path(__file__).resolve().parents[2]
VALIDATOR = REPOSITORY / ".node" / "node_modules" / "gltf-validator"


def arm_skeleton() -> Skeleton:
    return Skeleton(
        ("shoulder", "elbow", "wrist"),
        np.array([-1, 0, 1]),
        np.array([[0, 1.4, 0], [0.3, 0.02, 0], [0.25, 0, 0.01]]),
        np.array([2, 2]),
        np.array([[0.1, 0, 0], [0.05, 0.05, 0]]),
    )


def arm_motion(name: str = "wave", *, frames: int = 40, sliding: bool = False, seed: int = 0) -> Motion:
    rng = np.random.default_rng(seed)
    turns = np.cumsum(rng.normal(scale=0.15, size=(frames, 3, 3)), axis=0)
    turns[:, 2] = [0.3, 0, 0]
    root = np.array([0, 1.4, 0]) + np.cumsum(rng.normal(scale=0.02, size=(frames, 3)), axis=0)
    skeleton, translations = arm_skeleton(), None
    if sliding:
        translations = np.repeat(skeleton.offsets[None], frames, axis=0)
        translations[:, 0] = root
        translations[:, 2, 0] += 0.05 * np.sin(np.arange(frames))
    return Motion(skeleton, rot.exp(turns), root, 60, translations=translations, name=name)


def box_character() -> Character:
    """A box of five rings round a three-joint arm, texture with a seam, up to five joints a vertex."""
    rng = np.random.default_rng(1)
    ring = 0.05 * np.array([[0, 1, 1], [0, 1, -1], [0, -1, -1], [0, -1, 1]])
    along = np.linspace(0, 0.6, 5)
    vertices = (ring[None] + along[:, None, None] * [1, 0, 0] + np.array([0, 1.4, 0])).reshape(-1, 3)
    quads = [
        [4 * i + j, 4 * i + (j + 1) % 4, 4 * i + 4 + (j + 1) % 4, 4 * i + 4 + j]
        for i in range(4)
        for j in range(4)
    ]
    faces = np.array([tri for a, b, c, d in quads for tri in ((a, b, c), (a, c, d))])
    uv = np.array([[u / 4, v / 4] for v in range(5) for u in range(5)])
    corners = [[5 * i + j, 5 * i + j + 1, 5 * i + j + 6, 5 * i + j + 5] for i in range(4) for j in range(4)]
    uv_faces = np.array([tri for a, b, c, d in corners for tri in ((a, b, c), (a, c, d))])
    skeleton = arm_skeleton()
    bind = np.zeros((3, 4, 4))
    bind[:, :3, :3], bind[:, 3, 3] = np.eye(3), 1
    bind[1:, :3, :3] = rot.to_matrix(rot.exp([0.1, 0.2, 0.3]))
    bind[0, :3, 3] = [0, 1.4, 0]
    bind[1, :3, 3] = bind[0, :3, 3] + skeleton.offsets[1]
    bind[2, :3, 3] = bind[1, :3, 3] + bind[1, :3, :3] @ skeleton.offsets[2]
    weights = rng.random((20, 5)) ** 3
    image = (rng.random((8, 8, 3)) * 255).astype(np.uint8)
    skin = SkinnedMesh(
        vertices,
        faces,
        skeleton.names,
        bind,
        rng.integers(0, 3, (20, 5)),
        weights / weights.sum(axis=1, keepdims=True),
        uv=uv,
        uv_faces=uv_faces,
        texture=Texture.from_image(image),
    )
    return Character(skin, (arm_motion("wave"), arm_motion("point", frames=7, seed=3)), name="box")


def waving_sheet(frames: int = 6) -> MeshSequence:
    grid = np.stack(np.meshgrid(np.linspace(0, 1, 5), np.linspace(0, 1, 4)), axis=-1).reshape(-1, 2)
    phase = np.arange(frames)[:, None]
    height = 0.1 * np.sin(4 * grid[None, :, 0] + phase)
    vertices = np.stack(np.broadcast_arrays(grid[None, :, 0], height, grid[None, :, 1]), axis=-1)
    quads = np.array(
        [[i * 5 + j, (i + 1) * 5 + j, (i + 1) * 5 + j + 1, i * 5 + j + 1] for i in range(3) for j in range(4)]
    )
    faces = np.concatenate([quads[:, [0, 1, 2]], quads[:, [0, 2, 3]]])
    colours = np.random.default_rng(2).random((20, 3))
    return MeshSequence(vertices.astype(np.float32), faces, 12.5, uv=grid, colours=colours, name="sheet")


def world_joints(motion: Motion) -> tuple[np.ndarray, np.ndarray]:
    """Forward kinematics by matrices, written apart from marey's own."""
    frames, joints = motion.rotations.shape[:2]
    offsets = motion.translations
    if offsets is None:
        offsets = np.repeat(motion.skeleton.offsets[None], frames, axis=0)
    turns, places = rot.to_matrix(motion.rotations), np.empty((frames, joints, 3))
    places[:, 0] = motion.root
    for j, p in enumerate(motion.skeleton.parents[1:], start=1):
        places[:, j] = places[:, p] + np.einsum("fij,fj->fi", turns[:, p], offsets[:, j])
        turns[:, j] = turns[:, p] @ turns[:, j]
    return turns, places


def skinned(character: Character, motion: Motion) -> np.ndarray:
    """Linear blend skinning, vertex by vertex as the formula says, `(frames, vertices, 3)`."""
    turns, places = world_joints(motion)
    skin = character.skin
    index = [motion.skeleton.names.index(name) for name in skin.joint_names]
    world = np.zeros((motion.frames, len(index), 4, 4))
    world[..., :3, :3], world[..., :3, 3], world[..., 3, 3] = turns[:, index], places[:, index], 1
    moved = world @ np.linalg.inv(skin.bind)
    points = np.concatenate([skin.vertices, np.ones((len(skin.vertices), 1))], axis=1)
    blended = np.einsum("vk,fvkij->fvij", skin.weights, moved[:, skin.influences])
    return np.einsum("fvij,vj->fvi", blended, points)[..., :3]


class OtherReader:
    """An interpreter of glTF animations on top of pygltflib, for files whose keys are linear."""

    def __init__(self, path: Path) -> None:
        self.file = pygltflib.GLTF2().load(str(path))
        self.blob = self.file.binary_blob()

    def array(self, index: int) -> np.ndarray:
        accessor = self.file.accessors[index]
        view = self.file.bufferViews[accessor.bufferView]
        width = {"SCALAR": 1, "VEC2": 2, "VEC3": 3, "VEC4": 4, "MAT4": 16}[accessor.type]
        dtype = np.dtype({5121: "u1", 5123: "<u2", 5125: "<u4", 5126: "<f4"}[accessor.componentType])
        start = (view.byteOffset or 0) + (accessor.byteOffset or 0)
        stride = view.byteStride or width * dtype.itemsize
        rows = [np.frombuffer(self.blob, dtype, width, start + i * stride) for i in range(accessor.count)]
        values = np.array(rows).astype(float)
        return values / 255 if accessor.normalized else values

    def pose(self, animation: int, key: int) -> dict[int, dict[str, np.ndarray]]:
        """What every animated node does at a key of the longest track."""
        values: dict[int, dict[str, np.ndarray]] = {}
        for channel in self.file.animations[animation].channels:
            sampler = self.file.animations[animation].samplers[channel.sampler]
            rows = self.array(sampler.output)
            row = rows[min(key, len(rows) - 1)]
            values.setdefault(channel.target.node, {})[channel.target.path] = row
        return values

    def world(self, pose: dict[int, dict[str, np.ndarray]]) -> dict[int, np.ndarray]:
        """World matrices of all nodes."""
        places: dict[int, np.ndarray] = {}

        def visit(node: int, above: np.ndarray) -> None:
            entry, now = self.file.nodes[node], pose.get(node, {})
            if entry.matrix is not None:
                local = np.reshape(entry.matrix, (4, 4)).T
            else:
                x, y, z, w = now.get("rotation", entry.rotation or [0, 0, 0, 1])
                local = np.eye(4)
                local[:3, :3] = rot.to_matrix(rot.normalise([w, x, y, z]))
                local[:3, :3] *= now.get("scale", entry.scale or [1, 1, 1])
                local[:3, 3] = now.get("translation", entry.translation or [0, 0, 0])
            places[node] = above @ local
            for child in entry.children or []:
                visit(child, places[node])

        for root in self.file.scenes[self.file.scene].nodes:
            visit(root, np.eye(4))
        return places

    def skinned_vertices(self, animation: int, key: int) -> np.ndarray:
        """The vertices of the one skinned primitive, in the world."""
        node = next(n for n in self.file.nodes if n.skin is not None)
        skin, attributes = self.file.skins[node.skin], self.file.meshes[node.mesh].primitives[0].attributes
        world = self.world(self.pose(animation, key))
        inverse = self.array(skin.inverseBindMatrices).reshape(-1, 4, 4).swapaxes(1, 2)
        moved = np.array([world[j] for j in skin.joints]) @ inverse
        points = np.concatenate(
            [self.array(attributes.POSITION), np.ones((self.count(attributes), 1))], axis=1
        )
        total = np.zeros((len(points), 4))
        for number in (0, 1):
            joints = getattr(attributes, f"JOINTS_{number}", None)
            if joints is not None:
                weights = self.array(getattr(attributes, f"WEIGHTS_{number}"))
                chosen = moved[self.array(joints).astype(int)]
                total += np.einsum("vk,vkij,vj->vi", weights, chosen, points)
        return total[:, :3]

    def count(self, attributes: pygltflib.Attributes) -> int:
        return self.file.accessors[attributes.POSITION].count


@pytest.mark.parametrize("ending", [".glb", ".gltf"])
@pytest.mark.parametrize("sliding", [False, True])
def test_a_motion_comes_back_with_every_joint_in_its_place(
    tmp_path: Path, ending: str, sliding: bool
) -> None:
    motion = arm_motion(sliding=sliding)
    path = tmp_path / f"wave{ending}"
    gltf.write(motion, path)
    back = gltf.read(path)
    assert isinstance(back, Motion)
    assert (back.frames, back.frame_rate, back.name) == (motion.frames, motion.frame_rate, motion.name)
    assert back.skeleton.names == motion.skeleton.names
    assert (back.translations is not None) == sliding
    np.testing.assert_array_equal(back.skeleton.end_parents, motion.skeleton.end_parents)
    np.testing.assert_allclose(back.skeleton.end_offsets, motion.skeleton.end_offsets)
    np.testing.assert_allclose(world_joints(back)[1], world_joints(motion)[1], atol=TOLERANCE)


def test_clips_that_hold_still_or_have_one_frame_keep_their_length_and_rate(tmp_path: Path) -> None:
    one = arm_motion()[3]
    still = Motion(one.skeleton, np.repeat(one.rotations, 90, 0), np.repeat(one.root, 90, 0), 120.0048)
    for motion in (one, still):
        gltf.write(motion, tmp_path / "a.glb")
        back = gltf.read(tmp_path / "a.glb")
        assert (back.frames, back.frame_rate) == (motion.frames, motion.frame_rate)


def test_still_tracks_take_two_keys_only(tmp_path: Path) -> None:
    gltf.write(arm_motion(), tmp_path / "a.glb")
    file = OtherReader(tmp_path / "a.glb")
    animation = file.file.animations[0]
    counts = {
        (file.file.nodes[c.target.node].name, c.target.path): file.file.accessors[
            animation.samplers[c.sampler].input
        ].count
        for c in animation.channels
    }
    assert counts["wrist", "rotation"] == 2
    assert counts["elbow", "rotation"] == counts["shoulder", "translation"] == 40
    assert ("elbow", "translation") not in counts


def test_the_bones_of_a_motion_are_solid_and_reach_from_joint_to_joint(tmp_path: Path) -> None:
    motion = arm_motion()
    gltf.write(motion, tmp_path / "a.glb")
    file = OtherReader(tmp_path / "a.glb")
    primitive = file.file.meshes[0].primitives[0]
    corners = file.array(primitive.attributes.POSITION)[file.array(primitive.indices)[:, 0].astype(int)]
    bones = corners.reshape(-1, 8, 3, 3)
    assert len(bones) == 4
    volumes = np.einsum("btk,btk->b", bones[:, :, 0], np.cross(bones[:, :, 1], bones[:, :, 2])) / 6
    assert (volumes > 0).all()
    first = bones[0].reshape(-1, 3)
    for end in (motion.skeleton.offsets[0], motion.skeleton.offsets[:2].sum(axis=0)):
        assert np.linalg.norm(first - end, axis=1).min() < 1e-6


def test_a_long_clip_at_a_fast_rate_meets_its_keys_exactly(tmp_path: Path) -> None:
    frames = 20_000
    angles = np.zeros((frames, 1, 3))
    angles[:, 0, 1] = np.random.default_rng(0).uniform(-1, 1, frames)
    motion = Motion(Skeleton(("hips",), [-1], [[0, 0, 0]]), rot.exp(angles), np.zeros((frames, 3)), 240)
    gltf.write(motion, tmp_path / "a.glb")
    back = gltf.read(tmp_path / "a.glb")
    assert back.frames == frames
    assert rot.distance(back.rotations, motion.rotations).max() < 1e-6


@pytest.mark.parametrize("ending", [".glb", ".gltf"])
def test_a_character_comes_back_whole(tmp_path: Path, ending: str) -> None:
    character = box_character()
    path = tmp_path / f"box{ending}"
    gltf.write(character, path)
    back = gltf.read(path)
    assert isinstance(back, Character)
    assert [m.name for m in back.motions] == ["wave", "point"]
    for mine, theirs in zip(character.motions, back.motions, strict=True):
        np.testing.assert_allclose(world_joints(theirs)[1], world_joints(mine)[1], atol=TOLERANCE)
        np.testing.assert_allclose(skinned(back, theirs), skinned(character, mine), atol=TOLERANCE)
    np.testing.assert_array_equal(back.skin.faces, character.skin.faces)
    np.testing.assert_allclose(back.skin.bind, character.skin.bind, atol=1e-6)
    corners, back_corners = (s.uv[s.uv_faces] for s in (character.skin, back.skin))
    np.testing.assert_allclose(back_corners, corners, atol=1e-6)
    assert back.skin.texture.encoded() == character.skin.texture.encoded()


def test_pygltflib_finds_the_same_joints_and_skinned_vertices(tmp_path: Path) -> None:
    character = box_character()
    gltf.write(character, tmp_path / "box.glb")
    other = OtherReader(tmp_path / "box.glb")
    attributes = other.file.meshes[0].primitives[0].attributes
    source = other.array(attributes._MAREY_VERTEX)[:, 0].astype(int)
    assert len(source) > len(character.skin.vertices)
    for number, motion in enumerate(character.motions):
        expected, joints = skinned(character, motion), world_joints(motion)[1]
        for frame in (0, 3, motion.frames - 1):
            np.testing.assert_allclose(
                other.skinned_vertices(number, frame), expected[frame][source], atol=TOLERANCE
            )
            world = other.world(other.pose(number, frame))
            found = [world[node][:3, 3] for node in other.file.skins[0].joints]
            np.testing.assert_allclose(found, joints[frame], atol=TOLERANCE)


def test_at_rest_the_file_shows_the_mesh_as_it_was_bound(tmp_path: Path) -> None:
    gltf.write(box_character(), tmp_path / "box.glb")
    other = OtherReader(tmp_path / "box.glb")
    world = other.world({})
    inverse = other.array(other.file.skins[0].inverseBindMatrices).reshape(-1, 4, 4).swapaxes(1, 2)
    for node, matrix in zip(other.file.skins[0].joints, inverse, strict=True):
        np.testing.assert_allclose(world[node] @ matrix, np.eye(4), atol=1e-6)


def test_joints_bound_in_two_ways_are_written_as_two(tmp_path: Path) -> None:
    character = box_character()
    skin = character.skin
    moved = skin.bind.copy()
    moved[:, :3, 3] += [0.02, 0, 0]
    twice = SkinnedMesh(
        skin.vertices,
        skin.faces,
        (*skin.joint_names, *skin.joint_names),
        np.concatenate([skin.bind, moved]),
        skin.influences + 3 * (np.arange(20) % 2)[:, None],
        skin.weights,
    )
    character = Character(twice, character.motions)
    gltf.write(character, tmp_path / "a.glb")
    back = gltf.read(tmp_path / "a.glb")
    np.testing.assert_allclose(
        skinned(back, back.motion), skinned(character, character.motion), atol=TOLERANCE
    )
    assert len(set(back.skin.joint_names)) == 6


@pytest.mark.parametrize("normals", [True, False])
def test_a_mesh_sequence_comes_back_whole(tmp_path: Path, normals: bool) -> None:
    sheet = waving_sheet()
    gltf.write(sheet, tmp_path / "sheet.glb", normals=normals)
    back = gltf.read(tmp_path / "sheet.glb")
    assert isinstance(back, MeshSequence)
    assert (back.frames, back.frame_rate, back.name) == (6, 12.5, "sheet")
    np.testing.assert_allclose(back.vertices, sheet.vertices, atol=TOLERANCE)
    np.testing.assert_array_equal(back.faces, sheet.faces)
    np.testing.assert_allclose(back.colours, sheet.colours, atol=1e-6)
    np.testing.assert_allclose(back.uv, sheet.uv, atol=1e-6)


def test_pygltflib_finds_every_frame_among_the_morph_targets(tmp_path: Path) -> None:
    sheet = waving_sheet()
    gltf.write(sheet, tmp_path / "sheet.glb")
    other = OtherReader(tmp_path / "sheet.glb")
    primitive = other.file.meshes[0].primitives[0]
    base = other.array(primitive.attributes.POSITION)
    weights = other.array(other.file.animations[0].samplers[0].output).reshape(sheet.frames, -1)
    times = other.array(other.file.animations[0].samplers[0].input)[:, 0]
    np.testing.assert_allclose(times, np.arange(6) / 12.5, atol=1e-6)
    moved = np.array([other.array(target["POSITION"]) for target in primitive.targets])
    np.testing.assert_allclose(base + np.einsum("ft,tvi->fvi", weights, moved), sheet.vertices, atol=1e-6)
    normal = other.array(primitive.attributes.NORMAL) + other.array(primitive.targets[2]["NORMAL"])
    expected = trimesh.Trimesh(sheet.vertices[3], sheet.faces, process=False)
    area = np.zeros((20, 3))
    np.add.at(
        area, sheet.faces, np.repeat((expected.face_normals * expected.area_faces[:, None])[:, None], 3, 1)
    )
    np.testing.assert_allclose(normal, area / np.linalg.norm(area, axis=1, keepdims=True), atol=1e-5)


def test_trimesh_reads_the_same_mesh(tmp_path: Path) -> None:
    sheet = waving_sheet(1)
    gltf.write(sheet, tmp_path / "sheet.glb")
    mesh = trimesh.load_mesh(tmp_path / "sheet.glb", process=False)
    np.testing.assert_allclose(mesh.vertices, sheet.vertices[0], atol=1e-6)
    np.testing.assert_array_equal(mesh.faces, sheet.faces)


def test_points_without_faces_are_kept(tmp_path: Path) -> None:
    cloud = MeshSequence(np.random.default_rng(0).random((3, 7, 3)), np.empty((0, 3), int), 30)
    gltf.write(cloud, tmp_path / "cloud.glb")
    back = gltf.read(tmp_path / "cloud.glb")
    np.testing.assert_allclose(back.vertices, cloud.vertices, atol=1e-6)
    assert len(back.faces) == 0


@pytest.mark.skipif(
    not VALIDATOR.is_dir() or shutil.which("node") is None, reason="gltf-validator is not here"
)
def test_the_khronos_validator_finds_no_error_in_anything_we_write(tmp_path: Path) -> None:
    things = {
        "motion": arm_motion(),
        "sliding": arm_motion(sliding=True),
        "pose": arm_motion()[0],
        "character": box_character(),
        "sequence": waving_sheet(),
        "frame": waving_sheet(1),
        "shapes": waving_sheet(101),
        "walk": marey.samples.walk(),
    }
    files = []
    for name, thing in things.items():
        for ending in (".glb", ".gltf"):
            files.append(tmp_path / f"{name}{ending}")
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", MareyWarning)
                gltf.write(thing, files[-1])
    command = ["node", str(REPOSITORY / "tools" / "validate_gltf.mjs"), *map(str, files)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    report = json.loads(done.stdout)
    assert len(report) == len(files)
    for file, found in report.items():
        assert found["errors"] == found["warnings"] == 0, (file, found["messages"])


@pytest.mark.skipif(
    not VALIDATOR.is_dir() or shutil.which("node") is None, reason="gltf-validator is not here"
)
def test_the_validator_would_see_an_error(tmp_path: Path) -> None:
    gltf.write(waving_sheet(1), tmp_path / "a.gltf")
    document = json.loads((tmp_path / "a.gltf").read_text())
    document["accessors"][0]["max"][0] += 1
    (tmp_path / "a.gltf").write_text(json.dumps(document))
    command = ["node", str(REPOSITORY / "tools" / "validate_gltf.mjs"), str(tmp_path / "a.gltf")]
    assert subprocess.run(command, capture_output=True, check=False).returncode == 1


def test_one_clip_of_several_can_be_chosen(tmp_path: Path) -> None:
    gltf.write(box_character(), tmp_path / "box.glb")
    assert [m.name for m in gltf.read(tmp_path / "box.glb", clip="point").motions] == ["point"]
    with pytest.raises(InputError, match="no animation 'jump'; there are wave, point"):
        gltf.read(tmp_path / "box.glb", clip="jump")


def test_clips_can_be_sampled_at_another_rate(tmp_path: Path) -> None:
    motion = arm_motion()
    gltf.write(motion, tmp_path / "a.glb")
    fine = gltf.read(tmp_path / "a.glb", frame_rate=240)
    assert (fine.frames, fine.frame_rate) == (4 * 39 + 1, 240)
    between = rot.slerp(motion.rotations[10], motion.rotations[11], 0.5)
    assert rot.distance(fine.rotations[42], between).max() < 1e-5


def test_a_failed_write_leaves_nothing_behind(tmp_path: Path) -> None:
    broken = Character(
        SkinnedMesh(
            box_character().skin.vertices,
            box_character().skin.faces,
            arm_skeleton().names,
            box_character().skin.bind,
            box_character().skin.influences,
            box_character().skin.weights,
            uv=box_character().skin.uv,
            uv_faces=box_character().skin.uv_faces,
            texture=Texture(path=tmp_path / "missing.png"),
        ),
        box_character().motions,
    )
    with pytest.raises(FormatError, match="cannot read the texture"):
        gltf.write(broken, tmp_path / "a.glb")
    with pytest.raises(InputError, match="no folder"):
        gltf.write(arm_motion(), tmp_path / "nowhere" / "a.glb")
    with pytest.raises(InputError, match="32-bit"):
        gltf.write(MeshSequence([[[1e39, 0, 0]]], np.empty((0, 3), int), 30), tmp_path / "a.glb")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("name", "vertices", "faces", "joints", "clips"),
    [
        ("CesiumMan", 3273, 4672, 19, [("CesiumMan", 48, 24)]),
        ("Fox", 1728, 576, 24, [("Survey", 83, 24), ("Walk", 18, 24), ("Run", 35, 30)]),
        ("RiggedFigure", 370, 256, 19, [("RiggedFigure", 38, 30)]),
    ],
)
def test_known_characters_are_read_and_written(
    data_dir: Path,
    tmp_path: Path,
    name: str,
    vertices: int,
    faces: int,
    joints: int,
    clips: list[tuple[str, int, int]],
) -> None:
    path = data_dir / "mesh4d" / "gltf_skinned" / f"{name}.glb"
    unit = 0.01 if name == "Fox" else 1.0
    character = gltf.read(path, unit=unit)
    assert isinstance(character, Character)
    assert (len(character.skin.vertices), len(character.skin.faces)) == (vertices, faces)
    assert character.motion.joints == joints
    assert [(m.name, m.frames, m.frame_rate) for m in character.motions] == clips
    assert (character.skin.texture is not None) == (name != "RiggedFigure")
    gltf.write(character, tmp_path / "again.glb")
    back = gltf.read(tmp_path / "again.glb")
    for mine, theirs in zip(character.motions, back.motions, strict=True):
        np.testing.assert_allclose(world_joints(theirs)[1], world_joints(mine)[1], atol=TOLERANCE)
        np.testing.assert_allclose(skinned(back, theirs), skinned(character, mine), atol=TOLERANCE)


@pytest.mark.parametrize(("name", "clip", "keys"), [("CesiumMan", 0, 48), ("Fox", 0, 83), ("Fox", 1, 18)])
def test_pygltflib_puts_known_characters_where_we_do(data_dir: Path, name: str, clip: int, keys: int) -> None:
    path = data_dir / "mesh4d" / "gltf_skinned" / f"{name}.glb"
    character, other = gltf.read(path), OtherReader(path)
    motion = character.motions[clip]
    assert motion.frames == keys
    expected = skinned(character, motion)
    size = np.ptp(character.skin.vertices, axis=0).max()
    for key in (0, keys // 3, keys - 1):
        np.testing.assert_allclose(other.skinned_vertices(clip, key), expected[key], atol=TOLERANCE * size)


def test_known_characters_rest_upright_where_their_skeleton_does(data_dir: Path) -> None:
    man = gltf.read(data_dir / "mesh4d" / "gltf_skinned" / "CesiumMan.glb")
    low, high = man.skin.vertices.min(axis=0), man.skin.vertices.max(axis=0)
    assert abs(low[1]) < 0.01
    assert 1.4 < high[1] < 1.6
    turns = man.skin.bind[:, :3, :3]
    np.testing.assert_allclose(turns @ turns.swapaxes(1, 2), np.repeat(np.eye(3)[None], 19, 0), atol=1e-5)


@pytest.mark.parametrize(("name", "frames", "vertices"), [("Horse", 16, 796), ("Flamingo", 15, 337)])
def test_known_morph_sequences_are_read_and_written(
    data_dir: Path, tmp_path: Path, name: str, frames: int, vertices: int
) -> None:
    path = data_dir / "mesh4d" / "gltf_morph_sequences" / f"{name}.glb"
    sequence, other = gltf.read(path), OtherReader(path)
    assert sequence.vertices.shape == (frames, vertices, 3)
    assert sequence.frame_rate == 10
    assert sequence.colours.shape == (vertices, 3)
    primitive = other.file.meshes[0].primitives[0]
    weights = other.array(other.file.animations[0].samplers[0].output).reshape(frames, -1)
    moved = np.array([other.array(target["POSITION"]) for target in primitive.targets])
    expected = other.array(primitive.attributes.POSITION) + np.einsum("ft,tvi->fvi", weights, moved)
    np.testing.assert_allclose(sequence.vertices, expected, atol=1e-4)
    gltf.write(sequence, tmp_path / "again.glb")
    np.testing.assert_allclose(gltf.read(tmp_path / "again.glb").vertices, sequence.vertices, atol=1e-4)


def test_a_compressed_file_is_refused_with_the_way_out(data_dir: Path) -> None:
    with pytest.raises(FormatError, match="EXT_meshopt_compression.*gltf-transform"):
        gltf.read(data_dir / "face" / "facecap" / "facecap.glb")


def test_reading_clean_files_warns_of_nothing(tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for thing in (arm_motion(), box_character(), waving_sheet()):
            gltf.write(thing, tmp_path / "a.glb")
            gltf.read(tmp_path / "a.glb")
