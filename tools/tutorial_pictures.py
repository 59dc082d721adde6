"""Draw the pictures of the tutorials by running them: `python tools/tutorial_pictures.py docs [SCALE …]`.

Every block of docs/tutorial-SCALE.md is run in an empty folder; each
`images/tutorial-SCALE-NAME.jpg` that the page shows is made from the NAME.png which its commands wrote.
"""

import os
import re
import shlex
import sys
import tempfile
import time
from pathlib import Path

from PIL import Image

from marey.cli.main import app

WIDEST = 1100  # pixels


def draw(docs: Path, scale: str) -> None:
    text = (docs / f"tutorial-{scale}.md").read_text(encoding="utf-8")
    names: dict[str, object] = {}
    for language, block in re.findall(r"^```(\w*)\n(.*?)^```$", text, re.M | re.S):
        if language == "text":
            continue
        if language:
            exec(compile(block, f"tutorial-{scale}.md", "exec"), names)
            continue
        for line in block.splitlines():
            print("$", line, flush=True)
            started = time.process_time()
            app(shlex.split(line)[1:], standalone_mode=False)
            print(f"({time.process_time() - started:.2f} s of processor time)")
    for name in re.findall(rf"\(images/tutorial-{scale}-(.+?)\.jpg\)", text):
        picture = Image.open(f"{name}.png").convert("RGB")
        picture.thumbnail((WIDEST, WIDEST), Image.Resampling.LANCZOS)
        picture.save(docs / "images" / f"tutorial-{scale}-{name}.jpg", quality=82, optimize=True)


if __name__ == "__main__":
    folder, *scales = sys.argv[1:]
    pages = Path(folder).resolve()
    for scale in scales or ["body", "surface", "crowd"]:
        with tempfile.TemporaryDirectory() as empty:
            os.chdir(empty)
            draw(pages, scale)
            os.chdir(pages)
