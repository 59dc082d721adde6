"""Files from addresses: checked, whole, cached; every failure is one clear line and leaves nothing behind."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from marey.datasets.fetch import fetch
from marey.datasets.registry import Registry, read_registry
from marey.errors import DownloadError, InputError

from .small import WALK, Site, dataset, entry, files_below, registry_file, walk_registry


def get_walk(registry: Registry) -> Path:
    return fetch(registry.records["walk"], registry)


def test_a_file_is_downloaded_into_the_cache(tmp_path: Path, cache: Path, site: Site) -> None:
    path = get_walk(walk_registry(tmp_path))
    assert path == cache / "body" / "walk.bvh"
    assert path.read_bytes() == WALK
    assert files_below(cache) == ["body/walk.bvh"]


def test_progress_counts_the_bytes_of_all_files(tmp_path: Path, cache: Path, site: Site) -> None:
    site.contents["/body/bones.asf"] = b"bones"
    files = [entry("body/walk.bvh", WALK, source="web"), entry("body/bones.asf", b"bones", source="web")]
    registry = read_registry(registry_file(tmp_path, dataset("walk", *files)))
    seen: list[tuple[int, int]] = []
    fetch(registry.records["walk"], registry, progress=lambda done, total: seen.append((done, total)))
    assert {total for _, total in seen} == {len(WALK) + 5}
    assert seen == sorted(seen) and seen[-1][0] == len(WALK) + 5
    assert files_below(cache) == ["body/bones.asf", "body/walk.bvh"]


def test_a_second_get_asks_nobody(tmp_path: Path, cache: Path, site: Site) -> None:
    registry = walk_registry(tmp_path)
    first = get_walk(registry)
    assert get_walk(registry) == first
    assert site.asked == ["/body/walk.bvh"]


def test_a_damaged_cached_file_is_fetched_again(tmp_path: Path, cache: Path, site: Site) -> None:
    registry = walk_registry(tmp_path)
    path = get_walk(registry)
    path.write_bytes(b"X" + WALK[1:])
    assert get_walk(registry).read_bytes() == WALK
    path.write_bytes(WALK[:100])
    assert get_walk(registry).read_bytes() == WALK
    assert len(site.asked) == 3


def test_only_what_is_missing_is_fetched(tmp_path: Path, cache: Path, site: Site) -> None:
    site.contents |= {"/run/a.bvh": b"a", "/run/b.bvh": b"b"}
    files = [entry(f"run/{name}.bvh", name.encode(), source="web") for name in "ab"]
    registry = read_registry(registry_file(tmp_path, dataset("run", *files, main="run")))
    folder = fetch(registry.records["run"], registry)
    assert folder == cache / "run"
    (folder / "b.bvh").unlink()
    fetch(registry.records["run"], registry)
    assert site.asked == ["/run/a.bvh", "/run/b.bvh", "/run/b.bvh"]


@pytest.mark.parametrize("wrong", [b"x" * len(WALK), b"", WALK[:-1]], ids=["altered", "empty", "short"])
def test_a_wrong_checksum_is_an_error_and_leaves_nothing(
    wrong: bytes, tmp_path: Path, cache: Path, site: Site
) -> None:
    site.contents["/body/walk.bvh"] = wrong
    with pytest.raises(DownloadError, match=r"walk\.bvh: .*checksum differs.*MAREY_DATA"):
        get_walk(walk_registry(tmp_path))
    assert files_below(cache) == []
    site.contents["/body/walk.bvh"] = WALK
    assert get_walk(walk_registry(tmp_path)).read_bytes() == WALK


def test_more_than_expected_is_refused_while_it_comes(tmp_path: Path, cache: Path, site: Site) -> None:
    site.contents["/body/walk.bvh"] = WALK * 20
    with pytest.raises(DownloadError, match="sends more than the 400,000 bytes"):
        get_walk(walk_registry(tmp_path))
    assert files_below(cache) == []


def test_a_missing_file_says_what_the_server_answers(tmp_path: Path, cache: Path, site: Site) -> None:
    site.contents.clear()
    with pytest.raises(DownloadError, match=r"body/walk\.bvh: the server answers 404 Not Found; try again"):
        get_walk(walk_registry(tmp_path))
    assert files_below(cache) == []


def test_a_server_that_dies_midway_is_an_error_and_a_retry_starts_afresh(
    tmp_path: Path, cache: Path, site: Site
) -> None:
    registry = walk_registry(tmp_path)
    site.breaks_off_after = 150_000
    with pytest.raises(DownloadError, match="the connection broke off"):
        get_walk(registry)
    assert files_below(cache) == []
    site.breaks_off_after = None
    assert get_walk(registry).read_bytes() == WALK


def test_no_network_is_one_line_that_names_the_way_out(
    tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MAREY_DATA_URL", f"http://127.0.0.1:{closed_port()}")
    with pytest.raises(
        DownloadError, match="cannot be reached; try again later, or set MAREY_DATA"
    ) as caught:
        get_walk(walk_registry(tmp_path))
    assert "\n" not in str(caught.value)
    assert files_below(cache) == []


def test_the_command_line_reports_no_network_in_one_line(cache: Path) -> None:
    environment = os.environ | {"MAREY_DATA_URL": f"http://127.0.0.1:{closed_port()}"}
    code = "import sys; sys.argv[1:] = ['data', 'get', 'cmu-02_01']; from marey.cli.main import main; main()"
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)
    assert done.returncode == 2, done.stderr
    assert done.stdout == ""
    assert len(done.stderr.splitlines()) == 1 and "cannot be reached" in done.stderr


def test_an_interrupted_download_leaves_nothing_and_restarts(tmp_path: Path, cache: Path, site: Site) -> None:
    registry = walk_registry(tmp_path)

    def interrupt(done: int, total: int) -> None:
        if done > 100_000:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fetch(registry.records["walk"], registry, progress=interrupt)
    assert files_below(cache) == []
    assert get_walk(registry).read_bytes() == WALK


def test_a_killed_download_never_shows_a_partial_file(tmp_path: Path, cache: Path, site: Site) -> None:
    walk_registry(tmp_path)
    site.stalls_after = 200_000
    code = (
        "import pathlib, sys\n"
        "from marey.datasets.registry import read_registry\n"
        "from marey.datasets.fetch import fetch\n"
        "registry = read_registry(pathlib.Path(sys.argv[1]))\n"
        "fetch(registry.records['walk'], registry)\n"
    )
    process = subprocess.Popen([sys.executable, "-c", code, str(tmp_path / "registry.json")])
    while not any((cache / name).stat().st_size for name in files_below(cache)):
        assert process.poll() is None
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert not (cache / "body" / "walk.bvh").exists()
    site.stalls_after = None
    assert get_walk(walk_registry(tmp_path)).read_bytes() == WALK


def test_data_without_an_address_says_so(tmp_path: Path, cache: Path) -> None:
    registry = read_registry(registry_file(tmp_path, dataset("walk", entry("body/walk.bvh", WALK))))
    with pytest.raises(DownloadError, match=r"walk cannot be downloaded \(licence: CC0\); set MAREY_DATA"):
        get_walk(registry)


def test_a_mirror_serves_data_without_an_address(tmp_path: Path, cache: Path, site: Site) -> None:
    registry = read_registry(registry_file(tmp_path, dataset("walk", entry("body/walk.bvh", WALK))))
    assert get_walk(registry).read_bytes() == WALK


def test_a_mirror_must_be_a_web_address(tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MAREY_DATA_URL", "file:///etc")
    with pytest.raises(InputError, match="begins with https://"):
        get_walk(walk_registry(tmp_path))


def test_a_cache_that_cannot_be_written_names_the_variable(
    tmp_path: Path, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("MAREY_CACHE", str(tmp_path / "file"))
    with pytest.raises(InputError, match="set MAREY_CACHE"):
        get_walk(walk_registry(tmp_path))


def closed_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])
