"""A scene as users type it: a name, a number of the dataset, or a JSON file."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from marey.crowd.scene import Scene
from marey.crowd.scenes import PANIC, SCENES, preset
from marey.errors import InputError
from marey.io import scene_json


def scene_of(text: str, *, panic: bool = False) -> Scene:
    """The scene that `text` names.

    >>> scene_of("4").name, scene_of("escape", panic=True).name
    ('escape', 'escape-panic')
    """
    names = list(SCENES)
    if text.isdecimal() and 1 <= int(text) <= len(names):
        text = names[int(text) - 1]
    if text in SCENES:
        return preset(text, panic=panic)
    if not Path(text).suffix:
        raise InputError(f"there is no scene {text!r}; there are {', '.join(names)}, or give a JSON file")
    scene = scene_json.read(Path(text))
    return replace(scene.faster(PANIC), name=f"{scene.name}-panic") if panic else scene
