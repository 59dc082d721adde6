"""The examples of the gallery: built-in data or real captures, the commands run on them, and what is shown.

Everything is made by the commands, in one folder, and shown in this order, of each scale what impresses most
first. Texts in braces are filled in from what the commands report (`{0[frames]}` is `frames` of the first
one's JSON object).
"""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from marey import datasets, samples
from marey.body.motion import concatenate
from marey.geometry.planar import figure_eight
from marey.io import load, save

CLIP = "--size 720x324 --frame-rate 20"
FIGURE = "--size 860x400"
SPEEDS = (0.9, 1.15, 1.4, 1.65)
"""Metres a second of the walks that pose models are learned from."""


@dataclass(frozen=True, eq=False)
class Example:
    """One example of the gallery.

    Attributes:
        scale: bodies, surfaces, crowds, or together.
        title, text: what it is.
        commands: lines that make it, as they are shown.
        images: files to show (.mp4, .png, .html) and what is seen there.
        measured: what, and how much of it.
        files: further files to link.
        inputs: files of `INPUTS` that the commands read.
        turn: when it is made, lower ones first: an image at once, then what takes long.
    """

    scale: str
    title: str
    text: str
    commands: tuple[str, ...]
    images: dict[str, str]
    measured: dict[str, str]
    files: tuple[str, ...] = ()
    inputs: tuple[str, ...] = ()
    turn: int = 9

    @property
    def makes(self) -> set[str]:
        """Files that its commands make and others may read."""
        return {*self.images, *self.files} - INPUTS.keys()

    @property
    def mentions(self) -> set[str]:
        """Files and folders that its commands read and make, and posters of its videos."""
        words = [word for line in self.commands for word in shlex.split(line)]
        posters = [name.replace(".mp4", ".jpg") for name in self.images]
        return {Path(name).parts[0] for name in (*words, *self.makes, *self.inputs, *posters)}


def _curve(path: Path) -> None:
    points = figure_eight(2.0).points[::4, 0::2]
    np.savetxt(path, points, "%.3f", delimiter=",", header="x,z", comments="")


def _saved(make: Callable[[], object]) -> Callable[[Path], None]:
    return lambda path: save(make(), path)


def _dataset(name: str) -> Callable[[Path], None]:
    """The file of a dataset, converted if it has another ending."""

    def write(path: Path) -> None:
        source = datasets.get(name)
        if source.suffix == path.suffix:
            shutil.copyfile(source, path)
        else:
            save(load(source), path)

    return write


INPUTS: dict[str, Callable[[Path], None]] = {
    "walk.bvh": _saved(samples.walk),
    "long-walk.bvh": _saved(lambda: samples.walk(6)),
    "brisk-walk.bvh": _saved(lambda: samples.walk(2.5, speed=1.3)),
    "standing.bvh": _saved(lambda: concatenate([samples.walk(speed=1.15)[20]] * 120)),
    **{f"walk-{speed}.bvh": _saved(partial(samples.walk, speed=speed)) for speed in SPEEDS},
    "eight.csv": _curve,
    "crowd.csv": _saved(samples.crowd),
    "cartwheel.bvh": _dataset("cmu-49_06"),
    "captured-walk.bvh": _dataset("cmu-02_01"),
    "samba.npz": _dataset("vlasic-samba"),
    "vtest.avi": _dataset("pets2009"),
    "bottleneck.csv": _dataset("juelich-bottleneck"),
}
"""Files that commands read and that no command makes."""

HANDLES = "--pin RightToeBase --pin Head --model walk-model.mry --blend 0.5"

