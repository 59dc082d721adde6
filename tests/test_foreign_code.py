"""No code of the working folder runs, nor what others could have put where compiled code is kept."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numba
import numpy as np
import pytest

import marey
from marey._child import without_working_folder
from marey.surface.sequence import MeshSequence

TRAP = "import pathlib\npathlib.Path(__file__).with_name('ran').touch()\n"
COMMAND = "from marey.cli.main import main; main()"


def run(path: Path, *others: str, command: str = "info", **variables: str) -> str:
    """What `marey info`, or another command, prints when called in the folder of the file."""
    done = subprocess.run(
        [sys.executable, "-P", "-c", COMMAND, command, path.name, *others],
        cwd=path.parent,
        env=os.environ | variables,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("python_path", [None, os.pathsep, "."], ids=["none", "empty", "dot"])
def test_a_module_beside_a_usd_file_is_not_run(tmp_path: Path, python_path: str | None) -> None:
    pytest.importorskip("pxr")
    triangle = MeshSequence(np.eye(3)[None], [[0, 1, 2]], 25)
    marey.save(triangle, tmp_path / "triangle.usda")
    # A variable that names the folder applies to the command itself; what it starts must not heed it.
    for name in ("pxr.py", *(() if python_path else ("marey.py", "json.py", "numpy.py"))):
        (tmp_path / name).write_text(TRAP)
    run(tmp_path / "triangle.usda", **({"PYTHONPATH": python_path} if python_path else {}))
    assert not (tmp_path / "ran").exists()


def test_compiled_code_is_not_read_from_the_working_folder(tmp_path: Path) -> None:
    pytest.importorskip("yaml")
    marey.save(marey.samples.walk(), tmp_path / "walk.bvh")
    (tmp_path / ".numba_config.yaml").write_text("cache_dir: kept\n")
    run(tmp_path / "walk.bvh")
    assert not (tmp_path / "kept").exists()


@pytest.mark.skipif(os.name == "nt", reason="permissions of folders are others on Windows")
@pytest.mark.parametrize(("mode", "kept"), [(0o755, True), (0o777, False)], ids=["own", "open to all"])
def test_compiled_code_is_kept_only_where_nobody_else_can_write(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: int, kept: bool
) -> None:
    from marey._compiling import njit

    def twice(x: float) -> float:
        return 2 * x

    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
    for folder in (tmp_path, Path(njit(cache=True)(twice).stats.cache_path)):
        folder.chmod(mode)
    assert njit(cache=True)(twice)(3.0) == 6.0
    assert any(tmp_path.rglob("*.nbi")) == kept


def test_settings_beside_a_clip_do_not_start_latex(tmp_path: Path) -> None:
    marey.save(marey.samples.walk(), tmp_path / "walk.bvh")
    (tmp_path / "matplotlibrc").write_text("text.usetex: True\n")
    run(tmp_path / "walk.bvh", "-o", "angles.png", "--kind", "curves", command="view", PATH=str(tmp_path))
    assert (tmp_path / "angles.png").exists()


def test_a_working_folder_that_is_gone_is_no_obstacle(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    assert without_working_folder(["", "lib", str(tmp_path)]) == [str(tmp_path)]
