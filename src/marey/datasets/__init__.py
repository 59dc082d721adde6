"""Real data by name: what there is, under which licence, and a file on this disk, fetched if need be.

`registry.json` lists every data set with its files, their sizes and checksums, and where they come from.
Looking one up costs reading that list; getting one costs hashing its files (about 1 s a gigabyte) and, the
first time, a download.

Three environment variables say where things are:

* `MAREY_DATA`: a local folder laid out as the registry's paths. It wins, and nothing is downloaded.
* `MAREY_CACHE`: where downloads are kept, in the same layout; otherwise the user's cache folder.
* `MAREY_DATA_URL`: the address of a mirror of the same layout, used in place of the files' own addresses.
"""

from __future__ import annotations

from difflib import get_close_matches
from pathlib import Path

from marey._work import Progress
from marey.datasets.fetch import fetch
from marey.datasets.registry import Dataset, data_folder, packaged
from marey.errors import InputError

__all__ = ["Dataset", "find", "get", "list_datasets"]


def list_datasets() -> tuple[Dataset, ...]:
    """All data sets, in the order of the registry. Whether they are here is judged by file sizes only.

    >>> [d.name for d in list_datasets() if d.kind == "character"]
    ['cesium-man', 'fox', 'rigged-figure']
    """
    data_folder()  # an error if MAREY_DATA names none
    return tuple(packaged().records.values())


def find(name: str) -> Dataset:
    """One data set by its name.

    >>> find("cmu-49_06").license
    'free for research and commercial use (CMU)'
    """
    known = packaged().records
    if name in known:
        return known[name]
    wanted, names = name.lower(), list(known)
    similar = get_close_matches(wanted, names, n=3) or [n for n in names if wanted and wanted in n][:3]
    hint = f"did you mean {', '.join(similar)}?" if similar else "`marey data list` shows what there is"
    raise InputError(f"there is no data set {name!r}; {hint}")


def get(name: str, *, progress: Progress | None = None) -> Path:
    """The data set's main file (or its folder), every file of it checked against the registry.

    A data set of several files, such as a skeleton and its motion, has the others beside the main one.
    `progress` counts bytes. Raises FormatError for a damaged file under `MAREY_DATA`, DownloadError when the
    data cannot be had.
    """
    return fetch(find(name), packaged(), progress=progress)
