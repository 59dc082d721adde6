"""Run the notebooks of examples/ from top to bottom, and keep what they show: python tools/notebooks.py

Data shows itself as an image here, not as the page that plays it, so that the files stay small.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import nbformat
from nbclient import NotebookClient

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"


def run(path: Path) -> nbformat.NotebookNode:
    """The notebook, run in an empty folder."""
    notebook = nbformat.read(path, as_version=4)
    os.environ["MAREY_NOTEBOOK_BYTES"] = "0"
    with tempfile.TemporaryDirectory() as folder:
        client = NotebookClient(
            notebook, timeout=300, kernel_name="python3", resources={"metadata": {"path": folder}}
        )
        client.execute()
    for cell in notebook.cells:
        cell.metadata = {}
        if cell.cell_type != "code":
            continue
        # That code was compiled, and how far bars have come, is not of interest.
        cell.outputs = [one for one in cell.get("outputs", []) if one.get("name") != "stderr"]
    return notebook


def main() -> None:
    for path in sorted(EXAMPLES.glob("*.ipynb")):
        notebook = run(path)
        notebook.metadata = {"language_info": {"name": "python"}}
        path.write_text(nbformat.writes(notebook).rstrip() + "\n", encoding="utf-8")
        print(path.name, path.stat().st_size)


if __name__ == "__main__":
    main()
