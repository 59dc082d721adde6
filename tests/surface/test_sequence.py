from __future__ import annotations

import numpy as np
import pytest

from marey._arrays import read_only
from marey.errors import InputError
from marey.geometry import mesh, rotations
from marey.surface import MeshSequence, Texture, concatenate

TETRAHEDRON = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]])
FACES = [[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]]


def moving(frames: int = 5, **fields: object) -> MeshSequence:
    """A tetrahedron that goes along x by 1 m a frame."""
    path = np.arange(frames)[:, None, None] * np.array([1.0, 0, 0])
    return MeshSequence(TETRAHEDRON + path, FACES, 10.0, **fields)


def test_resampling_follows_straight_lines_and_keeps_the_ends() -> None:
    fine = moving().resample(25.0)
    assert fine.frames == 11
    assert fine.frame_rate == 25.0
    np.testing.assert_allclose(fine.vertices[:, 0, 0], np.arange(11) * 0.4)
    back = fine.resample(10.0)
    np.testing.assert_allclose(back.vertices, moving().vertices, atol=1e-15)


def test_resampling_takes_the_nearest_texture() -> None:
    textures = tuple(Texture(data=bytes([i])) for i in range(5))
    finer = moving(textures=textures).resample(20.0)
    assert [t.data for t in finer.textures] == [bytes([i]) for i in (0, 1, 1, 2, 2, 3, 3, 4, 4)]
    assert moving(textures=textures[:1]).resample(20.0).textures == textures[:1]


def test_resampling_refuses_rates_that_make_no_sense() -> None:
    for rate in (0, -3, np.nan, "fast"):
        with pytest.raises(InputError, match="frame rate"):
            moving().resample(rate)


def test_mirroring_keeps_the_volume_positive_and_undoes_itself() -> None:
    uv = np.array([[0.0, 0], [1, 0], [0, 1], [1, 1]])
    sequence = moving(uv=uv, uv_faces=FACES)
    mirrored = sequence.mirror()
    assert mesh.volume(mirrored.vertices[2], mirrored.faces) == pytest.approx(1 / 6)
    np.testing.assert_array_equal(mirrored.vertices[..., 0], -sequence.vertices[..., 0])
    np.testing.assert_array_equal(mirrored.uv_faces, mirrored.faces)
    twice = mirrored.mirror()
    np.testing.assert_array_equal(twice.vertices, sequence.vertices)
    np.testing.assert_array_equal(twice.faces, sequence.faces)


def test_transform_scales_turns_and_moves_in_this_order() -> None:
    quarter = rotations.exp([0, 0, np.pi / 2])
    moved = moving(1).transform(rotation=quarter, translation=[10, 0, 0], scale=2.0)
    np.testing.assert_allclose(moved.vertices[0], [[10, 0, 0], [10, 2, 0], [8, 0, 0], [10, 0, 2]], atol=1e-15)
    np.testing.assert_array_equal(moving().transform().vertices, moving().vertices)


def test_transform_refuses_what_is_no_transform() -> None:
    with pytest.raises(InputError, match="norm 2"):
        moving().transform(rotation=[2, 0, 0, 0])
    with pytest.raises(InputError, match="scale"):
        moving().transform(scale=-1.0)
    with pytest.raises(InputError, match="translation"):
        moving().transform(translation=[1, 2])


def test_a_convention_changes_what_is_remembered_and_nothing_else() -> None:
    sequence = moving()
    other = sequence.with_convention(unit="cm", up="z")
    assert (other.convention.unit, other.convention.up) == (0.01, "z")
    assert other.with_convention(unit=1.0).convention.up == "z"
    assert other.vertices is sequence.vertices or np.shares_memory(other.vertices, sequence.vertices)
    with pytest.raises(InputError, match="unit"):
        sequence.with_convention(unit="parsec")


