"""What users write for one option, as values: each type converts, or says in one line how to write it."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import click

from marey.errors import InputError

NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
# Metres: anything farther is a typing error.
FARTHEST = 1e6


class Parsed(click.ParamType):
    """A type made of a function from text to a value, which raises ValueError for what it cannot read."""

    def __init__(self, parse: Callable[[str], Any], expected: str) -> None:
        self.name, self.parse, self.expected = "value", parse, expected

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The value of the text; defaults are values already."""
        if not isinstance(value, str):
            return value
        try:
            return self.parse(value)
        except ValueError:
            name = param.opts[0] if param is not None else ""
            raise InputError(f"{name} {value}: {self.expected}".strip()) from None


def number(kind: type, least: float | None, most: float | None, above: float | None) -> Parsed:
    """A finite number within bounds; `above` is a lower bound that itself is excluded.

    >>> number(int, 1, 9, None).convert("3", None, None)
    3
    """
    low = f"above {above}" if above is not None else None if least is None else f"at least {least}"
    if most is not None:
        low = f"{low}, at most {most}" if least is None else f"from {least} to {most}"

    def parse(text: str) -> Any:
        value = kind(text)
        inside = (least is None or value >= least) and (most is None or value <= most)
        if not (inside and math.isfinite(value) and (above is None or value > above)):
            raise ValueError
        return value

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

    return Parsed(parse, f"one of {', '.join(names)}")


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


def _polygon(text: str) -> list[list[float]]:
    if not re.fullmatch(rf"\s*{NUMBER},{NUMBER}(?:[\s;]+{NUMBER},{NUMBER}){{2,}}\s*", text):
        raise ValueError
    corners = re.findall(rf"({NUMBER}),({NUMBER})", text)
    return [[float(x), float(y)] for x, y in corners]


@dataclass(frozen=True)
class JointValue:
    """A joint and numbers for it, as in `LeftHand=0.3,1.4,0.5`."""

    joint: str
    values: list[float]

    def __str__(self) -> str:
        return f"{self.joint}={','.join(f'{value:g}' for value in self.values)}"


def joint_values(example: str) -> Parsed:
    """`JOINT=` and as many numbers as the example has letters.

    >>> joint_values("X,Y,Z").convert("LeftHand=0.3,1.4,0.5", None, None)
    JointValue(joint='LeftHand', values=[0.3, 1.4, 0.5])
    """

    def parse(text: str) -> JointValue:
        joint, _, rest = text.partition("=")
        values = _numbers(rest)
        if not joint.strip() or len(values) != example.count(",") + 1 or max(map(abs, values)) >= FARTHEST:
            raise ValueError
        return JointValue(joint.strip(), values)

    return Parsed(parse, f"write it as JOINT={example}" + ", numbers in metres" * ("W" not in example))


def _pair(text: str) -> tuple[str, str]:
    name, _, value = (part.strip() for part in text.partition("="))
    if not (name and value):
        raise ValueError
    return name, value


@dataclass(frozen=True)
class FrameReference:
    """A frame of a file; `frame` counts from 0, or below 0 from the end; None if none was written."""

    file: Path
    frame: int | None = None
    clip: str | None = None

    def __str__(self) -> str:
        return ":".join(str(part) for part in (self.file, self.clip, self.frame) if part is not None)


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
    if colon and not Path(before).exists() and Path(file).exists():
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
Polygon = Annotated[list[list[float]], Parsed(_polygon, "write three corners or more, e.g. '0,0 4,0 4,2.5'")]
Pair = Annotated[tuple[str, str], Parsed(_pair, "write it as NAME=VALUE")]
Point = Annotated[JointValue, joint_values("X,Y,Z")]
Orientation = Annotated[JointValue, joint_values("W,X,Y,Z")]
Height = Annotated[JointValue, joint_values("H")]
Frame = Annotated[FrameReference, Parsed(parse_frame_reference, "write FILE:FRAME")]
