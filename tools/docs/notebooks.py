"""The notebooks of examples/ as pages of the site, with what they showed when they were last run.

A hook of mkdocs; `tools/notebooks.py` runs them.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


def on_files(files: Files, *, config: Any) -> Files:
    """Add the pages, which the navigation names."""
    for path in sorted(EXAMPLES.glob("*.ipynb")):
        files.append(File.generated(config, f"notebooks/{path.stem}.md", content=as_page(path)))
    return files


def as_page(path: Path) -> str:
    """A notebook as Markdown, outputs and all."""
    parts = []
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        source = "".join(cell["source"])
        parts.append(source if cell["cell_type"] == "markdown" else f"```python\n{source}\n```")
        for output in cell.get("outputs", []):
            shown = output.get("data", {}).get("text/html")
            text = "".join(output.get("text", []))
            parts.append("".join(shown) if shown else f"```text\n{text.rstrip()}\n```")
    return "\n\n".join(parts) + "\n"
