"""How a command is written and run.

A command is a function in a module of its own, decorated with :func:`command` and listed in `main.COMMANDS`:

    @command(writes="Motion")
    def fill(
        run: Run, motion: Clip, out: Out, gap: list[Gap] = option((), "Frames to fill.", "A:B")
    ) -> Output:
        '''Fill gaps of a clip.

        Examples:
            marey body fill take.bvh whole.bvh --gap 120:160
        '''
        from marey import body

        filled = run.call("filling", body.fill, motion, gap)
        return Output(filled.motion, {"frames_filled": filled.frames_filled}, ("credible_bands", filled))

Parameters become arguments and options by their annotations: plain types, Literal, and those of `_options`:
types that convert text, shared options, and inputs (which arrive loaded and cleaned, and bring the
options of their reader). A default made by `option(default, help, metavar)` or `argument(help, metavar)` says
how the parameter is written. Modules of commands do not use `from __future__ import annotations`, and import
what they run inside the function, so that `--help` stays quick. A parameter of type `Run` gets the paths,
and calls the function of the same verb (`marey.body.fill`) with the options that have its parameters' names.

The runner, in this order: checks endings, folders and that no input is overwritten; loads the inputs; calls
the function; saves what it returned to OUT, or draws it if the ending is one of `views`; draws the figure;
prints the report with `path`, `files` and `seconds`, as a table or (`--json`) as one JSON object. Mistakes
are raised as :class:`marey.errors.InputError`. With a fixed number of inputs, OUT may be the last word or
follow `-o`.
"""

from __future__ import annotations

import inspect
import math
import re
import time
import types
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Protocol, TypeVar, Union, get_args, get_origin

import click

from marey.cli._console import print_result, stage
from marey.cli._inputs import Given, sample_name
from marey.cli._options import FIGURES, READ, REQUIRED, Parsed, Spec, choice, number
from marey.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from marey._work import Progress

Made = TypeVar("Made")
Values = dict[str, Any]

NOUNS = {
    "Motion": "a clip", "CompressedMotion": "a compressed clip", "PoseModel": "a pose model",
    "LearnedLimits": "joint limits", "MotionModel": "a motion model", "MeshSequence": "meshes",
    "DistanceMatrix": "pose distances",
    "SurfaceGraph": "a graph", "FieldSeries": "velocity fields", "Tracks": "people",
}  # fmt: skip


class Reported(Protocol):
    """A report that is more than a dict."""

    def as_dict(self) -> Mapping[str, object]: ...


@dataclass
class Output:
    """What a command made: data for OUT (None if it is written already), and what was measured."""

    data: Any = None
    report: Mapping[str, object] | Reported | None = None
    """None if nothing more is to be printed."""
    figure: tuple[object, ...] = ()
    """What makes the figure of `--figure`: a name in :mod:`marey.views.figures`, and its arguments; a dict
    in the end holds keyword arguments."""
    draw: Callable[[Path, Progress], None] | None = None
    """Draws to a path of one of the `views`, with progress; else :func:`marey.views.view` does."""
    image: tuple[object, ...] = ()
    """As `figure`, what is drawn if OUT is an image."""
    marks: ArrayLike | None = None
    """Places `(frames, marks, 3)` to show in an image of the clip that was made."""
    files: Sequence[Path] = ()
    """Files written, if not just OUT."""
    timed: bool = True
    """Whether the report gets `seconds`."""


