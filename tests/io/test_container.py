"""The .mry container: what goes in comes out, and nothing else gets in."""

from __future__ import annotations

import contextlib
import io
import json
import zipfile
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path

import numpy as np
import pytest

import marey
from marey.describe import info
from marey.errors import FormatError, InputError, MareyError
from marey.statistics.graphs.graph import DistanceMatrix, MotionGraph, Windows
from marey.surface.sequence import Library, Texture
from marey.surface.synthesis.animate import SurfaceGraph
from marey.surface.synthesis.animation import Animation, Provenance


def same(a: object, b: object) -> bool:
    if is_dataclass(a):
        return type(a) is type(b) and all(same(getattr(a, f.name), getattr(b, f.name)) for f in fields(a))
    if isinstance(a, np.ndarray):
        return isinstance(b, np.ndarray) and a.dtype == b.dtype and np.array_equal(a, b, equal_nan=True)
    if isinstance(a, tuple):
        return isinstance(b, tuple) and len(a) == len(b) and all(map(same, a, b))
    return a == b


def everything() -> list[object]:
    rng = np.random.default_rng(0)
    skeleton = marey.Skeleton(("hips", "knee"), [-1, 0], [[0, 0, 0], [0, -0.4, 0]], [1], [[0, -0.4, 0]])
    turns = rng.normal(size=(5, 2, 4))
    turns /= np.linalg.norm(turns, axis=-1, keepdims=True)
    motion = marey.Motion(
        skeleton,
        turns,
        rng.normal(size=(5, 3)),
        120,
        convention=marey.geometry.convention.Convention(0.01, "z"),
        channels=(("Xposition", "Zrotation"), ("Yrotation",)),
        name="kick",
    )
    gappy = rng.normal(size=(4, 3, 3))
    gappy[1, 2] = np.nan
    triangle = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0]], dtype=np.float32)
    texture = Texture.from_image(np.arange(48, dtype=np.uint8).reshape(4, 4, 3))
    mesh = marey.MeshSequence(
        np.stack([triangle, triangle + 1]), [[0, 1, 2]], 25, uv=[[0, 0], [1, 0], [0, 1]], textures=(texture,)
    )
    skin = marey.SkinnedMesh(
        triangle, [[0, 1, 2]], ("hips", "knee"), np.stack([np.eye(4)] * 2), [[0], [1], [1]], np.ones((3, 1))
    )
    tracks = marey.Tracks(rng.normal(size=(6, 2, 2)), 10, ids=[7, 3], first_frame=12)
    field = marey.FieldSeries(
        rng.normal(size=(2, 3, 4, 2)).astype(np.float32), 25, mask=np.ones((3, 4), bool), homography=np.eye(3)
    )
    distances = DistanceMatrix(
        np.ones((4, 4)) - np.eye(4), np.zeros((4, 4)), [0, 2, 4], ("walk", "läuft"), "surface"
    )
    library = Library((mesh.renamed("walk"), mesh.renamed("läuft")), labels=("walk", "run"))
    graph = MotionGraph(
        [0, 2, 4], [0, 1, 2], [1, 3, 3], [False, True, False], [0.0, 0.5, 0.0], [1, 2, 1], [0, 2, 0],
        [0, 2, 0], 0.2, Windows(2, 5),
    )  # fmt: skip
    origin = Provenance([3, 0], [3, 1], [0.0, 0.25], [False, True])
    return [
        motion,
        marey.Markers(("a", "b", "c"), gappy, 100),
        mesh,
        marey.Character(skin, (motion,), name="person"),
        tracks,
        field,
        distances,
        SurfaceGraph(library, distances, graph),
        Animation(mesh, origin),
    ]


@pytest.mark.parametrize("thing", everything(), ids=lambda thing: type(thing).__name__)
def test_what_goes_in_comes_out(thing: object, tmp_path: Path) -> None:
    marey.save(thing, tmp_path / "a.mry")
    marey.save(thing, tmp_path / "b.mry")
    assert same(marey.load(tmp_path / "a.mry"), thing)
    assert (tmp_path / "a.mry").read_bytes() == (tmp_path / "b.mry").read_bytes()


def test_a_texture_on_disk_travels_inside(tmp_path: Path) -> None:
    image = np.full((2, 2, 3), 200, np.uint8)
    (tmp_path / "skin.png").write_bytes(Texture.from_image(image).encoded())
    mesh = marey.MeshSequence(
        np.zeros((1, 3, 3)), [[0, 1, 2]], 30, textures=(Texture(tmp_path / "skin.png"),)
    )
    marey.save(mesh, tmp_path / "mesh.mry")
    (tmp_path / "skin.png").unlink()
    assert np.array_equal(marey.load(tmp_path / "mesh.mry").textures[0].read(), image)


