"""Chapters of the demo with many people: simulated, filmed, captured from the film, brought to life again."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

import numpy as np

from marey import datasets, samples
from marey.crowd import scenes, simulate
from marey.crowd.capture import capture
from marey.crowd.evaluation import overlaps
from marey.crowd.spectrum import compress
from marey.crowd.texture import extend
from marey.demo.exhibit import SMALLER, Exhibit, Picture
from marey.filming import read_dataset, write_dataset
from marey.io import load, save
from marey.views import view

FILM = "filmed"
"""Folder of the dataset in the gallery."""


def crowd(folder: Path) -> Exhibit:
    """Many people."""
    people = samples.crowd()
    save(people, folder / "crowd.csv")
    view(people, folder / "crowd.png", size=(1280, 560))
    view(people.between(0, 3), folder / "crowd.mp4", size=SMALLER)
    speeds = np.linalg.norm(np.diff(people.positions, axis=0), axis=-1) * people.frame_rate
    return Exhibit(
        "Two streams of people",
        "Tracks, as a tracker, a simulation or a dataset gives them, and as walking figures.",
        (
            Picture("crowd.mp4", "Many small figures walk through each other in two directions"),
            Picture("crowd.png", "Their tracks from above"),
        ),
        (
            ("people", f"{people.agents}"),
            ("length", f"{people.duration:.0f} s"),
            ("mean speed", f"{np.nanmean(speeds):.2f} m/s"),
        ),
        ("marey view crowd.csv -o crowd.mp4", "marey convert crowd.csv crowd.glb"),
        ("crowd.csv",),
    )


def simulated(folder: Path) -> Exhibit:
    """Two streams through each other by social forces."""
    start = time.perf_counter()
    made = simulate(scenes.preset("sideway").with_people(100), seconds=14, frame_rate=20)
    seconds = time.perf_counter() - start
    save(made.tracks, folder / "sideway.sqlite")
    view(made, folder / "sideway.png", size=(1280, 560))
    view(made.between(11, 13.5), folder / "sideway.mp4", size=SMALLER)
    return Exhibit(
        "Simulated: two streams meet",
        "Social forces sort them into lanes. The tracks open in JuPedSim and PedPy.",
        (
            Picture("sideway.mp4", "Two streams of figures pass through each other in lanes"),
            Picture("sideway.png", "Three seconds of their ways at four times"),
        ),
        (
            ("people", f"{made.agents}"),
            ("steps", f"{made.steps:,}"),
            ("simulated in", f"{seconds:.1f} s, loading included"),
        ),
        ("marey crowd simulate sideway -o sideway.sqlite --people 100 --seconds 14 --frame-rate 20",),
        ("sideway.sqlite",),
    )


def filmed(folder: Path) -> Exhibit:
    """A film of simulated people with the truth of every pixel."""
    start = time.perf_counter()
    scene = replace(scenes.preset("rotation").with_people(150), hold=0.0)
    report = write_dataset(scene, folder / FILM, size=(200, 150), seconds=2.8)
    seconds = time.perf_counter() - start
    return Exhibit(
        "Filmed: every pixel's motion is known",
        "Simulated people circle a block, filmed from above. Flow, numbers, density and visibility are "
        "stored beside the pictures.",
        (Picture(f"{FILM}/above/shaded.mp4", "People seen from above circle a square block"),),
        (
            ("pictures", f"{report.frames}"),
            ("people", f"{report.people}"),
            ("made in", f"{seconds:.1f} s"),
        ),
        (f"marey crowd dataset rotation -o {FILM} --people 150 --size 200x150 --seconds 5.8",),
        (f"{FILM}/dataset.json",),
    )


def captured(folder: Path) -> Exhibit:
    """The film's motion as fields, a tenth of their numbers, and new people in them."""
    film = read_dataset(folder / FILM).views["above"]
    start = time.perf_counter()
    fields = capture(film.footage(), size=160, camera=film.camera, plane_height=0.9)
    seconds = time.perf_counter() - start
    short = compress(fields, keep=0.1)
    save(fields, folder / "captured.zarr")
    view(fields, folder / "captured.png", kind="streaks", size=(1280, 560))
    endless = extend(fields, 200, rng=0)
    people = endless.animate(80, avoid="social", match_density=True, frame_rate=20, seconds=2.5)
    view(people, folder / "reanimated.mp4", size=SMALLER)
    return Exhibit(
        "Captured from that film, and walked by new people",
        "The motion of the pictures alone becomes fields, these are made endless, and others walk in them.",
        (
            Picture("reanimated.mp4", "New figures circle where the filmed people did"),
            Picture("captured.png", "The captured motion as lines that follow it"),
        ),
        (
            ("fields", f"{fields.frames} of {fields.rows} × {fields.columns}"),
            ("captured in", f"{seconds:.1f} s"),
            ("information in a tenth of the numbers", f"{short.information:.1f} %"),
            ("people who touch somebody", f"{100 * overlaps(people).people:.1f} %"),
        ),
        (
            f"marey crowd capture {FILM}/above/shaded.mp4 captured.zarr --camera {FILM}/above/camera.json "
            "--plane-height 0.9 --size 160",
            "marey crowd extend captured.zarr endless.zarr --frames 200",
            "marey crowd animate endless.zarr -o reanimated.mp4 --people 80 --avoid social --seen "
            "--seconds 2.5",
        ),
        ("captured.zarr",),
    )


def captured_street(folder: Path) -> Exhibit:
    """A real film: its motion, and other people in it."""
    film = load(datasets.get("pets2009"))[:60]
    start = time.perf_counter()
    fields = capture(film, size=256)
    seconds = time.perf_counter() - start
    save(fields, folder / "street.zarr")
    view(fields, folder / "street.png", size=(1280, 560))
    view(fields, folder / "street.mp4", size=(640, 480))
    kept = compress(fields, keep=0.1)
    return Exhibit(
        "Captured: a street",
        "PETS 2009, S2.L1, view 1: the motion of a surveillance film as fields.",
        (
            Picture("street.mp4", "The captured motion over time, its direction as colour"),
            Picture("street.png", "The captured motion at a moment"),
        ),
        (
            ("fields", f"{fields.frames} of {fields.rows} × {fields.columns}"),
            ("captured in", f"{seconds:.1f} s"),
            ("information in a tenth of the numbers", f"{kept.information:.1f} %"),
        ),
        ("marey data get pets2009", "marey crowd capture vtest.avi street.zarr --frames 0:60 --size 256"),
        ("street.zarr",),
    )


def captured_people(folder: Path) -> Exhibit:
    """Captured pedestrians."""
    people = load(datasets.get("juelich-bottleneck"))
    save(people, folder / "bottleneck.csv")
    view(people, folder / "bottleneck.png", size=(1280, 560))
    view(people.between(20, 22.5), folder / "bottleneck.mp4", size=SMALLER)
    speeds = np.linalg.norm(np.diff(people.positions, axis=0), axis=-1) * people.frame_rate
    return Exhibit(
        "Captured: people at a bottleneck",
        "A laboratory experiment of Forschungszentrum Jülich, as walking figures.",
        (
            Picture("bottleneck.mp4", "Figures crowd before a narrow way and pass it one by one"),
            Picture("bottleneck.png", "Their tracks from above"),
        ),
        (
            ("people", f"{people.agents}"),
            ("length", f"{people.duration:.0f} s"),
            ("mean speed", f"{np.nanmean(speeds):.2f} m/s"),
        ),
        ("marey view bottleneck.csv -o bottleneck.mp4",),
        ("bottleneck.csv",),
    )