@dataclass
class Run:
    """The command that runs.

    Attributes:
        paths: What was written for each parameter, e.g. the path of an input.
        values: The same as it arrives in the command, e.g. the loaded input.
        given: What was asked of readers.
        written: How each parameter is written: the name of an option, the path of an input.
        json: Whether the report is one JSON object.
        seconds: Time that the last :meth:`call` took.
    """

    paths: dict[str, object]
    values: dict[str, object]
    given: Given
    written: dict[str, str]
    json: bool
    seconds: float = 0.0

    def path(self, name: str) -> Path:
        """The file that a parameter was loaded from; the name alone of a sample."""
        found = self.paths[name]
        assert isinstance(found, Path)
        return Path(sample_name(found) or found)

    def several(self, name: str) -> list[Path]:
        """The files that a parameter of several was loaded from."""
        found = self.paths[name]
        assert isinstance(found, tuple)
        return [Path(sample_name(path) or path) for path in found]

    def call(self, label: str, function: Callable[..., Made], *inputs: object, **others: object) -> Made:
        """Call a function with `inputs`, `others`, and the options that have its other parameters' names.

        `--seed` is `rng`; a function that takes `progress` shows it under the label.
        """
        parameters = inspect.signature(function).parameters
        names = list(parameters)[len(inputs) :]
        shows = any(one.name == "progress" or one.kind is one.VAR_KEYWORD for one in parameters.values())
        known = self.values | {"rng": self.values.get("seed")}
        options = {name: known[name] for name in names if name in known} | others
        try:
            with stage(label) as progress:
                shown = {"progress": progress} if shows else {}
                result = function(*inputs, **options, **shown)
        except InputError as error:
            # The argument that a message begins with, and those in `quotes`, as the user wrote them.
            said = re.sub(r"^(\w+)", lambda match: self.written.get(match[1], match[1]), str(error))
            said = re.sub(r"`(\w+)`", lambda match: self.written.get(match[1], match[0]), said)
            raise InputError(said) from error
        self.seconds = progress.seconds
        return result

    def milliseconds(self, count: float = 1.0) -> float:
        """Time that the last :meth:`call` took, of each of `count` things."""
        return round(1e3 * self.seconds / count, 4)


class Word(click.Argument):
    """An argument whose place among the words is found by the command."""

    def add_to_parser(self, parser: click.parser._OptionParser, ctx: click.Context) -> None:
        pass


