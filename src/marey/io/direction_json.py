"""Constraints of a directed crowd as JSON, to write by hand.

::

    {"horizon": 20, "constraints": [
      {"type": "state", "who": [5, 35], "t": 20, "pos": [[18.2, 3.4], [18.2, 2.6]], "vel": [0, 0]},
      {"type": "formation", "who": "group:A", "t": 20, "glyph": "S", "height": 11}]}

Further keys are the fields of the classes of :mod:`marey.crowd.direct.constraints`; `"Q": {"accel_std": 0.3}`
is how far people may leave their model of walking, m/s², `"dt"` seconds of a step. A velocity's `field` is a
file of captured fields, a formation's `image` a file, both relative to the JSON.
"""

from __future__ import annotations

import dataclasses
from functools import cache, partial
from pathlib import Path
from typing import Any, get_type_hints

import msgspec

from marey.crowd.direct.constraints import TYPES, Constraints
from marey.crowd.fields import FieldSeries
from marey.errors import FormatError, MareyError
from marey.io._files import atomic_write
from marey.io._json import Strict, decode, read_json
from marey.io._limits import LIMITS


class _Trust(Strict, frozen=True):
    accel_std: float = 0.3


class _Start(Strict, frozen=True):
    pos_std: float = 0.0
    vel_std: float = 0.0


class _File(Strict, frozen=True):
    horizon: float
    constraints: list[msgspec.Raw]
    dt: float = 0.05
    Q: _Trust = _Trust()
    B: _Start = _Start()


class _Typed(msgspec.Struct):
    type: str


def read(path: Path) -> Constraints:
    """The constraints of a file; an error names the file and the place in it, such as `constraints[1].t`."""
    path = Path(path)
    parsed = read_json(path, _File, limit=LIMITS.small_json)
    if _Start() != parsed.B:
        raise FormatError("B: people start where they are; give 0", path=path)
    found = []
    for number, raw in enumerate(parsed.constraints):
        place = f"constraints[{number}]"
        kind = decode(raw, _Typed, path, place=place).type
        if kind not in TYPES:
            raise FormatError(f"{place}.type {kind!r}: one of {', '.join(TYPES)}", path=path)
        values = msgspec.structs.asdict(decode(raw, _written(kind), path, place=place))
        for name in ("field", "image"):
            if values.get(name) is not None:
                values[name] = _beside(path, values[name], place, name)
        found.append(TYPES[kind](**{name: value for name, value in values.items() if name != "type"}))
    try:
        constraints = Constraints(parsed.horizon, tuple(found), parsed.dt, parsed.Q.accel_std)
    except MareyError as error:
        raise FormatError(str(error), path=path) from error
    if not found:
        raise FormatError("constraints: there is none", path=path)
    return constraints


def write(constraints: Constraints, path: Path) -> None:
    """JSON that :func:`read` gives back as it was."""
    found = []
    for one in constraints.constraints:
        name = next(name for name, kind in TYPES.items() if type(one) is kind)
        defaults = {entry.name: entry for entry in dataclasses.fields(one)}  # type: ignore[arg-type]
        values = {
            key: getattr(one, key) for key, entry in defaults.items() if getattr(one, key) != _default(entry)
        }
        found.append({"type": name} | values)
    whole = {
        "horizon": constraints.horizon, "dt": constraints.dt, "Q": {"accel_std": constraints.accel_std},
        "constraints": found,
    }  # fmt: skip
    with atomic_write(Path(path)) as draft:
        draft.write_bytes(msgspec.json.format(msgspec.json.encode(whole), indent=1) + b"\n")


def _default(entry: dataclasses.Field[Any]) -> object:
    made = entry.default_factory
    return entry.default if isinstance(made, dataclasses._MISSING_TYPE) else made()


@cache
def _written(kind: str) -> type[msgspec.Struct]:
    """How an object of the file is written: the fields of its class, and no others."""
    hints = get_type_hints(TYPES[kind])
    fields: list[Any] = [("type", str)]
    for entry in dataclasses.fields(TYPES[kind]):
        hint = str | None if entry.name == "field" else hints[entry.name]
        if entry.default is dataclasses.MISSING and entry.default_factory is dataclasses.MISSING:
            fields.append((entry.name, hint))
        else:
            default = msgspec.field(default_factory=partial(_default, entry))
            fields.append((entry.name, hint, default))
    return msgspec.defstruct(f"_{kind}", fields, forbid_unknown_fields=True, kw_only=True)


def _beside(path: Path, name: str, place: str, key: str) -> object:
    """A file named in the JSON, relative to it: a field is loaded, an image stays a path."""
    from marey.io import load

    there = path.parent / name
    if key == "image":
        return str(there)
    field = load(there)
    if not isinstance(field, FieldSeries):
        raise FormatError(f"{place}.field {name}: holds no velocity fields", path=path)
    return field
