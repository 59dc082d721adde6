"""`marey crowd dataset`: a simulated crowd rendered with its ground truth."""

from typing import Literal

from marey.cli._inputs import scene as scene_of
from marey.cli._options import ImageSize, Out, Seed, argument, option
from marey.cli._run import Output, Run, command


@command(reports="frames, people, files")
def dataset(
    run: Run,
    scene: str = argument(
        "Name of a scene (marey crowd simulate --list), its number, or a JSON file.", "SCENE"
    ),
    out: Out = option(..., "The folder to write.", "DIR"),
    scenario: Literal["soft", "panic"] = option("soft", "People walk, or want to run four times as fast."),
    camera: list[Literal["above", "side", "both"]] = option((), "Viewpoint; repeatable; above if not given."),
    shading: list[Literal["on", "off", "both"]] = option(
        (), "Sun and shadows, or colours alone; repeatable; on if not given."
    ),
    size: ImageSize = (640, 480),
    seconds: float | None = option(None, "Length; the scene's own if not given.", "S"),
    hold: float | None = option(None, "How long people rest at the start; 3 as published.", "S", min=0),
    people: int | None = option(None, "How many; the scene's own if not given.", "N"),
    noise: float = option(0.0, "Noise of the sensor, grey levels of 255.", "L"),
    seed: Seed = 0,
) -> Output:
    """Simulate a crowd and render it: video with ground truth.

    Examples:
        marey crowd dataset escape -o escape             from above, in the sun
        marey crowd dataset rotation -o four --camera both --shading both
        marey crowd dataset escape -o panic --scenario panic --seconds 15
        marey crowd dataset crossing -o small --people 40 --seconds 6 --size 320x240
        marey view escape/above/shaded.mp4 -o frame.png

    The truth is known for every person and every pixel.
    """
    from marey.filming.dataset import write_dataset

    place = scene_of(scene, panic=scenario == "panic", hold=hold)
    if people is not None:
        place = place.with_people(people)
    cameras = ("above", "side") if "both" in camera else dict.fromkeys(camera) or ("above",)
    lights = ("on", "off") if "both" in shading else dict.fromkeys(shading) or ("on",)
    report = run.call("rendering", write_dataset, place, out, views=list(cameras), shading=list(lights))
    return Output(None, {"frames": report.frames, "people": report.people, "files": report.files})