class Command(click.Command):
    """A function as a command; see the module."""

    def __init__(
        self,
        function: Callable[..., Output],
        writes: Sequence[str],
        views: Sequence[str],
        reports: str,
        before: Callable[[Values], None] | None,
    ) -> None:
        self.function, self.writes, self.views = function, writes, views
        self.reports, self.before = reports, before
        self.specs: dict[str, Spec] = {}
        self.run_name: str | None = None
        params: list[click.Parameter] = []
        for name, parameter in inspect.signature(function).parameters.items():
            if parameter.annotation is Run:
                self.run_name = name
                continue
            made, self.specs[name] = _parameter(name, parameter.annotation, parameter.default)
            params.append(made)
        readers = dict.fromkeys(name for spec in self.specs.values() for name in spec.reads or ())
        self.reads = [name for name in readers if name not in self.specs]
        params += [_parameter(name, *READ[name])[0] for name in self.reads]
        always, _, some = (part.strip() for part in reports.partition(";"))
        keys = f", with at least {always}" * bool(always) + f"; where it applies, {some}" * bool(some)
        json_help = f"One JSON object on standard output{keys}."
        params.append(_parameter("json", bool, Spec(json_help, default=False))[0])
        text = inspect.cleandoc(function.__doc__ or "").replace("\nExamples:\n", "\n\b\nExamples:\n")
        super().__init__(function.__name__, params=params, callback=self.run, help=text)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Options anywhere; the words among them are inputs and, unless `-o` names it, OUT."""
        values, words, order = self.make_parser(ctx).parse_args(args=args)
        if not (ctx.resilient_parsing or any(param.is_eager for param in order)):
            self._place(values, words)
        for param in click.core.iter_params_for_processing(order, self.get_params(ctx)):
            param.handle_parse_result(ctx, values, [])
        return []

    def _place(self, values: Values, words: list[str]) -> None:
        inputs = [param for param in self.params if isinstance(param, Word)]
        out = next((name for name, spec in self.specs.items() if spec.role == "out"), None)
        several = any(param.nargs == -1 for param in inputs)
        needed = max(1, sum(param.required for param in inputs))
        if out is not None and out not in values and not several and len(words) > needed:
            values[out] = words.pop()
        for param in inputs:
            if param.nargs == -1:
                values[param.name or ""], words = tuple(words), []
            elif words:
                values[param.name or ""] = words.pop(0)
            if param.required and not values.get(param.name or ""):
                raise InputError(f"{param.make_metavar(click.Context(self))} is missing; see --help")
        if words:
            raise InputError(f"{words[0]}: one word too many; see --help")
        if out is not None and self.specs[out].default is REQUIRED and out not in values:
            raise InputError(f"say where the result goes: -o {self.specs[out].metavar}")

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:
        """Inputs, OUT, then options."""
        out = [spec for spec in self.specs.values() if spec.role == "out" and spec.default is REQUIRED]
        words = [piece for param in self.params for piece in param.get_usage_pieces(ctx)]
        return [*words, *(f"-o {spec.metavar}" for spec in out), "[OPTIONS]"]

    def run(self, **values: Any) -> None:
        """Check, load, call, save, draw and print."""
        as_json = values.pop("json")
        given = Given(**{name: values.pop(name) for name in self.reads})
        places = self._places(values)
        if self.before is not None:
            self.before(values)
        written = {
            param.name or "": str(values[param.name]) if isinstance(param, Word) else param.opts[0]
            for param in self.params
            if param.name in values
        }
        run = Run(dict(values), values, given, written, as_json)
        for name, spec in self.specs.items():
            if spec.load is not None and values[name] not in (None, ()):
                values[name] = _loaded(spec.load, bool(spec.many), values[name], given)
        own = {} if self.run_name is None else {self.run_name: run}
        started = time.perf_counter()
        result = self.function(**values, **own)
        seconds = round(time.perf_counter() - started, 4)
        out = next(iter(places["out"]), None)
        if out is not None and result.data is not None:
            self._save(result, out)
        for path in places["figure"] if result.figure else ():
            _draw_figure(path, *result.figure)
        if result.report is None:
            return
        made = result.report
        report = dict(made if isinstance(made, Mapping) else made.as_dict())
        files = list(result.files) or [path for role in ("out", "also") for path in places[role]]
        files += places["figure"] if result.figure else []
        if out is not None:
            report.setdefault("path", out)
        if files and (as_json or len(files) > 1):
            report.setdefault("files", files)
        if result.timed:
            report.setdefault("seconds", seconds)
        print_result(plain(report), as_json=as_json)

    def _places(self, values: Values) -> dict[str, list[Path]]:
        """Paths by role, checked before any work: endings, folders, and that no input is overwritten."""
        places: dict[str, list[Path]] = {"in": [], "out": [], "also": [], "figure": []}
        for name, spec in self.specs.items():
            if spec.role is not None:
                found = values[name] if isinstance(values[name], tuple) else [values[name]]
                places[spec.role] += [Path(getattr(one, "file", one)) for one in found if one is not None]
        for path in places["out"] if self.writes else ():
            check_ending(path, self.writes, self.views)
        for path in places["figure"]:
            check_ending(path, (), FIGURES)
        for path in (*places["out"], *places["also"], *places["figure"]):
            check_place(path, places["in"])
        return places

    def _save(self, result: Output, out: Path) -> None:
        if out.suffix.lower() not in self.views:
            from marey.io import save

            with stage(f"writing {out.name}") as progress:
                save(result.data, out, progress=progress)
            return
        with stage(f"drawing {out.name}") as progress:
            if result.draw is not None:
                result.draw(out, progress)
            elif result.image and out.suffix.lower() in FIGURES:
                _draw_figure(out, *result.image)
            elif result.marks is not None:
                from marey.body.motion import Motion
                from marey.views.render import draw_figures

                assert isinstance(result.data, Motion)
                draw_figures([result.data], out, marks=result.marks, progress=progress)
            else:
                from marey.views import view

                view(result.data, out, progress=progress)


def command(
    *,
    writes: str | Sequence[str] = (),
    views: Sequence[str] = (),
    reports: str = "",
    before: Callable[[Values], None] | None = None,
) -> Callable[[Callable[..., Output]], Command]:
    """Make a command of a function.

    Args:
        writes: Data types that OUT may hold, by name; empty if the command checks and writes itself.
        views: Endings of images, clips and pages that OUT may have besides.
        reports: Keys that scripts may rely on in the JSON object; after a semicolon, those that depend on the
            data.
        before: Further checks of the options, before inputs are read; called with values by name.
    """
    kinds = (writes,) if isinstance(writes, str) else writes
    return lambda function: Command(function, kinds, views, reports, before)


def check_ending(path: Path, writes: Sequence[str], views: Sequence[str] = ()) -> None:
    """An ending that can hold none of the data types `writes` and is none of `views` is an error."""
    from marey.io import FORMATS

    able = dict.fromkeys(e for known in FORMATS if set(writes) & set(known.writes) for e in known.endings)
    if path.suffix.lower() in (*able, *views):
        return
    held = f"write {NOUNS[writes[0]]} as {', '.join(able)}" if writes else "write a figure as"
    seen = f"{' or an image as' * bool(writes)} {', '.join(views)}" if views else ""
    raise InputError(f"{path}: {held}{seen}")


def check_place(path: Path, inputs: Sequence[Path]) -> None:
    """A result that could not be written after the work, or that would replace its input, is an error."""
    from marey.io._files import check_target, is_numbered

    for source in inputs:
        if path.exists() and source.exists() and path.samefile(source):
            raise InputError(f"{path}: would be written over its own input; give another name")
        if source.is_dir() and source.resolve() in path.resolve().parents and source.suffix == ".zarr":
            raise InputError(f"{path}: would be written into its own input; give another place")
    # The folder of a numbered series is made.
    folder = path.parent.parent if is_numbered(path) else path.parent
    if not folder.is_dir():
        raise InputError(f"{path}: cannot be written: there is no folder {folder}")
    check_target(path)


def save_files(items: Sequence[object], pattern: Path, names: Sequence[str]) -> list[Path]:
    """Save several items as files that belong together, beside `pattern`; all of them or none."""
    from marey.io import save
    from marey.io._files import atomic_write_files

    folder = pattern.parent
    with atomic_write_files(pattern, names) as draft, stage(f"writing {folder.name}") as progress:
        for number, (item, name) in enumerate(zip(items, names, strict=True), start=1):
            save(item, draft / name)
            progress(number, len(names))
    return [folder / name for name in names]


def plain(value: object) -> Any:
    """A report as JSON holds it: text for paths, Python's numbers for NumPy's, None for what is not finite.

    >>> plain({"path": Path("a"), "error": float("nan"), "range": (1, 2.5)})
    {'path': 'a', 'error': None, 'range': [1, 2.5]}
    """
    if isinstance(value, dict):
        return {name: plain(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, Path):
        return str(value)
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _draw_figure(path: Path, name: object, *arguments: object) -> None:
    from marey.views import figures, style

    *positional, last = arguments
    named = last if isinstance(last, dict) else {}
    style.save(getattr(figures, str(name))(*(positional if named else arguments), **named), path)


def _loaded(load: Callable[[Any, Given], object], many: bool, value: object, given: Given) -> object:
    """An input of one file, of several that are loaded together, or of several one by one."""
    if isinstance(value, tuple) and not many:
        return [load(one, given) for one in value]
    return load(value, given)


def _parameter(name: str, annotation: object, default: object) -> tuple[click.Parameter, Spec]:
    """The parameter as click's, and its whole spec."""
    annotation, several, spec = _unwrapped(annotation)
    if isinstance(default, Spec):
        spec = default.over(spec)
    elif default is not inspect.Parameter.empty:
        spec = Spec(default=default, argument=False).over(spec)
    several = several or bool(spec.many)
    flag = annotation is bool
    kind = None if flag else spec.type or _type(annotation, spec)
    required = spec.default is REQUIRED
    if spec.argument:
        return Word(
            [name], type=kind, metavar=spec.metavar, required=required, nargs=-1 if several else 1,
            default=None if required or several else spec.default, help=spec.help,
        ), spec  # fmt: skip
    written = f"--{name.strip('_').replace('_', '-')}"
    names = spec.names or (f"{written}/--no-{written[2:]}" if flag and spec.default is True else written,)
    shown = not (spec.default in (None, False, ()) or required)
    # To click, a default of None is a value. A missing result is found when words are placed.
    unless_given: dict[str, Any] = {} if required else {"default": spec.default}
    made = click.Option(
        [*names, name], type=kind, metavar=spec.metavar, help=spec.help, is_flag=flag, multiple=several,
        show_default=shown, required=required and spec.role != "out", **unless_given,
    )  # fmt: skip
    return made, spec


def _unwrapped(annotation: Any) -> tuple[Any, bool, Spec]:
    """The plain type, whether several of it are taken, and the spec of an Annotated type."""
    spec, several = Spec(), False
    while True:
        origin, parts = get_origin(annotation), get_args(annotation)
        if origin is Annotated:
            found = annotation.__metadata__[0]
            spec = spec.over(Spec(type=found) if isinstance(found, click.ParamType) else found)
            annotation = annotation.__origin__
            if spec.role == "in" or spec.type is not None:
                return Path, several, spec
        elif origin in (Union, types.UnionType):
            annotation = next(part for part in parts if part is not type(None))
        elif origin in (list, tuple, Sequence):
            annotation, several = parts[0], True
        else:
            return annotation, several, spec


def _type(annotation: object, spec: Spec) -> click.ParamType[Any]:
    if get_origin(annotation) is Literal:
        return choice(get_args(annotation))
    if annotation in (int, float):
        return number(annotation, *(spec.bounds or (None, None, None)))
    return Parsed(Path if annotation is Path else str, "")
