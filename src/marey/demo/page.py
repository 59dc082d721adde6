"""The gallery's page: examples by scale with images, clips, pages, numbers, commands and files.

One HTML file that asks for nothing but the files beside it, light or dark as the reader's system is.
"""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from pathlib import Path
from urllib.parse import quote

import numpy as np

from marey import __version__
from marey.demo.examples import Example
from marey.io.images import encode_image

HERE = Path(__file__).parent

WHAT = {
    "Bodies": "Skeletons: clips looked at, modelled, posed, stored, varied, repaired and steered.",
    "Surfaces": "Meshes over time: a skin on a walk, captured sequences as a graph, new paths through it.",
    "Crowds": "Many people: simulated, rendered, captured from the video, and brought to life again.",
    "Together": "People of a crowd as walking bodies, each with a walk of its own.",
}
"""What each scale is about."""


@dataclass(frozen=True)
class Image:
    """A file that is shown (.png, .mp4 or .html), what is seen there, and columns and rows in pixels."""

    file: str
    shows: str
    size: tuple[int, int] = (0, 0)


@dataclass(frozen=True)
class Shown:
    """An example that was made."""

    scale: str
    title: str
    text: str
    images: tuple[Image, ...]
    measured: dict[str, str]
    commands: tuple[str, ...]
    files: tuple[str, ...] = ()

    @classmethod
    def of(cls, example: Example, reports: list[dict[str, object]], folder: Path) -> Shown:
        """The example with the numbers its commands reported; its files are in `folder`."""
        return cls(
            example.scale,
            example.title.format(*reports),
            example.text,
            tuple(Image(name, shows, _pixels(folder / name)) for name, shows in example.images.items()),
            {what: value.format(*reports) for what, value in example.measured.items()},
            example.commands,
            example.files,
        )

    def as_dict(self) -> dict[str, object]:
        """Plain values, for JSON."""
        files = [*(image.file for image in self.images), *self.files]
        own = {"measured": self.measured, "commands": list(self.commands), "files": files}
        return {"scale": self.scale, "title": self.title, "text": self.text, **own}


def page(examples: list[Shown], folder: Path, seconds: float, total: int) -> str:
    """The page of examples whose files are in `folder`; while some are missing it loads itself again.

    seconds: they took to make
    total: how many examples there will be
    """
    scales = {shown.scale: [one for one in examples if one.scale == shown.scale] for shown in examples}
    links = "".join(
        f'<li><a href="#{_anchor(scale)}">{escape(scale)} <small>{len(those)}</small></a></li>'
        for scale, those in scales.items()
    )
    sections = "".join(
        f'<section aria-labelledby="{_anchor(scale)}"><h2 id="{_anchor(scale)}">{escape(scale)}</h2>'
        f"<p>{escape(WHAT[scale])}</p>{''.join(_article(shown, folder) for shown in those)}</section>"
        for scale, those in scales.items()
    )
    done = len(examples) == total
    state = f"made in {seconds:.0f}&nbsp;s" if done else f"made so far: {len(examples)} of {total} examples"
    again = "" if done else '<meta http-equiv="refresh" content="5">'
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8">{again}
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>marey: a gallery</title><link rel="icon" href="data:,">
<style>{(HERE / "gallery.css").read_text(encoding="utf-8")}</style></head>
<body><a class="skip" href="#examples">to the examples</a>
<header class="wide"><h1>marey</h1>
<p>Captured motion of bodies, surfaces and crowds: modelled, directed, and made anew. Everything below was
{state} on this machine, by the commands beside it; they run in this folder.</p></header>
<nav aria-label="Scales"><ul class="wide">{links}<li><a href="#yours">Your own</a></li></ul></nav>
<main class="wide" id="examples">{sections}</main>
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


def _pixels(path: Path) -> tuple[int, int]:
    """Columns and rows of an image or video; writes the first frame of a video beside it, as its poster."""
    import cv2

    if path.suffix == ".html":
        return 0, 0
    found, image = (
        (True, cv2.imread(str(path))) if path.suffix == ".png" else cv2.VideoCapture(str(path)).read()
    )
    assert found and image is not None, path
    if path.suffix == ".mp4":
        path.with_suffix(".jpg").write_bytes(encode_image(np.ascontiguousarray(image[..., ::-1]), ".jpg"))
    return image.shape[1], image.shape[0]


def _article(shown: Shown, folder: Path) -> str:
    images = "".join(map(_image, shown.images))
    rows = "".join(
        f'<tr><th scope="row">{escape(what)}</th><td>{escape(value)}</td></tr>'
        for what, value in shown.measured.items()
    )
    commands = "".join(map(_command, shown.commands))
    files = "".join(
        f'<li><a href="{_address(name)}">{escape(name)}</a> <small>{size_of(folder / name)}</small></li>'
        for name in (*(image.file for image in shown.images), *shown.files)
    )
    return (
        f"<article><div>{images}</div><div><h3>{escape(shown.title)}</h3><p>{escape(shown.text)}</p>"
        f'<table>{rows}</table>{commands}<ul class="files">{files}</ul></div></article>\n'
    )


def _image(image: Image) -> str:
    address, shows = _address(image.file), escape(image.shows)
    columns, rows = image.size
    # Small ones are not enlarged.
    size = f'width="{columns}" height="{rows}" style="max-width:{columns}px"'
    if image.file.endswith(".mp4"):
        poster = address.removesuffix(".mp4") + ".jpg"
        return (
            f'<figure><video src="{address}" poster="{poster}" {size} aria-label="{shows}" loop muted '
            'playsinline controls preload="metadata"></video></figure>'
        )
    if image.file.endswith(".png"):
        return f'<figure><img src="{address}" {size} alt="{shows}" loading="lazy"></figure>'
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
