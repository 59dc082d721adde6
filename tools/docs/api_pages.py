"""Pages of the Python interface: one a package, every public module documented once, where it is defined.

Modules are read, not imported. mkdocstrings fills in signatures and docstrings at the `:::` marks.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from functools import cache
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2] / "src"
# Entry points of commands: documented by what they do, not by how they are called.
HIDDEN = ("marey.cli", "marey.demo")
SCALES = (
    "marey",
    "body",
    "surface",
    "crowd",
    "stage",
    "studio",
    "io",
    "views",
    "filming",
    "samples",
    "datasets",
)


@dataclass(frozen=True)
class Package:
    """A package: dotted name, first words of its docstring, public modules, and the names it offers."""

    name: str
    about: str
    modules: tuple[str, ...]
    offered: dict[str, str]

    @property
    def page(self) -> str:
        return self.name.replace(".", "-")


def packages() -> list[Package]:
    """Every public package of marey, the ones people start from first."""
    found = [_package(path) for path in SOURCE.glob("marey/**/__init__.py")]
    shown = [one for one in found if one is not None and not one.name.startswith(HIDDEN)]
    return sorted(shown, key=lambda one: (_rank(one.name), one.name))


def page(package: Package, homes: dict[str, str]) -> str:
    """Markdown of a package's page; `homes` says on which page a module is."""
    parts = [f"# {package.name}", package.about]
    if package.offered:
        rows = [
            f"| {_link(name, home, homes)} | {_first_sentence(home)} |"
            for name, home in sorted(package.offered.items(), key=lambda item: item[0].lower())
        ]
        parts.append("\n".join([f"| `from {package.name} import …` | |", "|---|---|", *rows]))
    parts += [f"::: {module}" for module in package.modules]
    return "\n\n".join(parts) + "\n"


def homes(found: list[Package]) -> dict[str, str]:
    """The page of each documented module."""
    return {module: package.page for package in found for module in package.modules}


def _rank(name: str) -> int:
    words = name.split(".")
    head = words[1] if len(words) > 1 else words[0]
    return SCALES.index(head) if head in SCALES else len(SCALES)


def _package(path: Path) -> Package | None:
    folder = path.parent
    parts = folder.relative_to(SOURCE).parts
    if any(part.startswith("_") for part in parts):
        return None
    name = ".".join(parts)
    tree = _tree(path)
    modules = sorted(one for one in folder.glob("*.py") if not one.stem.startswith("_"))
    documented = tuple(f"{name}.{one.stem}" for one in modules if _has_public(one))
    here = (name,) if _defines(tree) else ()
    docstring = (ast.get_docstring(tree) or "").split("\n\n")[0].replace("\n", " ")
    return Package(name, docstring, here + documented, _offered(tree))


def _offered(tree: ast.Module) -> dict[str, str]:
    """Names of `__all__`, and where each is defined."""
    offered = _exported(tree)
    return {one: home for one, home in _imports(tree).items() if one in offered}


def _exported(tree: ast.Module) -> set[str]:
    for node in tree.body:
        targets = getattr(node, "targets", [])
        if isinstance(node, ast.Assign) and any(getattr(t, "id", "") == "__all__" for t in targets):
            return {
                n.value
                for n in ast.walk(node.value)
                if isinstance(n, ast.Constant) and isinstance(n.value, str)
            }
    return set()


@cache
def _imports(tree: ast.Module) -> dict[str, str]:
    return {
        alias.asname or alias.name: f"{node.module}.{alias.name}"
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("marey")
        for alias in node.names
    }


@cache
def _resolve(dotted: str) -> tuple[str, ast.AST | None]:
    """Where a name is truly defined, through packages that pass it on."""
    module, _, name = dotted.rpartition(".")
    path = SOURCE.joinpath(*dotted.split("."))
    for candidate in (path.with_suffix(".py"), path / "__init__.py"):
        if candidate.is_file():
            return dotted, _tree(candidate)
    for candidate in (
        SOURCE.joinpath(*module.split(".")).with_suffix(".py"),
        SOURCE.joinpath(*module.split("."), "__init__.py"),
    ):
        if candidate.is_file():
            tree = _tree(candidate)
            for node in tree.body:
                if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name == name:
                    return dotted, node
            further = _imports(tree).get(name)
            return _resolve(further) if further and further != dotted else (dotted, None)
    return dotted, None


def _link(name: str, home: str, known: dict[str, str]) -> str:
    where, node = _resolve(home)
    if isinstance(node, ast.Module):
        target = known.get(where) or (
            where.replace(".", "-")
            if (SOURCE.joinpath(*where.split(".")) / "__init__.py").is_file()
            else None
        )
        anchor = f"#{where}" if where in known else ""
    else:
        module = where.rpartition(".")[0]
        target = known.get(module) if node is not None and ast.get_docstring(node) else None  # type: ignore[arg-type]
        anchor = f"#{where}"
    return f"[`{name}`]({target}.md{anchor})" if target else f"`{name}`"


def _first_sentence(home: str) -> str:
    node = _resolve(home)[1]
    text = ast.get_docstring(node) if isinstance(node, ast.Module | ast.FunctionDef | ast.ClassDef) else None
    return (text or "").split("\n\n")[0].replace("\n", " ").replace("|", "\\|").replace("<", "&lt;")


def _defines(tree: ast.Module) -> bool:
    return any(
        isinstance(node, ast.FunctionDef | ast.ClassDef)
        and not node.name.startswith("_")
        and ast.get_docstring(node)
        for node in tree.body
    )


def _has_public(path: Path) -> bool:
    return _defines(_tree(path))


@cache
def _tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))
