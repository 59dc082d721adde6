"""Pages that show something in any browser: one file each, nothing else needed, no network.

`views.page` makes one of anything; the modules here fill it, one for each group of types.
"""

from __future__ import annotations

from marey.views.pages.facts import caption
from marey.views.pages.page import Page

__all__ = ["Page", "caption"]
