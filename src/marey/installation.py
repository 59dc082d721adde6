"""What is installed, what is missing, and where marey keeps its files."""

from __future__ import annotations

import os
import platform
import re
import sys
from importlib import metadata
from pathlib import Path


def doctor() -> dict[str, object]:
    """What this installation has.

    Returns:
        Versions of marey, Python and the required packages; `extras`, each with its versions or what installs
        it; cores; folders of data and compiled code with their sizes in MB, and whether they can be written.

    >>> doctor()["packages"]["numpy"].split(".")[0]
    '2'
    """
    from marey.datasets.registry import cache_folder, data_folder

    packages, extras = _requirements()
    data = data_folder()
    return {
        "marey": metadata.version("marey"),
        "python": f"{platform.python_version()}, {sys.executable}",
        "system": f"{platform.system()} {platform.machine()}",
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1,
        "packages": {name: _version(name) or "missing: pip install marey" for name in packages},
        "extras": {extra: _extra(extra, names) for extra, names in extras.items()},
        "data": str(data) if data else "MAREY_DATA is not set: marey data get downloads",
        "downloads": _folder(cache_folder()),
        "compiled_code": _compiled(),
    }


def _requirements() -> tuple[list[str], dict[str, list[str]]]:
    """Packages that marey needs, and those of each extra that users install."""
    required: list[str] = []
    extras: dict[str, list[str]] = {}
    for line in metadata.requires("marey") or []:
        name = re.split(r"[^\w.-]", line, maxsplit=1)[0]
        extra = re.search(r"extra == ['\"]([\w-]+)['\"]", line)
        if extra is None:
            required.append(name)
        elif extra[1] not in ("all", "docs", "test", "lint", "peers"):
            extras.setdefault(extra[1], []).append(name)
    return required, extras


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def _extra(extra: str, names: list[str]) -> str:
    versions = {name: _version(name) for name in names}
    if None in versions.values():
        return f"missing: pip install 'marey[{extra}]'"
    return ", ".join(f"{name} {version}" for name, version in versions.items())


def _compiled() -> str:
    """Where kernels are kept: as the environment says, else beside the sources or in the user's cache."""
    named = os.environ.get("NUMBA_CACHE_DIR")
    if named:
        return _folder(Path(named))
    home = Path(__file__).parent
    if os.access(home, os.W_OK):
        kept = [file for file in home.rglob("*.nb[ic]") if file.parent.name == "__pycache__"]
        return f"{home}, {sum(file.stat().st_size for file in kept) / 1e6:.0f} MB"
    from numba.misc.appdirs import AppDirs

    return _folder(Path(AppDirs("numba", appauthor=False).user_cache_dir))


def _folder(folder: Path) -> str:
    """A folder with its size, and whether it can be written."""
    nearest = next(parent for parent in (folder, *folder.parents) if parent.exists())
    if not os.access(nearest, os.W_OK):
        return f"{folder}, cannot be written"
    size = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file()) if folder.exists() else 0
    return f"{folder}, {size / 1e6:.0f} MB"