SAMPLES = (
    Example(
        "Together",
        "Everyone walks",
        "The people of the simulated streams as whole bodies: each a variant of captured walks of its own, "
        "matched to its speed, its feet planted.",
        (
            "marey crowd walk sideway.sqlite -o bodies.glb --start 9 --seconds 5",
            "marey crowd walk sideway.sqlite -o bodies.png --start 9 --seconds 5",
            "marey crowd walk sideway.sqlite -o bodies.html --start 9 --seconds 5",
        ),
        {
            "bodies.png": "A crowd of walking humans in different clothes",
            "bodies.html": "The walking crowd in three dimensions",
        },
        {
            "bodies": "{0[people]}",
            "foot skate": "{0[slide_cm_s]:.1f} cm/s",
            "bodies from their tracks": "{0[path_error]:.3f} m on average",
            "as GLB": "{0[bytes]:,} bytes",
            "made in": "{0[seconds_spent]:.1f} s",
        },
        ("bodies.glb",),
    ),
    Example(
        "Surfaces",
        "A path that was never walked",
        "The subject follows a figure-eight: captured frames in green, blends between them in red.",
        (
            "marey surface animate subject.mry -o eight.mry --path eight.csv",
            f"marey view eight.mry -o eight.mp4 {CLIP}",
            "marey surface animate subject.mry -o eight.png --path eight.csv",
            "marey view eight.mry -o eight.html",
            "marey convert eight.mry eight.glb --max-error 1mm",
        ),
        {
            "eight.mp4": "A human walks a figure-eight, green and for moments red",
            "eight.png": "The path from above, and what was walked",
            "eight.html": "The walked figure-eight in three dimensions",
        },
        {
            "frames": "{0[frames]}, {0[captured_frames]} of them captured",
            "off the path": "{0[path_error]:.3f} m on average",
            "foot skate": "{0[foot_slide_ratio]:.2f} times that of the captured frames",
        },
        ("eight.glb", "eight.csv"),
        ("eight.csv",),
    ),
    Example(
        "Surfaces",
        "The walk with a skin",
        "A mesh of constant connectivity over time, as a 4D capture gives it. The human is built in.",
        (
            "marey surface skin walk.bvh -o human.glb",
            f"marey view human.glb -o human.mp4 --frames 0:75 {CLIP}",
            f"marey view human.glb -o human.png {FIGURE}",
            "marey view human.glb -o human.html",
        ),
        {
            "human.mp4": "A clothed human walks from left to right",
            "human.png": "The human's poses along the walk",
            "human.html": "The walking human in three dimensions",
        },
        {"vertices": "{0[vertices]:,}", "frames": "{0[frames]}", "skinned in": "{0[seconds]:.2f} s"},
        ("human.glb",),
        ("walk.bvh",),
    ),
    Example(
        "Surfaces",
        "Which captured frames lead to which others",
        "A few sequences of one subject, and the graph of the cheapest paths between all their frames.",
        (
            "marey surface graph sample:library -o subject.mry --vertices 800 --alpha 0.02 --triangles 300",
            "marey view subject.mry -o graph.png --size 860x720",
        ),
        {"graph.png": "Sequences as arcs of a circle, transitions between them as curves"},
        {
            "captured": "{0[frames]} frames of {0[sequences]} sequences",
            "transitions worth taking": "{0[transitions]:,}, {0[density]:.1%} of all pairs",
            "distances and graph in": "{0[seconds][graph]:.1f} s",
        },
        ("subject.mry",),
        turn=1,
    ),
    Example(
        "Bodies",
        "Let go of",
        "The walker is lifted by a metre, pushed at the chest and dropped; it keeps to poses of walking, and "
        "to joint limits that were learned from them.",
        (
            "marey body limits walk.bvh -o limits.json",
            "marey body simulate walk.bvh dropped.bvh --height 1 --push Spine1@0.1=0,0,60 --seconds 2.5 "
            "--limits limits.json",
            f"marey view dropped.bvh -o dropped.mp4 {CLIP}",
        ),
        {"dropped.mp4": "A figure falls forward, lands and comes to rest on the ground"},
        {
            "limited joints": "{0[joints]}",
            "limits exceeded by": "{1[limit_excess_max]:.1%} at most",
            "in the ground": "{1[penetration_max_mm]:.1f} mm at most",
            "a step of 1/100 s": "{1[microseconds_per_step]:.0f} µs",
        },
        ("dropped.bvh", "limits.json"),
        ("walk.bvh",),
    ),
    Example(
        "Bodies",
        "In balance",
        "A character stands by internal forces alone, is pushed, and reaches for a point below the balance.",
        (
            "marey body balance walk.bvh pushed.mp4 --seconds 2 --push Spine1@0.3=8,0,0 "
            "--reach LeftHand=0.25,1.1,-0.1",
            "marey body puppet walk.bvh puppet.bvh --strength 0.6 --push Spine1@0.8=15,0,0",
        ),
        {"pushed.mp4": "A figure is pushed, gives way and comes back, its left hand ahead"},
        {
            "hidden wrench at the root": "{0[root_wrench_max]:.0e} of the weight",
            "the puppet is pushed away by": "{1[peak_deviation_cm]:.2f} cm",
        },
        ("puppet.bvh",),
        ("walk.bvh",),
    ),
    Example(
        "Bodies",
        "Posed by handles",
        "One foot is moved up and to the front, then to the back; the other foot and the head stay, and the "
        "rest of the body follows as in the walks it was learned from.",
        (
            f"marey body ik standing.bvh raised.bvh --at 0.5 --move LeftToeBase=0,0.25,0.3 {HANDLES}",
            f"marey body ik raised.bvh handles.glb --at 1.5 --move LeftToeBase=0,0.15,-0.3 {HANDLES}",
            "marey view handles.glb -o handles.mp4 --size 720x400 --frame-rate 20",
            "marey view handles.glb -o handles.html",
        ),
        {
            "handles.mp4": "A figure on one leg swings the other foot to the front and to the back",
            "handles.html": "The posed figure in three dimensions",
        },
        {
            "modes": "{0[modes]}, and a free root",
            "targets missed by": "{1[residual_cm]:.2g} cm at most",
            "time": "{0[milliseconds]:.2f} ms a pose",
        },
        ("handles.glb",),
        ("standing.bvh",),
    ),
    Example(
        "Bodies",
        "A body from three trackers",
        "Feet and head of the pale walker move the other one. No walk of this speed was learned from.",
        (
            "marey body reconstruct brisk-walk.bvh -o rebuilt.bvh --model walk-model.mry",
            f"marey view rebuilt.bvh -o rebuilt.mp4 --beside brisk-walk.bvh {CLIP}",
        ),
        {"rebuilt.mp4": "A walker, and beside it the same walk, rebuilt from three points"},
        {
            "joints off": "{0[error_cm]:.1f} cm on average, {0[error_max_cm]:.1f} cm at most",
            "time": "{0[milliseconds_per_frame]:.2f} ms a frame",
        },
        ("rebuilt.bvh",),
        ("brisk-walk.bvh",),
    ),
    Example(
        "Bodies",
        "Steered",
        "The hands touch two points at given times, and the walk around them follows.",
        (
            "marey body steer walk.bvh steered.glb --reach RightHand@1=+-0.05,0.35,0.15 "
            "--reach LeftHand@2.2=+0.05,0.3,0.15 --frames 0:180 --figure steered.png",
            f"marey view steered.glb -o steered.mp4 {CLIP}",
            "marey view steered.glb -o steered.html",
        ),
        {
            "steered.mp4": "A walker raises one hand to a point, then the other to another",
            "steered.png": "Poses before and after around the points, which are red balls",
            "steered.html": "The steered walk in three dimensions",
        },
        {
            "targets missed by": "{0[residual_cm][0]:.2g} and {0[residual_cm][1]:.2g} cm",
            "largest acceleration of the hands": "{0[peak_acceleration_ratio]:.2f} times the original's",
            "time": "{0[seconds]:.2f} s",
        },
        ("steered.glb",),
        ("walk.bvh",),
    ),
    Example(
        "Bodies",
        "Three walks that never took place",
        "Learned from the grey walk alone: the others are drawn from what it is made of.",
        (
            "marey body vary walk.bvh -o variants --count 3 --deviation 1 --seed 1 --frames 0:144 "
            "--figure variants.mp4",
        ),
        {"variants.mp4": "Four figures walk side by side, none quite like another"},
        {
            "joints from the example": "{0[deviation_cm]:.1f} cm on average",
            "foot skate": "{0[foot_skate_cm_s]:.1f} cm/s",
            "foot skate of the example": "{0[example_foot_skate_cm_s]:.1f} cm/s",
            "time": "{0[milliseconds]:.0f} ms",
        },
        tuple(f"variants/walk-0{number}.bvh" for number in (1, 2, 3)),
        ("walk.bvh",),
    ),
    Example(
        "Bodies",
        "Half a second is missing",
        "The likeliest motion in the gap, alternatives, and where the joints were with 90 %.",
        ("marey body fill long-walk.bvh filled.bvh --gap 180:210 --samples 4 --figure hole.png",),
        {"hole.png": "Positions over time with a band across the gap, and alternatives inside it"},
        {
            "frames filled": "{0[frames_filled]}",
            "width of the band to each side": "{0[band_cm]:.2f} cm",
            "time": "{0[seconds]:.2f} s",
        },
        ("filled.bvh",),
        ("long-walk.bvh",),
    ),
    Example(
        "Bodies",
        "A clip in {0[bytes]:,} bytes",
        "Original (blue) and decoded (orange), through each other: grey where they agree.",
        (
            "marey body compress walk.bvh walk-1cm.mry --max-error 1cm --frames 0:150",
            f"marey view walk-1cm.mry -o walk-1cm.mp4 --over walk.bvh {CLIP}",
            "marey body decompress walk-1cm.mry part.bvh --frames 10:40",
        ),
        {"walk-1cm.mp4": "Two walkers in the same place, hardly to be told apart"},
        {
            "channels": "{0[raw_bytes]:,} bytes",
            "stored": "{0[bytes]:,} bytes, 1 : {0[ratio]:.0f}",
            "joints off": "{0[error_mean_cm]:.2f} cm on average, {0[error_max_cm]:.2f} cm at most",
            "decoded in": "{0[decode_milliseconds_per_frame]:.3f} ms a frame",
        },
        ("walk-1cm.mry",),
        ("walk.bvh",),
    ),
    Example(
        "Bodies",
        "Without end",
        "Characters simulated frame by frame from one clip, each from its own random numbers.",
        (
            "marey body learn long-walk.bvh -o walk-motion.mry --modes 12",
            "marey body stream walk-motion.mry -o stream.mp4 --characters 6 --seconds 1.4 --seed 2",
            "marey body stream walk-motion.mry --characters 10000 --seconds 1",
        ),
        {"stream.mp4": "Figures walk, none in step with another"},
        {
            "modes": "{0[modes]}",
            "a frame of 10,000 characters": "{2[milliseconds_per_frame]:.1f} ms",
        },
        ("walk-motion.mry",),
        ("long-walk.bvh",),
    ),
    Example(
        "Bodies",
        "What walking is made of",
        "The mean pose of four walks, and what each of the modes does to it.",
        (
            f"marey body fit {' '.join(f'walk-{speed}.bvh' for speed in SPEEDS)} -o walk-model.mry --modes 6",
            "marey view walk-model.mry -o modes.png --size 860x1000",
            f"marey view walk-model.mry -o modes-variance.png --kind variance {FIGURE}",
        ),
        {
            "modes.png": "A row of poses for each mode, from one extreme to the other",
            "modes-variance.png": "The share of the variance that more and more modes hold",
        },
        {
            "modes": "{0[modes]} instead of 75 angles",
            "variance held": "{0[variance]:.1%} of {0[frames]} poses",
            "joints off": "{0[error_mean_cm]:.2f} cm on average",
            "learned in": "{0[milliseconds]:.0f} ms",
        },
        ("walk-model.mry",),
        tuple(f"walk-{speed}.bvh" for speed in SPEEDS),
    ),
    Example(
        "Bodies",
        "A walk",
        "A walking human, from published gait curves. Any BVH, AMC, glTF or C3D of yours goes the same way.",
        (
            "marey info walk.bvh",
            f"marey view walk.bvh -o walk.mp4 --frames 0:150 {CLIP}",
            f"marey view walk.bvh -o walk.png {FIGURE}",
            "marey view walk.bvh -o walk.html",
            "marey convert walk.bvh walk.glb",
        ),
        {
            "walk.mp4": "A figure of the skeleton walks from left to right",
            "walk.png": "Poses along the walk, one beside the other",
            "walk.html": "The walk in three dimensions",
        },
        {
            "frames": "{0[frames]} at {0[frame_rate]:.0f} per second",
            "joints": "{0[joints]}",
            "distance walked": "{0[travelled]:.1f} m",
        },
        ("walk.bvh", "walk.glb"),
        ("walk.bvh",),
        turn=0,
    ),
    Example(
        "Crowds",
        "Directed: two people meet behind the others",
        "The least control that brings both to one place; the others make way.",
        (
            "marey crowd direct rendezvous -o meeting.mry --iterations 80 --figure meeting.png",
            "marey view meeting.mry -o meeting.mp4 --frames 350:400 --size 600x270",
        ),
        {
            "meeting.png": "Paths of a group of people without control and with it, and the cost as it falls",
            "meeting.mp4": "Two figures leave the front row of a group and meet behind it",
        },
        {
            "off": "{0[constraints][0][error]:.2f} m",
            "without control": "{0[constraints][0][free]:.1f} m",
            "control": "{0[control_rms]:.2f} m/s²",
        },
        ("meeting.mry",),
    ),
    Example(
        "Crowds",
        "Simulated: two streams meet",
        "Social forces sort them into lanes. The tracks open in JuPedSim and PedPy.",
        (
            "marey crowd simulate sideway -o sideway.mry --people 100 --seconds 14 --frame-rate 20",
            "marey convert sideway.mry sideway.sqlite",
            "marey view sideway.mry -o sideway.mp4 --frames 220:270 --size 720x324",
            "marey view sideway.mry -o sideway.png --size 860x600",
        ),
        {
            "sideway.mp4": "Two streams of figures pass through each other in lanes",
            "sideway.png": "Three seconds of their paths at four times",
        },
        {
            "people": "{0[people]}",
            "steps": "{0[steps]:,}",
            "time": "{0[microseconds_per_person_step]:.1f} µs a person and step",
        },
        ("sideway.sqlite",),
    ),
    Example(
        "Crowds",
        "Rendered: every pixel's motion is known",
        "Simulated people circle a block, seen from above. Flow, numbers, density and visibility are stored "
        "beside the images.",
        ("marey crowd dataset rotation -o filmed --people 150 --size 240x180 --seconds 5.4",),
        {"filmed/above/shaded.mp4": "People seen from above circle a square block"},
        {"images": "{0[frames]}", "people": "{0[people]}", "made in": "{0[seconds]:.1f} s"},
        ("filmed/dataset.json",),
        turn=2,
    ),
    Example(
        "Crowds",
        "Captured from that video, and walked by new people",
        "The motion in the images alone becomes fields, these are made endless, and others walk in them.",
        (
            "marey crowd capture filmed/above/shaded.mp4 captured.zarr --camera filmed/above/camera.json "
            "--plane-height 0.9 --size 160 --frames 75:",
            "marey crowd info captured.zarr",
            "marey view captured.zarr -o captured.png --kind streaks --size 860x600",
            "marey crowd extend captured.zarr endless.zarr --frames 200",
            "marey crowd animate endless.zarr -o reanimated.csv --people 80 --avoid social --match-density "
            "--seconds 2.5 --frame-rate 20",
            "marey view reanimated.csv -o reanimated.mp4 --size 720x324",
        ),
        {
            "reanimated.mp4": "New figures circle where the recorded people did",
            "captured.png": "The captured motion as lines that follow it",
        },
        {
            "fields": "{0[frames]} of {0[rows]} × {0[columns]}",
            "captured in": "{0[seconds]:.1f} s",
            "information in a tenth of the numbers": "{1[information][10%]:.1f} %",
            "people who touch somebody": "{4[collisions][people]:.1%}",
        },
        ("captured.zarr",),
    ),
    Example(
        "Crowds",
        "Two streams of people",
        "Tracks, as a tracker, a simulation or a dataset gives them, and as walking figures.",
        (
            "marey info crowd.csv",
            "marey view crowd.csv -o crowd.mp4 --frames 0:75 --size 720x324",
            f"marey view crowd.csv -o crowd.png {FIGURE}",
        ),
        {
            "crowd.mp4": "Many small figures walk through each other in two directions",
            "crowd.png": "Their tracks from above",
        },
        {
            "people": "{0[agents]}",
            "length": "{0[duration]:.0f} s",
            "mean speed": "{0[mean_speed]:.2f} m/s",
        },
        ("crowd.csv",),
        ("crowd.csv",),
    ),
)
"""On the built-in samples."""

