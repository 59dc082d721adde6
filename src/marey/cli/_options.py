"""Options and inputs that commands share: each is an Annotated type, declared once, and converts what users
write or says in one line how to write it.

An input such as `Clip` names files on the command line and arrives loaded; it also brings the options of its
reader (`--from-unit`, `--raw`, …). Data types are named as text, so that `--help` imports none of them.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import click
from click.shell_completion import CompletionItem

from marey.cli import _inputs as inputs
from marey.cli._inputs import FrameReference, Given
from marey.errors import InputError

if TYPE_CHECKING:
    from marey.body.dynamics import MotionModel
    from marey.body.limits.learned import LearnedLimits
    from marey.body.motion import Motion
    from marey.body.pose_model import PoseModel
    from marey.crowd.fields import FieldSeries, Footage
    from marey.crowd.tracks import Tracks
    from marey.statistics.graphs.graph import DistanceMatrix
    from marey.surface.sequence import Library
    from marey.surface.synthesis.animate import SurfaceGraph

NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
# Metres: anything farther is a typing error.
MAX_METRES = 1e6


class Parsed(click.ParamType[Any]):
    """A type made of a function from text to a value, which raises ValueError for what it cannot read."""

    def __init__(
        self, parse: Callable[[str], object], expected: str, names: Sequence[str] | None = None
    ) -> None:
        self.name, self.parse, self.expected, self.names = "value", parse, expected, names

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> object:
        """The value of the text; defaults are values already."""
        if not isinstance(value, str):
            return value
        try:
            return self.parse(value)
        except ValueError:
            name = param.opts[0] if param is not None else ""
            raise InputError(f"{name} {value}: {self.expected}".strip()) from None

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """Words to choose from, if there are some, else files."""
        if self.names is None:
            return [CompletionItem(incomplete, type="file")]
        return [CompletionItem(name) for name in self.names if name.startswith(incomplete)]


def bounded(
    kind: type[float], least: float | None, most: float | None, above: float | None
) -> Callable[[str], float]:
    """A function that reads a finite number, and raises ValueError if it is out of bounds."""

    def parse(text: str) -> float:
        value = kind(text)
        inside = (least is None or value >= least) and (most is None or value <= most)
        if not (inside and math.isfinite(value) and (above is None or value > above)):
            raise ValueError
        return value

    return parse


def number(kind: type[float], least: float | None, most: float | None, above: float | None) -> Parsed:
    """A finite number within bounds; `above` is a lower bound that itself is excluded.

    >>> number(int, 1, 9, None).convert("3", None, None)
    3
    """
    low = f"above {above}" if above is not None else None if least is None else f"at least {least}"
    if most is not None:
        low = f"{low}, at most {most}" if least is None else f"from {least} to {most}"
    parse = bounded(kind, least, most, above)
    return Parsed(parse, ("a whole number" if kind is int else "a number") + (f", {low}" if low else ""))


def choice(names: Sequence[str]) -> Parsed:
    """One of some words.

    >>> choice(["x", "y"]).convert("z", None, None)
    Traceback (most recent call last):
    marey.errors.InputError: z: one of x, y
    """

    def parse(text: str) -> str:
        if text not in names:
            raise ValueError
        return text

    return Parsed(parse, f"one of {', '.join(names)}", names)


def _frames(text: str) -> slice:
    found = re.fullmatch(r"(-?\d+|):(-?\d+|)", text.strip())
    if found is None:
        raise ValueError
    return slice(*(int(part) if part else None for part in found.groups()))


def _length(text: str) -> float:
    from marey.geometry.convention import UNITS

    found = re.fullmatch(r"\s*(\d+\.?\d*|\.\d+)\s*([a-z]*)\s*", text)
    if found is None or (found[2] or "m") not in UNITS:
        raise ValueError
    return float(found[1]) * UNITS[found[2] or "m"]


@dataclass(frozen=True)
class Time:
    """A moment or duration in seconds or in frames."""

    value: float
    in_frames: bool

    def seconds(self, frame_rate: float) -> float:
        """Seconds at this frame rate."""
        return self.value / frame_rate if self.in_frames else self.value


def _time(text: str, bare_frames: bool = False) -> Time:
    found = re.fullmatch(r"\s*(\d+\.?\d*|\.\d+)\s*(ms|s|f|)\s*", text)
    if found is None:
        raise ValueError
    in_frames = found[2] == "f" or (bare_frames and not found[2])
    if bare_frames and in_frames and "." in found[1]:
        raise ValueError
    return Time(float(found[1]) * (1e-3 if found[2] == "ms" else 1.0), in_frames)


def _gap(text: str) -> tuple[Time, Time]:
    first, stop = (_time(part, bare_frames=True) for part in text.split(":"))
    return first, stop


def _size(text: str) -> tuple[int, int]:
    found = re.fullmatch(r"(\d{1,5})[x×](\d{1,5})", text.strip())
    if found is None:
        raise ValueError
    return int(found[1]), int(found[2])


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


def _numbers(text: str) -> list[float]:
    values = [float(part) for part in text.split(",")]
    if not all(map(math.isfinite, values)):
        raise ValueError
    return values


def parse_polygon(text: str, least: int = 3) -> list[list[float]]:
    if not re.fullmatch(rf"\s*{NUMBER},{NUMBER}(?:[\s;]+{NUMBER},{NUMBER}){{{least - 1},}}\s*", text):
        raise ValueError
    corners = re.findall(rf"({NUMBER}),({NUMBER})", text)
    return [[float(x), float(y)] for x, y in corners]


class JointValue(NamedTuple):
    """A joint and numbers for it, as in `LeftHand=0.3,1.4,0.5`."""

    joint: str
    values: list[float]


def joint_values(example: str) -> Parsed:
    """`JOINT=` and as many numbers as the example has letters.

    >>> joint_values("X,Y,Z").convert("LeftHand=0.3,1.4,0.5", None, None)
    JointValue(joint='LeftHand', values=[0.3, 1.4, 0.5])
    """

    def parse(text: str) -> JointValue:
        joint, _, rest = text.partition("=")
        values = _numbers(rest)
        if not joint.strip() or len(values) != example.count(",") + 1 or max(map(abs, values)) >= MAX_METRES:
            raise ValueError
        return JointValue(joint.strip(), values)

    return Parsed(parse, f"write it as JOINT={example}" + ", numbers in metres" * ("W" not in example))


def _pair(text: str) -> tuple[str, str]:
    name, _, value = (part.strip() for part in text.partition("="))
    if not (name and value):
        raise ValueError
    return name, value


def parse_frame_reference(text: str) -> FrameReference:
    """What a user wrote for a frame. A path may have colons in it: only a number after the last one counts.

    >>> parse_frame_reference("walk.npz:12")
    FrameReference(file=PosixPath('walk.npz'), frame=12, clip=None)
    >>> parse_frame_reference("C:/takes/walk.npz").frame is None
    True
    """
    found = re.fullmatch(r"(.+):(-?\d+)", text, re.DOTALL)
    if Path(text).exists() or found is None:
        return FrameReference(Path(text))
    before, frame = found[1], int(found[2])
    file, colon, clip = before.rpartition(":")
    if colon and not Path(before).exists() and (Path(file).exists() or file.startswith("sample:")):
        return FrameReference(Path(file), frame, clip)
    return FrameReference(Path(before), frame)


FrameRange = Annotated[slice, Parsed(_frames, "write it as A:B, e.g. 100:200, 50: or :30")]
Length = Annotated[float, Parsed(_length, "write a length with its unit, e.g. 1cm, 5mm or 0.01m")]
Duration = Annotated[Time, Parsed(_time, "write a time, e.g. 10ms, 0.01s or 2f (frames)")]
Gap = Annotated[
    tuple[Time, Time], Parsed(_gap, "write A:B in whole frames, or as times, e.g. 1.5s:2s or 800ms:1s")
]
Size = Annotated[tuple[int, int], Parsed(_size, "write it as 1280x720")]
Names = Annotated[list[str], Parsed(_names, "write names with commas between")]
Numbers = Annotated[list[float], Parsed(_numbers, "write numbers with commas between, e.g. 0.5,2.25")]
Polygon = Annotated[
    list[list[float]], Parsed(parse_polygon, "write three corners or more, e.g. '0,0 4,0 4,2.5'")
]
Polyline = Annotated[
    list[list[float]],
    Parsed(lambda text: parse_polygon(text, 2), "write two points or more, e.g. '0,0 4,0'"),
]
Pair = Annotated[tuple[str, str], Parsed(_pair, "write it as NAME=VALUE")]
Point = Annotated[JointValue, joint_values("X,Y,Z")]
Orientation = Annotated[JointValue, joint_values("W,X,Y,Z")]
Height = Annotated[JointValue, joint_values("H")]
Frame = Annotated[FrameReference, Parsed(parse_frame_reference, "write FILE:FRAME")]


REQUIRED = object()
FIGURES = (".png", ".svg", ".pdf")


@dataclass(frozen=True)
class Spec:
    """How a parameter of a command is written and what becomes of it; None where another spec decides."""

    help: str | None = None
    metavar: str | None = None
    default: object = REQUIRED
    names: tuple[str, ...] | None = None
    type: click.ParamType[Any] | None = None
    bounds: tuple[float | None, float | None, float | None] | None = None
    """Least and largest value of a number, and a lower bound that itself is excluded."""
    argument: bool | None = None
    role: str | None = None
    """`in`: a file that is read; `out`: the result; `also`: another file that is written; `figure`."""
    many: bool | None = None
    """Whether it takes several values, which are loaded together."""
    load: Callable[[Any, Given], object] | None = None
    reads: tuple[str, ...] | None = None

    def over(self, other: Spec) -> Spec:
        """This spec, with what it leaves open from the other."""
        own = {f.name: getattr(self, f.name) for f in fields(self)}
        unset: dict[str, object] = {"default": REQUIRED}
        return replace(other, **{n: value for n, value in own.items() if value is not unset.get(n)})


def option(
    default: object,
    help: str,
    metavar: str | None = None,
    *names: str,
    min: float | None = None,
    max: float | None = None,
    above: float | None = None,
    choices: tuple[str, ...] = (),
    role: str | None = None,
) -> Any:
    """An option of one command, as the default of a parameter; `...` makes it required.

    Args:
        default: Value if it is not given.
        help: What it does, one sentence.
        metavar: What stands for its value in the help.
        *names: How it is written, if not as `--` and the parameter's name.
        min: Least value of a number.
        max: Largest value of a number.
        above: Lower bound of a number that itself is not allowed.
        choices: Allowed words; Literal types need none.
        role: As in :class:`Spec`.
    """
    return Spec(
        help=help,
        metavar=metavar,
        default=REQUIRED if default is ... else default,
        names=names or None,
        type=choice(choices) if choices else None,
        bounds=None if min is max is above is None else (min, max, above),
        argument=False,
        role=role,
    )


def argument(
    help: str,
    metavar: str | None = None,
    default: object = ...,
    *,
    role: str | None = None,
    reads: tuple[str, ...] = (),
) -> Any:
    """A word of one command, as the default of a parameter; `reads` are names in `READ`."""
    required = REQUIRED if default is ... else default
    return Spec(help, metavar, required, argument=True, role=role, reads=reads or None)


def _input(help: str, metavar: str, load: Callable[[Any, Given], object], *reads: str) -> Spec:
    return Spec(help, metavar, argument=True, role="in", many=metavar.endswith("…"), load=load, reads=reads)


CONVENTION = ("from_unit", "from_up", "from_frame_rate")
OF_CLIPS = (*CONVENTION, "root", "clip", "frames", "raw")
OF_MESHES = ("character", "vertices", *CONVENTION)

Clip = Annotated["Motion", _input("Clip of a skeleton.", "IN", inputs.clip, *OF_CLIPS)]
WholeClip = Annotated["Motion", _input("Clip of a skeleton.", "IN", inputs.whole_clip, *OF_CLIPS)]
Clips = Annotated["list[Motion]", _input("Clips of skeletons.", "IN…", inputs.clips, *OF_CLIPS)]
Meshes = Annotated[
    "Library",
    _input("Mesh sequences of one subject, or skeleton clips.", "SEQ…", inputs.library, *OF_MESHES),
]
Fields = Annotated["FieldSeries", _input("Velocity fields: .zarr, .mry or .flo.", "FIELD", inputs.fields)]
Crowd = Annotated[
    "Tracks",
    _input("Tracks: .csv, .txt, .parquet, .sqlite, .mry.", "TRACKS", inputs.tracks, "from_frame_rate"),
]
Video = Annotated[
    "Footage",
    _input("A video, a folder of images, or %04d.jpg.", "VIDEO", inputs.video, "frames", "from_frame_rate"),
]
Distances = Annotated[
    "DistanceMatrix", _input("Pose distances of `marey surface distance`.", "D.npz", inputs.distances)
]
Graph = Annotated["SurfaceGraph", _input("Made by `marey surface graph`.", "GRAPH", inputs.graph)]
PoseModelFile = Annotated["PoseModel", _input("Pose model (marey body fit).", "MODEL", inputs.pose_model)]
LimitsFile = Annotated[
    "LearnedLimits", _input("Joint limits (marey body limits).", "LIMITS", inputs.joint_limits)
]
ClipFiles = Annotated[
    "inputs.ClipFiles",
    _input("Clips of one skeleton, or folders of them.", "IN…", inputs.ClipFiles, *CONVENTION, "raw"),
]
ModelOrClip = Annotated[
    "MotionModel | Motion",
    _input("Model of marey body learn, or a clip to learn from.", "MODEL", inputs.model_or_clip, *OF_CLIPS),
]
Anything = Annotated[object, _input("File or folder to read.", "IN", inputs.anything, *OF_CLIPS)]

Out = Annotated[
    Path, Spec("Result; its ending is the format.", "OUT", names=("--out", "-o"), argument=False, role="out")
]
Figure = Annotated[
    Path | None, Spec("Also a figure.", "X.png", None, names=("--figure",), argument=False, role="figure")
]
Seed = Annotated[int, Spec("Seed of the random generator.", "N", bounds=(0, None, None), argument=False)]
Jobs = Annotated[
    int | None, Spec("Threads; one a core if not given.", "N", bounds=(1, None, None), argument=False)
]

# Options of several commands.
Reach = Annotated[Sequence[Point], Spec("Bring a joint to a place, metres.", "JOINT=X,Y,Z")]
Move = Annotated[Sequence[Point], Spec("Move a joint by so much, metres.", "JOINT=X,Y,Z")]
LookAt = Annotated[Sequence[Point], Spec("Let a joint, e.g. Head, face a point.", "JOINT=X,Y,Z")]
Modes = Annotated[int | None, Spec("Keep this many modes.", "K")]
Variance = Annotated[float | None, Spec("Keep this share of the variance, 0…1; usually 0.99.", "SHARE")]
Up = Annotated[str | None, Spec("Up axis of the file written.", "y|z")]
Unit = Annotated[str | None, Spec("Unit of the file written: m, cm, mm, in, or metres.", "UNIT")]
Camera = Annotated[
    Path | None, Spec("Calibration (Tsai XML, camera.json) or homography (text).", "FILE", role="in")
]
PlaneHeight = Annotated[float, Spec("Metres above the ground at which bodies are seen, e.g. 0.9.", "M")]
Triangles = Annotated[
    int | None,
    Spec("Compare N triangles spread over the surface, not all.", "N", bounds=(1, None, None)),
]
Slope = Annotated[int, Spec("Neither side passes more than P times as fast as the other.", "P")]
Window = Annotated[int, Spec("Frames about a jump that must be similar; fewer for short clips.", "N")]
ImageSize = Annotated[Size, Spec("Pixels.", "WxH")]

READ: dict[str, tuple[object, Spec]] = {
    "from_unit": (
        str,
        option(None, "Unit of the input (m, cm, mm, in, or metres), not as inferred.", "UNIT"),
    ),
    "from_up": (str, option(None, "Up axis of the input, not as inferred.", "y|z")),
    "from_frame_rate": (float, option(None, "Frames per second of the input, if it does not say.", "F")),
    "root": (str, option(None, "Which root, for a BVH file with several.", "NAME")),
    "clip": (str, option(None, "Which clip of a character with several.", "NAME")),
    "frames": (
        FrameRange,
        option(None, "Only frames A to B-1 as numbered in the file, e.g. 100:200, 50:, :30 or -30:.", "A:B"),
    ),
    "raw": (bool, option(False, "Keep an artificial T-pose and glitches, which are removed otherwise.")),
    "character": (
        str,
        option(None, "Who wears skeleton clips: human (default), a .glb, or a folder of MPFB.", "FILE"),
    ),
    "vertices": (int, option(None, "Decimate the surface to N vertices.", "N", min=4)),
}
"""Options of readers: type and spec."""
