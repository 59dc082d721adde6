"""Thousands of damaged glTF files: each is read or refused with a MareyError, in little memory."""

from __future__ import annotations

import json
import struct
import tracemalloc
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from marey.body.motion import Motion
from marey.body.skeleton import Skeleton
from marey.character import Character
from marey.errors import MareyError, MareyWarning
from marey.geometry import rotations as rot
from marey.io import gltf
from marey.surface.sequence import MeshSequence, Texture
from marey.surface.skinning import SkinnedMesh

MOST_BYTES = 400 << 20
# What a damaged or hostile file might say instead of what is right.
STRANGE: tuple[Any, ...] = (
    -1,
    0,
    1,
    2,
    3,
    7,
    255,
    65536,
    1 << 31,
    1 << 63,
    10**30,
    -(10**30),
    0.5,
    1e-30,
    1e38,
    1e300,
    True,
    None,
    "",
    "VEC4",
    "../x",
    [],
    [0],
    [[]],
    {},
    {"a": 1},
)


def motion() -> Motion:
    rng = np.random.default_rng(0)
    skeleton = Skeleton(("hips", "knee"), [-1, 0], [[0, 1, 0], [0, -0.5, 0]], [1], [[0, -0.4, 0]])
    return Motion(skeleton, rot.exp(rng.normal(size=(4, 2, 3))), rng.random((4, 3)), 30, name="m")


def character() -> Character:
    bind = np.repeat(np.eye(4)[None], 2, axis=0)
    bind[:, 1, 3] = [1, 0.5]
    skin = SkinnedMesh(
        np.random.default_rng(1).random((4, 3)),
        [[0, 1, 2], [0, 2, 3]],
        ("hips", "knee"),
        bind,
        [[0, 1]] * 4,
        [[0.5, 0.5]] * 4,
        uv=np.random.default_rng(2).random((5, 2)),
        uv_faces=[[0, 1, 2], [4, 2, 3]],
        texture=Texture.from_image(np.zeros((2, 2, 3), np.uint8)),
    )
    return Character(skin, (motion(),))


def sequence() -> MeshSequence:
    vertices = np.random.default_rng(3).random((3, 4, 3))
    return MeshSequence(vertices, [[0, 1, 2], [0, 2, 3]], 10, colours=np.full((4, 3), 0.5))


THINGS = {"motion": motion, "character": character, "sequence": sequence}


@pytest.fixture(scope="module", params=list(THINGS))
def valid(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("fuzz") / "valid.glb"
    gltf.write(THINGS[request.param](), path)
    return path.read_bytes()


def read_all(files: Iterator[bytes], folder: Path) -> tuple[int, int]:
    """How many files there were and how many could be read; anything but a MareyError fails."""
    count = good = 0
    path = folder / "damaged.glb"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", MareyWarning)
        for data in files:
            path.write_bytes(data)
            count += 1
            try:
                gltf.read(path)
                good += 1
            except MareyError as error:
                assert str(error)
    return count, good


def parts(data: bytes) -> tuple[dict[str, Any], bytes]:
    length = struct.unpack_from("<I", data, 12)[0]
    return json.loads(data[20 : 20 + length]), data[20 + length :]


def joined(document: dict[str, Any], tail: bytes) -> bytes:
    text = json.dumps(document).encode()
    text += b" " * (-len(text) % 4)
    head = b"glTF" + struct.pack("<II", 2, 20 + len(text) + len(tail))
    return head + struct.pack("<I4s", len(text), b"JSON") + text + tail


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every path to a value inside nested lists and objects."""
    keys = value.keys() if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    for key in keys:
        yield (*path, key)
        yield from places(value[key], (*path, key))


def changed(document: dict[str, Any], path: tuple[Any, ...], value: Any) -> dict[str, Any]:
    copy = json.loads(json.dumps(document))
    inner = copy
    for key in path[:-1]:
        inner = inner[key]
    if value is KeyError:
        del inner[path[-1]]
    else:
        inner[path[-1]] = value
    return copy


def test_any_byte_may_be_wrong(valid: bytes, tmp_path: Path) -> None:
    rng = np.random.default_rng(10)

    def files() -> Iterator[bytes]:
        for _ in range(700):
            data = bytearray(valid)
            for at in rng.integers(0, len(data), rng.integers(1, 6)):
                data[at] = rng.integers(0, 256)
            yield bytes(data)

    count, good = read_all(files(), tmp_path)
    assert count == 700
    assert 0 < good < count


def test_any_number_of_the_binary_part_may_be_wrong(valid: bytes, tmp_path: Path) -> None:
    document, tail = parts(valid)
    rng = np.random.default_rng(11)
    strange = np.array([np.nan, np.inf, -np.inf, 3e38, -3e38, 1e-45, 1e10, -1, 0], "<f4").view("<u4")

    def files() -> Iterator[bytes]:
        for _ in range(300):
            words = np.frombuffer(tail[8:], "<u4").copy()
            words[rng.integers(0, len(words), rng.integers(1, 4))] = rng.choice(strange)
            yield joined(document, tail[:8] + words.tobytes())

    count, good = read_all(files(), tmp_path)
    assert count == 300
    assert 0 < good < count


def test_any_value_of_the_json_part_may_be_wrong_or_missing(valid: bytes, tmp_path: Path) -> None:
    document, tail = parts(valid)
    rng = np.random.default_rng(12)
    everywhere = list(places(document))

    def files() -> Iterator[bytes]:
        for path in everywhere:
            yield joined(changed(document, path, KeyError), tail)
            for index in rng.integers(0, len(STRANGE), 3):
                yield joined(changed(document, path, STRANGE[index]), tail)

    count, good = read_all(files(), tmp_path)
    assert count == 4 * len(everywhere)
    assert 0 < good < count


def test_sizes_that_lie_take_no_memory(valid: bytes, tmp_path: Path) -> None:
    document, tail = parts(valid)
    sizes = ("count", "byteLength", "byteOffset", "byteStride", "marey_frame_rate")
    fields = [path for path in places(document) if path[-1] in sizes]

    def files() -> Iterator[bytes]:
        for path in fields:
            for size in (65536, 1 << 24, 1 << 31, 1 << 62):
                yield joined(changed(document, path, size), tail)
        for number in range(len(document["accessors"])):
            bare = changed(document, ("accessors", number, "bufferView"), KeyError)
            for size in (1 << 22, 1 << 31):
                yield joined(changed(bare, ("accessors", number, "count"), size), tail)

    tracemalloc.start()
    read_all(files(), tmp_path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < MOST_BYTES


def test_files_may_end_anywhere(valid: bytes, tmp_path: Path) -> None:
    ends = np.unique(np.linspace(0, len(valid) - 1, 200).astype(int))
    _, good = read_all((valid[:end] for end in ends), tmp_path)
    assert good == 0


def test_a_small_file_cannot_ask_for_endless_work(tmp_path: Path) -> None:
    primitive = {"attributes": {"POSITION": 0}, "targets": [{"POSITION": 0}] * 2000}
    document = {
        "asset": {"version": "2.0"},
        "nodes": [{"mesh": 0}],
        "meshes": [{"primitives": [primitive], "weights": [1] * 2000}],
        "accessors": [{"componentType": 5126, "type": "VEC3", "count": 5_000_000}],
    }
    path = tmp_path / "work.gltf"
    path.write_text(json.dumps(document))
    with pytest.raises(MareyError, match="moves more than"):
        gltf.read(path)
