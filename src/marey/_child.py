"""Other Python processes that marey starts; no code of the working folder runs in them.

`python -m` puts the working folder first among those that modules are looked for in, and variables such as
`PYTHONPATH` can name it, where a file that came with somebody's data would then be run.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
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


def without_working_folder(folders: Iterable[str]) -> list[str]:
    """Folders to import from, absolute, without the working folder unless marey itself is in it.

    >>> without_working_folder(["", ".", "/usr/lib/python3"])
    ['/usr/lib/python3']
    """
    here = {os.path.realpath(os.curdir)} - {str(HOME)}
    return [str(Path(folder).absolute()) for folder in folders if os.path.realpath(folder) not in here]
