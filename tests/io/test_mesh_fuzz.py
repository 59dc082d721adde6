"""Damaged mesh files that random changes of a sound one do not give; see `test_mutations`."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest

from marey.errors import MareyError
from marey.io import npz, obj, ply
from marey.surface import MeshSequence
from tests.io.mutation import changed

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
    rng = random.Random(0)
    for _ in range(500):
        (tmp_path / "a.mtl").write_bytes(changed(changed(library, rng), rng))
        assert obj.read(tmp_path / "a.obj").textures == ()
