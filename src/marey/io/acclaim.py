"""Acclaim skeletons (`.asf`) and motion (`.amc`), as the CMU database holds them.

A bone turns about its start by `C M C⁻¹`: `C` from its `axis` line, `M` from the motion (Tournier 2011,
chapter 4). A bone becomes the joint at its start, so its offset is its parent's vector. AMC knows neither
its frame rate nor its skeleton file: 120 per second and the `.asf` beside it are assumed. Numbers are
parsed in bulk when every frame lists the same bones, as they do in the wild.
"""

from __future__ import annotations

import re
import warnings
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from marey.body.motion import Motion
from marey.body.skeleton import Skeleton
from marey.errors import FormatError, MareyWarning
from marey.geometry import rotations as so3
from marey.geometry.convention import Convention, unit_size
from marey.io._files import read_bytes
from marey.io._numbers import parse_numbers

INCH = 0.0254
CMU_FRAME_RATE = 120.0
MOST_BONES = 10_000

# A word at the start of a line, other than a number: a bone's name.
BONE_NAME = re.compile(rb"^[ \t]*([^\s\d+\-.#:][^\s]*)", re.MULTILINE)


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
    frame_rate: frames per second; by default 120
    """
    asf_path = path if path.suffix.lower() == ".asf" else _skeleton_beside(path, skeleton)
    asf = _read_asf(asf_path)
    convention = Convention(INCH / asf.length if unit is None else unit_size(unit))
    rate = CMU_FRAME_RATE if frame_rate is None else frame_rate
    if path.suffix.lower() == ".asf":
        values = {bone.name: np.zeros((1, len(bone.dof))) for bone in asf.bones}
        return _motion(asf, values, convention, rate, path.stem)
    return _motion(asf, _read_amc(path, asf), convention, rate, path.stem)


@dataclass
class _Bone:
    name: str
    line: int
    direction: NDArray[np.float64] = field(default_factory=lambda: np.zeros(3))
    length: float = 0.0
    axis: NDArray[np.float64] = field(default_factory=lambda: np.zeros(3))
    axis_order: str = "XYZ"
    dof: tuple[str, ...] = ()
    parent: int = -1

    @property
    def vector(self) -> NDArray[np.float64]:
        norm = float(np.linalg.norm(self.direction))
        return self.direction * (self.length / norm) if norm > 0 else np.zeros(3)


@dataclass
class _Asf:
    bones: list[_Bone]  # parents first; the root is bone 0
    position: NDArray[np.float64]
    length: float
    degrees: bool


def _motion(
    asf: _Asf, values: dict[str, NDArray[np.float64]], convention: Convention, frame_rate: float, name: str
) -> Motion:
    bones = asf.bones
    stretching = [bone.name for bone in bones[1:] if any(not dof.startswith("R") for dof in bone.dof)]
    if stretching:
        warnings.warn(
            f"{name}: bone {stretching[0]!r} also slides or stretches; only its turns are read",
            MareyWarning,
            stacklevel=3,
        )
    frames = len(values[bones[0].name])
    rotations = np.empty((frames, len(bones), 4))
    root = np.zeros((frames, 3)) + asf.position
    for joint, bone in enumerate(bones):
        frame = _turn(np.radians(bone.axis) if asf.degrees else bone.axis, bone.axis_order)
        angles = values[bone.name]
        turning = [i for i, dof in enumerate(bone.dof) if dof.startswith("R")]
        order = "".join(bone.dof[i][1] for i in turning)
        local = _turn(angles[:, turning], order)
        rotations[:, joint] = so3.multiply(so3.multiply(frame, local), so3.inverse(frame))
        if joint == 0:
            for i, dof in enumerate(bone.dof):
                if dof.startswith("T"):
                    root[:, "XYZ".index(dof[1])] += angles[:, i]
    vectors = np.array([bone.vector for bone in bones])
    parents = np.array([bone.parent for bone in bones])
    leaves = np.array([j for j in range(len(bones)) if j not in parents], dtype=np.int64)
    offsets = np.where(parents[:, None] > 0, vectors[parents], 0.0)
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
        name=name,
    )


def _turn(angles: NDArray[np.float64], order: str) -> NDArray[np.float64]:
    """Turns about fixed axes in the order written: XYZ is `R_z R_y R_x`."""
    quaternion = so3.identity(angles.shape[:-1])
    for i, axis in enumerate(order):
        quaternion = so3.multiply(so3.exp(angles[..., i, None] * np.eye(3)["XYZ".index(axis)]), quaternion)
    return quaternion


def _skeleton_beside(path: Path, given: str | Path | None) -> Path:
    if given is not None:
        return Path(given)
    folder = path.parent
    candidates = sorted(p for p in folder.glob("*") if p.suffix.lower() == ".asf") if folder.is_dir() else []
    named = [p for p in candidates if path.stem.lower().startswith(p.stem.lower())]
    best = max(named, key=lambda p: len(p.stem), default=candidates[0] if len(candidates) == 1 else None)
    if best is None:
        raise FormatError(
            f"its skeleton is not beside it (looked for {path.stem.split('_')[0]}.asf); "
            "put the .asf file there or name it with skeleton=",
            path=path,
        )
    return best


def _read_asf(path: Path) -> _Asf:
    lines = _words(path)
    length, degrees = 1.0, True
    position = np.zeros(3)
    root = _Bone("root", 0, dof=("TX", "TY", "TZ", "RX", "RY", "RZ"))
    bones: list[_Bone] = [root]
    children: list[tuple[int, list[str]]] = []
    section = ""
    for number, words in lines:
        key = words[0].lower()
        if key.startswith(":"):
            section = key
        elif section == ":units":
            if key == "length":
                length = float(_numbers(words, 1, path, number)[0])
                if not length > 0:
                    raise FormatError(f"length {length:g} in :units must be positive", path=path, line=number)
            elif key == "angle":
                degrees = words[-1].lower() != "rad"
        elif section == ":root":
            if key == "order":
                root.dof = _dof(words[1:], path, number)
            elif key == "axis":
                root.axis_order = _order(words[-1], path, number)
            elif key == "position":
                position = _numbers(words, 3, path, number)
            elif key == "orientation":
                root.axis = _numbers(words, 3, path, number)
        elif section == ":bonedata":
            _bone_line(words, bones, path, number)
        elif section == ":hierarchy" and key not in ("begin", "end"):
            children.append((number, words))
        if len(bones) > MOST_BONES:
            raise FormatError(f"more than {MOST_BONES} bones", path=path, line=number)
    if len(bones) == 1 and not children:
        raise FormatError("no :bonedata or :hierarchy found; not an ASF skeleton", path=path)
    return _Asf(_in_order(bones, children, path), position, length, degrees)


def _bone_line(words: list[str], bones: list[_Bone], path: Path, number: int) -> None:
    key, bone = words[0].lower(), bones[-1]
    if key == "begin":
        bones.append(_Bone("", number))
    elif len(bones) == 1:
        return
    elif key == "name":
        if len(words) < 2:
            raise FormatError("a bone without a name", path=path, line=number)
        bone.name = words[1]
    elif key == "direction":
        bone.direction = _numbers(words, 3, path, number)
    elif key == "length":
        bone.length = float(_numbers(words, 1, path, number)[0])
    elif key == "axis":
        bone.axis = _numbers(words[:4], 3, path, number)
        bone.axis_order = _order(words[4] if len(words) > 4 else "XYZ", path, number)
    elif key == "dof":
        bone.dof = _dof(words[1:], path, number)


def _in_order(bones: list[_Bone], children: list[tuple[int, list[str]]], path: Path) -> list[_Bone]:
    """Bones with their parents, parents first, as the hierarchy lists them."""
    by_name = {bone.name: bone for bone in bones}
    if len(by_name) != len(bones):
        raise FormatError("two bones have the same name", path=path)
    below: dict[str, list[str]] = {}
    placed: dict[str, str] = {}
    for number, (parent, *names) in children:
        for name in (parent, *names):
            if name not in by_name:
                raise FormatError(f"the hierarchy names {name!r}, no such bone", path=path, line=number)
        for name in names:
            if name in placed or name == bones[0].name:
                raise FormatError(f"bone {name!r} has two parents", path=path, line=number)
            placed[name] = parent
        below.setdefault(parent, []).extend(names)
    ordered: list[_Bone] = []
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


def _read_amc(path: Path, asf: _Asf) -> dict[str, NDArray[np.float64]]:
    text = read_bytes(path)
    start = re.search(rb"^[ \t]*\d+[ \t]*\r?$", text, re.MULTILINE)
    if start is None:
        raise FormatError("no frame found; not an AMC file", path=path)
    head, body = text[: start.start()], text[start.start() :]
    first_line = head.count(b"\n") + 1
    radians = b":RADIANS" in head.upper()
    end = re.compile(rb"^[ \t]*\d+[ \t]*\r?$", re.MULTILINE).search(body, start.end() - start.start())
    block = body[: end.start()] if end else body
    names = [name.decode("latin-1") for name in BONE_NAME.findall(block)]
    widths = {bone.name: len(bone.dof) for bone in asf.bones}
    for name in names:
        if name not in widths:
            raise FormatError(f"bone {name!r} is not in the skeleton file", path=path, line=first_line)
    columns = 1 + sum(widths[name] for name in names)
    _check_lines(body, names, widths, path, first_line)
    numbers = parse_numbers(BONE_NAME.sub(b"", body), path=path, first_line=first_line)
    table = numbers.reshape(-1, columns)
    frames = len(table)
    values = {bone.name: np.zeros((frames, len(bone.dof))) for bone in asf.bones}
    column = 1
    for name in names:
        values[name] = table[:, column : column + widths[name]]
        column += widths[name]
    if not radians:
        for bone in asf.bones:
            turning = [i for i, dof in enumerate(bone.dof) if dof.startswith("R")]
            values[bone.name] = values[bone.name].copy()
            values[bone.name][:, turning] = np.radians(values[bone.name][:, turning])
    return values


def _check_lines(body: bytes, names: list[str], widths: dict[str, int], path: Path, first_line: int) -> None:
    """Every frame lists the same bones in the same order, with as many numbers as they have freedoms."""
    expected = [(b"", 1), *((name.encode("latin-1"), 1 + widths[name]) for name in names)]
    count = len(expected)
    at = 0
    for number, line in enumerate(body.splitlines(), start=first_line):
        words = line.split()
        if not words:
            continue
        name, width = expected[at % count]
        if len(words) != width or (name and words[0] != name):
            wanted = f"{name.decode('latin-1')!r} and {width - 1} numbers" if name else "a frame number"
            shown = line[:40].decode("latin-1").strip()
            raise FormatError(f"expected {wanted}, found {shown!r}", path=path, line=number)
        at += 1
    if at % count:
        raise FormatError(f"the last frame stops after {at % count} of {count} lines", path=path)


def _words(path: Path) -> list[tuple[int, list[str]]]:
    text = read_bytes(path, limit=64 << 20).decode("latin-1")
    if "\0" in text:
        raise FormatError("a binary file, not an ASF skeleton", path=path)
    lines = ((number, line.split("#")[0].split()) for number, line in enumerate(text.splitlines(), start=1))
    return [(number, words) for number, words in lines if words]


def _numbers(words: list[str], count: int, path: Path, line: int) -> NDArray[np.float64]:
    try:
        values = np.array([float(word) for word in words[1 : 1 + count]])
    except ValueError:
        raise FormatError(f"not a number in {' '.join(words)!r}", path=path, line=line) from None
    if len(values) != count or not np.isfinite(values).all():
        raise FormatError(f"{words[0]} needs {count} finite numbers", path=path, line=line)
    return values


def _order(word: str, path: Path, line: int) -> str:
    order = word.upper()
    if not order or set(order) - set("XYZ") or len(order) > 3:
        raise FormatError(f"axis order {word!r} is not one like XYZ", path=path, line=line)
    return order


def _dof(words: list[str], path: Path, line: int) -> tuple[str, ...]:
    dof = tuple(word.upper() for word in words)
    unknown = [d for d in dof if d not in ("RX", "RY", "RZ", "TX", "TY", "TZ", "L")]
    if unknown or len(set(dof)) != len(dof):
        raise FormatError(
            f"degrees of freedom {' '.join(words)!r} are not rx ry rz tx ty tz", path=path, line=line
        )
    return dof
