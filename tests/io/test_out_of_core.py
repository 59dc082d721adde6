"""Captures larger than memory: written, read and worked on in a process that may not hold them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from marey import _arrays
from marey.errors import InputError

CHILD = """
import resource, sys
from pathlib import Path
import numpy as np
import marey
from marey import _arrays
from marey.io import _gltf_write, gltf,  npz, obj, point_caches, zarr_store
import zarr

folder = Path(sys.argv[1])
zarr.config.set({"threading.max_workers": 1})  # on a busy machine more start, each with a stack of 8 MB
small = marey.MeshSequence(np.zeros((2, 8, 3), np.float32), [[0, 1, 2]], 25)
for ending in (".npz", ".mry", ".zarr", ".pc2", ".glb"):
    marey.save(small, folder / f"small{ending}")
    marey.load(folder / f"small{ending}")
marey.save(small, folder / "small_%d.obj")
marey.load(folder / "small_%d.obj")
np.ones((300, 300), np.float32) @ np.ones((300, 300), np.float32)  # linear algebra takes its own room now
_arrays.LARGEST_IN_MEMORY = _gltf_write.LARGEST_IN_MEMORY = 4 << 20
status = dict(line.split(":", 1) for line in open("/proc/self/status"))
limit = (int(status["VmData"].split()[0]) << 10) + (60 << 20)
resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
try:
    np.ones(200 << 20, np.uint8)
    sys.exit("the limit does not hold")
except MemoryError:
    pass

vertices = _arrays.empty((170, 60_000, 3), np.float32)
first = np.random.default_rng(0).random(vertices.shape[1:], np.float32)
for frame in range(len(vertices)):
    vertices[frame] = first
    vertices[frame, :, 1] += frame
assert vertices.nbytes > 2 * (60 << 20) - (5 << 20)
vertices.flags.writeable = False
long = marey.MeshSequence(vertices, [[0, 1, 2]], 25)
assert long.bounds[1][1] > 169
for ending in (".npz", ".mry", ".zarr", ".pc2"):
    file = folder / f"long{ending}"
    marey.save(long, file)
    back = marey.load(file)
    for frame in (0, 169):
        np.testing.assert_array_equal(back.vertices[frame], vertices[frame])
    del back
assert sum(part.frames for part in zarr_store.mesh_blocks(folder / "long.zarr")) == 170
other = long.mirror()[::2].transform(translation=[0, 1, 0])
np.testing.assert_allclose(other.vertices[3, :9], first[:9] * [-1, 1, 1] + [0, 7, 0], rtol=1e-6)
marey.save(long[:60], folder / "long.glb", max_error=0.0, normals=False)
print("done")
"""


@pytest.mark.skipif(sys.platform != "linux", reason="memory can be limited so on Linux only")
def test_a_sequence_larger_than_the_memory_allowed_is_written_read_and_changed(tmp_path: Path) -> None:
    command = [sys.executable, "-c", CHILD, str(tmp_path)]
    environment = {"OPENBLAS_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1", "TMPDIR": str(tmp_path)}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert done.stdout == "done\n", done.stderr[-2000:]
    assert not [file for file in tmp_path.iterdir() if file.name.startswith("marey-")]


def test_large_arrays_behave_as_those_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_arrays, "LARGEST_IN_MEMORY", 1000)
    monkeypatch.setattr(_arrays, "BLOCK_BYTES", 256)
    values = np.random.default_rng(0).random((40, 5, 3))
    large = _arrays.mapped(np.negative, values, np.float32)
    assert large.flags.writeable
    np.testing.assert_array_equal(large, -values.astype(np.float32))
    from marey._arrays import checked

    given = values.copy()
    kept = checked("values", given, (None, 5, 3))
    given[:] = 0
    np.testing.assert_array_equal(kept, values)
    values[33, 2, 1] = np.nan
    with pytest.raises(InputError, match=r"value at \[33, 2, 1\] is not finite"):
        checked("values", values, (None, 5, 3))


def test_too_little_room_on_disk_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_arrays, "LARGEST_IN_MEMORY", 1000)
    with pytest.raises(InputError, match="set TMPDIR to a folder with more room"):
        _arrays.empty((1 << 50,), np.float32)