def rewritten(source: Path, target: Path, **entries: bytes | None) -> Path:
    """A copy of a container with some entries replaced (None: left out)."""
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as new:
        names = {name.replace(".", "_"): name for name in old.namelist()}
        for key, name in names.items():
            data = entries.get(key, old.read(name))
            if data is not None:
                new.writestr(name, data)
    return target


@pytest.fixture
def stored(tmp_path: Path) -> Path:
    marey.save(everything()[0], tmp_path / "good.mry")
    return tmp_path / "good.mry"


def npy(array: np.ndarray) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, array, allow_pickle=True)
    return buffer.getvalue()


def header_with(stored: Path, **changes: object) -> bytes:
    with zipfile.ZipFile(stored) as file:
        return json.dumps(json.loads(file.read("header.json")) | changes).encode()


def test_damaged_containers_say_what_is_wrong(stored: Path, tmp_path: Path) -> None:
    target = tmp_path / "bad.mry"
    pickled = npy(np.array([{"a": 1}], dtype=object))
    nested = b'{"format": "marey", "version": 1, "content": ' + b"[" * 100_000 + b"]" * 100_000 + b"}"
    cases: list[tuple[dict[str, bytes | None], str]] = [
        ({"header_json": None}, "without header.json"),
        ({"header_json": b"{"}, "damaged"),
        ({"header_json": nested}, "damaged"),
        ({"header_json": header_with(stored, version=99)}, "install a newer marey"),
        ({"header_json": header_with(stored, content={"type": "os", "fields": {}})}, "does not know"),
        ({"header_json": header_with(stored, content={"array": "../../etc/passwd"})}, "damaged"),
        ({"0_npy": pickled}, "not numbers"),
        ({"0_npy": None}, "damaged"),
        ({"0_npy": npy(np.zeros(7, int))}, "expected shape"),
    ]
    for entries, message in cases:
        with pytest.raises(FormatError, match=message) as caught:
            marey.load(rewritten(stored, target, **entries))
        assert "bad.mry" in str(caught.value)
        assert "\n" not in str(caught.value)


def test_a_zip_bomb_is_refused_before_it_unpacks(tmp_path: Path) -> None:
    bomb = tmp_path / "bomb.mry"
    with (
        zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as file,
        file.open("0.npy", "w", force_zip64=True) as entry,
    ):
        for _ in range(300):
            entry.write(bytes(1 << 20))
    with pytest.raises(FormatError, match="zip bomb"):
        marey.load(bomb)


def test_an_array_that_declares_more_than_it_holds_is_refused(stored: Path, tmp_path: Path) -> None:
    huge = npy(np.zeros(1)).replace(b"(1,)", b"(9999999999,)")
    with pytest.raises(FormatError):
        marey.load(rewritten(stored, tmp_path / "bad.mry", **{"0_npy": huge}))


