"""Long mesh sequences as a few shapes: within the bound, smaller, and what other programs can play."""

from __future__ import annotations

import json
import struct
import warnings
from pathlib import Path

import numpy as np
import pytest

from marey.errors import InputError, MareyWarning
from marey.geometry.mesh import vertex_normals
from marey.io import gltf
from marey.surface import MeshSequence
from marey.surface.shapes import shapes_of

MILLIMETRE = 0.001


def walker(frames: int = 120, noise: float = 0.0) -> MeshSequence:
    """A bumpy ball that breathes, leans and walks along a curve, turning with it."""
    rng = np.random.default_rng(0)
    rings, around = np.meshgrid(np.linspace(0.2, 2.9, 8), np.linspace(0, 2 * np.pi, 12, endpoint=False))
    ball = np.stack([np.sin(rings) * np.cos(around), np.cos(rings), np.sin(rings) * np.sin(around)], axis=-1)
    ball = ball.reshape(-1, 3) * (1 + 0.2 * rng.random((96, 1)))
    time = np.arange(frames)[:, None] / 20
    vertices = ball[None] * (1 + 0.1 * np.sin(3 * time))[..., None]
    vertices[..., 0] += 0.2 * np.sin(2 * time) * ball[None, :, 1]
    angle = 0.9 * time
    x, z = vertices[..., 0].copy(), vertices[..., 2].copy()
    vertices[..., 0] = x * np.cos(angle) + z * np.sin(angle) + 2 * np.sin(time)
    vertices[..., 2] = z * np.cos(angle) - x * np.sin(angle) + 3 * time
    vertices += noise * rng.normal(size=vertices.shape)
    number = np.arange(96).reshape(12, 8)
    right = np.roll(number, -1, axis=0)
    corners = [number[:, :-1], number[:, 1:], right[:, 1:]], [number[:, :-1], right[:, 1:], right[:, :-1]]
    faces = np.concatenate([np.stack(c, axis=-1).reshape(-1, 3) for c in corners])
    return MeshSequence(vertices.astype(np.float32), faces, 25.0, name="walker")


def document(path: Path) -> dict[str, list[dict[str, object]]]:
    data = path.read_bytes()
    parsed: dict[str, list[dict[str, object]]] = json.loads(
        data[20 : 20 + struct.unpack("<I", data[12:16])[0]]
    )
    return parsed


def test_every_vertex_of_every_frame_is_within_the_bound(tmp_path: Path) -> None:
    for bound in (MILLIMETRE, 1e-5):
        gltf.write(walker(), tmp_path / "a.glb", max_error=bound)
        back = gltf.read(tmp_path / "a.glb")
        assert isinstance(back, MeshSequence)
        assert (back.frames, back.frame_rate, back.name) == (120, 25.0, "walker")
        assert np.linalg.norm(back.vertices - walker().vertices, axis=-1).max() <= bound


def test_a_motion_of_few_kinds_takes_few_shapes(tmp_path: Path) -> None:
    shapes = shapes_of(walker(), MILLIMETRE)
    assert shapes is not None
    assert len(shapes.targets) <= 5
    gltf.write(walker(), tmp_path / "few.glb", max_error=MILLIMETRE)
    gltf.write(walker(), tmp_path / "all.glb", max_error=0)
    assert (tmp_path / "few.glb").stat().st_size * 8 < (tmp_path / "all.glb").stat().st_size


def test_weights_stay_where_blender_does_not_clip_them() -> None:
    shapes = shapes_of(walker(), MILLIMETRE)
    assert shapes is not None
    assert (shapes.weights.min(), shapes.weights.max()) == (0, 1)


def test_a_viewer_that_plays_nothing_shows_the_first_frame(tmp_path: Path) -> None:
    gltf.write(walker(), tmp_path / "a.glb", max_error=MILLIMETRE)
    data = (tmp_path / "a.glb").read_bytes()
    still = document(tmp_path / "a.glb")
    still.pop("animations")
    text = json.dumps(still).encode()
    text += b" " * (-len(text) % 4)
    rest = data[20 + struct.unpack("<I", data[12:16])[0] :]
    head = (
        b"glTF" + struct.pack("<II", 2, 20 + len(text) + len(rest)) + struct.pack("<I4s", len(text), b"JSON")
    )
    (tmp_path / "still.glb").write_bytes(head + text + rest)
    back = gltf.read(tmp_path / "still.glb")
    assert isinstance(back, MeshSequence)
    np.testing.assert_allclose(back.vertices[0], walker().vertices[0], atol=MILLIMETRE)


