"""TRC markers, as OpenSim, Cortex and Pose2Sim write them: a table of text with tabs, in.

Three lines of facts (rate, frames, markers, unit), names and axes of the columns, then a row a frame: number,
seconds, x, y and z of every marker; empty cells where one was not seen. The file does not say which axis is
up. Cost: a second for two million cells.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from marey.body.markers import Markers
from marey.errors import FormatError
from marey.geometry.convention import UNITS, Convention, UpAxis, unit_size
from marey.io._files import decoded, quoted, read_bytes, unique_names
from marey.io._limits import LIMITS
from marey.io.c3d import tallest_axis


def read(path: Path, *, unit: str | float | None = None, up: UpAxis | None = None) -> Markers:
    """Labelled markers over time; NaN where one was not seen.

    unit: by default what the file says (millimetres if it says nothing)
    up: by default the axis along which the markers stand tallest

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "head.trc"
    >>> head = ["PathFileType\\t4", "DataRate\\tUnits", "100\\tm", "Frame#\\tTime\\thead", "\\t\\tX1\\tY1"]
    >>> _ = path.write_text("\\n".join([*head, "", "1\\t0.0\\t0.1\\t1.7\\t0.2"]))
    >>> read(path).positions.tolist()
    [[[0.1, 1.7, 0.2]]]
    """
    path = Path(path)
    rows = [line.split("\t") for line in decoded(read_bytes(path, limit=LIMITS.table)).splitlines()]
    if len(rows) < 5 or rows[0][0].strip() != "PathFileType":
        raise FormatError("not a TRC file: it does not begin with PathFileType", path=path)
    said = dict(zip(map(str.strip, rows[1]), map(str.strip, rows[2]), strict=False))
    try:
        rate = float(said.get("DataRate", ""))
    except ValueError:
        raise FormatError(f"its DataRate is {quoted(said.get('DataRate', ''))}", path=path, line=3) from None
    names = [cell.strip() for cell in rows[3][2::3]]
    while names and not names[-1]:
        names.pop()
    if not names:
        raise FormatError("holds no markers", path=path, line=4)
    table = []
    for number, row in enumerate(rows[4:], start=5):
        if row[0].strip() and not row[0].strip().isalpha():
            try:
                values = [float(cell) if cell.strip() else np.nan for cell in row[2 : 2 + 3 * len(names)]]
            except ValueError as error:
                raise FormatError(str(error), path=path, line=number) from None
            table.append(values + [np.nan] * (3 * len(names) - len(values)))
    if not table:
        raise FormatError("holds no frame", path=path)
    positions = np.reshape(table, (len(table), len(names), 3))
    positions[~np.isfinite(positions).all(axis=-1)] = np.nan
    size = UNITS.get(said.get("Units", "").lower(), 0.001) if unit is None else unit_size(unit)
    convention = Convention(size, up or tallest_axis(positions))
    names = unique_names([name or f"marker {i}" for i, name in enumerate(names, start=1)])
    return Markers(tuple(names), convention.to_marey(positions), rate, convention=convention, name=path.stem)