REAL = (
    Example(
        "Bodies",
        "Captured: a cartwheel, stored within a centimetre",
        "CMU 49_06. The added T-pose is taken off, and the clip is stored so that no joint is further off "
        "than a centimetre.",
        (
            "marey body compress cartwheel.bvh cartwheel.mry --max-error 1cm",
            "marey convert cartwheel.mry cartwheel.glb",
            f"marey view cartwheel.mry -o cartwheel.mp4 --frames :480 {CLIP}",
            f"marey view cartwheel.mry -o cartwheel.png {FIGURE}",
            "marey view cartwheel.mry -o cartwheel.html",
        ),
        {
            "cartwheel.mp4": "A figure turns a cartwheel",
            "cartwheel.png": "Poses along the cartwheel",
            "cartwheel.html": "The cartwheel in three dimensions",
        },
        {
            "frames": "{0[frames]}",
            "stored": "{0[bytes]:,} bytes, 1 : {0[ratio]:.0f}",
            "joints off": "{0[error_mean_cm]:.2f} cm on average, {0[error_max_cm]:.2f} cm at most",
            "compressed in": "{0[seconds]:.2f} s",
        },
        ("cartwheel.mry", "cartwheel.glb"),
        ("cartwheel.bvh",),
    ),
    Example(
        "Bodies",
        "Captured: a walk and three variants of it",
        "CMU 02_01. The walk that was captured is grey; the others are drawn from what was learned of it.",
        (
            "marey body vary captured-walk.bvh -o captured-variants --count 3 --deviation 1 --seed 1 "
            "--figure captured-variants.mp4",
        ),
        {"captured-variants.mp4": "Four figures walk side by side, none quite like another"},
        {
            "joints from the example": "{0[deviation_cm]:.1f} cm on average",
            "foot skate, of the example's": "{0[foot_slide_ratio]:.2f} times",
            "time": "{0[milliseconds]:.0f} ms",
        },
        ("captured-walk.bvh", *(f"captured-variants/captured-walk-0{number}.bvh" for number in (1, 2, 3))),
        ("captured-walk.bvh",),
    ),
    Example(
        "Surfaces",
        "Captured: a samba in 4D",
        "Vlasic et al. 2008. Which of its poses are similar, and what lies between the two that are least.",
        (
            "marey surface distance samba.npz -o poses.npz --triangles 2000 --figure samba-distances.png",
            "marey surface interpolate samba.npz:71 samba.npz:92 samba-between.glb --count 5",
            "marey surface interpolate samba.npz:71 samba.npz:92 samba-between.png --count 5",
            "marey view samba.npz -o samba.mp4 --size 720x324",
            f"marey view samba.npz -o samba.png {FIGURE}",
        ),
        {
            "samba.mp4": "A captured dancer",
            "samba.png": "The dancer's poses one beside the other",
            "samba-distances.png": "Distances of all pairs of poses as a map",
            "samba-between.png": "From pose 71 to pose 92 in five steps",
        },
        {
            "captured": "{0[frames]} frames",
            "all distances in": "{0[seconds]:.1f} s",
            "largest distance": "{0[largest]:.2f} rad",
            "five poses between in": "{1[milliseconds]:.0f} ms",
        },
        ("samba.npz", "samba-between.glb"),
        ("samba.npz",),
    ),
    Example(
        "Crowds",
        "Captured: a street",
        "PETS 2009, S2.L1, view 1: the motion in a surveillance video as fields.",
        (
            "marey crowd capture vtest.avi street.zarr --frames 0:60 --size 256",
            "marey crowd info street.zarr",
            f"marey view street.zarr -o street.png {FIGURE}",
            "marey view street.zarr -o street.mp4 --size 640x480",
        ),
        {
            "street.mp4": "The captured motion over time, its direction as colour",
            "street.png": "The captured motion on average",
        },
        {
            "fields": "{0[frames]} of {0[rows]} × {0[columns]}",
            "captured in": "{0[seconds]:.1f} s",
            "information in a tenth of the numbers": "{1[information][10%]:.1f} %",
        },
        ("street.zarr",),
        ("vtest.avi",),
    ),
    Example(
        "Crowds",
        "Captured: people at a bottleneck",
        "A laboratory experiment of Forschungszentrum Jülich, as walking figures.",
        (
            "marey info bottleneck.csv",
            "marey view bottleneck.csv -o bottleneck.mp4 --frames 500:563 --size 720x324",
            f"marey view bottleneck.csv -o bottleneck.png {FIGURE}",
        ),
        {
            "bottleneck.mp4": "Figures crowd before a narrow passage and go through one by one",
            "bottleneck.png": "Their tracks from above",
        },
        {
            "people": "{0[agents]}",
            "length": "{0[duration]:.0f} s",
            "mean speed": "{0[mean_speed]:.2f} m/s",
        },
        ("bottleneck.csv",),
        ("bottleneck.csv",),
    ),
)
"""On real data, for those who have it."""
