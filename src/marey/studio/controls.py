"""Controls that a tool declares: what is on the page, and which method of the tool answers.

A control is an attribute of the tool's class; once the tool is on the page the same attribute of the tool is
viser's handle of it, so that `tool.count.value` is what the user chose. A button is a method.

    class VaryTool(Tool[State]):
        title = "Variants"
        count = slider("Variants", 1, 8, 1, 4, hint="How many to draw")

        @button("Vary", icon="arrows-shuffle")
        def vary(self) -> Task[State]: ...
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import wraps
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from marey._arrays import Array
from marey.views import style

if TYPE_CHECKING:
    from viser import (
        GuiApi,
        GuiButtonGroupHandle,
        GuiCheckboxHandle,
        GuiDropdownHandle,
        GuiHtmlHandle,
        GuiImageHandle,
        GuiMarkdownHandle,
        GuiNumberHandle,
        GuiSliderHandle,
        GuiTextHandle,
        GuiUplotHandle,
        GuiVector3Handle,
    )

Method = TypeVar("Method", bound=Callable[..., Any])
Handle = TypeVar("Handle")


@dataclass(frozen=True)
class Control:
    """A control to be built.

    kind: what viser calls it, after `add_`; given, options: of that call
    on: the tool's method that answers a change by the user, if any; `live`: only the newest value counts
    """

    kind: str
    given: tuple[object, ...]
    options: dict[str, object] = field(default_factory=dict)
    on: str = ""
    live: bool = False

    def build(self, gui: GuiApi) -> Any:
        """Put it on the page, where the page then is."""
        if self.kind == "several":
            return [control.build(gui) for control in self.given if isinstance(control, Control)]
        return getattr(gui, f"add_{self.kind}")(*self.given, **self.options)


def slider(
    label: str,
    low: float,
    high: float,
    step: float,
    value: float,
    hint: str = "",
    *,
    on: str = "",
    live: bool = False,
    **more: object,
) -> GuiSliderHandle[float]:
    """A slider from `low` to `high`."""
    return _handle(Control("slider", (label, low, high, step, value), {"hint": hint, **more}, on, live))


def checkbox(label: str, value: bool, hint: str = "", *, on: str = "", **more: object) -> GuiCheckboxHandle:
    """A box to tick."""
    return _handle(Control("checkbox", (label, value), {"hint": hint, **more}, on))


def choice(
    label: str, options: tuple[str, ...], hint: str = "", *, on: str = "", **more: object
) -> GuiDropdownHandle[str]:
    """One of several; a tool may offer others later."""
    return _handle(Control("dropdown", (label, options), {"hint": hint, **more}, on))


def choice_buttons(
    label: str, options: tuple[str, ...], hint: str = "", *, on: str
) -> GuiButtonGroupHandle[str]:
    """A button for each of several; `on` takes the label pressed."""
    return _handle(Control("button_group", (label, options), {"hint": hint}, on))


def number(
    label: str, value: float, hint: str = "", *, on: str = "", **more: object
) -> GuiNumberHandle[float]:
    """A number to type."""
    return _handle(Control("number", (label, value), {"hint": hint, **more}, on))


def vector(
    label: str, value: tuple[float, float, float], step: float, hint: str = "", *, on: str = ""
) -> GuiVector3Handle:
    """Three numbers to type."""
    return _handle(Control("vector3", (label, value), {"step": step, "hint": hint}, on))


def entry(label: str, value: str, hint: str = "") -> GuiTextHandle:
    """Words to type."""
    return _handle(Control("text", (label, value), {"hint": hint}))


def text(content: str = "", **more: object) -> GuiMarkdownHandle:
    """Markdown; a tool sets its `content`."""
    return _handle(Control("markdown", (content,), more))


def html() -> GuiHtmlHandle:
    """HTML; a tool sets its `content`."""
    return _handle(Control("html", ("",)))


def band(rows: int, columns: int) -> GuiImageHandle:
    """An image over the width of the panel, hidden at first."""
    return _handle(Control("image", (np.full((rows, columns, 3), 244, np.uint8),), {"visible": False}))


def curves(x: str, *names: str) -> GuiUplotHandle:
    """Curves over `x`; a tool sets their `data`: `x`, then values of each name."""
    from viser import uplot

    tones = (style.PALETTE[0], style.PALETTE[1])
    lines = [uplot.Series(label=name, stroke=tone, width=2.0) for name, tone in zip(names, tones)]
    nothing = tuple(np.zeros(1) for _ in range(len(names) + 1))
    look = {"scales": {"x": uplot.Scale(time=False)}, "aspect": 1.8}
    return _handle(Control("uplot", (nothing, (uplot.Series(label=x), *lines)), look))


def fix_axes(plot: GuiUplotHandle, lines: Array) -> None:
    """Axes that hold all of `lines` `(1 + curves, n)`, so that curves can grow in them."""
    from viser import uplot

    across, up = (0.0, float(lines[0, -1])), (0.0, 1.05 * max(float(lines[1:].max()), 1e-3))
    plot.scales = {"x": uplot.Scale(time=False, range=across), "y": uplot.Scale(range=up)}


def several(controls: list[Handle], *, on: str, live: bool = False) -> list[Handle]:
    """Controls of one kind; `on` answers a change of any of them, or takes all their values if `live`."""
    declaration: list[Handle] = _handle(Control("several", tuple(controls), on=on, live=live))
    return declaration


def button(
    label: str, hint: str = "", *, icon: str | None = None, gray: bool = False
) -> Callable[[Method], Method]:
    """Make a method a button: it returns the next state, a task that finds it, or None.

    Called from elsewhere the method does the same as when the button is pressed.
    """
    options: dict[str, object] = {"hint": hint, "icon": icon}
    if gray:
        options["color"] = "gray"

    def declare(method: Method) -> Method:
        @wraps(method)
        def press(tool: Any, *arguments: object) -> None:
            tool.room.perform(method(tool, *arguments), tool.handles.get(method.__name__))

        vars(press)["control"] = Control("button", (label,), options, method.__name__)
        return press  # type: ignore[return-value]

    return declare


def declared(owner: type) -> dict[str, Control]:
    """The controls of a tool's class by name, in the order in which they are declared."""
    found: dict[str, Control] = {}
    for cls in reversed(owner.__mro__):
        for name, value in vars(cls).items():
            control = value if isinstance(value, Control) else getattr(value, "control", None)
            if isinstance(control, Control):
                found[name] = control
    return found


def _handle(control: Control) -> Any:
    """A declaration stands where the handle will be."""
    return control
