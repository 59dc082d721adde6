"""Equations of the pages, `$…$` and `$$…$$`, as MathML: browsers draw it themselves, offline and without a script.

A hook of mkdocs. Arithmatex finds the equations in the Markdown, which GitHub draws from the same source;
here its marks are replaced in the finished page.
"""

from __future__ import annotations

import html
import re
from typing import Any

from latex2mathml.converter import convert
from mkdocs.exceptions import PluginError

INLINE = re.compile(r'<span class="arithmatex">\\\((.*?)\\\)</span>', re.S)
DISPLAY = re.compile(r'<div class="arithmatex">\s*\\\[(.*?)\\\]\s*</div>', re.S)
# Commands that GitHub draws and the converter spells otherwise.
SPELLINGS = (
    (re.compile(r"\\(?:dfrac|tfrac)\b"), r"\\frac"),
    (re.compile(r"\\operatorname\*"), r"\\operatorname"),
    (re.compile(r"\\[lr]Vert\b"), r"\\Vert"),
    (re.compile(r"\\[lr]vert\b"), r"\\vert"),
)


def on_page_content(text: str, *, page: Any, **_: Any) -> str:
    """The page with its equations drawn."""

    def drawn(display: str) -> Any:
        def draw(found: re.Match[str]) -> str:
            latex = html.unescape(found[1]).strip()
            try:
                return mathml(latex, display=display)
            except Exception as error:
                raise PluginError(
                    f"{page.file.src_uri}: the equation {latex!r} cannot be drawn: {error}"
                ) from error

        return draw

    return INLINE.sub(drawn("inline"), DISPLAY.sub(drawn("block"), text))


def mathml(latex: str, *, display: str = "inline") -> str:
    """An equation as a MathML element; "block" is one on a line of its own.

    >>> mathml("x^2")[:40]
    '<math xmlns="http://www.w3.org/1998/Math'
    """
    for pattern, spelling in SPELLINGS:
        latex = pattern.sub(spelling, latex)
    drawn = convert(latex, display=display)
    left = re.findall(r"<m\w+[^>]*>(\\[A-Za-z]+)</m\w+>", drawn)
    if left:
        raise ValueError(f"unknown: {', '.join(left)}")
    return drawn if display == "inline" else f'<div class="equation">{drawn}</div>'
