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
COMPLETE = "_MAREY_COMPLETE"
"""The variable by which a shell asks for completions."""
GROUPS = {
    "data": "Real sample data: list it, get it.",
    "body": "Skeleton motion: clean, model, pose, vary, repair, steer, store.",
    "surface": "Surfaces: compare poses, blend them, build motion graphs, animate under constraints.",
    "crowd": "Crowds: capture motion from video, edit and extend it, animate, simulate, render, measure.",
}
COMMANDS = {
    "info": "What is in a file: kind, size, rate, joints, units.",
    "convert": "Convert any format to any other.",
    "view": "Draw an image, a clip or a page of anything we read.",
    "studio": "See, touch and change motion in the browser; served until Ctrl+C.",
    "demo": "Run marey on its built-in samples and write a gallery to open.",
    "doctor": "What is installed, what is missing, and where files are kept.",
    "completion": "Print the lines that let a shell complete commands and options.",
    "data list": "List data sets, their licences, and whether they are here or to download.",
    "data get": "Fetch a data set into the user cache and print where it is.",
    "body filter": "Remove noise from a captured clip and keep quick motion quick.",
    "body fit": "Learn a pose model: a mean pose and the directions in which poses vary.",
    "body ik": "Pose a character by handles: joints that reach, look, stand.",
    "body particles": "A motion to a pose that meets targets, found by particles within joint limits.",
    "body fingers": "All joints of a hand from the positions of its fingertips.",
    "body reconstruct": "Full-body motion from a few tracked points and a pose model.",
    "body learn": "Learn the dynamics of a clip: its poses, its cycle, and how frames follow.",
    "body drive": "Run a clip by a few inputs a frame, its own or those of a table.",
    "body vary": "New versions of one clip: the same action, never twice the same motion.",
    "body fill": "Fill gaps of a clip, with samples of their content and its uncertainty.",
    "body steer": "Re-aim an action: hands and feet reach given points at given times.",
    "body restyle": "Replay a clip in the timing, and the style if wanted, of another clip.",
    "body limits": "Learn how far joints turn: the smallest ellipsoid around the rotations of each.",
    "body simulate": "Let go of a character: it falls, is pushed, and keeps to the poses that were learned.",
    "body puppet": "Play a clip as a puppet that reacts to pushes, balls, the floor and handles.",
    "body balance": "Stand from a frame of a clip on, by internal forces alone.",
    "body stream": "Let characters move for ever in the manner of one clip.",
    "body compress": "Store a clip in a few kilobytes, within an error you choose.",
    "body decompress": "Get a compressed clip back, whole or in part.",
    "surface animate": "Animate a captured subject: along a path, through poses, steered or free.",
    "surface blend": "Mix two clips of one kind: a left and a right turn give a straight walk.",
    "surface compare": "Test how well two pose metrics agree (Mantel's test).",
    "surface distance": "Distances between all poses of captured sequences.",
    "surface graph": "Find the transitions worth taking between captured sequences.",
    "surface info": "What a file of meshes, distances, a graph or an animation holds.",
    "surface interpolate": "In-between meshes of two poses that keep lengths and volumes.",
    "surface skin": "Put skeleton clips on a rigged mesh, as mesh sequences.",
    "surface transition": "The best transition from one captured frame to another, feet planted.",
    "crowd animate": "Let people walk in captured motion: tracks, bodies, or drawn into the video.",
    "crowd capture": "Capture the motion in a video as velocity fields.",
    "crowd dataset": "Simulate a crowd and render it: video with ground truth.",
    "crowd density": "Estimate how dense a crowd is, and where that is dangerous.",
    "crowd direct": "Make a crowd do what constraints say, by the least control.",
    "crowd edit": "Edit a captured flow, and store it small.",
    "crowd evaluate": "Errors of captured motion, and overlapping bodies.",
    "crowd extend": "Extend a captured flow to any length without repeating it.",
    "crowd info": "Speeds, direction, divergence and vorticity of a flow, and how it compresses.",
    "crowd simulate": "Simulate a crowd by social forces: walls, goals, groups.",
    "crowd tile": "Lay captured flows into one environment, or blend two in time.",
    "crowd walk": "Give the people of tracks whole bodies that walk.",
}
"""What each command does, the first line of its help; `body fill` is `fill` in `cli/body/fill.py`."""


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
        found: click.Command = getattr(module, f"{cmd_name}_", None) or getattr(module, cmd_name)
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
    if os.environ.get(COMPLETE):
        from click.shell_completion import shell_complete

        sys.exit(shell_complete(app, {}, "marey", COMPLETE, os.environ[COMPLETE]))
    try:
        with app.make_context("marey", sys.argv[1:]) as context:
            app.invoke(context)
    except click.exceptions.Exit as leaving:
        sys.exit(leaving.exit_code)
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
        # A reader such as `head` may close the pipe when it has seen enough.
        if not isinstance(error, BrokenPipeError):
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


def _stop(number: int, _frame: object) -> None:
    """Leave as at any exit when asked to end, so that drafts are removed."""
    sys.exit(128 + number)


if __name__ == "__main__":
    main()
