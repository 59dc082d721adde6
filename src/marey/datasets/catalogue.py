"""What users call: the list of data sets, one of them by name, and its place on this disk."""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path

from marey._progress import Progress
from marey.datasets.fetching import fetch
from marey.datasets.places import cache_folder, data_folder, place_of
from marey.datasets.registry import Record, Registry, packaged
from marey.errors import InputError


@dataclass(frozen=True)
class Dataset:
    """A data set as the registry describes it, and where it is now.

    `kind` is one of motion, markers, mesh, character, tracks, field, video. `size` is in bytes. `path` is the
    main file, or the folder for data sets that are one; None if it is not on this disk. `downloadable` is
    False where we know of no place that may pass it on: those need `MAREY_DATA`.
    """

    name: str
    description: str
    kind: str
    license: str
    citation: str
    size: int
    path: Path | None
    downloadable: bool


def list_datasets() -> tuple[Dataset, ...]:
    """All data sets, in the order of the registry. Whether they are here is judged by file sizes only.

    >>> [d.name for d in list_datasets() if d.kind == "character"]
    ['cesium-man', 'fox', 'rigged-figure']
    """
    return tuple(_dataset(record) for record in packaged().records.values())


def find(name: str) -> Dataset:
    """One data set by its name.

    >>> find("cmu-49_06").license
    'free for research and commercial use (CMU)'
    """
    return _dataset(_record(packaged(), name))


def get(name: str, *, progress: Progress | None = None) -> Path:
    """The data set's main file (or its folder), every file of it checked against the registry.

    A data set of several files, such as a skeleton and its motion, has the others beside the main one.
    `progress` is told bytes. Raises FormatError for a damaged file under `MAREY_DATA`, DownloadError when the
    data cannot be had.
    """
    registry = packaged()
    return fetch(_record(registry, name), registry, progress=progress)


def _dataset(record: Record) -> Dataset:
    folders = [folder for folder in (data_folder(), cache_folder()) if folder is not None]
    return Dataset(
        name=record.name,
        description=record.description,
        kind=record.kind,
        license=record.license,
        citation=record.citation,
        size=record.size,
        path=place_of(record, folders),
        downloadable=all(file.source is not None for file in record.files),
    )


def _record(registry: Registry, name: str) -> Record:
    if name in registry.records:
        return registry.records[name]
    wanted, names = name.lower(), list(registry.records)
    similar = get_close_matches(wanted, names, n=3) or [n for n in names if wanted and wanted in n][:3]
    hint = f"did you mean {', '.join(similar)}?" if similar else "`marey data list` shows what there is"
    raise InputError(f"there is no data set {name!r}; {hint}")
