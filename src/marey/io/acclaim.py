"""Acclaim skeletons (`.asf`) and motion (`.amc`), as the CMU database holds them.

As "Acclaim Skeleton File Definition V1.10" (Schafer 1995) has them: commas and parentheses are blanks, angles
are in degrees unless `:units` say otherwise. A bone turns about its start by `C M C⁻¹`: `C` from its `axis`
line, `M` from the motion, both about fixed axes in the order they are listed (Tournier 2011, chapter 4). A
bone becomes the joint at its start, so its offset is its parent's vector. In the motion file each frame has
its number on a line, then a line for each bone that moves; bones may come in any order, which may change from
frame to frame. Cost: about a microsecond a line.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

import numpy as np

from marey._arrays import Array
from marey.body.motion import Motion
from marey.body.skeleton import Skeleton
from marey.errors import FormatError, InputError, MareyWarning
from marey.geometry import rotations as so3
from marey.geometry.convention import UNITS, Convention, unit_size
from marey.geometry.matrices import from_euler
from marey.io._files import check_poses_fit, decoded, quoted, read_bytes
from marey.io._limits import LIMITS
from marey.io._numbers import to_floats

CMU_FRAME_RATE = 120.0
TURNS, SLIDES = ("RX", "RY", "RZ"), ("TX", "TY", "TZ", "L")
_BLANKS = bytes.maketrans(b",()", b"   ")

_FIRST_FRAME = re.compile(rb"(?:\A|(?<=[\r\n]))[ \t]*\d+[ \t]*(?=[\r\n#]|\Z)")
_COMMENT = re.compile(rb"#[^\r\n]*")
_RATE = re.compile(rb"(?<!\S):SAMPLES-PER-SECOND\s+(\d+\.?\d*|\.\d+)(?!\S)")


def read(
    path: Path,
    *,
    skeleton: str | Path | None = None,
    unit: str | float | None = None,
    frame_rate: float | None = None,
) -> Motion:
    """A clip from an AMC file and its ASF skeleton; an ASF file alone gives its rest pose, one frame.

    skeleton: the ASF file; by default the one beside the AMC that shares the start of its name
    unit: metres per unit; by default an inch divided by the ASF's `length`, as CMU counts
    frame_rate: frames per second; by default what the file says, and 120 if, as usual, it does not
    """
    path = Path(path)
    is_rest = path.suffix.lower() == ".asf"
    asf = read_asf(path if is_rest else _skeleton_beside(path, skeleton))
    convention = Convention(UNITS["in"] / asf.unit if unit is None else unit_size(unit))
    if is_rest:
        return _motion(asf, {}, 1, asf.in_degrees, convention, frame_rate or CMU_FRAME_RATE, path)
    amc = read_amc(path, {bone.name: len(bone.freedoms) for bone in asf.bones})
    check_poses_fit(amc.frames, len(asf.bones), path)
    in_degrees = asf.in_degrees if amc.in_degrees is None else amc.in_degrees
    rate = frame_rate or amc.frame_rate or CMU_FRAME_RATE
    return _motion(asf, amc.values, amc.frames, in_degrees, convention, rate, path)


def _motion(
    asf: Asf,
    values: dict[str, Array],
    frames: int,
    in_degrees: bool,
    convention: Convention,
    frame_rate: float,
    path: Path,
) -> Motion:
    """values: by bone, `(frames, freedoms)`; bones without any stay at rest."""
    bones = asf.bones
    stretching = [bone.name for bone in bones[1:] if bone.name in values and set(bone.freedoms) - set(TURNS)]
    if stretching:
        message = f"{path}: bone {stretching[0]!r} also slides or stretches; only its turns are read"
        warnings.warn(message, MareyWarning, stacklevel=3)
    rotations = so3.identity((frames, len(bones)))
    root = np.zeros((frames, 3)) + asf.position
    for joint, bone in enumerate(bones):
        if bone.name not in values:
            continue
        columns = dict(zip(bone.freedoms, values[bone.name].T, strict=True))
        order = "".join(freedom[1] for freedom in bone.freedoms if freedom in TURNS)
        still = np.zeros(frames)
        angles = np.stack([columns.get(freedom, still) for freedom in TURNS], axis=1)
        frame = _turned(bone.axis, bone.axis_order, in_degrees=asf.in_degrees)
        turn = so3.multiply(frame, _turned(angles, order, in_degrees=in_degrees))
        rotations[:, joint] = so3.multiply(turn, so3.inverse(frame))
        if joint == 0:
            root += np.stack([columns.get(freedom, still) for freedom in ("TX", "TY", "TZ")], axis=1)
    vectors = np.array([bone.vector for bone in bones])
    parents = np.array([bone.parent for bone in bones])
    leaves = np.setdiff1d(np.arange(len(bones)), parents)
    offsets = np.where(parents[:, None] >= 0, vectors[parents], 0.0)
    return Motion(
        Skeleton(
            tuple(bone.name for bone in bones),
            parents,
            convention.to_marey(offsets),
            leaves,
            convention.to_marey(vectors[leaves]),
        ),
        so3.continuous(rotations),
        convention.to_marey(root),
        frame_rate,
        convention=convention,
        name=path.stem,
    )


def _turned(angles: Array, order: str, *, in_degrees: bool) -> Array:
    """Turns by angles `(..., 3)` about the fixed axes x, y, z, in this order: XYZ is `R_z R_y R_x`.

    Axes that are not in the order must have angle 0.
    """
    # About fixed axes is the same as about turned ones, in reverse.
    order = "".join(dict.fromkeys(order + "XYZ"))[::-1]
    listed = angles[..., ["XYZ".index(axis) for axis in order]]
    return from_euler(np.radians(listed) if in_degrees else listed, order)


def _skeleton_beside(path: Path, given: str | Path | None) -> Path:
    if given is not None:
        return Path(given)
    folder = path.parent
    candidates = sorted(p for p in folder.glob("*") if p.suffix.lower() == ".asf") if folder.is_dir() else []
    named = [p for p in candidates if _begins(path.stem.lower(), p.stem.lower())]
    if named:
        return max(named, key=lambda p: len(p.stem))
    if len(candidates) == 1:
        message = (
            f"{path}: read with the only skeleton beside it, {candidates[0].name}; skeleton= names another"
        )
        warnings.warn(message, MareyWarning, stacklevel=3)
        return candidates[0]
    raise FormatError(
        f"its skeleton is not beside it (looked for {path.stem.split('_')[0]}.asf); "
        "put the .asf file there (in the studio: open it first) or name it with skeleton=",
        path=path,
    )


def _begins(name: str, start: str) -> bool:
    """Whether a name begins with `start`, and not in the middle of a word or number: 11 of 11_01."""
    return name.startswith(start) and not name[len(start) : len(start) + 1].isalnum()


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
    unit, in_degrees, position = 1.0, True, np.zeros(3)
    root = Bone("root", 0, freedoms=(*SLIDES[:3], *TURNS))
    bones, children = [root], []
    section = ""
    for line in _lines(path):
        bone = bones[-1]
        match section, line.key:
            case _, key if key.startswith(":"):
                section = key
            case ":units", "length":
                unit = float(line.numbers(1)[0])
                if not 1e-9 < unit < 1e9:
                    raise line.error(f"length {unit:g} in :units must be positive, and not this far from 1")
            case ":units", "angle":
                in_degrees = not line.words[-1].lower().startswith("rad")
            case ":root", "order":
                root.freedoms = line.freedoms()
            case ":root", "axis":
                root.axis_order = line.order(1)
            case ":root", "position":
                position = line.numbers(3)
            case ":root", "orientation":
                root.axis = line.numbers(3)
            case ":bonedata", "begin":
                bones.append(Bone("", line.number))
            case ":bonedata", "name" if len(bones) > 1:
                if len(line.words) < 2:
                    raise line.error("a bone without a name")
                bone.name = line.words[1]
            case ":bonedata", "direction" if len(bones) > 1:
                bone.direction = line.numbers(3)
            case ":bonedata", "length" if len(bones) > 1:
                bone.length = float(line.numbers(1)[0])
            case ":bonedata", "axis" if len(bones) > 1:
                bone.axis, bone.axis_order = line.numbers(3), line.order(4)
            case ":bonedata", "dof" if len(bones) > 1:
                bone.freedoms = line.freedoms()
            case ":hierarchy", key if key not in ("begin", "end"):
                children.append(line)
        if len(bones) > LIMITS.joints:
            raise line.error(f"more than {LIMITS.joints} bones")
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
            raise self.error(f"not a number in {quoted(' '.join(self.words))}") from None
        if len(values) != count or not np.isfinite(values).all():
            raise self.error(f"{self.words[0]} needs {count} finite numbers")
        return values

    def order(self, place: int) -> str:
        """Axes in the order of turning, all three of them if the file does not say."""
        order = "".join(self.words[place : place + 1]).upper() or "XYZ"
        if sorted(order) != ["X", "Y", "Z"]:
            raise self.error(f"axis order {quoted(order)} is not one like XYZ")
        return order

    def freedoms(self) -> tuple[str, ...]:
        freedoms = tuple(word.upper() for word in self.words[1:])
        if set(freedoms) - {*TURNS, *SLIDES} or len(set(freedoms)) != len(freedoms):
            listed = quoted(" ".join(self.words[1:]))
            raise self.error(f"degrees of freedom {listed} are not some of rx ry rz tx ty tz l")
        return freedoms


def _lines(path: Path) -> list[_Line]:
    data = read_bytes(path, limit=LIMITS.table)
    if b"\0" in data:
        raise FormatError("a binary file, not an ASF skeleton", path=path)
    lines = enumerate(data.translate(_BLANKS).splitlines(), start=1)
    split = ((number, decoded(line.partition(b"#")[0]).split()) for number, line in lines)
    return [_Line(words, number, path) for number, words in split if words]


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
        raise FormatError(f"bone {lost[0].name!r} has no parent in :hierarchy", path=path, line=lost[0].line)
    return ordered


@dataclass(frozen=True)
class Amc:
    """What a motion file says.

    values: by bone, `(frames, freedoms)`; bones that are in no frame are missing
    in_degrees, frame_rate: None if the file does not say
    """

    frames: int
    values: dict[str, Array]
    in_degrees: bool | None
    frame_rate: float | None


def read_amc(path: Path, freedoms: Mapping[str, int]) -> Amc:
    """The motion in an AMC file, for bones of these names and numbers of freedoms."""
    text = read_bytes(path, limit=LIMITS.table)
    first = _FIRST_FRAME.search(text)
    if first is None:
        raise FormatError("no frame found; not an AMC file", path=path)
    head, body = text[: first.start()], _COMMENT.sub(b"", text[first.start() :])
    numbers: list[int] = []
    lines: list[int] = []
    rows: dict[str, list[list[float]]] = {}
    for line, content in enumerate(body.splitlines(), start=len(head.splitlines()) + 1):
        words = content.split()
        if not words:
            continue
        if is_frame := words[0].isdigit():
            numbers.append(int(words[0][:18]))
            lines.append(line)
        name = decoded(words[0])
        if not is_frame and name not in freedoms:
            raise FormatError(f"bone {quoted(name)} is not in the skeleton file", path=path, line=line)
        expected = 0 if is_frame else freedoms[name]
        if len(words) - 1 != expected:
            title = "the number of a frame" if is_frame else f"bone {name!r}"
            message = f"{title} is followed by {expected} numbers, found {len(words) - 1}"
            raise FormatError(message, path=path, line=line)
        if not is_frame:
            own = rows.setdefault(name, [])
            if len(own) == len(numbers):
                raise FormatError(f"bone {name!r} is there twice in a frame", path=path, line=line)
            try:
                own.append(to_floats(words[1:]))
            except InputError as error:
                raise FormatError(str(error), path=path, line=line) from error
            if len(own) < len(numbers):
                raise _without_bone(name, path, lines[len(own) - 1])
    for name, own in rows.items():
        if len(own) < len(numbers):
            raise _without_bone(name, path, lines[len(own)])
    for before, after in pairwise(numbers):
        if after != before + 1:
            message = f"{path}: frame {after} follows frame {before}; all frames are read as evenly spaced"
            warnings.warn(message, MareyWarning, stacklevel=2)
            break
    keywords = _COMMENT.sub(b"", head).upper()
    in_degrees = {b":DEGREES": True, b":RADIANS": False}
    stated = _RATE.search(keywords)
    rate = float(stated[1]) if stated else 0.0
    return Amc(
        len(numbers),
        {name: np.array(own, dtype=np.float64) for name, own in rows.items()},
        next((is_so for word, is_so in in_degrees.items() if word in keywords.split()), None),
        rate if 0 < rate < 1e6 else None,
    )


def _without_bone(name: str, path: Path, line: int) -> FormatError:
    message = f"this frame has no line for bone {name!r}, which other frames have"
    return FormatError(message, path=path, line=line)
