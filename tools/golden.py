"""Golden results: what every command gives on the samples and, where they are, on real clips.

    python tools/golden.py                 compare with tests/golden.json, print every difference
    python tools/golden.py --write         record anew, after a change that is meant
    python tools/golden.py vary compress   only commands whose line contains one of the words

Times and paths are left out. Of each file that a command writes the sum of its main array is kept, which
changes with any result. Numbers count as equal within 1e-6 of their size.
"""

from __future__ import annotations

import contextlib
import io
import json
import math
import os
import sys
import tempfile
import warnings
from pathlib import Path
from typing import Any

import numpy as np

import marey
from marey import samples
from marey.cli.main import app

STORED = Path(__file__).resolve().parents[1] / "tests" / "golden.json"
DATA = Path(os.environ.get("MAREY_DATA", Path(__file__).resolve().parents[2] / "shared" / "data"))
TIMED = ("second", "milli", "micro", "path", "per_frame", "real_time", "files", "out", "bytes_per")
TOLERANCE = 1e-6

ON_SAMPLES = """
info walk.bvh
info human.glb
info crowd.csv
info flow.zarr
convert walk.bvh walk.glb
convert walk.bvh walk.usda
convert walk.bvh slow.bvh --frame-rate 20 --frames 10:200
body fit walk.bvh -o poses.mry --modes 8
body fit walk.bvh -o fine.mry --error 1cm
body ik walk.bvh -o reached.bvh --reach LeftHand=0.3,1.2,0.4 --pin RightFoot
body ik walk.bvh -o led.bvh --reach RightHand=-0.3,1.4,0.4 --model poses.mry
body compress walk.bvh small.mry --max-error 1cm
body compress walk.bvh fine1.mry --max-error 2mm
body decompress small.mry again.bvh
body filter walk.bvh smooth.bvh
body filter walk.bvh gauss.bvh --method gaussian
body learn walk.bvh -o walking.mry
body vary walk.bvh -o variants --count 2
body vary walk.bvh -o others --count 1 --deviation 1 --seed 3
body fill walk.bvh filled.bvh --gap 20:60
body fill walk.bvh slerped.bvh --gap 20:60 --method slerp
body steer walk.bvh waving.bvh --reach RightHand@0.6=+0,+0.2,+0.1
body steer walk.bvh stepping.bvh --reach LeftFoot@1.2=+0,+0.1,+0.1
body restyle walk.bvh smooth.bvh retimed.bvh
body stream walking.mry --seconds 3 -o endless.bvh
body particles walk.bvh reaching.bvh --reach RightHand=-0.4,1.3,0.5 --floor
surface skin walk.bvh -o skinned.npz --vertices 400
surface distance skinned.npz -o distances.npz
surface distance skinned.npz -o euclidean.npz --metric euclidean
surface compare euclidean.npz distances.npz
surface interpolate skinned.npz:10 skinned.npz:90 between.obj --at 0.5
surface transition skinned.npz:10 skinned.npz:110 joined.npz
surface graph skinned.npz -o graph.mry
surface animate graph.mry -o animated.npz --from skinned:5 --to skinned:100
crowd capture film.mp4 flow2.zarr
crowd capture film.mp4 seen.zarr --motion seen
crowd capture film.mp4 hs.zarr --method hs
crowd info flow.zarr
crowd edit flow.zarr calm.zarr --style 0.5
crowd edit flow.zarr kept.zarr --keep 0.1
crowd edit flow.zarr stored.mry
crowd extend flow.zarr endless.zarr --frames 60
crowd animate flow.zarr -o people.csv --people 20 --seconds 3
crowd simulate escape -o escape.csv --people 30 --seconds 6
crowd simulate escape -o rested.csv --people 30 --seconds 6 --hold 3
crowd simulate corridor -o corridor.csv --people 20 --seconds 5 --constants everyday --hold 3
crowd dataset crossing -o film --people 8 --seconds 4 --size 96x72 --hold 3
crowd capture film/above/shaded.mp4 filmed.zarr --camera film/above/camera.json
crowd evaluate filmed.zarr film
crowd walk crowd.csv -o bodies.glb
"""
ON_CLIPS = """
body compress {clip}.bvh {clip}.mry --max-error 1cm
body vary {clip}.bvh -o v{clip} --count 2
body fit {clip}.bvh -o p{clip}.mry
body filter {clip}.bvh s{clip}.bvh
body learn {clip}.bvh -o l{clip}.mry
body fill {clip}.bvh f{clip}.bvh --gap 40:50
body fill {clip}.bvh g{clip}.bvh --gap 40:80
"""
CLIPS = ("02_01", "143_01", "49_06", "143_23", "05_06", "143_34", "09_01", "143_05", "49_18")


