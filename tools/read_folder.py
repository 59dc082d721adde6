"""Read every file of a folder; print by ending what opened, what was refused and why, and which notes came.

Each file is read whole in a process of its own, with a limit of time, so that a crash or a hang is a line of
the table. For folders of files that other programs wrote.

    python tools/read_folder.py FOLDER [--seconds 60] [--only .glb .gltf] [--rows facts.jsonl]
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import time
import traceback
import warnings
from collections import Counter, defaultdict
from pathlib import Path

from marey.errors import MareyError
from marey.io import _isolated, load
from marey.io.formats import FORMATS, READ_LIKE, facts_of

Row = dict[str, object]


def main() -> None:
    """Read the folder that the command line names."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seconds", type=float, default=60.0, help="longest time for a file")
    parser.add_argument("--only", nargs="*", help="endings to read; all that marey knows if not given")
    parser.add_argument("--rows", type=Path, help="write what was found in each file as lines of JSON")
    options = parser.parse_args()
    endings = options.only or [*{ending for known in FORMATS for ending in known.endings}, *READ_LIKE]
    # Every file has a process of its own here, so that native readers need no other one.
    _isolated.read = lambda reader, path, allowance, kind, **given: reader(path, **given)
    for known in FORMATS:
        known.implementation()
    rows_file = options.rows.open("w", encoding="utf-8") if options.rows else None
    results: dict[str, list[Row]] = defaultdict(list)
    for file in sorted(options.folder.rglob("*")):
        if file.is_file() and file.suffix.lower() in endings:
            row = {"file": str(file.relative_to(options.folder)), **read(file, options.seconds)}
            results[file.suffix.lower()].append(row)
            if rows_file is not None:
                print(json.dumps(row, default=str), file=rows_file, flush=True)
    for ending, rows in sorted(results.items()):
        refused = [row for row in rows if row["error"]]
        slowest = max(float(str(row["seconds"])) for row in rows)
        print(f"{ending}: {len(rows) - len(refused)} of {len(rows)} opened, slowest {slowest:.1f} s")
        for row in refused:
            print(f"    {row['file']}: {row['error']}")
        noted = Counter(str(note) for row in rows for note in row.get("notes") or ())  # type: ignore[attr-defined]
        for note, count in noted.most_common(20):
            print(f"    note, {count} files: {note}")
    if rows_file is not None:
        rows_file.close()


def read(file: Path, seconds: float) -> Row:
    """What a file holds, or why it was refused; the notes that came, and the seconds it took."""
    started = time.perf_counter()
    context = multiprocessing.get_context("fork")
    receiving, sending = context.Pipe(duplex=False)
    child = context.Process(target=_answer, args=(file, sending))
    child.start()
    sending.close()
    answer: Row = {"error": f"no answer within {seconds:g} s"}
    if receiving.poll(seconds):
        try:
            answer = receiving.recv()
        except EOFError:
            answer = {"error": "the reader crashed"}
    child.kill()
    child.join()
    return {**answer, "seconds": round(time.perf_counter() - started, 3)}


def _answer(file: Path, sending: multiprocessing.connection.Connection) -> None:
    """In the process of a file: send what is in it."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # what native readers print
    answer: Row = {"error": ""}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            answer["facts"] = facts_of(load(file))
        except MareyError as error:
            answer["error"] = str(error).removeprefix(str(file)).lstrip(": ")
        except BaseException:
            answer["error"] = "TRACEBACK " + traceback.format_exc().splitlines()[-1]
    answer["notes"] = [str(w.message).removeprefix(str(file)).lstrip(": ") for w in caught]
    sending.send(json.loads(json.dumps(answer, default=str)))


if __name__ == "__main__":
    main()
