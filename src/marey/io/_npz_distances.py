"""Pose distances as a NumPy archive: `values`, `turns`, `starts`, `names` and `metric`, read by anything.

Names are arrays of text of fixed width, so nothing is ever unpickled. Cost: linear in the matrix.
"""

from __future__ import annotations

import zipfile
from pathlib import Path

import numpy as np

from marey._arrays import handed_over
from marey.errors import FormatError, MareyError
from marey.io._archive import read_array, store_array
from marey.io._files import write_beside
from marey.surface.distances.matrix import DistanceMatrix

NUMBERS = ("values", "turns", "starts")
TEXTS = ("names", "metric")


def is_distances(names: list[str]) -> bool:
    """Whether an archive with arrays of these names is a distance matrix."""
    return set(NUMBERS + TEXTS) <= set(names)


def read_distances(file: zipfile.ZipFile, path: Path) -> DistanceMatrix:
    """The matrix an opened archive holds."""
    numbers = {name: handed_over(read_array(file, name, path)) for name in NUMBERS}
    texts = {name: read_array(file, name, path, kinds="U") for name in TEXTS}
    if texts["names"].ndim != 1 or texts["metric"].size != 1:
        raise FormatError(
            f"'names' must be a row of texts and 'metric' one, got shapes {texts['names'].shape} "
            f"and {texts['metric'].shape}",
            path=path,
        )
    try:
        return DistanceMatrix(
            **numbers, names=tuple(texts["names"].tolist()), metric=str(texts["metric"].reshape(()))
        )
    except MareyError as error:
        raise FormatError(str(error), path=path) from error


def write_distances(distances: DistanceMatrix, path: Path) -> None:
    """All of a matrix into one file."""
    texts = {"names": np.array(distances.names, np.str_), "metric": np.array([distances.metric], np.str_)}
    numbers = {name: getattr(distances, name) for name in NUMBERS}
    with write_beside(path) as draft, zipfile.ZipFile(draft, "w") as file:
        for name, values in {**numbers, **texts}.items():
            store_array(file, f"{name}.npy", values)
