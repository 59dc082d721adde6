"""What the surface commands are given: mesh sequences, or clips put on a character, as one library.

A skeleton clip is put on the character of `--character`, and `--vertices` decimates everything alike. The
word `sample` in place of files stands for the built-in subject.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from marey.body.motion import Motion
from marey.character import Character
from marey.cli._typer import load_with_bar, note, progress_bar
from marey.cli.body._inputs import figure_of
from marey.errors import InputError
from marey.surface.library import Library
from marey.surface.sequence import MeshSequence

HUMAN, SAMPLE = "human", "sample"
USUAL_RATE = 30.0

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
    if [str(file) for file in files] == [SAMPLE] and not files[0].exists():
        from marey.samples import mesh_library

        library = mesh_library() if vertices is None else mesh_library(vertices=vertices)
        return replace(library, labels=tuple(labels) or library.labels)
    things = _loaded(files, options)
    _check_character(things, character)
    if all(isinstance(thing, Motion) for thing in things):
        clips = [_named(figure_of(t, f, raw=False), f) for t, f in zip(things, files, strict=True)]
        library = skinned(clips, character=character, vertices=vertices)
        return replace(library, labels=tuple(labels) or library.labels)
    found = [sequence for several in _posed(things, files, character) for sequence in several]
    library = Library(tuple(found), tuple(labels))
    if vertices is None:
        return library
    from marey.surface.decimation import decimate

    return decimate(library, vertices=vertices)


def sequences_in(files: Sequence[Path], *, character: str | None, **options: Any) -> list[list[MeshSequence]]:
    """The mesh sequences of each file: one, or one for each clip of a character; clips at one frame rate."""
    things = _loaded(files, options)
    _check_character(things, character)
    return _posed(things, files, character)


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


def skinned(
    clips: Sequence[Motion],
    *,
    character: str | None,
    vertices: int | None = None,
    frame_rate: float = USUAL_RATE,
    method: str = "linear",
) -> Library:
    """Skeleton clips on a character, as mesh sequences."""
    from marey.stage import mesh_library

    wearer = load_character(character)
    with progress_bar("posing") as progress:
        return mesh_library(
            wearer, clips, vertices=vertices, frame_rate=frame_rate, method=method, progress=progress
        )


def check_vertices(vertices: int | None) -> None:
    """A number of vertices that makes no surface is an error."""
    if vertices is not None and vertices < 4:
        raise InputError(f"--vertices {vertices}: 4 or more")


def _loaded(files: Sequence[Path], options: dict[str, Any]) -> list[Any]:
    return [load_with_bar(file, clip=None, **options) for file in files]


def _check_character(things: Sequence[Any], character: str | None) -> None:
    if character is not None and not any(isinstance(thing, Motion) for thing in things):
        raise InputError(f"--character {character}: there is no skeleton clip for it to wear")


def _posed(things: Sequence[Any], files: Sequence[Path], character: str | None) -> list[list[MeshSequence]]:
    """Meshes as they are; clips of characters and skeletons at the meshes' rate, or at one of theirs."""
    rate = _common_rate(things)
    return [_sequences(thing, file, character, rate) for thing, file in zip(things, files, strict=True)]


def _common_rate(things: Sequence[Any]) -> float:
    """Frames per second of the meshes, if there are any, else the most of a character's clips, else 30."""
    meshes = [thing.frame_rate for thing in things if isinstance(thing, MeshSequence)]
    clips = [clip.frame_rate for thing in things if isinstance(thing, Character) for clip in thing.motions]
    return float(meshes[0] if meshes else max(clips, default=USUAL_RATE))


def _sequences(thing: Any, file: Path, character: str | None, rate: float) -> list[MeshSequence]:
    if isinstance(thing, MeshSequence):
        return [replace(thing, name=file.stem)]
    if isinstance(thing, Motion):
        clip = _named(figure_of(thing, file, raw=False), file)
        return list(skinned([clip], character=character, frame_rate=rate).sequences)
    if isinstance(thing, Character):
        if not thing.motions:
            raise InputError(f"{file}: this character has no clip; `marey surface skin` puts clips on it")
        names = [f"{file.stem}-{motion.name}" for motion in thing.motions]
        names = [file.stem] if len(names) == 1 else names
        return [
            thing.pose(_at_rate(motion, rate, file)).renamed(name)
            for motion, name in zip(thing.motions, names, strict=True)
        ]
    raise InputError(
        f"{file}: holds a {type(thing).__name__}, not a mesh sequence, a character or a skeleton clip"
    )


def _at_rate(motion: Motion, rate: float, file: Path) -> Motion:
    if np.isclose(motion.frame_rate, rate):
        return motion
    note(f"{file}: {motion.name or 'clip'}: {motion.frame_rate:g} frames per second resampled to {rate:g}")
    return motion.resample(rate)


def _named(motion: Motion, file: Path) -> Motion:
    return replace(motion, name=file.stem)
