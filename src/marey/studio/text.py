"""Names from outside made safe: as markdown, which the page renders with all HTML, and as file names."""

from __future__ import annotations

import re


def escape_markdown(text: str) -> str:
    """A name that came from outside as one short line of markdown that says just that.

    >>> escape_markdown("walk-slow 12"), escape_markdown("<script>*now*</script>")
    ('walk-slow 12', '\\\\<script\\\\>\\\\*now\\\\*\\\\</script\\\\>')
    """
    longest = 80
    line = " ".join("".join(c if c.isprintable() else " " for c in text[: 4 * longest]).split())
    short = line if len(line) <= longest else line[: longest - 1] + "…"
    return re.sub(r"([\\`*_{}\[\]<>&!|~#$])", r"\\\1", short)


def safe_filename(name: str) -> str:
    """A file name without folders and control characters, of a decent length.

    >>> safe_filename("../../etc/pass\\nwd"), safe_filename("C:\\\\clips\\\\walk 1.bvh"), safe_filename("..")
    ('pass_wd', 'walk 1.bvh', 'upload')
    """
    last = re.split(r"[\\/]", name)[-1]
    kept = re.sub(r"[^\w .()+-]", "_", last).strip(" .")
    stem, dot, ending = kept.rpartition(".")
    return f"{stem[:80]}{dot}{ending[-16:]}" if stem else kept[:80] or "upload"
