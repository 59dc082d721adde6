"""Run benchmarks and put what they measured into docs/measured.json and the tables of docs/comparison.md.

    .venv-peers/bin/python tools/bench_table.py                    all of them: `make bench` and its tables
    .venv-peers/bin/python tools/bench_table.py bvh rotations      some; figures of the others stay
    .venv-peers/bin/python tools/bench_table.py --table            none; only write the tables again

Exits with 1 where a benchmark says that a bar is missed, or fails. Says how long each took.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
MEASURED = ROOT / "docs" / "measured.json"
PAGE = ROOT / "docs" / "comparison.md"
BEGIN, END = "<!-- measured: begin -->", "<!-- measured: end -->"
# Between a number and its unit, which should not be parted at the end of a line.
SPACE = "\N{NO-BREAK SPACE}"
SECTIONS = {
    "Bodies": (
        "bvh", "rotations", "kinematics", "pose_models", "inverse_kinematics", "particles", "compression",
        "filters", "processes", "dynamics", "physics", "variation", "filling", "steering", "control",
    ),
    "Surfaces": (
        "meshes", "skinning", "decimation", "surface_distance", "interpolation", "transitions",
        "essential_graph", "path_following",
    ),
    "Crowds": (
        "flow", "crowd_capture", "field_codec", "field_texture", "crowd_advection", "crowd_simulation",
        "crowd_direct",
    ),
    "Pictures and pages": ("rendering", "walking_bodies", "studio_drag", "studio_page"),
}  # fmt: skip

Row = dict[str, Any]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("names", nargs="*", help="of benchmarks; all if not given")
    parser.add_argument("--table", action="store_true", help="only write the tables again")
    given = parser.parse_args()
    there = sorted(path.stem for path in (ROOT / "benchmarks").glob("[a-z]*.py"))
    unknown = set(given.names) - set(there)
    if unknown:
        parser.error(f"no benchmark {', '.join(sorted(unknown))}; there are {', '.join(there)}")
    missed = [] if given.table else measure(given.names or there)
    PAGE.write_text(with_tables(PAGE.read_text(encoding="utf-8"), known()), encoding="utf-8")
    if missed:
        print(f"\nbars missed: {', '.join(missed)}")
    return 1 if missed else 0


def measure(names: list[str]) -> list[str]:
    """Run benchmarks and keep their figures; the names of those that miss a bar or do not run."""
    missed = []
    began = time.perf_counter()
    for name in names:
        print(f"\n== benchmarks/{name}.py", flush=True)
        started = time.perf_counter()
        with tempfile.TemporaryDirectory() as folder:
            ledger = Path(folder) / "ledger"
            environment = {**os.environ, "MAREY_LEDGER": str(ledger)}
            command = [sys.executable, str(ROOT / "benchmarks" / f"{name}.py")]
            missed += [name] if subprocess.run(command, env=environment, check=False).returncode else []
            lines = ledger.read_text(encoding="utf-8").splitlines() if ledger.exists() else []
        keep(name, [json.loads(line) for line in lines])
        print(f"({name}: {time.perf_counter() - started:.0f} s)", flush=True)
    print(f"\n{len(names)} benchmarks in {(time.perf_counter() - began) / 60:.0f} minutes")
    return missed


def keep(name: str, rows: list[Row]) -> None:
    """Put a benchmark's rows in the place of its former ones."""
    if not rows:
        return
    about = {
        "date": datetime.date.today().isoformat(),
        "machine": f"{os.cpu_count()} cores, {platform.machine()}, Python {platform.python_version()}",
    }
    others = [row for row in known() if row["benchmark"] != name]
    order = {known: place for place, known in enumerate(sum(SECTIONS.values(), ()))}
    everything = sorted(
        [*others, *({**row, **about} for row in rows)], key=lambda row: order.get(row["benchmark"], 99)
    )
    MEASURED.write_text(json.dumps(everything, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def known() -> list[Row]:
    return json.loads(MEASURED.read_text(encoding="utf-8")) if MEASURED.exists() else []


def with_tables(page: str, rows: list[Row]) -> str:
    """The page with the tables between its marks made anew."""
    head, found, rest = page.partition(BEGIN)
    _, closed, tail = rest.partition(END)
    if not (found and closed):
        raise SystemExit(f"{PAGE.name} has no place for tables: {BEGIN} … {END}")
    return f"{head}{BEGIN}\n\n{tables(rows)}\n\n{END}{tail}"


def tables(rows: list[Row]) -> str:
    """Markdown of all figures, a table a scale; peers at the same work share a line."""
    parts = []
    listed = {name for names in SECTIONS.values() for name in names}
    others = tuple(sorted({row["benchmark"] for row in rows} - listed))
    for title, names in {**SECTIONS, "More": others}.items():
        works: dict[tuple[str, str], list[Row]] = {}
        for row in rows:
            if row["benchmark"] in names:
                works.setdefault((row["benchmark"], row["work"]), []).append(row)
        if works:
            head = [f"### {title}", "", "| work | marey | peer | times | bar |", "|---|---|---|---|---|"]
            parts.append("\n".join([*head, *(_line(work, found) for (_, work), found in works.items())]))
    dates = sorted({row["date"] for row in rows})
    if dates:
        when = dates[0] if len(dates) == 1 else f"{dates[0]} to {dates[-1]}"
        parts.append(f"*Measured {when}; {' · '.join(sorted({row['machine'] for row in rows}))}.*")
    return "\n\n".join(parts)


def _line(work: str, found: list[Row]) -> str:
    if found[0]["peer"] is None:
        (row,) = found
        asked = f"at most {_amount(row['most'], row['unit'])}: {_said(row)}"
        return f"| {work} | {_amount(row['ours'], row['unit'])} | – | | {asked} |"
    peers = " · ".join(f"{row['peer']} {_amount(row['theirs'], row['unit'])}" for row in found)
    ratios = " · ".join(_number(row["ratio"]) for row in found)
    bars = " · ".join("–" if row["bar"] is None else _bar(row) for row in found)
    bars = "" if all(row["bar"] is None for row in found) else bars
    cells = [work, _amount(found[0]["ours"], found[0]["unit"]), peers, ratios, bars]
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _bar(row: Row) -> str:
    asked = "no worse" if row["bar"] <= 1 else _number(row["bar"])
    return f"{asked}: {_said(row)}"


def _said(row: Row) -> str:
    return "met" if row["met"] else "**missed**"


def _amount(value: float, unit: str) -> str:
    if unit == "bytes":
        return f"{value:,.0f}{SPACE}B"
    if unit != "s":
        return f"{_number(value)}{SPACE}{unit}".rstrip(SPACE)
    for scale, name in ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs")):
        if value >= scale:
            return f"{_number(value / scale)}{SPACE}{name}"
    return f"{_number(value / 1e-9)}{SPACE}ns"


def _number(value: float) -> str:
    """Three digits, no exponent."""
    if value >= 100:
        return f"{round(value, -1 if value >= 10_000 else 0):,.0f}"
    return f"{value:.3g}"


if __name__ == "__main__":
    sys.exit(main())
