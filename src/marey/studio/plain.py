"""Words from files shown as they are: the page renders markdown with all HTML in it, scripts included."""

from __future__ import annotations

import re

MOST_LETTERS = 80
_MEANINGFUL = re.compile(r"([\\`*_{}\[\]<>&!|~#$])")


def plain(text: str) -> str:
    """A name that came from outside as one short line of markdown that says just that.

    >>> plain("walk-slow 12"), plain("<script>*now*</script>")
    ('walk-slow 12', '\\\\<script\\\\>\\\\*now\\\\*\\\\</script\\\\>')
    """
    line = " ".join("".join(c if c.isprintable() else " " for c in text[: 4 * MOST_LETTERS]).split())
    short = line if len(line) <= MOST_LETTERS else line[: MOST_LETTERS - 1] + "…"
    return _MEANINGFUL.sub(r"\\\1", short)
