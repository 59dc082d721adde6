"""The process in which USD is read: `python -m marey.io._usd_child IN.usd OUT.mry '{"unit": …}'`.

What went wrong, or was noted, is printed as JSON.
"""

from __future__ import annotations

import json
import sys
import warnings
from pathlib import Path

from marey._child import limit_memory
from marey.errors import MareyError
from marey.io import container
from marey.io._usd_read import read_meshes

# What the library reserves, and what a sound file may need for each of its bytes. Frames go to disk.
RESERVED, BYTES_A_BYTE = 2 << 30, 20


def main(source: str, target: str, options: str) -> None:
    """The meshes of a stage, as a container."""
    limit_memory("DATA", RESERVED + BYTES_A_BYTE * Path(source).stat().st_size)
    answer: dict[str, object] = {}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            container.write(read_meshes(Path(source), **json.loads(options)), Path(target))
        except MareyError as error:
            answer["error"] = str(error).removeprefix(f"{source}: ")
    answer["warnings"] = [str(warning.message) for warning in caught]
    print(json.dumps(answer))


if __name__ == "__main__":
    main(*sys.argv[1:])
