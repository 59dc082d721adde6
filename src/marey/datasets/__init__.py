"""Real data by name: what there is, under which licence, and a file on this disk, fetched if need be.

`registry.json` lists every data set with its files, their sizes and checksums, and where they come from.
Looking one up costs reading that list; getting one costs hashing its files (about 1 s a gigabyte) and, the
first time, a download.

Three environment variables say where things are:

* `MAREY_DATA`: a local folder laid out as the registry's paths. It wins, and nothing is downloaded.
* `MAREY_CACHE`: where downloads are kept, laid out the same way; otherwise the user's cache folder.
* `MAREY_DATA_URL`: the address of a mirror laid out the same way, used in place of the files' own addresses.
"""

from __future__ import annotations

from marey.datasets.catalogue import Dataset, find, get, list_datasets

__all__ = ["Dataset", "find", "get", "list_datasets"]
