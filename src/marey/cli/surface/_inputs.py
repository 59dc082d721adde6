"""What the surface commands are given: mesh sequences, or clips put on a character, as one library.

A skeleton clip is dressed on the character of `--character`, and `--vertices` decimates everything alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from marey.body.motion import Motion
from marey.character import Character
from marey.cli._console import load_with_bar, progress_bar
from marey.cli.body._inputs import figure_of
from marey.errors import InputError
from marey.surface.library import Library
from marey.surface.sequence import MeshSequence

HUMAN = "human"

Wearer = Annotated[
    str | None,
    typer.Option(
        "--character",
        metavar="FILE",
        help="Who wears skeleton clips: human (built in, the default), a .glb, or a folder of MPFB.",
    ),
]
Vertices = Annotated[
    int | None, typer.Option("--vertices", metavar="N", help="Decimate the surface to N vertices.")
]


def load_library(
    files: Sequence[Path],
    *,
    labels: Sequence[str] = (),
    character: str | None = None,
    vertices: int | None = None,
    **options: Any,
) -> Library:
    """Sequences of one subject from files, named after them; each clip of a character is a sequence."""
    check_vertices(vertices)
    things = [load_with_bar(file, clip=None, **options) for file in files]
    if all(isinstance(thing, Motion) for thing in things):
        clips = [_named(figure_of(t, f, raw=False), f) for t, f in zip(things, files, strict=True)]
        library = dressed(clips, character=character, vertices=vertices)
        return replace(library, labels=tuple(labels) or library.labels)
    found: list[MeshSequence] = []
    for thing, file in zip(things, files, strict=True):
        found += _sequences(thing, file, character)
    library = Library(tuple(found), tuple(labels))
    if vertices is None:
        return library
    from marey.surface.decimation import decimate

    return decimate(library, vertices=vertices)


def sequences_in(file: Path, *, character: str | None = None, **options: Any) -> list[MeshSequence]:
    """The mesh sequences of a file: one, or one for each clip of a character."""
    return _sequences(load_with_bar(file, clip=None, **options), file, character)


def load_character(given: str | None) -> Character:
    """The character of `--character`: the built-in human, a file, or a folder of MPFB."""
    if given is None or given == HUMAN:
        from marey.samples import human

        return human()
    path = Path(given)
    if path.is_dir():
        from marey.io import mpfb

        return mpfb.read(path)
    thing = load_with_bar(path, clip=None)
    if not isinstance(thing, Character):
        raise InputError(
            f"--character {given}: holds a {type(thing).__name__}, not a rigged mesh; give human, a .glb "
            "with a skin, or a folder of MPFB"
        )
    return thing


def dressed(
    clips: Sequence[Motion],
    *,
    character: str | None,
    vertices: int | None = None,
    frame_rate: float = 30.0,
    method: str = "linear",
) -> Library:
    """Skeleton clips on a character, as mesh sequences."""
    from marey.stage import perform

    wearer = load_character(character)
    with progress_bar("posing") as progress:
        return perform(
            wearer, clips, vertices=vertices, frame_rate=frame_rate, method=method, progress=progress
        )


def check_vertices(vertices: int | None) -> None:
    """A number of vertices that makes no surface is an error."""
    if vertices is not None and vertices < 4:
        raise InputError(f"--vertices {vertices}: 4 or more")


def _sequences(thing: Any, file: Path, character: str | None) -> list[MeshSequence]:
    if isinstance(thing, MeshSequence):
        return [replace(thing, name=file.stem)]
    if isinstance(thing, Motion):
        return list(dressed([_named(figure_of(thing, file, raw=False), file)], character=character).sequences)
    if isinstance(thing, Character):
        single = len(thing.motions) == 1
        return [
            replace(thing.pose(motion), name=file.stem if single else f"{file.stem}-{motion.name}")
            for motion in thing.motions
        ]
    raise InputError(
        f"{file}: holds a {type(thing).__name__}, not a mesh sequence, a character or a skeleton clip"
    )


def _named(motion: Motion, file: Path) -> Motion:
    return replace(motion, name=file.stem)
