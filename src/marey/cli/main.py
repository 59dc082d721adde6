"""The `marey` command: the list of commands, and errors as one line and an exit code.

0 done · 2 the user can fix it · 130 interrupted · 1 we broke. A command's module is imported when the command
is called; listing commands imports none.
"""

from __future__ import annotations

import io
import os
import signal
import sys
from importlib import import_module
from typing import Any

import click

from marey import __version__
from marey._child import without_working_folder
from marey.cli._console import fail, print_warnings_plainly
from marey.errors import MareyError

HELP = """Data-driven animation of bodies, surfaces and crowds.

\b
Examples:
    marey info walk.bvh                      what is in a file
    marey view walk.bvh -o walk.mp4          look at it
    marey convert walk.bvh walk.glb          take it to Blender or a game engine
"""
GROUPS = {
    "data": "Real sample data: list it, get it.",
    "body": "Skeleton motion: clean, model, pose, vary, repair, steer, store.",
    "surface": "Surfaces: compare poses, blend them, find transitions, build graphs, animate under constraints.",
    "crowd": "Crowds: capture motion from video, edit and extend it, animate, simulate, render, measure.",
}
COMMANDS = {
    "info": "What is in a file: kind, size, rate, joints, units.",
    "convert": "Any format to any other: BVH, ASF/AMC, C3D, glTF, USD, OBJ, PLY, CSV, Parquet, video, images, flow.",
    "view": "Look at anything we read, on a machine with or without a screen.",
    "studio": "See, touch and change motion in the browser; served until Ctrl+C, to whoever has its address.",
    "demo": "Run marey on its built-in samples and write a gallery of pictures, clips and files to open.",
    "data list": "What there is, under which licence, and where: here already, to download, or only in your MAREY_DATA.",
    "data get": "Fetch a data set into the user cache (or find it under MAREY_DATA) and print where it is.",
    "body filter": "Remove noise from a captured clip and keep quick motion quick.",
    "body fit": "Learn a pose model: a mean pose and the few directions in which the poses of clips vary.",
    "body ik": "Pose a character by handles: joints that reach, look, stand; the rest of the body follows.",
    "body particles": "A motion from a pose to one that meets targets, found by particles within the limits of joints.",
    "body fingers": "All joints of a hand from where its fingertips were, frame by frame.",
    "body reconstruct": "Full-body motion from a few tracked points, with a pose model for the rest.",
    "body learn": "Learn how a clip moves: its poses, its cycle, and how one frame follows from those before.",
    "body vary": "New versions of one clip: the same person doing the same thing, never the same way.",
    "body fill": "Fill gaps of a clip, lost frames or joints, with samples of the content and its uncertainty.",
    "body steer": "Re-aim an action: hands and feet reach given points at given times, and the body follows.",
    "body restyle": "Replay a clip in the timing, and if asked for in the style, of another clip.",
    "body stream": "Let characters move for ever in the manner of one clip, and see how many frames a second that makes.",
    "body compress": "Store a clip in a few kilobytes, no joint further off than you allow.",
    "body decompress": "Get a compressed clip back, whole or in part; only the part asked for is decoded.",
    "surface animate": "Make an animation to order: along a path, through poses at times, from frame to frame, steered, free.",
    "surface blend": "Mix two clips of one kind: a left and a right turn give a straight walk.",
    "surface compare": "Tell how well two pose metrics agree, and whether that is more than chance (Mantel's test).",
    "surface distance": "Compare all poses of captured sequences, wherever they stand and whichever way they face.",
    "surface graph": "Find the transitions worth taking between captured sequences, for `marey surface animate`.",
    "surface info": "Sequences and labels, distances, transitions, core and dead ends; captured and blended frames.",
    "surface interpolate": "Write the mesh between two poses that keeps lengths and volumes, or a sequence of them.",
    "surface skin": "Put skeleton clips on a rigged mesh: any motion capture becomes 4D data of one subject.",
    "surface transition": "Lead from one captured moment to another, feet on the ground.",
    "crowd animate": "Let people walk in captured motion: as tracks, as bodies for Blender, or drawn into the film.",
    "crowd capture": "Capture the motion in a film as velocity fields, one for each two neighbouring pictures.",
    "crowd dataset": "Simulate a crowd and film it: video, and the truth about everyone and every pixel.",
    "crowd edit": "Edit a captured flow, and store it small.",
    "crowd evaluate": "Measure captured motion: endpoint, angle, divergence, vorticity, trajectories, overlapping bodies.",
    "crowd extend": "Extend a captured flow to any length without repeating it.",
    "crowd info": "Sizes, speeds, direction, divergence and vorticity of a captured flow, and how well it compresses.",
    "crowd simulate": "Simulate a crowd: walls, goals, groups; reproducible, and any length in parts.",
    "crowd tile": "Lay captured flows into one environment; or blend two captures of one place in time.",
    "crowd walk": "Give the people of tracks whole bodies that walk: each differently, at their speed, feet on the ground.",
}  # fmt: skip
"""What each command does, as the first line of its help; `body fill` is the function `fill` of `cli.body.fill`."""


