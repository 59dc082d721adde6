"""How soon the studio's page can be seen: in a browser without a window, from the address to the first paint.

Beside it an empty page of viser, the library the studio is built on, in the same browser. The pages are
loaded in turn, each in a context of its own with an empty cache; medians. Exits with 1 if the first paint of
the studio takes 5 s or more.

    python benchmarks/studio_page.py [FILE…]
"""

from __future__ import annotations

import io
import shutil
import statistics
import sys
import time
from contextlib import redirect_stdout
from typing import Any

from _ledger import record, record_limit

from marey.studio.app import Studio

REPEATS = 5
MOST_SECONDS = 5.0
PAINT = "performance.getEntriesByName('first-contentful-paint').map(entry => entry.startTime)[0]"
ARGUMENTS = [
    "--no-sandbox",
    "--disable-background-networking",
    "--use-angle=swiftshader",
    "--enable-unsafe-swiftshader",
]


def main(files: list[str]) -> int:
    try:
        import viser
        from playwright.sync_api import sync_playwright
    except ImportError:
        print("needs viser and playwright (extras studio and test)")
        return 0
    program = shutil.which("chromium") or shutil.which("google-chrome")
    if program is None:
        print("no browser here")
        return 0
    with redirect_stdout(io.StringIO()):
        empty = viser.ViserServer(host="127.0.0.1", port=0, verbose=False)
    with Studio(files, port=0) as studio, sync_playwright() as driver:
        studio.workspace.jobs.wait()
        browser = driver.chromium.launch(executable_path=program, args=ARGUMENTS)
        addresses = {"studio": studio.address, "viser": f"http://127.0.0.1:{empty.get_port()}"}
        took: dict[str, list[tuple[float, float]]] = {name: [] for name in addresses}
        for _ in range(REPEATS):
            for name, address in addresses.items():
                took[name].append(load(browser, address))
        browser.close()
    with redirect_stdout(io.StringIO()):
        empty.stop()
    print(f"{'seconds':8} {'first paint':>12} {'3-D canvas':>12}")
    paints = {}
    for name, times in took.items():
        paints[name], canvas = (statistics.median(values) for values in zip(*times, strict=True))
        print(f"{name:8} {paints[name]:12.2f} {canvas:12.2f}")
    record("first paint of the studio's page", paints["studio"], paints["viser"], peer="viser, empty page")
    record_limit("first paint of the studio's page, headless", paints["studio"], MOST_SECONDS)
    met = paints["studio"] < MOST_SECONDS
    print(f"first paint below {MOST_SECONDS:g} s: {'met' if met else 'missed'}")
    return 0 if met else 1


def load(browser: Any, address: str) -> tuple[float, float]:
    """Seconds until the first paint and until the scene's canvas is there."""
    context = browser.new_context(viewport={"width": 1280, "height": 720})
    page = context.new_page()
    start = time.perf_counter()
    page.goto(address)
    page.wait_for_selector("canvas", timeout=60_000)
    canvas = time.perf_counter() - start
    paint = page.evaluate(PAINT) / 1000.0
    context.close()
    return paint, canvas


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
