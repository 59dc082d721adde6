"""`marey studio`: see, touch and change motion in the browser."""

from pathlib import Path

from marey.cli._console import print_result
from marey.cli._options import argument, option
from marey.cli._run import Output, Run, command
from marey.errors import FormatError


@command()
def studio(
    run: Run,
    files: list[Path] = argument("Opened in the room each belongs to.", "[FILE]…", ()),
    port: int = option(8080, "Where to serve; the next free one if it is in use.", "P"),
    browser: bool = option(True, "Open the page at once."),
) -> Output:
    """See, touch and change motion in the browser; served until Ctrl+C.

    Examples:
        marey studio                            the built-in samples
        marey studio walk.bvh                   drag its hands, fill gaps, make variants
        marey studio dance.glb people.csv       a surface and a crowd, each in its room
        marey studio walk.bvh --port 9000 --no-browser

    Its address carries a token; it is served to those who have it.
    """
    from marey.studio.app import Studio

    for path in files:
        if not path.exists():
            raise FormatError("no such file", path=path)
    served = Studio(list(files), port=port)
    print_result({"address": served.address}, as_json=run.json)
    if browser:
        import webbrowser

        webbrowser.open(served.address)
    served.wait()
    return Output()