@pytest.mark.parametrize("number", [0, 7, 8], ids=["motion", "repertoire", "animation"])
def test_mutated_containers_give_only_marey_errors(number: int, tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    marey.save(everything()[number], tmp_path / "good.mry")
    good = np.frombuffer((tmp_path / "good.mry").read_bytes(), np.uint8)
    target = tmp_path / "mutant.mry"
    for _ in range(1500 if number == 0 else 500):
        mutant = good.copy()
        where = rng.integers(len(mutant), size=rng.integers(1, 8))
        mutant[where] = rng.integers(256, size=len(where))
        target.write_bytes(
            mutant[: rng.integers(1, len(mutant) + 1)].tobytes() if rng.random() < 0.2 else mutant.tobytes()
        )
        with contextlib.suppress(MareyError):
            marey.load(target)


def test_what_no_format_holds_is_said(tmp_path: Path) -> None:
    tracks = everything()[4]
    with pytest.raises(InputError, match=r"cannot hold a Tracks; use one of .*\.csv"):
        marey.save(tracks, tmp_path / "walk.bvh")
    with pytest.raises(InputError, match="give the file an ending"):
        marey.save(tracks, tmp_path / "walk")
    with pytest.raises(InputError, match="read, not one we write"):
        marey.save(tracks, tmp_path / "walk.trc")
    with pytest.raises(FormatError, match="no such file"):
        marey.load(tmp_path / "walk.docx")
    assert not list(tmp_path.iterdir())
    (tmp_path / "walk.docx").touch()
    with pytest.raises(FormatError, match="unknown ending"):
        marey.load(tmp_path / "walk.docx")


def test_headers_with_other_values_give_only_marey_errors(tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    marey.save(everything()[7], tmp_path / "good.mry")
    with zipfile.ZipFile(tmp_path / "good.mry") as file:
        header = json.loads(file.read("header.json"))
    others: list[object] = [None, -1, 1e300, "x", [], {}, True, {"array": "0.npy"}, [[]], {"map": {}}]
    read = 0
    for _ in range(300):
        changed = json.loads(json.dumps(header))
        node, key = changed, "content"
        # Down the tree by chance, then something else in that place.
        while rng.random() < 0.85 and isinstance(node[key], dict | list) and node[key]:
            node = node[key]
            keys = list(node) if isinstance(node, dict) else list(range(len(node)))
            key = keys[rng.integers(len(keys))]
        node[key] = others[rng.integers(len(others))]
        bad = rewritten(tmp_path / "good.mry", tmp_path / "bad.mry", header_json=json.dumps(changed).encode())
        with contextlib.suppress(MareyError):
            thing = marey.load(bad)
            read += 1
            if isinstance(thing, SurfaceGraph):
                json.dumps(info(thing))
    assert 0 < read < 300


def test_what_sequences_share_is_stored_once(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    faces = rng.integers(0, 9, (20_000, 3))
    sequences = tuple(marey.MeshSequence(rng.random((2, 9, 3)), faces, 25, name=n) for n in "abcdefgh")
    library = Library(sequences)
    distances = DistanceMatrix(np.zeros((16, 16)), np.zeros((16, 16)), library.starts, library.names, "x")
    graph = MotionGraph.chains(library.starts, alpha=0.1, windows=Windows(2, 4))
    marey.save(SurfaceGraph(library, distances, graph), tmp_path / "all.mry")
    with zipfile.ZipFile(tmp_path / "all.mry") as file:
        large = [entry for entry in file.infolist() if entry.file_size > faces.nbytes // 2]
    assert len(large) == 1
    back = marey.load(tmp_path / "all.mry")
    assert all(np.shares_memory(back.library.faces, s.faces) for s in back.library.sequences)


def test_large_arrays_are_stored_as_they_are_in_any_layout(tmp_path: Path) -> None:
    values = np.random.default_rng(4).random((80, 900, 3))
    for vertices in (values, np.asfortranarray(values), values[:, ::2], values[::-1]):
        mesh = marey.MeshSequence(vertices, np.empty((0, 3)), 25)
        marey.save(mesh, tmp_path / "large.mry")
        np.testing.assert_array_equal(marey.load(tmp_path / "large.mry").vertices, vertices)
    with zipfile.ZipFile(tmp_path / "large.mry") as file:
        assert {entry.compress_type for entry in file.infolist() if entry.file_size > 1 << 20} == {0}


def test_a_repertoire_and_an_animation_are_described() -> None:
    *_, distances, repertoire, animation = everything()
    facts = info(repertoire)
    assert (facts["kind"], facts["frames"], facts["duration"]) == ("repertoire", 4, 0.16)
    assert (facts["edges"], facts["transitions"], facts["density"], facts["alpha"]) == (3, 1, 0.25, 0.2)
    assert facts["sequences"][1] == {"name": "läuft", "label": "run", "frames": 2}
    facts = info(animation)
    assert (facts["kind"], facts["captured_frames"], facts["synthetic_frames"]) == ("animation", 1, 1)
    facts = info(distances)
    assert (facts["kind"], facts["metric"], facts["mean_distance"]) == ("pose distances", "surface", 1.0)


def test_an_animation_becomes_a_mesh_where_only_that_can_be_held(tmp_path: Path) -> None:
    animation = everything()[8]
    marey.save(animation, tmp_path / "a_%02d.obj")
    assert marey.load(tmp_path / "a_%02d.obj").frames == 2


@pytest.mark.parametrize("name", ["a.csv", "a.sqlite", "a.mry"])
def test_another_class_that_is_called_tracks_is_refused(tmp_path: Path, name: str) -> None:
    @dataclass
    class Tracks:
        positions: int = 3

    with pytest.raises(InputError, match=r"test_container\.Tracks"):
        marey.save(Tracks(), tmp_path / name)