def main(words: list[str]) -> int:
    """Run, then compare or store; the number of differences."""
    chosen = [word for word in words if word != "--write"]
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        warnings.simplefilter("ignore")
        _inputs()
        lines = ON_SAMPLES.strip().splitlines()
        for clip in CLIPS if DATA.is_dir() else ():
            Path(f"{clip}.bvh").symlink_to(DATA / "skeleton" / "cmu_bvh" / f"{clip}.bvh")
            lines += [line.format(clip=clip) for line in ON_CLIPS.strip().splitlines()]
        found = {line: _result(line) for line in lines if not chosen or any(word in line for word in chosen)}
    if "--write" in words:
        kept = json.loads(STORED.read_text()) if chosen else {}
        STORED.write_text(json.dumps({**kept, **found}, indent=0, sort_keys=True) + "\n")
        return 0
    stored = json.loads(STORED.read_text())
    differences = [text for line in found for text in _differences(line, stored.get(line, {}), found[line])]
    print("\n".join(differences) or f"{len(found)} commands give what is stored")
    return len(differences)


def _inputs() -> None:
    people = samples.crowd(people=12, seconds=4)
    marey.save(samples.walk(), "walk.bvh")
    marey.save(samples.human(), "human.glb")
    marey.save(people, "crowd.csv")
    marey.save(samples.video(people), "film.mp4")
    marey.save(samples.field(), "flow.zarr")


def _result(line: str) -> dict[str, Any]:
    """What a command reports, and a sum of each new file's main array."""
    before = set(Path.cwd().iterdir())
    said = io.StringIO()
    print(line, file=sys.stderr, flush=True)
    try:
        with contextlib.redirect_stdout(said):
            app([*line.split(), "--json"], standalone_mode=False)
    except Exception as error:  # a refusal is a result, too
        return {"error": f"{type(error).__name__}: {str(error)[:80]}"}
    told = {f"json.{key}": value for key, value in _flat(json.loads(said.getvalue())).items()}
    for path in sorted(set(Path.cwd().iterdir()) - before):
        for file in sorted(path.glob("*.bvh")) if path.is_dir() and not path.suffix else [path]:
            told |= {f"{file.name}.{key}": value for key, value in _sums(file).items()}
    return told


def _flat(value: Any, name: str = "") -> dict[str, Any]:
    if any(word in name for word in TIMED):
        return {}
    if isinstance(value, dict):
        return {
            k: v for key, part in value.items() for k, v in _flat(part, f"{name}.{key}".strip(".")).items()
        }
    if isinstance(value, list):
        return {k: v for i, part in enumerate(value[:20]) for k, v in _flat(part, f"{name}.{i}").items()}
    return {name: value}


def _sums(file: Path) -> dict[str, Any]:
    try:
        thing = marey.load(file)
    except marey.MareyError:
        return {}
    size = {"bytes": file.stat().st_size} if file.suffix == ".mry" else {}
    for name in ("positions", "vertices", "velocities"):
        array = getattr(thing, name, None)
        array = array() if callable(array) else array
        if isinstance(array, np.ndarray):
            return {**size, "shape": str(array.shape), "sum": float(np.nansum(np.abs(array)))}
    return size


def _differences(line: str, stored: dict[str, Any], found: dict[str, Any]) -> list[str]:
    lines = []
    for key in sorted(stored.keys() | found.keys()):
        was, now = stored.get(key), found.get(key)
        numbers = isinstance(was, float) and isinstance(now, float | int)
        if not (math.isclose(was, now, rel_tol=TOLERANCE, abs_tol=1e-9) if numbers else was == now):
            lines.append(f"{line}: {key}: {was} before, {now} now")
    return lines


if __name__ == "__main__":
    sys.exit(min(main(sys.argv[1:]), 1))
