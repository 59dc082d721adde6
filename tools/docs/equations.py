"""Equations of the pages, `$…$` and `$$…$$`, as MathML, which browsers draw themselves, without a script.

A hook of mkdocs. Arithmatex finds the equations in the Markdown, which GitHub draws from the same source;
here its marks are replaced in the finished page. What the converter leaves to be wished for is mended: limits
below min and max, spaces round bars, signs and names of functions, columns that align.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable
from typing import Any
from xml.etree import ElementTree

from latex2mathml.converter import convert_to_element
from mkdocs.exceptions import PluginError

INLINE = re.compile(r'<span class="arithmatex">\\\((.*?)\\\)</span>', re.S)
DISPLAY = re.compile(r'<div class="arithmatex">\s*\\\[(.*?)\\\]\s*</div>', re.S)
# What GitHub draws and the converter spells otherwise.
SPELLINGS = (
    (re.compile(r"\\(?:dfrac|tfrac)\b"), r"\\frac"),
    (re.compile(r"\\(begin|end)\{aligned\}"), r"\\\1{align*}"),
    (
        re.compile(r"\\operatorname\*?\{arg\s*\\[, ]\s*(min|max)\}|\\arg\s*\\(min|max)"),
        r"{\\mathrm{arg\\ \1\2}}",
    ),
    (re.compile(r"\\operatorname\*"), r"\\operatorname"),
    (re.compile(r"\\[lr]?Vert\b"), r"\\|"),
    (re.compile(r"\\[lr]vert\b"), r"\\vert"),
)
WITH_LIMITS = ("min", "max", "lim", "sup", "inf", "argmin", "argmax")
# The converter leaves delimiters after \big and its like as they are written.
DELIMITERS = {"\\|": "‖", "\\vert": "|", "\\langle": "⟨", "\\rangle": "⟩", "\\{": "{", "\\}": "}"}
TIGHT = ("|", "/", "‖", "∥")
NAMED = ("sin", "cos", "tan", "log", "exp", "dexp", "det", "dim")
SIGNS, CLOSING = ("−", "+"), (")", "]", "}", "|", "‖", "∥", "!", "⊤", "′")


def on_page_content(text: str, *, page: Any, **_: Any) -> str:
    """The page with its equations drawn."""

    def drawn(display: str) -> Callable[[re.Match[str]], str]:
        def draw(found: re.Match[str]) -> str:
            latex = html.unescape(found[1]).strip()
            try:
                return mathml(latex, display=display)
            except Exception as error:
                where = page.file.src_uri
                raise PluginError(f"{where}: the equation {latex!r} cannot be drawn: {error}") from error

        return draw

    return INLINE.sub(drawn("inline"), DISPLAY.sub(drawn("block"), text))


def mathml(latex: str, *, display: str = "inline") -> str:
    """An equation as a MathML element; "block" is one on a line of its own.

    >>> mathml("x^2")
    '<math xmlns="http://www.w3.org/1998/Math/MathML" display="inline"><mrow><msup><mi>x</mi><mn>2</mn>...'
    """
    for pattern, spelling in SPELLINGS:
        latex = pattern.sub(spelling, latex)
    equation = convert_to_element(latex, display=display)
    for element in equation.iter():
        element.text = DELIMITERS.get(element.text or "", element.text)
    for element in equation.iter():
        _mend(element, display)
        _space_names(element)
    unknown = [one.text for one in equation.iter() if (one.text or "").startswith("\\")]
    if unknown:
        raise ValueError(f"{', '.join(map(str, unknown))} is not known here")
    drawn = ElementTree.tostring(equation, encoding="unicode")
    # The converter writes characters as references, which must not be escaped once more.
    drawn = re.sub(r"&amp;(#x[0-9A-Fa-f]+;)", r"&\1", drawn)
    return drawn if display == "inline" else f'<div class="equation">{drawn}</div>'


def _space_names(element: ElementTree.Element) -> None:
    """Thin spaces between the name of a function and letters or numbers beside it, as in N log N."""
    if element.tag != "mrow":
        return
    children = list(element)
    for place in reversed(range(1, len(children))):
        before, after = children[place - 1], children[place]
        named = _is_name(before) or _is_name(after)
        if named and not {before.tag, after.tag} & {"mo", "mspace"}:
            element.insert(place, ElementTree.Element("mspace", width="0.167em"))


def _is_name(element: ElementTree.Element) -> bool:
    core = element[0] if element.tag in ("msup", "msub") else element
    return core.tag == "mi" and core.text in NAMED


def _mend(element: ElementTree.Element, display: str) -> None:
    if display == "block" and element.tag == "msub" and _letters(element[0]) in WITH_LIMITS:
        element.tag = "munder"
    if element.tag == "mtd" and "columnalign" in element.attrib:
        element.set("style", f"text-align: {element.attrib.pop('columnalign')}")
    before: ElementTree.Element | None = None
    for child in element:
        text = _text(child) if child.tag == "mo" else ""
        sign = text in SIGNS and (before is None or (before.tag == "mo" and _text(before) not in CLOSING))
        if sign or text in TIGHT:
            child.set("lspace", "0")
            child.set("rspace", "0")
        before = child


def _letters(element: ElementTree.Element) -> str:
    return "".join(_text(one) for one in element.iter()).replace("\N{NO-BREAK SPACE}", "")


def _text(element: ElementTree.Element) -> str:
    return html.unescape(element.text or "")
