"""The gallery's page: exhibits by scale with pictures, clips, previews, figures, commands and files.

One HTML file that asks for nothing but the files beside it, light or dark as the reader's system is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from urllib.parse import quote

from marey import __version__
from marey.demo.exhibit import Exhibit, Picture

HERE = Path(__file__).parent

WHAT = {
    "Bodies": "Skeletons: clips looked at, modelled, posed, stored, varied, repaired and steered.",
    "Surfaces": "Meshes over time: a skin on a walk, captured sequences as a graph, new ways through it.",
    "Crowds": "Many people: simulated, filmed, captured from the film, and brought to life again.",
    "Together": "People of a crowd as walking bodies, each with a walk of its own.",
}
"""What each scale is about."""


def page(scales: Mapping[str, Sequence[Exhibit]], folder: Path, seconds: float) -> str:
    """The page of exhibits whose files are in `folder`.

    seconds: they took to make
    """
    links = "".join(
        f'<li><a href="#{_anchor(scale)}">{escape(scale)} <small>{len(exhibits)}</small></a></li>'
        for scale, exhibits in scales.items()
    )
    sections = "".join(
        f'<section aria-labelledby="{_anchor(scale)}"><h2 id="{_anchor(scale)}">{escape(scale)}</h2>'
        f"<p>{escape(WHAT[scale])}</p>{''.join(_article(exhibit, folder) for exhibit in exhibits)}</section>"
        for scale, exhibits in scales.items()
    )
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>marey: a gallery</title><link rel="icon" href="data:,">
<style>{(HERE / "gallery.css").read_text(encoding="utf-8")}</style></head>
<body><a class="skip" href="#exhibits">to the exhibits</a>
<header class="wide"><h1>marey</h1>
<p>Captured motion of bodies, surfaces and crowds: modelled, directed, and made anew. Everything below was
made in {seconds:.0f}&nbsp;s on this machine; the commands run in this folder.</p></header>
<nav aria-label="Scales"><ul class="wide">{links}<li><a href="#yours">Your own</a></li></ul></nav>
<main class="wide" id="exhibits">{sections}</main>
<footer class="wide" id="yours"><h2>Your own motion</h2>
<p>Open a clip of yours in the studio: play it, drag its hands and feet, vary, fill, compress, export.</p>
{_command("marey studio my.bvh")}
<p>Files ending in .glb open in Blender and game engines. Made by marey {escape(__version__)}.</p></footer>
<script>{(HERE / "gallery.js").read_text(encoding="utf-8")}</script></body></html>
"""


def size_of(path: Path) -> str:
    """Bytes of a file or folder, to be read by people.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "a"
    >>> _ = path.write_bytes(bytes(2_345))
    >>> size_of(path)
    '2.35 kB'
    """
    files = (one for one in path.rglob("*") if one.is_file()) if path.is_dir() else (path,)
    size = float(sum(one.stat().st_size for one in files))
    for unit in ("B", "kB"):
        if size < 1000:
            return f"{size:.3g} {unit}"
        size /= 1000
    return f"{size:.3g} MB"


def _article(exhibit: Exhibit, folder: Path) -> str:
    shown = "".join(map(_picture, exhibit.pictures))
    rows = "".join(
        f'<tr><th scope="row">{escape(what)}</th><td>{escape(value)}</td></tr>'
        for what, value in exhibit.measured
    )
    commands = "".join(map(_command, exhibit.commands))
    files = "".join(
        f'<li><a href="{_address(name)}">{escape(name)}</a> <small>{size_of(folder / name)}</small></li>'
        for name in (*(picture.file for picture in exhibit.pictures), *exhibit.files)
    )
    return (
        f"<article><div>{shown}</div><div><h3>{escape(exhibit.title)}</h3><p>{escape(exhibit.text)}</p>"
        f'<table>{rows}</table>{commands}<ul class="files">{files}</ul></div></article>\n'
    )


def _picture(picture: Picture) -> str:
    address, shows = _address(picture.file), escape(picture.shows)
    if picture.file.endswith(".mp4"):
        return (
            f'<figure><video src="{address}" aria-label="{shows}" loop muted playsinline controls '
            'preload="metadata"></video></figure>'
        )
    if picture.file.endswith(".png"):
        return f'<figure><img src="{address}" alt="{shows}" loading="lazy"></figure>'
    # A frame inside a closed `details` is not loaded before that is opened.
    return (
        f'<details><summary>Turn it around in 3-D</summary><iframe src="{address}" title="{shows}" '
        f'loading="lazy"></iframe></details>'
    )


def _command(line: str) -> str:
    return f'<div class="command"><code>{escape(line)}</code><button type="button">copy</button></div>'


def _address(name: str) -> str:
    return escape(quote(name))


def _anchor(scale: str) -> str:
    return scale.lower()
