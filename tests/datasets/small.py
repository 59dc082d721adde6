"""Small registries, archives and a web server of our own, so that nothing here needs the network."""

from __future__ import annotations

import hashlib
import json
import tarfile
import threading
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from io import BytesIO
from pathlib import Path
from typing import Any

from marey.datasets.registry import Registry, read_registry
from tests.browser import LONG

WALK = b"HIERARCHY of a walk\n" * 20_000


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def entry(path: str, content: bytes, **more: str) -> dict[str, Any]:
    """A file of the registry."""
    return {"path": path, "size": len(content), "sha256": sha256(content)} | more


def dataset(name: str, *files: dict[str, Any], main: str | None = None) -> dict[str, Any]:
    return {
        "name": name,
        "kind": "motion",
        "terms": "ours",
        "description": "a test",
        "main": main or files[0]["path"],
        "files": list(files),
    }


def registry_file(folder: Path, *datasets: dict[str, Any], sources: dict[str, Any] | None = None) -> Path:
    path = folder / "registry.json"
    content = {
        "sources": {"web": {"kind": "url", "base": "https://example.org/"}} | (sources or {}),
        "terms": {"ours": {"license": "CC0", "citation": "us"}},
        "datasets": list(datasets),
    }
    path.write_text(json.dumps(content))
    return path


def walk_registry(folder: Path) -> Registry:
    """One data set, `walk`, of one file that a web server holds."""
    return read_registry(
        registry_file(folder, dataset("walk", entry("body/walk.bvh", WALK, source="web", at="walk.bvh")))
    )


def files_below(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


@dataclass
class Site:
    """What a server answers: contents by path, and how it misbehaves."""

    contents: dict[str, bytes] = field(default_factory=dict)
    breaks_off_after: int | None = None
    stalls_after: int | None = None
    asked: list[str] = field(default_factory=list)
    address: str = ""
    over: threading.Event = field(default_factory=threading.Event)


@contextmanager
def serving(contents: dict[str, bytes]) -> Iterator[Site]:
    """A web server on this machine that has `contents`, and forgets none of what it is asked."""
    site = Site(contents)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            site.asked.append(self.path)
            if self.path not in site.contents:
                self.send_error(404)
                return
            content = site.contents[self.path]
            self.send_response(200)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            stop = site.breaks_off_after if site.stalls_after is None else site.stalls_after
            try:
                self.wfile.write(content[:stop])
                self.wfile.flush()
            except OSError:  # the client went away, as some tests want
                return
            if site.stalls_after is not None:
                site.over.wait(LONG)

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    site.address = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield site
    finally:
        site.over.set()
        server.shutdown()
        server.server_close()
        thread.join()


def write_zip(path: Path, contents: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in contents.items():
            archive.writestr(name, content)
    return path


def write_tar(path: Path, contents: dict[str, bytes], links: dict[str, str] | None = None) -> Path:
    with tarfile.open(path, "w:gz") as archive:
        for name, content in contents.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, BytesIO(content))
        for name, target in (links or {}).items():
            info = tarfile.TarInfo(name)
            info.type, info.linkname = tarfile.SYMTYPE, target
            archive.addfile(info)
    return path
