"""Other Python processes that marey starts, e.g. for native readers that damage can crash or stall.

No code of the working folder runs in them: `python -m` puts that folder first among those that modules are
looked for in, and variables such as `PYTHONPATH` can name it.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

HOME = Path(__file__).resolve().parents[1]


def python(module: str, *arguments: str) -> list[str]:
    """The command that runs a module; use it with :func:`environment`."""
    user_site = ["-s"] if sys.flags.no_user_site else []
    return [sys.executable, "-P", *user_site, "-m", module, *arguments]


def environment() -> dict[str, str]:
    """The variables of this process, with none of Python's but a `PYTHONPATH` without the working folder."""
    others = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    folders = [*os.environ.get("PYTHONPATH", "").split(os.pathsep), ""]
    return others | {"PYTHONPATH": os.pathsep.join(without_working_folder(folders))}


def without_working_folder(folders: Sequence[str]) -> list[str]:
    """Folders to import from, absolute, without the working folder unless marey itself is in it.

    >>> without_working_folder(["", ".", "/usr/lib/python3"])
    ['/usr/lib/python3']
    """
    try:
        here = {os.path.realpath(os.curdir)} - {str(HOME)}
        return [str(Path(folder).absolute()) for folder in folders if os.path.realpath(folder) not in here]
    except FileNotFoundError:  # the working folder is gone
        return [folder for folder in folders if Path(folder).is_absolute()]
