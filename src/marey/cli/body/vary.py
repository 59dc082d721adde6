"""`marey body vary`: new versions of one clip."""

from pathlib import Path
from typing import Literal

from marey.cli._options import Clip, LimitsFile, Numbers, Out, Seed, option
from marey.cli._run import Output, Run, Values, check_ending, command, save_files
from marey.errors import InputError


def _pattern(source: Path, out: Path, format: str | None) -> Path:
    """The variants' files, `%d` for their number."""
    ending = source.suffix.lower() if format is None else f".{format.lower().lstrip('.')}"
    if format is not None:
        check_ending(Path(f"--format {ending}"), ["Motion"])
    elif ending not in (".bvh", ".mry", ".glb"):
        ending = ".bvh"
    return out / f"{source.stem}-%d{ending}"


def _check(values: Values) -> None:
    from marey.io._files import check_target

    if values["figure"] is not None:
        check_ending(values["figure"], (), (".png", ".jpg", ".mp4"))
    check_target(_pattern(values["motion"], values["out"], values["format"]))


@command(reports="files, deviation_cm, foot_slide_ratio", before=_check)
def vary(
    motion: Clip,
    run: Run,
    out: Out = option(..., "Folder for the variants.", "DIR"),
    count: int = option(4, "How many.", "N", min=1, max=10_000),
    deviation: float = option(
        0.3, "0 returns the clip, 1 samples freely from the learned model.", "SHARE", min=0, max=1
    ),
    keep_modes: int = option(0, "Keep the first K coordinates as they are.", "K"),
    pin: Numbers | None = option(None, "Keep the pose at these times, seconds.", "T1,T2,…"),
    loop: bool = option(False, "End in the first pose."),
    method: Literal["joint", "gp"] = option("joint", "Correlated modes, or each mode by itself."),
    timing: float | None = option(None, "How much the tempo varies, e.g. 0.05; 0: not.", "SHARE"),
    limits: LimitsFile | None = option(
        None, "Joint limits (marey body limits) instead of the clip's ranges.", "LIMITS"
    ),
    no_limits: bool = option(False, "Let joints leave their range by more than a tenth."),
    no_plant: bool = option(False, "Do not plant the feet."),
    seed: Seed = 0,
    format: str | None = option(None, "bvh, glb, mry, …; as IN if left out.", "ENDING"),
    figure: Path | None = option(None, "Also an image (.png) or clip (.mp4) of all.", "FILE", role="also"),
) -> Output:
    """New versions of one clip: the same action, never twice the same motion.

    Examples:
        marey body vary walk.bvh -o crowd --count 20                  a crowd without clones
        marey body vary punch.bvh -o punches --pin 2.6                the blow itself stays
        marey body vary walk.bvh -o near --keep-modes 3               the gait stays, details change
        marey body vary walk.bvh -o far --deviation 1 --figure far.png
    """
    from marey import body

    pattern = _pattern(run.path("motion"), out, format)
    if limits is not None and no_limits:
        raise InputError("--limits: has no effect with --no-limits")
    bounds = not no_limits if limits is None else limits
    variants = run.call("varying", body.vary, motion, pins=pin or [], limits=bounds, plant=not no_plant)
    milliseconds = run.milliseconds()
    digits = max(2, len(str(count)))
    names = [pattern.name.replace("%d", f"{number:0{digits}d}") for number in range(1, count + 1)]
    files = save_files(list(variants), pattern, names)
    if figure is not None:
        from marey.views.render import draw_variants

        run.call(f"drawing {figure.name}", draw_variants, variants.example, list(variants), figure)
    measured = variants.report.as_dict()
    report = {name: None if value is None else round(value, 3) for name, value in measured.items()}
    return Output(None, {**report, "modes": variants.poses.modes, "milliseconds": milliseconds}, files=files)
