"""The house's rules: who may import whom, and what `import marey` may cost."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

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
MIDDLE = {"samples", "datasets", "corpus", "stage", "conversion", "describe", "installation"}
SHOWN = {"views", "filming", "scale"}
TOP = {"demo", "studio", "cli"}
BELOW_MIDDLE = MATHEMATICS | SCALES | {"character", "io"}
LAYERS += [
    (MIDDLE, BELOW_MIDDLE | MIDDLE),
    (SHOWN, BELOW_MIDDLE | MIDDLE | SHOWN),
    (TOP, BELOW_MIDDLE | MIDDLE | SHOWN | TOP),
]
# What shows itself in notebooks calls what draws it, then and only then.
LAYERS += [({"_report"}, BASE | {"views"})]
ARROWS: dict[str, set[str]] = {part: may_call for parts, may_call in LAYERS for part in parts}

MODULES = sorted(path for path in SOURCE.rglob("*.py") if path != SOURCE / "__init__.py")


def part_of(path: Path) -> str:
    return path.relative_to(SOURCE).with_suffix("").parts[0]


def parts_imported(path: Path) -> set[str]:
    return {names[0] for names in modules_imported(path)}


def modules_imported(path: Path, *, at_once: bool = False) -> set[tuple[str, ...]]:
    """Names of what a module imports from marey, without "marey" itself; `at_once`: not within functions."""
    found = set()
    tree = ast.parse(path.read_text())
    for node in statements(tree) if at_once else ast.walk(tree):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: imports are absolute here"
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            continue
        found |= {tuple(name.split(".")[1:]) for name in names if name.startswith("marey.")}
    return found


def statements(node: ast.AST) -> Iterator[ast.AST]:
    """What runs when a module is imported."""
    for inner in ast.iter_child_nodes(node):
        typing_only = isinstance(inner, ast.If) and getattr(inner.test, "id", "") == "TYPE_CHECKING"
        if not typing_only and not isinstance(inner, ast.FunctionDef | ast.AsyncFunctionDef):
            yield inner
            yield from statements(inner)


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_imports_follow_the_arrows(path: Path) -> None:
    part = part_of(path)
    assert part in ARROWS, f"{part} has no place in the architecture yet: give it one above"
    top_level_names = {"__version__", "info", "load", "save"}
    strangers = parts_imported(path) - ARROWS[part] - BASE - {part} - top_level_names
    assert not strangers, f"{part} may not import {sorted(strangers)}"


PACKAGES = sorted(path.parent.name for path in SOURCE.glob("*/__init__.py"))


def test_modules_do_not_import_each_other_in_circles() -> None:
    """Neither do they where a package's `__init__` passes names on: what it imports is what they import."""
    arrows = {path: homes(path) - {path} for path in MODULES if path.name != "__init__.py"}
    assert not circle(arrows)


@pytest.mark.parametrize("package", PACKAGES)
def test_inside_a_package_arrows_go_from_uses_to_parts(package: str) -> None:
    """Folders, and modules beside them, of every package: scales, io and all others."""

    def unit(path: Path) -> str:
        return path.relative_to(SOURCE / package).with_suffix("").parts[0]

    arrows: dict[str, set[str]] = {}
    for path in MODULES:
        if part_of(path) == package and path != SOURCE / package / "__init__.py":
            inside = {home for home in homes(path) if part_of(home) == package}
            arrows.setdefault(unit(path), set()).update({unit(home) for home in inside} - {unit(path)})
    assert not circle(arrows)


def homes(path: Path) -> set[Path]:
    """The modules that one imports while it is imported; names that a package passes on, where they are."""
    found = set()
    for names in modules_imported(path, at_once=True):
        home = module_of(names)
        if home.name == "__init__.py" and home.parent != SOURCE:
            passed_on = {one[-1]: module_of(one) for one in modules_imported(home, at_once=True)}
            home = passed_on.get(names[-1], home)
        if home.name != "__init__.py":
            found.add(home)
    return found


def module_of(names: tuple[str, ...]) -> Path:
    """The file of a module, or of the one that a name is in."""
    for depth in range(len(names), 0, -1):
        place = SOURCE.joinpath(*names[:depth])
        for path in (place.with_suffix(".py"), place / "__init__.py"):
            if path.is_file():
                return path
    return SOURCE / "__init__.py"


def circle(arrows: dict[Any, set[Any]]) -> dict[Any, set[Any]]:
    """What is left when everything that calls nothing of the rest is taken away, again and again."""
    left = dict(arrows)
    while free := [one for one, others in left.items() if not others & left.keys()]:
        for one in free:
            del left[one]
    return left


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
