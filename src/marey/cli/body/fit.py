"""`marey body fit`: a pose model of clips."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from marey._progress import Progress
from marey.body.clean import CleanReport, clean
from marey.body.motion import Motion
from marey.body.pose_model import METRICS, PoseModel
from marey.body.root_motion import moving_root
from marey.character import Character
from marey.cli._typer import Json, Unit, Up, check_apart, emit, note, parse_length, progress_bar
from marey.errors import InputError
from marey.io import format_to_write, load, save

NAME = "fit"

ENDINGS = (".bvh", ".amc", ".glb", ".gltf")
# Clips are kept in memory, to be read only once, up to so many bytes.
KEPT = 256 << 20


def run(
    sources: Annotated[
        list[Path], typer.Argument(metavar="IN…", help="Clips of one skeleton, or folders of them.")
    ],
    out: Annotated[Path, typer.Option("--out", "-o", metavar="MODEL", help="The model, a .mry file.")],
    modes: Annotated[int | None, typer.Option(metavar="K", help="Keep this many modes.")] = None,
    variance: Annotated[
        float | None,
        typer.Option(metavar="SHARE", help="Keep this share of the variance, 0…1; usually 0.99."),
    ] = None,
    error: Annotated[
        str | None, typer.Option(metavar="LENGTH", help="Fewest modes with this mean joint error, e.g. 1cm.")
    ] = None,
    max_error: Annotated[
        str | None, typer.Option(metavar="LENGTH", help="Fewest modes with no joint further off than this.")
    ] = None,
    metric: Annotated[
        str, typer.Option(metavar="METRIC", help="What variance counts: kinetic, lever or canonical.")
    ] = "kinetic",
    root: Annotated[
        str, typer.Option(metavar="ROOT", help="Learn how the root travels: none, heading or world.")
    ] = "none",
    raw: Annotated[
        bool, typer.Option("--raw", help="Learn from the clips as they are, T-pose and glitches included.")
    ] = False,
    from_unit: Unit = None,
    from_up: Up = None,
    json: Json = False,
) -> None:
    """Learn a pose model: a mean pose and the directions in which poses vary.

    [bold]Examples[/bold]

    marey body fit walk.bvh -o walk.mry                     99 % of the variance

    marey body fit walk.bvh -o walk.mry --error 1cm         as few modes as 1 cm allows

    marey body fit corpus/ -o all.mry --modes 20            many clips, larger than memory

    marey body fit walk.bvh -o walk.mry --root heading      with how the body travels

    marey view walk.mry -o modes.png                        look at the modes
    """
    if "PoseModel" not in format_to_write(out).writes:
        raise InputError(f"{out}: a pose model is stored as .mry")
    if metric not in METRICS:
        raise InputError(f"--metric {metric}: one of {', '.join(METRICS)}")
    mean_error, worst_error = parse_length(error, "--error"), parse_length(max_error, "--max-error")
    files = _files(sources)
    check_apart(out, *files)
    clips = _Clips(files, cleaned=not raw, unit=from_unit, up=from_up)
    started = time.perf_counter()
    with progress_bar("learning") as progress:
        model = PoseModel.fit(
            clips.reported(progress),
            modes=modes,
            variance=variance,
            error=mean_error,
            max_error=worst_error,
            metric=metric,
            root=root,
        )
    milliseconds = 1e3 * (time.perf_counter() - started)
    save(model, out)
    clips.tell()
    with progress_bar("measuring") as progress:
        errors = _errors(model, clips.reported(progress))
    shares = np.diff(model.geodesics.explained, prepend=0.0)
    result: dict[str, Any] = {
        "modes": model.modes,
        "variance": round(model.variance, 6),
        "frames": model.frames,
        "files": len(clips.files),
        "metric": model.metric,
        "root": model.root,
        **errors,
        "milliseconds": round(milliseconds, 1),
        "shares": [round(float(share), 5) for share in shares],
        "wrap_hazards": list(model.wrap_hazards),
        "path": str(out),
    }
    if not json:
        result["shares"] = ", ".join(f"{100 * share:.1f} %" for share in shares[:8])
        result["wrap_hazards"] = result["wrap_hazards"] or "none"
    emit(result, as_json=json)


class _Clips:
    """Clips of files, read when they are asked for, and kept while there is room."""

    def __init__(self, files: list[Path], *, cleaned: bool, unit: str | None, up: str | None) -> None:
        self.files, self.cleaned, self.unit, self.up = files, cleaned, unit, up
        self.kept: dict[Path, list[Motion]] = {}
        self.reports: dict[tuple[Path, str], CleanReport] = {}
        self.carriers: dict[str, None] = {}
        self.room = KEPT

    def read(self, path: Path) -> list[Motion]:
        """All clips of a file: a character may have several."""
        if path in self.kept:
            return self.kept[path]
        thing = load(path, unit=self.unit, up=self.up)
        found = thing.motions if isinstance(thing, Character) else [thing]
        motions = [self._figure(motion, path) for motion in found]
        self.room -= sum(motion.rotations.nbytes for motion in motions)
        if self.room >= 0:
            self.kept[path] = motions
        return motions

    def _figure(self, motion: Any, path: Path) -> Motion:
        """The clip cleaned, without joints that only carry the figure."""
        if not isinstance(motion, Motion):
            raise InputError(
                f"{path}: a pose model is learned from skeleton motion, not a {type(motion).__name__}"
            )
        if top := moving_root(motion):
            names = motion.skeleton.names
            self.carriers[f"left out {', '.join(names[:top])}: {names[top]} below travels by itself"] = None
            motion = motion.subtree(names[top])
        if self.cleaned:
            motion, self.reports[path, motion.name] = clean(motion)
        return motion

    def reported(self, progress: Progress) -> _Reported:
        return _Reported(self, progress)

    def tell(self) -> None:
        """What was left out, and what cleaning did: in a line a file, or in one for many files."""
        for said in self.carriers:
            note(said)
        changed = {key: report for key, report in self.reports.items() if report.changed}
        if len(self.files) <= 3:
            for (path, _), report in changed.items():
                for line in report.lines():
                    note(f"{path}: {line}")
        elif changed:
            rest = sum(report.rest_frame for report in changed.values())
            repaired = sum(bool(r.flips or r.glitches or r.root_spikes) for r in changed.values())
            note(f"dropped an artificial rest pose in {rest} files, repaired glitches in {repaired}")


class _Reported:
    """The clips, again and again if need be; tells how far each round is."""

    def __init__(self, clips: _Clips, progress: Progress) -> None:
        self.clips, self.progress = clips, progress

    def __iter__(self) -> Iterator[Motion]:
        for done, path in enumerate(self.clips.files):
            self.progress(done, len(self.clips.files))
            yield from self.clips.read(path)
        self.progress(len(self.clips.files), len(self.clips.files))


def _files(sources: list[Path]) -> list[Path]:
    files: list[Path] = []
    for source in sources:
        if source.is_dir():
            inside = sorted(path for path in source.iterdir() if path.suffix.lower() in ENDINGS)
            if not inside:
                raise InputError(f"{source}: no {', '.join(ENDINGS)} files in this folder")
            files += inside
        else:
            files.append(source)
    return files


def _errors(model: PoseModel, clips: _Reported) -> dict[str, float]:
    total, count, worst = 0.0, 0, 0.0
    for motion in clips:
        errors = model.joint_errors(motion)[:, 1:]
        total, count = total + float(errors.sum()), count + errors.size
        worst = max(worst, float(errors.max(initial=0.0)))
    mean = total / count if count else 0.0
    return {"error_mean_cm": round(100 * mean, 4), "error_max_cm": round(100 * worst, 4)}