def test_normals_of_the_shapes_follow_the_surface(tmp_path: Path) -> None:
    sequence = walker()
    gltf.write(sequence, tmp_path / "a.glb", max_error=MILLIMETRE)
    parsed = document(tmp_path / "a.glb")
    data = (tmp_path / "a.glb").read_bytes()
    start = 28 + struct.unpack("<I", data[12:16])[0]

    def array(index: int) -> np.ndarray:
        accessor = parsed["accessors"][index]
        view = parsed["bufferViews"][accessor["bufferView"]]  # type: ignore[index]
        return np.frombuffer(data, "<f4", view["byteLength"] // 4, start + view["byteOffset"])  # type: ignore[operator]

    primitive = parsed["meshes"][0]["primitives"][0]  # type: ignore[index]
    animation = parsed["animations"][0]
    tracks = {
        channel["target"]["path"]: array(animation["samplers"][channel["sampler"]]["output"])  # type: ignore[index]
        for channel in animation["channels"]  # type: ignore[attr-defined]
    }
    targets = np.stack([array(target["NORMAL"]) for target in primitive["targets"]])
    weights = tracks["weights"].reshape(120, -1)
    for frame in (0, 33, 119):
        normals = (array(primitive["attributes"]["NORMAL"]) + weights[frame] @ targets).reshape(-1, 3)
        normals /= np.linalg.norm(normals, axis=1, keepdims=True)
        _, y, _, w = tracks["rotation"].reshape(-1, 4)[frame]
        c, s = w * w - y * y, 2 * w * y
        turned = normals @ np.array([[c, 0, -s], [0, 1, 0], [s, 0, c]])
        agreement = (turned * vertex_normals(sequence.vertices[frame], sequence.faces)).sum(axis=1)
        assert agreement.min() > np.cos(np.radians(5))


def test_noise_is_stored_frame_by_frame(tmp_path: Path) -> None:
    noisy = walker(30, noise=0.05)
    assert shapes_of(noisy, 1e-4) is None
    gltf.write(noisy, tmp_path / "a.glb", max_error=1e-4)
    assert len(document(tmp_path / "a.glb")["meshes"][0]["weights"]) == 29  # type: ignore[arg-type]


def test_components_of_some_frames_serve_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("marey.surface.shapes.MOST_LEARNED", 2)
    shapes = shapes_of(walker(), MILLIMETRE)
    assert shapes is not None
    assert 2 <= len(shapes.targets) < 20
    assert shapes.error <= MILLIMETRE


def test_a_still_mesh_on_its_way_needs_no_shape(tmp_path: Path) -> None:
    sequence = walker(1)
    way = np.linspace(0, 3, 20, dtype=np.float32)[:, None, None] * np.array([1, 0, 2], np.float32)
    moving = MeshSequence(sequence.vertices + way, sequence.faces, 25.0)
    gltf.write(moving, tmp_path / "a.glb", max_error=MILLIMETRE)
    assert "weights" not in document(tmp_path / "a.glb")["meshes"][0]
    back = gltf.read(tmp_path / "a.glb")
    assert isinstance(back, MeshSequence)
    np.testing.assert_allclose(back.vertices, moving.vertices, atol=1e-5)


def test_only_long_sequences_are_changed_unasked_and_that_is_said(tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        gltf.write(walker(100), tmp_path / "a.glb")
        gltf.write(walker(), tmp_path / "a.glb", max_error=MILLIMETRE)
    with pytest.warns(
        MareyWarning, match=r"120 frames are stored as \d shapes, no vertex more than .* mm off"
    ):
        gltf.write(walker(), tmp_path / "a.glb")
    with pytest.raises(InputError, match="max_error: a length"):
        gltf.write(walker(), tmp_path / "a.glb", max_error=-1.0)