def test_float32_stays_float32_through_everything() -> None:
    single = MeshSequence(moving().vertices.astype(np.float32), FACES, 10.0)
    for result in (
        single.resample(15.0),
        single.mirror(),
        single.transform(rotation=[0, 1, 0, 0], translation=[1, 2, 3], scale=0.5),
        single[1:3],
        single.with_convention(unit="cm"),
    ):
        assert result.vertices.dtype == np.float32
    assert single.normals(0).dtype == np.float32


def test_normals_and_bounds_of_a_tetrahedron() -> None:
    sequence = moving()
    np.testing.assert_allclose(sequence.normals(-1)[0], -np.ones(3) / np.sqrt(3))
    low, high = sequence.bounds
    np.testing.assert_array_equal(low, [0, 0, 0])
    np.testing.assert_array_equal(high, [5, 1, 1])
    with pytest.raises(InputError, match="frame 5 of a clip of 5"):
        sequence.normals(5)


def test_slices_share_memory_and_keep_time() -> None:
    sequence = moving(10)
    assert np.shares_memory(sequence[2:5].vertices, sequence.vertices)
    assert sequence[::2].frame_rate == 5.0
    assert sequence.between(0.2, 0.4).frames == 3


def test_joining_needs_the_same_faces_and_rate() -> None:
    sequence = moving()
    assert concatenate([sequence, sequence[1:]]).frames == 9
    with pytest.raises(InputError, match="faces differ"):
        concatenate([sequence, sequence.mirror()])
    with pytest.raises(InputError, match="resample"):
        concatenate([sequence, sequence.resample(20.0)])
    with pytest.raises(InputError, match="no sequence"):
        concatenate([])
    with pytest.raises(InputError, match="numbers of vertices differ"):
        concatenate([sequence, MeshSequence(sequence.vertices[:, [0, 1, 2, 3, 3]], FACES, 10.0)])


def test_joining_loses_no_appearance() -> None:
    uv, red, blue = np.eye(4)[:, :2], Texture(data=b"red"), Texture(data=b"blue")
    plain, striped = moving(2, uv=uv, textures=(red,)), moving(3, uv=uv, textures=(blue, red, blue))
    joined = concatenate([plain, striped])
    assert joined.textures == (red, red, blue, red, blue)
    assert concatenate([plain, plain[:1]]).textures == (red,)
    with pytest.raises(InputError, match="only one of them has a texture"):
        concatenate([plain, moving(2, uv=uv)])
    with pytest.raises(InputError, match="texture coordinates differ"):
        concatenate([plain, moving(2, uv=uv + 1, textures=(red,))])
    with pytest.raises(InputError, match="colours differ"):
        concatenate([moving(2, colours=np.ones((4, 3))), moving(2)])


def test_a_sequence_does_not_follow_later_changes_of_the_arrays_it_was_made_from() -> None:
    vertices, faces = np.array([TETRAHEDRON]), np.array(FACES, dtype=np.int32)
    sequence = MeshSequence(vertices, faces, 10.0)
    vertices[...], faces[...] = 9.0, 0
    np.testing.assert_array_equal(sequence.vertices[0], TETRAHEDRON)
    np.testing.assert_array_equal(sequence.faces, FACES)


def test_a_fresh_array_that_is_handed_over_is_kept_without_a_copy() -> None:
    vertices = read_only(np.array([TETRAHEDRON]))
    assert np.shares_memory(MeshSequence(vertices, FACES, 10.0).vertices, vertices)


@pytest.mark.parametrize(
    "faces",
    [[[0, 1, 4]], [[0, 1, -1]], [[0, 1, 2**40]], [[0, 1, 2**70]], [[0, 1]], [[0, 1, 1.5]], [["a"] * 3]],
)
def test_impossible_faces_are_refused(faces: list[list[int]]) -> None:
    with pytest.raises(InputError, match="faces"):
        MeshSequence(TETRAHEDRON[None], faces, 10.0)


def test_a_point_cloud_is_a_mesh_without_faces() -> None:
    cloud = MeshSequence(TETRAHEDRON[None], [], 10.0)
    assert cloud.faces.shape == (0, 3)
    assert not cloud.normals(0).any()
