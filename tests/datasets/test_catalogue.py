"""What users call: names, places, MAREY_DATA."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from marey import datasets
from marey.datasets.fetch import fetch, verify
from marey.datasets.registry import KINDS, PackageSource, packaged, read_registry
from marey.errors import FormatError, InputError
from marey.io import load

from .small import WALK, Site, dataset, entry, registry_file, serving, walk_registry


def test_the_list_holds_the_promised_names(cache: Path) -> None:
    listed = {d.name: d for d in datasets.list_datasets()}
    promised = (
        "cmu-02_01 cmu-49_06 cmu-11_01-amc eth ucy-zara01 juelich-bottleneck juelich-uo-050 vlasic-samba"
    )
    promised += " sumner-horse mpfb2-human cesium-man fox rigged-figure pets2009 rubber-whale deepmimic-walk"
    assert set(promised.split()) <= set(listed)
    for found in listed.values():
        assert found.kind in KINDS and found.size > 0 and found.path is None
    assert not listed["vlasic-samba"].downloadable and listed["cmu-02_01"].downloadable


def test_a_data_set_does_not_change(cache: Path) -> None:
    with pytest.raises(AttributeError, match="immutable"):
        datasets.find("fox").name = "wolf"


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("cmu-02_0", "did you mean cmu-02_0"),
        ("CMU-49-06", "cmu-49_06"),
        ("samba", "did you mean vlasic-samba"),
        ("xyzzy", "`marey data list`"),
        ("", "`marey data list`"),
        ("../../etc/passwd", "`marey data list`"),
    ],
)
def test_an_unknown_name_is_answered_with_similar_ones(name: str, hint: str, cache: Path) -> None:
    for ask in (datasets.find, datasets.get):
        with pytest.raises(InputError, match=hint):
            ask(name)


def test_importing_does_not_import_pooch() -> None:
    code = "import sys, marey.datasets; print('pooch' in sys.modules, 'requests' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "False"]


@pytest.fixture
def here(tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the walk in it, named by MAREY_DATA."""
    folder = tmp_path / "data"
    (folder / "body").mkdir(parents=True)
    (folder / "body" / "walk.bvh").write_bytes(WALK)
    monkeypatch.setenv("MAREY_DATA", str(folder))
    return folder


def test_the_given_folder_wins_and_nobody_is_asked(tmp_path: Path, here: Path, site: Site) -> None:
    registry = walk_registry(tmp_path)
    assert fetch(registry.records["walk"], registry) == here / "body" / "walk.bvh"
    assert site.asked == []


@pytest.mark.parametrize(
    ("content", "complaint"),
    [(b"X" + WALK[1:], "checksum differs"), (WALK[:-1], "has 399,999 bytes, not 400,000")],
)
def test_a_damaged_file_in_the_given_folder_is_an_error(
    content: bytes, complaint: str, tmp_path: Path, here: Path, site: Site
) -> None:
    registry = walk_registry(tmp_path)
    fetch(registry.records["walk"], registry)
    (here / "body" / "walk.bvh").write_bytes(content)
    with pytest.raises(FormatError, match=rf"walk\.bvh: .*{complaint}; restore it, or unset MAREY_DATA"):
        fetch(registry.records["walk"], registry)
    assert site.asked == []


def test_a_data_set_that_is_there_in_part_is_an_error(tmp_path: Path, here: Path, cache: Path) -> None:
    files = [entry("body/walk.bvh", WALK, source="web"), entry("body/bones.asf", b"bones", source="web")]
    registry = read_registry(registry_file(tmp_path, dataset("walk", *files)))
    with pytest.raises(FormatError, match=r"bones\.asf: is missing"):
        fetch(registry.records["walk"], registry)


def test_what_the_given_folder_lacks_is_not_downloaded(tmp_path: Path, here: Path, site: Site) -> None:
    registry = read_registry(
        registry_file(tmp_path, dataset("run", entry("body/run.bvh", WALK, source="web")))
    )
    with pytest.raises(InputError, match="run is not under MAREY_DATA=.*unset MAREY_DATA to download it"):
        fetch(registry.records["run"], registry)
    assert site.asked == []


def test_what_the_given_folder_lacks_may_be_in_the_cache(tmp_path: Path, here: Path, cache: Path) -> None:
    registry = read_registry(registry_file(tmp_path, dataset("run", entry("run.bvh", WALK, source="web"))))
    cache.mkdir()
    (cache / "run.bvh").write_bytes(WALK)
    assert fetch(registry.records["run"], registry) == cache / "run.bvh"


def test_a_given_folder_that_is_not_there_is_an_error(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MAREY_DATA", "/no/such/folder")
    for ask in (datasets.list_datasets, lambda: datasets.get("fox")):
        with pytest.raises(InputError, match="MAREY_DATA=/no/such/folder: there is no such folder"):
            ask()


def test_every_registered_file_of_the_real_data_is_there_unharmed(data_dir: Path) -> None:
    for record in packaged().records.values():
        from_packages = all(isinstance(file.source, PackageSource) for file in record.files)
        for file in record.files:
            if not from_packages or (data_dir / file.path).exists():
                assert verify(data_dir, file) is None, file.path


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("cmu-49_06", "Motion"),
        ("cmu-11_01-amc", "Motion"),
        ("bandai-walk", "Motion"),
        ("vlasic-samba", "MeshSequence"),
        ("mpfb2-human", "MeshSequence"),
        ("fox", "Character"),
        ("eth", "Tracks"),
        ("ucy-zara01", "Tracks"),
        ("juelich-bottleneck", "Tracks"),
        ("rubber-whale", "FieldSeries"),
        ("ali-shah-pilgrims", "Footage"),
        ("pets2009", "Footage"),
    ],
)
@pytest.mark.filterwarnings("ignore::marey.errors.MareyWarning")
def test_real_data_loads_as_what_it_is_said_to_be(
    name: str, kind: str, data_dir: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MAREY_DATA", str(data_dir))
    path = datasets.get(name)
    assert path == datasets.find(name).path
    assert type(load(path)).__name__ == kind


@pytest.mark.parametrize("name", ["cmu-11_01-amc", "eth", "ali-shah-pilgrims"])
def test_a_mirror_of_the_real_data_fills_the_cache(
    name: str, data_dir: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = packaged().records[name].files
    with serving({f"/{file.path}": (data_dir / file.path).read_bytes() for file in files}) as site:
        monkeypatch.setenv("MAREY_DATA_URL", site.address)
        path = datasets.get(name)
    assert path == datasets.get(name) == datasets.find(name).path
    assert path.is_relative_to(cache)
    assert len(site.asked) == len(files)
