from __future__ import annotations

import io
import struct
import zipfile
from pathlib import Path

import numpy as np
import pytest

import marey
from marey.errors import FormatError, InputError
from marey.io import npz
from marey.statistics.graphs.graph import DistanceMatrix
from marey.surface import MeshSequence

TRIANGLE = {"vertices": np.eye(3)[None], "faces": np.array([[0, 1, 2]])}


def saved(folder: Path, **arrays: object) -> Path:
    file = folder / "mesh.npz"
    np.savez_compressed(file, **arrays)
    return file


def header_of(shape: tuple[int, ...], descr: str = "<f8") -> bytes:
    text = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}".encode()
    text += b" " * (-(len(text) + 11) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_what_is_written_is_what_is_read(tmp_path: Path, dtype: type) -> None:
    rng = np.random.default_rng(0)
    sequence = MeshSequence(
        rng.normal(size=(4, 9, 3)).astype(dtype),
        rng.integers(0, 9, (11, 3)),
        23.976,
        uv=rng.random((5, 2)),
        uv_faces=rng.integers(0, 5, (11, 3)),
        colours=rng.random((9, 3)),
    )
    marey.save(sequence, tmp_path / "blob.npz")
    back = marey.load(tmp_path / "blob.npz")
    assert back.vertices.dtype == dtype
    for name in ("vertices", "faces", "uv", "uv_faces", "colours"):
        np.testing.assert_array_equal(getattr(back, name), getattr(sequence, name))
    assert (back.frame_rate, back.name) == (23.976, "blob")


def test_units_and_up_axis_survive(tmp_path: Path) -> None:
    sequence = MeshSequence(np.eye(3)[None], [[0, 1, 2]], 30.0).with_convention(unit="cm", up="z")
    npz.write(sequence, tmp_path / "a.npz")
    with np.load(tmp_path / "a.npz") as file:
        np.testing.assert_allclose(file["vertices"][0, 1], [0, 0, 100])
    back = npz.read(tmp_path / "a.npz")
    assert back.convention == sequence.convention
    np.testing.assert_allclose(back.vertices, sequence.vertices, atol=1e-15)
    assert npz.read(saved(tmp_path, **TRIANGLE), unit="in").bounds[1].max() == 0.0254


def test_quantised_vertices_are_spread_out_again(tmp_path: Path) -> None:
    q = np.array([[[0, 1, -1], [32767, 2, 3]]], dtype=np.int16)
    mesh = npz.read(saved(tmp_path, vertices_q=q, scale=0.5, offset=[1.0, 2.0, 3.0], faces=np.empty((0, 3))))
    np.testing.assert_array_equal(mesh.vertices, q * 0.5 + [1, 2, 3])
    mesh = npz.read(saved(tmp_path, vertices_q=q, scale=[1.0, 2.0, 3.0], faces=np.empty((0, 3))))
    np.testing.assert_array_equal(mesh.vertices, q * np.array([1.0, 2.0, 3.0]))


def test_one_frame_needs_no_axis_for_time(tmp_path: Path) -> None:
    assert npz.read(saved(tmp_path, vertices=np.eye(3), faces=[[0, 1, 2]])).frames == 1


def test_other_number_types_and_orders_are_read(tmp_path: Path) -> None:
    for dtype, expected in ((">f4", np.float32), ("<f2", np.float32), ("<i4", np.float64)):
        vertices = np.asfortranarray(np.arange(9).reshape(1, 3, 3).astype(dtype))
        mesh = npz.read(saved(tmp_path, vertices=vertices, faces=np.array([[0, 1, 2]], dtype=">u8")))
        assert mesh.vertices.dtype == expected
        np.testing.assert_array_equal(mesh.vertices.ravel(), np.arange(9))


def test_the_frame_rate_is_the_callers_then_the_files_then_30(tmp_path: Path) -> None:
    assert npz.read(saved(tmp_path, **TRIANGLE)).frame_rate == 30
    assert npz.read(saved(tmp_path, **TRIANGLE, frame_rate=50)).frame_rate == 50
    assert npz.read(saved(tmp_path, **TRIANGLE, frame_rate=[50]), frame_rate=12).frame_rate == 12


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"vertices": None}, "holds no array 'vertices'; a mesh sequence needs"),
        ({"faces": None}, "holds no array 'faces'"),
        ({"vertices": None, "vertices_q": np.zeros((1, 3, 3), np.int16)}, "holds no array 'scale'"),
        ({"vertices": np.full((1, 3, 3), np.nan)}, "not finite"),
        ({"vertices": np.zeros((1, 3))}, "faces: indices must lie in 0…0|expected shape"),
        ({"vertices": np.zeros(7)}, "expected shape"),
        ({"faces": [[0, 1, 3]]}, "indices must lie in 0…2"),
        ({"faces": [[0.5, 1, 2]]}, "whole numbers"),
        ({"uv": np.zeros((2, 2))}, "give uv_faces as well"),
        ({"colours": np.zeros((2, 3))}, "colours"),
        ({"frame_rate": -1}, "frame rate: must be positive"),
        ({"frame_rate": [1, 2]}, "frame_rate: expected one number"),
        ({"unit": 0.0}, "unit: must be a positive"),
        ({"up_axis": 0}, "up_axis: 1"),
        ({"vertices": np.array([{"a": 1}], dtype=object)}, "holds object, not numbers"),
        ({"vertices": np.array(["a"])}, "not numbers"),
        ({"vertices": np.zeros((1, 3, 3), dtype=complex)}, "not numbers"),
        (
            {"vertices": None, "vertices_q": np.ones((1, 3, 3)), "scale": 1e308, "offset": 1e308},
            "not finite|0…2",
        ),
        ({"vertices": None, "vertices_q": np.ones((1, 3, 3)), "scale": np.ones(2)}, "scale: expected one"),
    ],
)
def test_arrays_that_do_not_fit_are_refused(tmp_path: Path, changes: dict[str, object], message: str) -> None:
    arrays = {name: values for name, values in {**TRIANGLE, **changes}.items() if values is not None}
    with pytest.raises(FormatError, match=message):
        npz.read(saved(tmp_path, **arrays))


