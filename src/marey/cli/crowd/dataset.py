"""`marey crowd dataset`: a simulated crowd filmed with its ground truth."""

from __future__ import annotations

import re
import time
from pathlib import Path
from typing import Annotated

import typer

from marey.cli._typer import Json, check_folder, emit, progress_bar
from marey.cli.crowd._scene_argument import scene_of
from marey.crowd.scenes import SCENES
from marey.errors import InputError
from marey.filming.cameras import VIEWS
from marey.filming.dataset import LIGHTS, SIZE, write_dataset

NAME = "dataset"
SCENARIOS = ("soft", "panic")


def run(
    scene: Annotated[
        str, typer.Argument(metavar="SCENE", help=f"{', '.join(SCENES)}, its number 1 to 8, or a scene.json.")
    ],
    target: Annotated[Path, typer.Option("-o", "--out", metavar="DIR", help="The folder to write.")],
    scenario: Annotated[
        str, typer.Option(metavar="soft|panic", help="People walk, or want to run up to four times as fast.")
    ] = "soft",
    camera: Annotated[
        list[str] | None, typer.Option(metavar="above|side|both", help="Where it is filmed from; repeatable.")
    ] = None,
    shading: Annotated[
        list[str] | None,
        typer.Option(metavar="on|off|both", help="Sun and shadows, or colours alone; repeatable."),
    ] = None,
    size: Annotated[str, typer.Option(metavar="WxH", help="Pixels of the films.")] = f"{SIZE[0]}x{SIZE[1]}",
    seconds: Annotated[
        float | None,
        typer.Option(metavar="S", help="Length; the first 3 s people rest. The scene's own if not given."),
    ] = None,
    people: Annotated[
        int | None, typer.Option(metavar="N", help="How many; the scene's own if not given.")
    ] = None,
    noise: Annotated[float, typer.Option(metavar="L", help="Noise of the sensor, grey levels of 255.")] = 0.0,
    seed: Annotated[int, typer.Option(metavar="N", help="Other people at other places.")] = 0,
    json: Json = False,
) -> None:
    """Simulate a crowd and render it: video with ground truth.

    [bold]Examples[/bold]

    marey crowd dataset escape -o escape             from above, in the sun

    marey crowd dataset rotation -o four --camera both --shading both

    marey crowd dataset escape -o panic --scenario panic --seconds 15

    marey crowd dataset crossing -o small --people 40 --seconds 6 --size 320x240

    marey view escape/above/shaded.mp4 -o frame.png
    """
    check_folder(target)
    if scenario not in SCENARIOS:
        raise InputError(f"--scenario {scenario}: one of {', '.join(SCENARIOS)}")
    place = scene_of(scene, panic=scenario == "panic")
    if people is not None:
        place = place.with_people(people)
    started = time.perf_counter()
    with progress_bar("filming") as progress:
        report = write_dataset(
            place,
            target,
            views=_choices(camera, "--camera", VIEWS, "above"),
            shading=_choices(shading, "--shading", tuple(LIGHTS), "on"),
            size=_size(size),
            seconds=seconds,
            rng=seed,
            noise=noise,
            progress=progress,
        )
    emit(
        {
            "frames": report.frames,
            "people": report.people,
            "files": report.files,
            "seconds": round(time.perf_counter() - started, 2),
            "path": str(target),
        },
        as_json=json,
    )


def _choices(given: list[str] | None, option: str, known: tuple[str, ...], usual: str) -> list[str]:
    chosen: list[str] = []
    for word in given or [usual]:
        if word not in (*known, "both"):
            raise InputError(f"{option} {word}: one of {', '.join(known)}, both")
        chosen += [name for name in (known if word == "both" else (word,)) if name not in chosen]
    return chosen


def _size(text: str) -> tuple[int, int]:
    found = re.fullmatch(r"(\d{1,5})x(\d{1,5})", text.strip())
    if found is None:
        raise InputError(f"--size {text}: write it as WxH, e.g. 640x480")
    return int(found.group(1)), int(found.group(2))
