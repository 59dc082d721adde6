"""The reference of the site: pages of commands and packages, made and added to the navigation at each build.

A hook of mkdocs. Nothing here is kept: the code is the source.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

sys.path.insert(0, str(Path(__file__).parent))
import api_pages
import command_pages

SECTION = "Reference"
# `extra: {packages: […]}` in the configuration documents some packages only, for a quick look at the rest.
CHOSEN = "packages"


def on_config(config: Any) -> Any:
    """Name the pages to come in the navigation."""
    commands = [{title: f"reference/cli/{group}.md"} for group, (title, _) in command_pages.pages().items()]
    packages = [{one.name: f"reference/api/{one.page}.md"} for one in _packages(config)]
    for entry in config.nav:
        if SECTION in entry:
            entry[SECTION] += [{"Command line": commands}, {"Python": packages}]
    return config


def on_files(files: Files, *, config: Any) -> Files:
    """Add the pages themselves."""
    for group, (_, text) in command_pages.pages().items():
        files.append(File.generated(config, f"reference/cli/{group}.md", content=text))
    found = _packages(config)
    homes = api_pages.homes(found)
    for package in found:
        text = api_pages.page(package, homes)
        files.append(File.generated(config, f"reference/api/{package.page}.md", content=text))
    return files


def _packages(config: Any) -> list[api_pages.Package]:
    chosen = config.extra.get(CHOSEN)
    return [one for one in api_pages.packages() if chosen is None or one.name in chosen]
