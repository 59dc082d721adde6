"""The house's rules: who may import whom, and what `import marey` may cost."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[1] / "src" / "marey"

BASE = {
    "_arrays",
    "_child",
    "_compiling",
    "_random",
    "_report",
    "_work",
    "errors",
}
MATHEMATICS = {"geometry", "statistics"}
SCALES = {"body", "surface", "crowd"}
# Each part and what it may call, besides itself and the base.
LAYERS = [
    (BASE, BASE),
    (MATHEMATICS, MATHEMATICS),
    (SCALES, MATHEMATICS),
    ({"character"}, MATHEMATICS | SCALES),
    ({"io"}, MATHEMATICS | SCALES | {"character"}),
]
MIDDLE = {"samples", "datasets", "corpus", "stage"}
TOP = {"describe", "views", "filming", "scale", "demo", "studio", "cli"}
BELOW_MIDDLE = MATHEMATICS | SCALES | {"character", "io"}
LAYERS += [(MIDDLE, BELOW_MIDDLE | MIDDLE), (TOP, BELOW_MIDDLE | MIDDLE | TOP)]
ARROWS: dict[str, set[str]] = {part: may_call for parts, may_call in LAYERS for part in parts}

MODULES = sorted(path for path in SOURCE.rglob("*.py") if path != SOURCE / "__init__.py")


def part_of(path: Path) -> str:
    return path.relative_to(SOURCE).with_suffix("").parts[0]


def parts_imported(path: Path) -> set[str]:
    return {names[0] for names in modules_imported(path)}


def modules_imported(path: Path) -> set[tuple[str, ...]]:
    """Names of what a module imports from marey, without "marey" itself."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: imports are absolute here"
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            continue
        found |= {tuple(name.split(".")[1:]) for name in names if name.startswith("marey.")}
    return found


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_imports_follow_the_arrows(path: Path) -> None:
    part = part_of(path)
    assert part in ARROWS, f"{part} has no place in the architecture yet: give it one above"
    top_level_names = {"__version__", "load", "save"}
    strangers = parts_imported(path) - ARROWS[part] - BASE - {part} - top_level_names
    assert not strangers, f"{part} may not import {sorted(strangers)}"


@pytest.mark.parametrize("top", ["body", "stage"])
def test_folders_do_not_import_each_other_in_circles(top: str) -> None:
    """Modules that lie in `body` itself are shared by its folders, and use them: they are left out."""
    folders = {path.parent for path in (SOURCE / top).rglob("*.py")} - {SOURCE / "body"}
    arrows: dict[Path, set[Path]] = {folder: set() for folder in folders}
    for folder in folders:
        for path in (path for path in folder.glob("*.py") if path.name != "__init__.py"):
            for names in modules_imported(path):
                inside = [SOURCE.joinpath(*names[:depth]) for depth in range(len(names), 0, -1)]
                arrows[folder] |= {next((one for one in inside if one in folders), folder)} - {folder}
    while free := [folder for folder, others in arrows.items() if not others & arrows.keys()]:
        for folder in free:
            del arrows[folder]
    assert not arrows, {str(folder): sorted(map(str, others)) for folder, others in arrows.items()}


def test_importing_marey_imports_nothing_heavy() -> None:
    heavy = [
        "numba",
        "scipy",
        "cv2",
        "matplotlib",
        "pyvista",
        "av",
        "zarr",
        "pyarrow",
        "click",
        "rich",
        "pooch",
    ]
    code = (
        "import sys, marey, marey.io, marey.body.motion, marey.geometry.rotations;"
        f"print([m for m in {heavy!r} if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_every_promised_name_is_there() -> None:
    import marey

    for name in marey.__all__:
        assert getattr(marey, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'motoin'"):
        _ = marey.motoin
