"""Acclaim skeletons, `.asf`: bones, their axes and freedoms, and which hangs on which.

As "Acclaim Skeleton File Definition V1.10" (Schafer 1995) has them: commas and parentheses are blanks, angles
are in degrees unless `:units` say otherwise. Cost: microseconds a line.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from marey.errors import FormatError
from marey.io._files import read_bytes
from marey.io._text import decoded, shown

Array = NDArray[np.float64]

MOST_BONES = 10_000
LARGEST_FILE = 64 << 20
TURNS, SLIDES = ("RX", "RY", "RZ"), ("TX", "TY", "TZ", "L")

_BLANKS = bytes.maketrans(b",()", b"   ")


@dataclass
class Bone:
    """A bone; `axis` are angles about x, y and z in the file's unit, applied in the order of `axis_order`.

    freedoms: what the motion file says about it, in its order: `RX`, …, `TX`, …, `L` for the length
    parent: index of the bone it hangs on, -1 for the root
    """

    name: str
    line: int
    direction: Array = field(default_factory=lambda: np.zeros(3))
    length: float = 0.0
    axis: Array = field(default_factory=lambda: np.zeros(3))
    axis_order: str = "XYZ"
    freedoms: tuple[str, ...] = ()
    parent: int = -1

    @property
    def vector(self) -> Array:
        """From its start to its end."""
        norm = float(np.linalg.norm(self.direction))
        return self.direction * (self.length / norm) if norm > 0 else np.zeros(3)


@dataclass(frozen=True)
class Asf:
    """A skeleton: bones with parents first, bone 0 being the root, which has no length.

    position: where the root stands when the motion says 0
    unit: how many of the file's units of length are one of those it was measured in
    """

    bones: list[Bone]
    position: Array
    unit: float
    in_degrees: bool


def read_asf(path: Path) -> Asf:
    """The skeleton in an ASF file."""
    lines = _lines(path)
    unit, in_degrees, position = 1.0, True, np.zeros(3)
    root = Bone("root", 0, freedoms=(*SLIDES[:3], *TURNS))
    bones, children = [root], []
    section = ""
    for line in lines:
        key = line.key
        if key.startswith(":"):
            section = key
        elif section == ":units" and key == "length":
            unit = float(line.numbers(1)[0])
            if not 1e-9 < unit < 1e9:
                raise line.error(f"length {unit:g} in :units must be positive, and not this far from 1")
        elif section == ":units" and key == "angle":
            in_degrees = not line.words[-1].lower().startswith("rad")
        elif section == ":root" and key == "order":
            root.freedoms = line.freedoms()
        elif section == ":root" and key == "axis":
            root.axis_order = line.order(1)
        elif section == ":root" and key == "position":
            position = line.numbers(3)
        elif section == ":root" and key == "orientation":
            root.axis = line.numbers(3)
        elif section == ":bonedata" and key == "begin":
            bones.append(Bone("", line.number))
        elif section == ":bonedata" and len(bones) > 1:
            _describe(bones[-1], line)
        elif section == ":hierarchy" and key not in ("begin", "end"):
            children.append(line)
        if len(bones) > MOST_BONES:
            raise line.error(f"more than {MOST_BONES} bones")
    if len(bones) == 1 and not children:
        raise FormatError("no :bonedata or :hierarchy found; not an ASF skeleton", path=path)
    return Asf(_in_order(bones, children, path), position, unit, in_degrees)


@dataclass(frozen=True)
class _Line:
    words: list[str]
    number: int
    path: Path

    @property
    def key(self) -> str:
        return self.words[0].lower()

    def error(self, message: str) -> FormatError:
        return FormatError(message, path=self.path, line=self.number)

    def numbers(self, count: int) -> Array:
        try:
            values = np.array([float(word) for word in self.words[1 : 1 + count]])
        except ValueError:
            raise self.error(f"not a number in {shown(' '.join(self.words))}") from None
        if len(values) != count or not np.isfinite(values).all():
            raise self.error(f"{self.words[0]} needs {count} finite numbers")
        return values

    def order(self, place: int) -> str:
        """Axes in the order of turning, all three of them if the file does not say."""
        order = "".join(self.words[place : place + 1]).upper() or "XYZ"
        if sorted(order) != ["X", "Y", "Z"]:
            raise self.error(f"axis order {shown(order)} is not one like XYZ")
        return order

    def freedoms(self) -> tuple[str, ...]:
        freedoms = tuple(word.upper() for word in self.words[1:])
        if set(freedoms) - {*TURNS, *SLIDES} or len(set(freedoms)) != len(freedoms):
            listed = shown(" ".join(self.words[1:]))
            raise self.error(f"degrees of freedom {listed} are not some of rx ry rz tx ty tz l")
        return freedoms


def _lines(path: Path) -> list[_Line]:
    data = read_bytes(path, limit=LARGEST_FILE)
    if b"\0" in data:
        raise FormatError("a binary file, not an ASF skeleton", path=path)
    lines = enumerate(data.translate(_BLANKS).splitlines(), start=1)
    split = ((number, decoded(line.partition(b"#")[0]).split()) for number, line in lines)
    return [_Line(words, number, path) for number, words in split if words]


def _describe(bone: Bone, line: _Line) -> None:
    if line.key == "name":
        if len(line.words) < 2:
            raise line.error("a bone without a name")
        bone.name = line.words[1]
    elif line.key == "direction":
        bone.direction = line.numbers(3)
    elif line.key == "length":
        bone.length = float(line.numbers(1)[0])
    elif line.key == "axis":
        bone.axis, bone.axis_order = line.numbers(3), line.order(4)
    elif line.key == "dof":
        bone.freedoms = line.freedoms()


def _in_order(bones: list[Bone], children: list[_Line], path: Path) -> list[Bone]:
    """Bones with their parents, parents first, as the hierarchy lists them."""
    by_name = {bone.name: bone for bone in bones}
    if len(by_name) != len(bones):
        again = next(bone for bone in bones if by_name[bone.name] is not bone)
        raise FormatError(f"two bones are called {again.name!r}", path=path, line=by_name[again.name].line)
    below: dict[str, list[str]] = {}
    placed: dict[str, str] = {}
    for line in children:
        parent, *names = line.words
        for name in line.words:
            if name not in by_name:
                raise line.error(f"the hierarchy names {name!r}, no such bone")
        for name in names:
            if name in placed or name == bones[0].name:
                raise line.error(f"bone {name!r} has two parents")
            placed[name] = parent
        below.setdefault(parent, []).extend(names)
    ordered: list[Bone] = []
    waiting = [bones[0].name]
    index: dict[str, int] = {}
    while waiting:
        name = waiting.pop()
        bone = by_name[name]
        bone.parent = index[placed[name]] if name in placed else -1
        index[name] = len(ordered)
        ordered.append(bone)
        waiting.extend(reversed(below.get(name, [])))
    lost = [bone for bone in bones if bone.name not in index]
    if lost:
        raise FormatError(f"bone {lost[0].name!r} hangs on nothing", path=path, line=lost[0].line)
    return ordered
