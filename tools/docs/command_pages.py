"""Pages of the command line, made from the commands: usage, examples, arguments, options, JSON keys.

One page a group (`marey body …`) and one for the commands all scales share. What `--help` says is what the
page says.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from functools import cache
from typing import Any

import click

from marey.cli.main import app

COMMON = "common"
TITLES = {COMMON: "All scales", "data": "Data", "body": "Body", "surface": "Surface", "crowd": "Crowd"}


@cache
def pages() -> dict[str, tuple[str, str]]:
    """Title and Markdown of each page, by the name of its group."""
    groups: dict[str, list[tuple[str, Any]]] = {}
    about: dict[str, str] = {}
    for path, command in commands():
        group = path.split()[0] if " " in path else COMMON
        groups.setdefault(group, []).append((path, command))
    root = app
    for group in groups:
        about[group] = "What every scale shares." if group == COMMON else _help(_child(root, group))[0]
    return {
        group: (TITLES.get(group, group.capitalize()), _page(group, about[group], found))
        for group, found in groups.items()
    }


def commands() -> Iterator[tuple[str, Any]]:
    """Every command with the words after `marey` that call it."""
    root: Any = app
    for name in root.list_commands(_context(root)):
        child = _child(root, name)
        if hasattr(child, "list_commands"):
            for verb in child.list_commands(_context(child)):
                yield f"{name} {verb}", _child(child, verb)
        else:
            yield name, child


def _context(group: Any) -> Any:
    return click.Context(group, info_name="marey")


def _child(group: Any, name: str) -> Any:
    return group.get_command(_context(group), name)


def _page(group: str, about: str, found: list[tuple[str, Any]]) -> str:
    title = "marey" if group == COMMON else f"marey {group}"
    rows = [f"| [`marey {path}`](#{_anchor(path)}) | {_cell(_help(command)[0])} |" for path, command in found]
    table = "\n".join(["| command | |", "|---|---|", *rows])
    hint = "Lengths are in metres unless a name says otherwise; `--help` says the same as this page."
    sections = "\n\n".join(_section(path, command) for path, command in found)
    return f"# {title}\n\n{about} {hint}\n\n{table}\n\n{sections}\n"


def _section(path: str, command: Any) -> str:
    about, more, examples = _help(command)
    arguments = [p for p in command.params if p.param_type_name == "argument"]
    options = [p for p in command.params if p.param_type_name == "option" and not getattr(p, "hidden", False)]
    words = " ".join(_argument(p) for p in arguments)
    usage = f"marey {path} {words} [OPTIONS]".replace("  ", " ")
    parts = [f"## marey {path} {{ #{_anchor(path)} }}", about, more, f"```console\n$ {usage}\n```"]
    if examples:
        shown = [re.sub(r"\s{2,}(\S.*)$", r"  # \1", line) for line in examples]
        parts.append("Examples:\n\n```console\n" + "\n".join(f"$ {line}" for line in shown) + "\n```")
    if arguments:
        rows = [f"| {_code(p.metavar or p.name.upper())} | {_cell(p.help)} |" for p in arguments]
        parts.append("\n".join(["| argument | |", "|---|---|", *rows]))
    if options:
        rows = [f"| {_names(p)} | {_cell(p.help)} | {_default(p)} |" for p in options]
        parts.append("\n".join(["| option | | default |", "|---|---|---|", *rows]))
    return "\n\n".join(part for part in parts if part)


def _help(command: Any) -> tuple[str, str, list[str]]:
    """First sentence, the rest, and the examples of a command's help."""
    text = re.sub(r"\[/?(?:bold|dim|italic)\]", "", command.help or "").replace("\b", "").strip()
    paragraphs = [re.sub(r"[ ]*\n[ ]*", "\n", one.strip()) for one in re.split(r"\n\s*\n", text)]
    lines = [one for one in paragraphs if one.startswith(("marey ", "Examples:\n"))]
    examples = [line for one in lines for line in one.splitlines() if line != "Examples:"]
    prose = [
        one
        for one in paragraphs
        if one and one not in lines and one.strip(": ") not in ("Examples", "Example")
    ]
    return (prose[0].replace("\n", " ") if prose else ""), "\n\n".join(prose[1:]), examples


def _argument(parameter: Any) -> str:
    name = parameter.metavar or parameter.name.upper()
    name = f"{name}…" if parameter.nargs == -1 and not name.endswith(("…", "...")) else name
    return name if parameter.required else f"[{name}]"


def _names(option: Any) -> str:
    names = ", ".join(f"`{name}`" for name in [*option.opts, *option.secondary_opts])
    wants = "" if getattr(option, "is_flag", False) else option.metavar or ""
    return (f"{names} {_code(wants)}" if wants else names) + (" *required*" if option.required else "")


def _default(option: Any) -> str:
    value = option.default
    if callable(value) or value in (None, (), [], "", False) or getattr(option, "required", False):
        return ""
    return f"`{value}`"


def _cell(text: str | None) -> str:
    text = re.sub(r"\[/?(?:bold|dim|italic)\]", "", text or "")
    return re.sub(r"\s+", " ", text).strip().replace("|", "\\|").replace("<", "&lt;").replace("$", "\\$")


def _code(text: str) -> str:
    """Code in a cell of a table, where a bar would end the cell."""
    return f"<code>{html.escape(text).replace('|', '&#124;')}</code>" if "|" in text else f"`{text}`"


def _anchor(path: str) -> str:
    return "marey-" + path.replace(" ", "-")
