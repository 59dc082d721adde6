"""A run never removes or replaces what a user put into an output folder."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import marey
from marey import samples
from marey.crowd.fields import FieldSeries
from marey.errors import InputError
from marey.io import _files
from marey.io._files import (
    DRAFT,
    atomic_write,
    atomic_write_files,
    atomic_write_folder,
)
from marey.surface.sequence import MeshSequence
from tests.cli.commands import call, refused

NAMES = ("a.txt", "b.txt", "part/a.txt", "part/deep/b.txt", "n_1.txt", "n_2.txt", "n_10.txt")
contents = st.binary(min_size=1, max_size=3)
files = st.dictionaries(st.sampled_from(NAMES), contents, min_size=1, max_size=4)
steps = st.lists(
    st.one_of(
        st.tuples(st.just("user writes"), files),
        st.tuples(st.just("user deletes"), st.sampled_from(NAMES)),
        st.tuples(st.just("a thing"), files),
        st.tuples(st.just("joins"), files),
        st.tuples(st.just("numbered"), st.integers(1, 12)),
    ),
    min_size=2,
    max_size=8,
)


def content_of(folder: Path) -> dict[str, bytes]:
    """All files of a folder but the lists of marey."""
    found = (file for file in folder.rglob("*") if file.is_file() and not file.name.startswith(".marey"))
    return {file.relative_to(folder).as_posix(): file.read_bytes() for file in found}


def fill(folder: Path, made: dict[str, bytes]) -> None:
    for name, content in made.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)


@given(steps)
@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_sequence_of_runs_leaves_the_users_files_alone(
    tmp_path_factory: pytest.TempPathFactory, actions: list[tuple[str, object]]
) -> None:
    folder = tmp_path_factory.mktemp("runs") / "out"
    users: dict[str, bytes] = {}
    numbered: set[str] = set()
    for action, what in actions:
        if action == "user writes":
            assert isinstance(what, dict)
            fill(folder, what)
            users |= what
            continue
        if action == "user deletes":
            (folder / str(what)).unlink(missing_ok=True)
            users.pop(str(what), None)
            continue
        before = content_of(folder)
        made = what if isinstance(what, dict) else {f"n_{n}.txt": b"new" for n in range(int(str(what)))}
        try:
            if action == "a thing":
                with atomic_write_folder(folder) as draft:
                    fill(draft, made)
            elif action == "joins":
                with atomic_write_folder(folder, list(made)) as draft:
                    fill(draft, made)
            else:
                with atomic_write_files(folder / "n_%d.txt", list(made)) as draft:
                    fill(draft, made)
        except InputError:
            assert content_of(folder) == before
        else:
            # A user's file with the very content of ours may pass for ours.
            same = {name for name in users if before.get(name) == users[name] and name in made}
            after = content_of(folder)
            assert after.items() >= made.items()
            assert {n: c for n, c in users.items() if n not in same}.items() <= after.items()
            if action == "numbered":
                assert not (numbered - made.keys() - users.keys()) & after.keys()
                numbered = set(made)
            else:
                numbered -= made.keys()
            users = {n: c for n, c in users.items() if n not in made}
        assert not [entry for entry in folder.rglob(f"{DRAFT}*") if entry.is_dir()]


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("inputs")
    marey.save(samples.walk()[:120], folder / "walk.bvh")
    marey.save(samples.video(samples.crowd(people=4, seconds=1)), folder / "film.mp4")
    marey.save(FieldSeries(np.ones((3, 4, 5, 2), np.float32), 25), folder / "field.mry")
    triangle = MeshSequence(np.random.default_rng(0).random((3, 3, 3)), [[0, 1, 2]], 25)
    marey.save(triangle, folder / "mesh.npz")
    return folder


COMMANDS: dict[str, Callable[[Path, Path], tuple[object, ...]]] = {
    "vary": lambda of, out: ("body", "vary", of / "walk.bvh", "-o", out, "--count", 2),
    "skin": lambda of, out: ("surface", "skin", of / "walk.bvh", "-o", out, "--vertices", 200),
    "dataset": lambda of, out: (
        *("crowd", "dataset", "escape", "-o", out, "--people", 3),
        *("--seconds", 3.2, "--size", "64x48"),
    ),
    "capture": lambda of, out: ("crowd", "capture", of / "film.mp4", out, "--method", "lk", "--size", 48),
    "fields": lambda of, out: ("convert", of / "field.mry", out),
    "store": lambda of, out: ("convert", of / "mesh.npz", out),
    "numbered": lambda of, out: ("convert", of / "mesh.npz", out / "pose_%02d.obj"),
    "cache": lambda of, out: ("convert", of / "mesh.npz", out / "pose.pc2"),
}
OF_THE_USER = ("notes.txt", "walk-01.bvh", "walk.npz", "zarr.json", "dataset.json", "pose_00.obj", "pose.obj")


@given(
    command=st.sampled_from(sorted(COMMANDS)),
    before=st.sets(st.sampled_from(OF_THE_USER), max_size=3),
    between=st.sets(st.sampled_from(OF_THE_USER), max_size=3),
    partial=st.booleans(),
)
@settings(max_examples=24, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_commands_run_twice_keep_what_the_user_put_beside_their_results(
    inputs: Path,
    tmp_path_factory: pytest.TempPathFactory,
    command: str,
    before: set[str],
    between: set[str],
    partial: bool,
) -> None:
    home = tmp_path_factory.mktemp("home")
    out = home / ("out.zarr" if command in ("capture", "fields", "store") else "out")
    words = COMMANDS[command](inputs, out)
    if before or command == "cache":
        out.mkdir()
    if partial:
        for name in ("out.zarr.partial", "out.zarr.replaced"):
            fill(home, {f"{name}/mine.txt": b"mine"})
    users = dict.fromkeys(before, b"mine")
    for placed in (before, between):
        fill(out, dict.fromkeys(placed if out.is_dir() else (), b"mine"))
        users |= dict.fromkeys(placed if out.is_dir() else (), b"mine")
        there = content_of(home)
        code = call(*words)
        assert code in (0, 2)
        found = content_of(home)
        assert {f"{out.name}/{name}": content for name, content in users.items()}.items() <= found.items()
        if code == 2:
            assert found == there
        if partial:
            assert found["out.zarr.replaced/mine.txt"] == found["out.zarr.partial/mine.txt"] == b"mine"


def test_variants_run_again_replace_their_own_files_only(
    inputs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ("body", "vary", inputs / "walk.bvh", "-o", tmp_path / "out")
    assert call(*words, "--count", 3) == 0
    fill(tmp_path / "out", {"notes.txt": b"mine", "raw.bvh": b"mine"})
    assert call(*words, "--count", 2) == 0
    names = ["notes.txt", "raw.bvh", "walk-01.bvh", "walk-02.bvh"]
    assert sorted(content_of(tmp_path / "out")) == names
    fill(tmp_path / "out", {"walk-02.bvh": b"edited"})
    capsys.readouterr()
    assert "walk-02.bvh: was changed since marey made it" in refused(capsys, *words, "--count", 2)
    assert content_of(tmp_path / "out")["walk-02.bvh"] == b"edited"


def test_the_demo_does_not_write_over_a_walk_of_the_users(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fill(tmp_path, {"walk.bvh": b"mine", "crowd.csv": b"mine"})
    assert "is a folder with other things in it" in refused(capsys, "demo", "--out", tmp_path)
    assert content_of(tmp_path) == {"walk.bvh": b"mine", "crowd.csv": b"mine"}


def test_a_texture_beside_a_mesh_does_not_replace_the_users_image(tmp_path: Path) -> None:
    sequence = samples.mesh_sequence()[:1]
    fill(tmp_path, {"mesh.obj": b"old", "mesh_texture.jpg": b"mine"})
    with pytest.raises(InputError, match=r"mesh_texture\.jpg: is not a file that marey made"):
        marey.save(sequence, tmp_path / "mesh.obj")
    (tmp_path / "mesh_texture.jpg").unlink()
    for _ in range(2):
        marey.save(sequence, tmp_path / "mesh.obj")
    assert (tmp_path / "mesh.obj").read_bytes() != b"old"


def test_a_list_cannot_point_out_of_its_folder(tmp_path: Path) -> None:
    fill(tmp_path, {"precious.txt": b"mine"})
    with atomic_write_folder(tmp_path / "out") as draft:
        (draft / "precious.txt").write_bytes(b"mine")
    listed = tmp_path / "out" / ".marey.json"
    listed.write_text(listed.read_text().replace('"precious.txt"', '"../precious.txt"'))
    (tmp_path / "out" / "precious.txt").unlink()
    with pytest.raises(InputError), atomic_write_folder(tmp_path / "out") as draft:
        (draft / "other.txt").write_bytes(b"new")
    assert (tmp_path / "precious.txt").read_bytes() == b"mine"


def test_the_next_run_removes_the_drafts_of_a_killed_one_and_no_others(tmp_path: Path) -> None:
    code = (
        "import sys, pathlib; from marey.io._files import atomic_write\n"
        "with atomic_write(pathlib.Path(sys.argv[1])) as draft:\n"
        "    draft.write_text('half'); print('there', flush=True); sys.stdin.read()"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "a.txt")]
    runs = [subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) for _ in range(2)]
    for run in runs:
        assert run.stdout is not None and run.stdout.readline() == b"there\n"
    fill(tmp_path, {f"{DRAFT}notes/of.lock": b"mine", f"{DRAFT}empty/x": b"mine"})
    assert len(list(tmp_path.glob(f"{DRAFT}*"))) == 4
    os.kill(runs[0].pid, signal.SIGKILL)
    runs[0].wait()
    _files._remove_dead_drafts.cache_clear()
    with atomic_write(tmp_path / "b.txt") as draft:
        draft.write_text("whole")
    assert len(list(tmp_path.glob(f"{DRAFT}*"))) == 3
    runs[1].communicate(b"")
    assert (tmp_path / "a.txt").read_text() == "half"
    assert sorted(path.name for path in tmp_path.glob(f"{DRAFT}*")) == [f"{DRAFT}empty", f"{DRAFT}notes"]


@pytest.mark.parametrize(
    ("words", "mine"),
    [
        (("body", "vary", "walk.bvh", "-o", "out"), "out/walk-01.bvh"),
        (("body", "stream", "walk.mry", "-o", "out", "--characters", 2, "--seconds", 1), "out/0.bvh"),
        (("surface", "skin", "walk.bvh", "-o", "out"), "out/walk.npz"),
        (("crowd", "extend", "field.zarr", "out.zarr", "--frames", 9), "out.zarr/zarr.json"),
        (("crowd", "simulate", "escape", "-o", "out.csv"), "out.part.mry"),
        (("convert", "mesh.npz", "out/%d.obj"), "out/0.obj"),
    ],
)
def test_what_is_in_the_way_is_said_before_the_input_is_even_read(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    words: tuple[object, ...],
    mine: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    fill(tmp_path, {mine: b"mine"})
    assert Path(mine).parts[0] in refused(capsys, *words)
    assert content_of(tmp_path) == {mine: b"mine"}


@pytest.fixture(scope="module")
def things() -> dict[str, object]:
    walk, people = samples.walk(), samples.crowd(people=20, seconds=20)
    meshes = MeshSequence(np.random.default_rng(0).random((40, 30, 3)), [[0, 1, 2]], 25)
    fields = FieldSeries(np.random.default_rng(0).random((20, 40, 50, 2)), 25)
    endings = {
        "bvh glb gltf usda usdc mry": walk,
        "csv txt sqlite parquet": people,
        "npz zarr pc2 mdd obj ply usd": meshes,
        "flo": fields,
    }
    return {ending: thing for words, thing in endings.items() for ending in words.split()}


ENDINGS = "bvh glb gltf usda usdc mry csv txt sqlite parquet npz zarr pc2 mdd obj ply usd flo"


@pytest.mark.parametrize("ending", ENDINGS.split())
def test_a_disk_that_takes_no_more_gives_one_line_and_leaves_nothing(
    things: dict[str, object], tmp_path: Path, ending: str
) -> None:
    name = f"thing_%d.{ending}" if ending in ("obj", "ply", "flo") else f"thing.{ending}"
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (600, before[1]))
        with pytest.raises(InputError) as refusal:
            marey.save(things[ending], tmp_path / name)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)
    assert str(refusal.value).startswith(f"{tmp_path / name}: cannot be written")
    assert DRAFT not in str(refusal.value)
    assert list(tmp_path.iterdir()) == []