class Lazy(click.Group):
    """A group that imports a command when it is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Names of the commands in this group, or of all commands and groups."""
        if self.name in GROUPS:
            return [name.split()[1] for name in COMMANDS if name.startswith(f"{self.name} ")]
        return [*(name for name in COMMANDS if " " not in name), *GROUPS]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command or group of that name."""
        if self.name not in GROUPS and cmd_name in GROUPS:
            return Lazy(cmd_name, help=GROUPS[cmd_name], no_args_is_help=True)
        name = f"{self.name} {cmd_name}" if self.name in GROUPS else cmd_name
        if name not in COMMANDS:
            return None
        module = import_module("marey.cli." + ("data" if self.name == "data" else name.replace(" ", ".")))
        found: click.Command = getattr(module, f"{cmd_name}_", None) or getattr(module, cmd_name, None)
        if found is None:
            from marey.cli._typer import Old

            found = Old(cmd_name, module, "run")
        return found

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List what there is, without importing it."""
        prefix = f"{self.name} " if self.name in GROUPS else ""
        rows = [(name, GROUPS.get(name) or COMMANDS[prefix + name]) for name in self.list_commands(ctx)]
        with formatter.section("Commands"):
            formatter.write_dl(rows)


app = Lazy(
    "marey",
    help=HELP,
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
)
click.version_option(__version__, message="marey %(version)s", help="Print the version and stop.")(app)


def main() -> None:
    """Entry point of the command line."""
    # An empty entry of PYTHONPATH, or `python -m`, would import what lies beside the data.
    sys.path[:] = without_working_folder(sys.path)
    print_warnings_plainly()
    _print_in_any_encoding()
    signal.signal(signal.SIGTERM, _stop)
    try:
        sys.exit(app(prog_name="marey", standalone_mode=False) or 0)
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        sys.exit(2)
    except click.ClickException as error:
        fail(error.format_message())
        sys.exit(2)
    except (KeyboardInterrupt, click.Abort):
        sys.exit(130)
    except MareyError as error:
        fail(str(error))
        sys.exit(2)
    except OSError as error:
        fail(f"{error.filename or 'the result'}: cannot be read or written: {error.strerror or error}")
        # What could not be printed must not be tried again when Python ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        sys.exit(2)
    except MemoryError:
        fail("not enough memory for this; try fewer frames (--frames A:B)")
        sys.exit(2)
    except Exception as error:
        # Compiled code that is interrupted fails with an error of its own on top.
        if isinstance(error.__cause__ or error.__context__, KeyboardInterrupt):
            sys.exit(130)
        if os.environ.get("MAREY_DEBUG"):
            raise
        fail(f"internal error: {type(error).__name__}: {error} (MAREY_DEBUG=1 shows where; please report it)")
        sys.exit(1)


def _print_in_any_encoding() -> None:
    """Replace characters that a terminal or pipe cannot show, instead of failing."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")


def _stop(number: int, _frame: Any) -> None:
    """Leave in the ordinary way when told to end, so that drafts are removed."""
    sys.exit(128 + number)


if __name__ == "__main__":
    main()
