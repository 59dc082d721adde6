"""Docstrings of the house for mkdocstrings: plain prose, lines `name: meaning`, examples after `>>>`.

A griffe extension that turns them into Markdown: arguments become a list, examples become blocks of code,
roles such as :mod:`marey.io` become plain names.
"""

from __future__ import annotations

import ast
import re
from inspect import cleandoc
from typing import Any

import griffe

ARGUMENT = re.compile(r"^(\*{0,2}[A-Za-z_]\w*(?:, \*{0,2}[A-Za-z_]\w*)*): (.*)$")
ROLE = re.compile(r":\w+:`~?([^`]+)`")


class HouseDocstrings(griffe.Extension):
    """Rewrites every docstring as it is loaded."""

    def on_object(self, *, obj: Any, **_: Any) -> None:
        if obj.is_alias:
            return
        if obj.is_attribute and str(obj.value).startswith("derived("):
            call = ast.parse(str(obj.value), mode="eval").body
            assert isinstance(call, ast.Call)
            kind, _path, doc = call.args
            obj.docstring = griffe.Docstring(ast.literal_eval(doc), parent=obj)
            obj.annotation = {"len": "int", "width": "int"}.get(ast.unparse(kind), ast.unparse(kind))
        if obj.docstring is not None:
            obj.docstring.value = as_markdown(obj.docstring.value)


def as_markdown(docstring: str) -> str:
    """A docstring as Markdown.

    >>> as_markdown("Turn.\\n\\nx, y: numbers, see :mod:`marey.io`")
    'Turn.\\n\\n- `x`, `y`: numbers, see `marey.io`'
    """
    paragraphs = re.split(r"\n\s*\n", ROLE.sub(r"`\1`", cleandoc(docstring)))
    return "\n\n".join(_paragraph(lines.strip("\n").split("\n")) for lines in paragraphs)


def _paragraph(lines: list[str]) -> str:
    example = next((n for n, line in enumerate(lines) if line.lstrip().startswith(">>>")), None)
    if example is not None:
        before = _paragraph(lines[:example]) + "\n\n" if example else ""
        code = cleandoc("\n".join(["", *lines[example:]]))
        return f"{before}```pycon\n{code}\n```"
    if any(line.startswith("    ") for line in lines[:1]):
        return "\n".join(lines)
    first = next((n for n, line in enumerate(lines) if ARGUMENT.match(line)), None)
    if first is None or not all(ARGUMENT.match(line) or line.startswith(" ") for line in lines[first:]):
        return "\n".join(_plain(line) for line in lines)
    told = []
    for line in lines[first:]:
        found = ARGUMENT.match(line)
        if found:
            names = ", ".join(f"`{name}`" for name in found[1].split(", "))
            told.append(f"- {names}: {_plain(found[2])}")
        else:
            told.append("  " + _plain(line.strip()))
    before = "\n".join(_plain(line) for line in lines[:first])
    return (f"{before}\n\n" if first else "") + "\n".join(told)


def _plain(line: str) -> str:
    """Prose with what Markdown would take for marks escaped, outside of `code`."""
    parts = re.split(r"(`[^`]*`)", line)
    return "".join(part if part.startswith("`") else re.sub(r"([*_<$])", r"\\\1", part) for part in parts)
