"""How data shows itself in notebooks: as the page that plays it, or as an image where that would be large."""

from __future__ import annotations

import base64
import os
from html import escape
from typing import Any

from marey._report import MADE
from marey.views.pages import caption
from marey.views.render import VIEWS, figure, page

LARGEST = 3_000_000
"""Bytes of a page above which an image stands for it; `MAREY_NOTEBOOK_BYTES` says otherwise."""


def html(data: Any) -> str | None:
    """What a notebook shows of data or of a result; None if nothing can be drawn of it."""
    if (data := _shown(data)) is None:
        return None
    text = "".join(page(data, title=getattr(data, "name", "")).pieces())
    facts = f"<p>{escape(caption(data))}</p>"
    if len(text) > int(os.environ.get("MAREY_NOTEBOOK_BYTES", LARGEST)):
        from io import BytesIO

        image = BytesIO()
        figure(data, size=(720, 400)).savefig(image, format="jpeg", dpi=100, pil_kwargs={"quality": 80})
        source = base64.b64encode(image.getvalue()).decode()
        return f'<img src="data:image/jpeg;base64,{source}" alt="{escape(caption(data))}">{facts}'
    frame = 'width="100%" height="480" style="border:0"'
    return f'<iframe srcdoc="{escape(text)}" {frame}></iframe>{facts}'


def _shown(data: Any) -> Any:
    """What is drawn: the data itself, decoded, or what a result holds, the first of several."""
    if isinstance(data, tuple(VIEWS)):
        return data
    if hasattr(data, "decode"):
        return _shown(data.decode())
    held = [getattr(data, name, None) for name in MADE]
    held += list(getattr(data, "motions", ()))[:1]
    return next((one for one in held if isinstance(one, tuple(VIEWS))), None)
