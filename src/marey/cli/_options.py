"""Options and inputs that commands share: each is an Annotated type, declared once.

An input such as `Clip` names files on the command line and arrives loaded; it also brings the options of its
reader (`--from-unit`, `--raw`, …). Data types are named as text, so that `--help` imports none of them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import click

from marey.cli import _inputs as inputs
from marey.cli._parse import FrameRange, choice

if TYPE_CHECKING:
    from marey.body.dynamics import MotionModel
    from marey.body.motion import Motion
    from marey.body.pose_model import PoseModel
    from marey.crowd.fields import FieldSeries
    from marey.crowd.footage import Footage
    from marey.crowd.tracks import Tracks
    from marey.surface.distances import DistanceMatrix
    from marey.surface.library import Library
    from marey.surface.synthesis.animate import SurfaceGraph

REQUIRED: Any = object()
FIGURES = (".png", ".svg", ".pdf")


@dataclass(frozen=True)
class Spec:
    """How a parameter of a command is written and what becomes of it; None where another spec decides."""

    help: str | None = None
    metavar: str | None = None
    default: Any = REQUIRED
    names: tuple[str, ...] | None = None
    type: click.ParamType | None = None
    bounds: tuple[float | None, float | None, float | None] | None = None
    """Least and largest value of a number, and a lower bound that itself is excluded."""
    argument: bool | None = None
    role: str | None = None
    """`in`: a file that is read; `out`: the result; `also`: another file that is written; `figure`."""
    many: bool | None = None
    """Whether it takes several values, which are loaded together."""
    load: Callable[[Any, dict[str, Any]], Any] | None = None
    reads: tuple[str, ...] | None = None

    def over(self, other: Spec) -> Spec:
        """This spec, with what it leaves open from the other."""
        own = {f.name: getattr(self, f.name) for f in fields(self)}
        unset: dict[str, Any] = {"default": REQUIRED}
        return replace(other, **{n: value for n, value in own.items() if value is not unset.get(n)})


def option(
    default: Any,
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
    default: Any = ...,
    *,
    role: str | None = None,
    reads: tuple[str, ...] = (),
) -> Any:
    """A word of one command, as the default of a parameter; `reads` are names in `READ`."""
    required = REQUIRED if default is ... else default
    return Spec(help, metavar, required, argument=True, role=role, reads=reads or None)


def _input(help: str, metavar: str, load: Callable[[Any, dict[str, Any]], Any], *reads: str) -> Spec:
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
ClipFiles = Annotated[
    "inputs.ClipFiles",
    _input("Clips of one skeleton, or folders of them.", "IN…", inputs.ClipFiles, *CONVENTION, "raw"),
]
ModelOrClip = Annotated[
    "MotionModel | Motion",
    _input("Model of marey body learn, or a clip to learn from.", "MODEL", inputs.model_or_clip, *OF_CLIPS),
]
Anything = Annotated[Any, _input("File or folder to read.", "IN", inputs.anything, *OF_CLIPS)]

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

READ: dict[str, tuple[Any, Any]] = {
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
