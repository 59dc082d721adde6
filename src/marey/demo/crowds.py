"""Chapters of the demo with many people: simulated, filmed, captured from the film, brought to life again."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

from marey.crowd import capture, scenes, simulate
from marey.crowd.evaluation import collisions
from marey.crowd.spectrum import compress
from marey.crowd.texture import extend
from marey.demo.exhibit import Entry
from marey.filming import read_dataset, write_dataset
from marey.io import save
from marey.views import view

FILM = "filmed"
"""Folder of the dataset in the gallery."""


def simulated(folder: Path) -> Entry:
    """Two streams through each other by social forces."""
    start = time.perf_counter()
    crowd = simulate(scenes.preset("sideway").with_people(100), seconds=16, frame_rate=20)
    seconds = time.perf_counter() - start
    save(crowd.tracks, folder / "sideway.sqlite")
    view(crowd, folder / "sideway.png")
    view(crowd.between(11, 14), folder / "sideway.mp4", size=(960, 432))
    return Entry(
        "Simulated: two streams meet and sort themselves into lanes",
        f"{crowd.agents} people, {crowd.steps} steps in {seconds:.1f} s, compiling included; "
        "sideway.sqlite opens in JuPedSim and PedPy",
        ("sideway.mp4", "sideway.png", "sideway.sqlite"),
    )


def filmed(folder: Path) -> Entry:
    """A film of simulated people with the truth of every pixel."""
    start = time.perf_counter()
    scene = replace(scenes.preset("rotation").with_people(180), hold=0.0)
    report = write_dataset(scene, folder / FILM, size=(240, 180), seconds=5.2)
    seconds = time.perf_counter() - start
    return Entry(
        "Filmed: a crowd circles a block, and every pixel's motion is known",
        f"{report.frames} pictures of {report.people} people with flow, numbers, density and visibility "
        f"in {seconds:.0f} s",
        (f"{FILM}/above/shaded.mp4", f"{FILM}/dataset.json"),
    )


def captured(folder: Path) -> Entry:
    """The film's motion as fields, a tenth of their numbers, and new people in them."""
    film = read_dataset(folder / FILM).views["above"]
    start = time.perf_counter()
    fields = capture(film.footage(), size=160, camera=film.camera, plane_height=0.9)
    seconds = time.perf_counter() - start
    short = compress(fields, keep=0.1)
    save(fields, folder / "captured.zarr")
    view(fields, folder / "captured.png", kind="paths")
    endless = extend(fields, 250, rng=0)
    people = endless.animate(100, avoid=True, seen=True, frame_rate=20, seconds=4)
    touching = collisions(people).people
    view(people, folder / "reanimated.mp4", size=(960, 432))
    return Entry(
        "Captured from that film, made endless, and walked by new people",
        f"{fields.frames} fields of {fields.rows} × {fields.columns} in {seconds:.1f} s; a tenth of the "
        f"numbers keeps {short.information:.1f} %; {100 * touching:.1f} % of people touch somebody",
        ("reanimated.mp4", "captured.png", "captured.zarr"),
    )