def test_pickles_are_never_opened(tmp_path: Path) -> None:
    class Trap:
        def __reduce__(self) -> tuple[object, tuple[str]]:
            return (Path.touch, (tmp_path / "opened",))  # type: ignore[return-value]

    with pytest.raises(FormatError, match="not numbers"):
        npz.read(saved(tmp_path, vertices=np.array([Trap()], dtype=object), faces=[[0, 1, 2]]))
    assert not (tmp_path / "opened").exists()


def test_zip_bombs_are_refused_before_anything_is_unpacked(tmp_path: Path) -> None:
    data = bytearray(saved(tmp_path, **TRIANGLE).read_bytes())
    entry = data.index(b"PK\x01\x02")  # the first entry of the directory; its size unpacked is at 24
    data[entry + 24 : entry + 28] = struct.pack("<I", 4_000_000_000)
    (tmp_path / "bomb.npz").write_bytes(data)
    with pytest.raises(FormatError, match=r"would unpack to 4\.0 GB: refused as a zip bomb"):
        npz.read(tmp_path / "bomb.npz")


@pytest.mark.parametrize("shape", [(10**9, 10**9, 3), (1, 4, 3), (1, 2, 3), (-1, 3, 3)])
def test_headers_that_declare_what_is_not_there_are_refused(tmp_path: Path, shape: tuple[int, ...]) -> None:
    file = tmp_path / "liar.npz"
    faces = io.BytesIO()
    np.save(faces, np.array([[0, 1, 2]]))
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("vertices.npy", header_of(shape) + bytes(72))
        archive.writestr("faces.npy", faces.getvalue())
    with pytest.raises(FormatError, match=r"'vertices' declares .* and holds 72"):
        npz.read(file)


def test_files_that_are_no_archive_are_refused(tmp_path: Path) -> None:
    good = saved(tmp_path, **TRIANGLE).read_bytes()
    for data in (b"", b"PK\x03\x04", good[:-30], b"x" * 99):
        (tmp_path / "bad.npz").write_bytes(data)
        with pytest.raises(FormatError, match="not a zip" if data else "empty"):
            npz.read(tmp_path / "bad.npz")


def test_nothing_is_left_behind_when_writing_fails(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no folder"):
        npz.write(MeshSequence(np.eye(3)[None], [[0, 1, 2]], 30.0), tmp_path / "missing" / "a.npz")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("name", "frames", "vertices", "faces"),
    [
        ("vlasic_samba/samba_000_099_q16.npz", 100, 9971, 19938),
        ("sumner_horse_gallop/horse_gallop_q16.npz", 48, 8431, 16843),
    ],
)
def test_captured_sequences_are_read(
    data_dir: Path, name: str, frames: int, vertices: int, faces: int
) -> None:
    sequence = marey.load(data_dir / "mesh4d" / name)
    assert sequence.vertices.shape == (frames, vertices, 3)
    assert sequence.faces.shape == (faces, 3)


def test_textures_are_not_lost_silently(tmp_path: Path) -> None:
    human = marey.samples.human().pose(frames=0)
    assert human.textures
    with pytest.warns(marey.errors.MareyWarning, match="hold no textures"):
        npz.write(human, tmp_path / "a.npz")


def distances() -> DistanceMatrix:
    values = np.abs(np.subtract.outer(np.arange(5.0), np.arange(5.0)))
    return DistanceMatrix(values, values - values.T, [0, 2, 5], ("walk", "ein Lauf"), "surface")


def test_pose_distances_come_back_and_open_in_plain_numpy(tmp_path: Path) -> None:
    marey.save(distances(), tmp_path / "d.npz")
    back = marey.load(tmp_path / "d.npz")
    for name in ("values", "yaw_offsets", "starts"):
        np.testing.assert_array_equal(getattr(back, name), getattr(distances(), name))
    assert (back.names, back.metric) == (("walk", "ein Lauf"), "surface")
    with np.load(tmp_path / "d.npz", allow_pickle=False) as file:
        assert file["names"].tolist() == ["walk", "ein Lauf"]
        assert str(file["metric"][0]) == "surface"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"values": -np.ones((5, 5))}, "may not be negative"),
        ({"values": np.ones((4, 5))}, "square"),
        ({"yaw_offsets": np.zeros((3, 3))}, "yaw offsets: expected shape"),
        ({"starts": [0, 2, 9]}, "starts: must rise"),
        ({"names": np.array([["a"], ["b"]])}, "must be a row of texts"),
        ({"names": np.zeros(2)}, "not text"),
        ({"metric": np.array(["a", "b"])}, "must be a row of texts and 'metric' one"),
        ({"names": np.array(["a", "b"], dtype=object)}, "holds object"),
    ],
)
def test_pose_distances_that_do_not_fit_are_refused(
    tmp_path: Path, changes: dict[str, object], message: str
) -> None:
    good = {
        name: getattr(distances(), name) for name in ("values", "yaw_offsets", "starts", "names", "metric")
    }
    with pytest.raises(FormatError, match=message):
        npz.read(saved(tmp_path, **(good | changes)))
