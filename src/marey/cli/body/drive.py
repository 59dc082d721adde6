"""`marey body drive`: a clip run forward by inputs."""

from pathlib import Path
from typing import TYPE_CHECKING

from marey.cli._options import ModelOrClip, Out, option
from marey.cli._run import Output, Run, command
from marey.errors import InputError

if TYPE_CHECKING:
    from marey._arrays import Array


@command(writes="Motion", reports="frames, inputs, error")
def drive(
    source: ModelOrClip,
    run: Run,
    out: Out = option(..., "The clip.", "OUT"),
    input: Path | None = option(
        None, "Inputs, a row a frame: columns u1, u2, …; the example's own if not given.", "U.csv", role="in"
    ),
    table: Path | None = option(
        None, "Also the example's own inputs, to change and give back.", "U.csv", role="also"
    ),
) -> Output:
    """Run a clip by a few inputs a frame, its own or those of a table.

    Examples:
        marey body learn walk.bvh -o walk.mry --modes 5 --inputs 2
        marey body drive walk.mry -o again.bvh --table u.csv          the clip, as far as two inputs say it
        marey body drive walk.mry -o other.bvh --input changed.csv    with inputs of one's own

    It starts from the example's first frames (Courty 2013, section 2.3.1).
    """
    from marey import body
    from marey.body.drive import driven_by
    from marey.io._tables import write_table

    if not isinstance(source, body.MotionModel):
        raise InputError(f"{run.path('source')}: a clip; learn a model first: marey body learn --inputs C")
    control = driven_by(source)
    names = [f"u{i}" for i in range(1, control.dimensions + 1)]
    if table is not None:
        write_table(table, names, control.inputs.tolist())
    given = None if input is None else _inputs(input, names)
    driven = run.call("driving", body.drive, source, inputs=given)
    return Output(driven.motion, driven.report.as_dict())


def _inputs(path: Path, names: list[str]) -> "Array":
    from marey.io._tables import read_table

    return read_table(path, names).numbers(names)
