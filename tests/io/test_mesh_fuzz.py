"""Damaged mesh files: whatever the bytes, a mesh or a MareyError comes out, quickly and in little memory."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from marey.errors import MareyError
from marey.io import npz, obj, ply
from marey.surface import MeshSequence

CASES = 2000
WATCHED = 150  # of them for their memory, which is slow
PIECES = [b"\0", b"\n", b"\r", b" ", b"-", b"/", b"\\\n", b"#", b"1e999", b"nan", b"9" * 20, b"\xff"]
RNG = np.random.default_rng(0)
UV = RNG.random((5, 2))
MESH = MeshSequence(
    RNG.normal(size=(1, 6, 3)),
    RNG.integers(0, 6, (7, 3)),
    25.0,
    uv=UV,
    uv_faces=RNG.integers(0, 5, (7, 3)),
    colours=RNG.random((6, 3)),
)
TEXT_PLY = b"""ply
format ascii 1.0
comment TextureFile skin.png
element vertex 4
property float x
property float y
property float z
property uchar red
property uchar green
property uchar blue
element face 2
property list uchar int vertex_indices
property list uchar float texcoord
end_header
0 0 0 255 0 0
1 0 0 0 255 0
1 1 0 0 0 255
0 1 0 9 9 9
3 0 1 2 6 0 0 1 0 1 1
4 0 1 2 3 8 0 0 1 0 1 1 0 1
"""


def written(folder: Path, ending: str) -> bytes:
    file = folder / f"seed{ending}"
    {".obj": obj, ".ply": ply, ".npz": npz}[ending].write(MESH, file)
    return file.read_bytes()


def mutations(seed: bytes, count: int) -> Iterator[bytes]:
    """Bytes changed, cut, doubled, moved and pieces put in; one to four times each."""
    rng = np.random.default_rng(len(seed))
    for _ in range(count):
        data = bytearray(seed)
        for _ in range(rng.integers(1, 5)):
            at, other = (int(i) for i in rng.integers(0, len(data) + 1, 2))
            low, high = min(at, other), min(max(at, other), min(at, other) + 40)
            match rng.integers(0, 6):
                case 0 if at < len(data):
                    data[at] = rng.integers(0, 256)
                case 1 if at < len(data):
                    data[at] ^= 1 << int(rng.integers(0, 8))
                case 2:
                    del data[low:high]
                case 3:
                    data[low:low] = data[low:high]
                case 4:
                    data[at:at] = PIECES[rng.integers(0, len(PIECES))]
                case 5:
                    del data[at:]
        yield bytes(data)


def survive(read: Callable[[bytes], object], seed: bytes, count: int = CASES) -> tuple[int, int]:
    """How many mutations were read and how many refused."""
    read(seed)
    good = bad = 0
    tracemalloc.start()
    for number, data in enumerate(mutations(seed, count)):
        if number == WATCHED:
            assert tracemalloc.get_traced_memory()[1] < 50 << 20
            tracemalloc.stop()
        try:
            read(data)
            good += 1
        except MareyError as error:
            assert "\n" not in str(error)
            bad += 1
    return good, bad


def from_file(read: Callable[[Path], object], file: Path) -> Callable[[bytes], object]:
    def attempt(data: bytes) -> object:
        file.write_bytes(data)
        return read(file)

    return attempt


def test_damaged_obj_files_give_a_mesh_or_one_clear_line(tmp_path: Path) -> None:
    good, bad = survive(from_file(obj.read, tmp_path / "a.obj"), written(tmp_path, ".obj"))
    assert good > 100
    assert bad > 100


def test_damaged_later_frames_give_a_sequence_or_one_clear_line(tmp_path: Path) -> None:
    folder = tmp_path / "frames"
    folder.mkdir()
    seed = written(tmp_path, ".obj")
    (folder / "0.obj").write_bytes(seed)
    file = folder / "1.obj"

    def attempt(data: bytes) -> object:
        file.write_bytes(data)
        return obj.read(folder)

    good, bad = survive(attempt, seed)
    assert good > 50
    assert bad > 100


@pytest.mark.parametrize("order", ["little", "big"])
def test_damaged_binary_ply_files_give_a_mesh_or_one_clear_line(tmp_path: Path, order: str) -> None:
    seed = written(tmp_path, ".ply")
    if order == "big":
        # Wrong values, yet bytes that are walked in the other order.
        seed = swapped(seed)
    good, bad = survive(from_file(ply.read, tmp_path / "a.ply"), seed)
    assert good > 20
    assert bad > 100


def test_damaged_text_ply_files_give_a_mesh_or_one_clear_line(tmp_path: Path) -> None:
    good, bad = survive(from_file(ply.read, tmp_path / "a.ply"), TEXT_PLY)
    assert good > 20
    assert bad > 100


def test_damaged_archives_give_a_mesh_or_one_clear_line(tmp_path: Path) -> None:
    good, bad = survive(from_file(npz.read, tmp_path / "a.npz"), written(tmp_path, ".npz"))
    assert good > 20
    assert bad > 100


def test_noise_with_the_right_ending_is_refused(tmp_path: Path) -> None:
    rng = np.random.default_rng(9)
    for ending, module in ((".obj", obj), (".ply", ply), (".npz", npz)):
        for size in (1, 7, 100, 4000):
            (tmp_path / f"noise{ending}").write_bytes(b"\xfe" + rng.bytes(size))
            with pytest.raises(MareyError):
                module.read(tmp_path / f"noise{ending}")


def test_a_broken_material_file_does_not_stop_a_mesh(tmp_path: Path) -> None:
    (tmp_path / "a.obj").write_bytes(b"mtllib a.mtl\nv 0 0 0\n")
    library = b"newmtl a\nKd 1 1 1\nmap_Kd -s 1 1 1 skin.png\nmap_Kd ../x.png\n"
    for data in mutations(library, 500):
        (tmp_path / "a.mtl").write_bytes(data)
        assert obj.read(tmp_path / "a.obj").textures == ()


def swapped(seed: bytes) -> bytes:
    """A little-endian PLY of doubles, bytes and ints, as a big-endian one."""
    head, body = seed.split(b"end_header\n", 1)
    vertex = np.dtype([("p", "<f8", 3), ("c", "u1", 3)])
    face = np.dtype([("n", "u1"), ("v", "<i4", 3), ("m", "u1"), ("t", "<f8", 6)])
    points = np.frombuffer(body, vertex, 6).astype(vertex.newbyteorder(">"))
    faces = np.frombuffer(body, face, 7, 6 * vertex.itemsize).astype(face.newbyteorder(">"))
    return head.replace(b"little", b"big") + b"end_header\n" + points.tobytes() + faces.tobytes()
