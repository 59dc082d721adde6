"""Claims about kept compiled code: it is used again, but not when something that it contains has changed."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

INNER = """
from marey._compiling import njit
FACTOR = {factor}
@njit(cache=True)
def inner(x):
    return {text}
"""
MIDDLE = """
from marey._compiling import njit
from small._inner_kernels import FACTOR, inner
from small import sizes
from small.other import MORE, Array
@njit(cache=True)
def middle(x):
    return FACTOR * inner(x) + sizes.EXTRA + MORE
"""
OUTER = """
from marey._compiling import njit
from small._middle_kernels import middle
@njit("float64(float64)", cache=True)
def outer(x):
    return middle(x)
@njit(cache=True)
def lazy(x):
    return middle(x)
"""
RUN = """
from small._outer_kernels import lazy, outer
print(outer(3.0), lazy(3.0), sum(outer.stats.cache_hits.values()) + sum(lazy.stats.cache_hits.values()))
"""


@pytest.fixture
def package(tmp_path: Path) -> Path:
    folder = tmp_path / "small"
    folder.mkdir()
    write(folder, "__init__", "")
    write(folder, "sizes", "EXTRA = 0.0\n")
    write(folder, "other", "MORE = 0.0\nArray = list[float]\n")
    write(folder, "_inner_kernels", INNER.format(factor=1.0, text="x"))
    write(folder, "_middle_kernels", MIDDLE)
    write(folder, "_outer_kernels", OUTER)
    return folder


def write(folder: Path, name: str, text: str) -> None:
    path = folder / f"{name}.py"
    path.write_text(text)
    os.utime(path, (1e9, 1e9))  # a change shows by its text, not by its time


def results(package: Path) -> list[float]:
    """What both kernels give in a process of their own, and how many of them were kept."""
    environment = {**os.environ, "PYTHONPATH": str(package.parent), "PYTHONDONTWRITEBYTECODE": "1"}
    environment["NUMBA_CACHE_DIR"] = str(package.parent / "kept")
    command = [sys.executable, "-c", RUN]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return [float(number) for number in done.stdout.split()]


def test_kept_code_is_used_again(package: Path) -> None:
    assert results(package) == [3.0, 3.0, 0]
    assert results(package) == [3.0, 3.0, 2]


def test_an_index_of_types_that_have_moved_is_made_anew(package: Path) -> None:
    results(package)
    kept = list((package.parent / "kept").rglob("*.nbi"))
    for index in kept:
        with index.open("rb") as file:
            version = pickle.dumps(pickle.load(file))
        index.write_bytes(version + b"cnowhere\nThing\n.")
    assert kept and results(package) == [3.0, 3.0, 0]
    assert results(package) == [3.0, 3.0, 2]


def test_a_changed_helper_of_a_helper_compiles_its_callers_anew(package: Path) -> None:
    results(package)
    write(package, "_inner_kernels", INNER.format(factor=1.0, text="x + 1"))
    assert results(package) == [4.0, 4.0, 0]
    assert results(package) == [4.0, 4.0, 2]


def test_a_changed_constant_of_another_module_compiles_its_users_anew(package: Path) -> None:
    results(package)
    write(package, "_inner_kernels", INNER.format(factor=2.0, text="x"))
    assert results(package) == [6.0, 6.0, 0]
    write(package, "sizes", "EXTRA = 5.0\n")
    assert results(package) == [11.0, 11.0, 0]
    write(package, "other", "MORE = 0.5\nArray = list[float]\n")
    assert results(package) == [11.5, 11.5, 0]


def test_a_change_elsewhere_leaves_kept_code_alone(package: Path) -> None:
    results(package)
    write(package, "_other_kernels", INNER.format(factor=2.0, text="x"))
    write(package, "other", "# A type that kernels are annotated with.\nMORE = 0.0\nArray = list[int]\n")
    assert results(package) == [3.0, 3.0, 2]


def test_a_parallel_kernel_and_its_twin_of_one_thread_are_kept_apart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from marey._compiling import njit

    def total(x: np.ndarray) -> float:
        return float((2.0 * x).sum())

    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    for options in ({}, {"parallel": True}):
        assert njit(cache=True, **options)(total)(np.ones(5)) == 10.0
    assert len(list(tmp_path.rglob("*.nbi"))) == 2
