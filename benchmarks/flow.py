"""Motion estimation beside OpenCV's and scikit-image's engines: error, divergence, vorticity, time.

RubberWhale with its truth; dense crowds drawn by `_crowd_pairs`, and filmed ones if folders of
`marey crowd dataset` are given; the dense pilgrims with the authors' own flow. All engines run in this
process on one core.

    python benchmarks/flow.py [--data DIR] [FILMED ...]
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from _crowd_pairs import FIELDS, crowd_pair
from _ledger import record
from numpy.typing import NDArray

from marey.crowd.capture import FlowEstimator, estimate
from marey.crowd.capture.capture import data_weight
from marey.crowd.capture.framing import make_background
from marey.crowd.evaluation.fields import field_errors
from marey.io import flo

Array = NDArray[Any]
Engine = Callable[[Array, Array], Array]

BAR_WHALE, BAR_SECONDS, BAR_SMALL = 0.223, 1.0, 0.1
OURS = "marey"


def main() -> int:
    cv2.setNumThreads(1)
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    beside = Path(__file__).resolve().parents[2] / "shared" / "data"
    parser.add_argument("--data", type=Path, default=Path(os.environ.get("MAREY_DATA", beside)))
    parser.add_argument("filmed", type=Path, nargs="*", help="folders of marey crowd dataset")
    given = parser.parse_args()
    engines = peers()
    met = [speed()]
    if (given.data / "flow").is_dir():
        met.append(whale(given.data / "flow" / "middlebury_rubberwhale", engines))
        pilgrims(given.data / "crowd" / "ali_shah_IM03", engines)
    else:
        print("no real data: RubberWhale and pilgrims left out")
    met.append(drawn(engines))
    met += [filmed(folder, engines) for folder in given.filmed]
    print(f"bars: {'met' if all(met) else 'MISSED'}")
    return not all(met)


def peers() -> dict[str, Engine]:
    """Everybody else's engines with their usual settings."""
    found: dict[str, Engine] = {}
    for number, preset in enumerate(("ultrafast", "fast", "medium")):
        dis = cv2.DISOpticalFlow_create(number)  # type: ignore[attr-defined]
        found[f"OpenCV DIS {preset}"] = lambda a, b, dis=dis: dis.calc(a, b, None)  # type: ignore[misc]
    refine = cv2.VariationalRefinement_create()  # type: ignore[attr-defined]
    medium = found["OpenCV DIS medium"]
    found["OpenCV DIS + refinement"] = lambda a, b: refine.calc(a, b, medium(a, b))
    found["OpenCV Farnebäck"] = lambda a, b: cv2.calcOpticalFlowFarneback(
        a,
        b,
        None,  # type: ignore[arg-type]
        0.5,
        5,
        15,
        5,
        7,
        1.5,
        0,
    )
    try:
        from skimage.registration import optical_flow_ilk, optical_flow_tvl1
    except ImportError:
        print("scikit-image is not here: its two engines are left out")
        return found
    for name, flow in (("TV-L1", optical_flow_tvl1), ("iLK", optical_flow_ilk)):
        # theirs come as rows, columns, and from floats
        found[f"scikit-image {name}"] = lambda a, b, flow=flow: np.moveaxis(flow(a, b), 0, -1)[..., ::-1]  # type: ignore[misc]
    return found


def whale(folder: Path, engines: dict[str, Engine]) -> bool:
    first, second = (cv2.imread(str(folder / f"RubberWhale{k}.png"), cv2.IMREAD_GRAYSCALE) for k in (1, 2))
    truth = flo.read(folder / "RubberWhale.flo")
    print("\nRubberWhale, 584 × 388            endpoint  divergence  vorticity")
    found: dict[str, float] = {}
    for name, engine in {**engines, OURS: estimate}.items():
        errors = field_errors(engine(first, second), truth.velocities[0], truth.mask)
        print(f"  {name:30s} {errors.endpoint:9.3f} {errors.divergence:11.4f} {errors.vorticity:10.4f}")
        found[name] = errors.endpoint
    ours = found[OURS]
    record(
        "RubberWhale: endpoint error", ours, found["OpenCV DIS medium"], peer="OpenCV DIS medium", unit="px"
    )
    print(f"  bar {BAR_WHALE}: {'met' if ours <= BAR_WHALE else 'MISSED'}")
    return ours <= BAR_WHALE


def drawn(engines: dict[str, Engine]) -> bool:
    """Crowds drawn here, against what each pixel shows and against the field the crowd follows."""
    pairs = [
        crowd_pair(name, seed=k, spacing=spacing, gain=gain)
        for k, (name, spacing, gain) in enumerate(
            zip(FIELDS, (14.0, 22.0, 14.0, 22.0), (1.0, 1.0, 1.05, 1.0))
        )
    ]
    met = []
    for truth in ("seen", "smooth"):
        rows = {}
        for name, engine in {**engines, OURS: estimate}.items():
            found = [field_errors(engine(p.first, p.second), getattr(p, truth)) for p in pairs]
            rows[name] = np.mean([(e.endpoint, e.divergence, e.vorticity) for e in found], axis=0)
        met.append(table(f"drawn crowds, 640 × 480, truth: {truth}", rows, OURS))
    return all(met)


def filmed(folder: Path, engines: dict[str, Engine]) -> bool:
    """A filmed crowd, against the motion of the crowd; ours knows who is there, as captures do."""
    from marey.filming import read_dataset

    met = []
    for camera, view in read_dataset(folder).views.items():
        pictures = [np.asarray(picture) for picture in view.footage().grey()]
        background = make_background(np.stack(pictures[::10]))
        at = np.linspace(0.6 * len(pictures), len(pictures) - 3, 4).astype(int)

        def ours(a: Array, b: Array, background: Any = background) -> Array:
            return estimate(a, b, weight=data_weight(background.foreground(a)))

        rows = {}
        for name, engine in {**engines, OURS: ours}.items():
            found = []
            for k in at:
                foreground = view.crowd_flow.foreground
                assert foreground is not None
                where = np.asarray(foreground[k]) > 127
                found.append(
                    field_errors(engine(pictures[k], pictures[k + 1]), view.crowd_flow.velocities[k], where)
                )
            rows[name] = np.mean([(e.endpoint, e.divergence, e.vorticity) for e in found], axis=0)
        met.append(table(f"{folder.name}, {camera}, truth: the crowd's motion", rows, OURS))
    return all(met)


def table(title: str, rows: dict[str, Array], ours: str) -> bool:
    print(f"\n{title:34s}  endpoint  divergence  vorticity")
    for name, (endpoint, divergence, vorticity) in rows.items():
        print(f"  {name:30s} {endpoint:11.3f} {divergence:11.4f} {vorticity:10.4f}")
    others = np.stack([row for name, row in rows.items() if name != ours])
    met = bool(
        rows[ours][0] <= rows["OpenCV DIS medium"][0] * 1.0005
        and (rows[ours][1:] < others[:, 1:].min(axis=0)).all()
    )
    medium = rows["OpenCV DIS medium"][0]
    record(f"{title}: endpoint error", rows[ours][0], medium, peer="OpenCV DIS medium", unit="px", bar=0.9995)
    for column, kind in ((1, "divergence"), (2, "vorticity")):
        best = others[:, column].min()
        record(
            f"{title}: {kind} error",
            rows[ours][column],
            best,
            peer=f"best of {len(others)} engines",
            unit="1/frame",
            bar=1.0,
        )
    print(f"  endpoint no worse than DIS medium, the rest below all: {'met' if met else 'MISSED'}")
    return met


def pilgrims(folder: Path, engines: dict[str, Engine]) -> None:
    first, second = (
        cv2.resize(cv2.imread(str(folder / f"image_000{k}.jpg"), cv2.IMREAD_GRAYSCALE), (576, 384))
        for k in (1, 2)
    )
    with np.load(folder / "authors_flow_0001.npz", allow_pickle=False) as stored:
        theirs = np.stack([stored["u"], stored["v"]], axis=-1).astype(np.float64)
    print("\ndense pilgrims, against the authors' flow   correlation u, v   endpoint distance")
    for name, engine in {**engines, OURS: estimate}.items():
        found = engine(first, second)
        u, v = (np.corrcoef(found[..., k].ravel(), theirs[..., k].ravel())[0, 1] for k in (0, 1))
        print(f"  {name:38s} {u:9.2f} {v:8.2f} {field_errors(found, theirs).endpoint:15.2f}")


def speed() -> bool:
    """Least of several rounds; processor time, which is that of the one thread that works."""
    large, small = crowd_pair("waves", seed=1), crowd_pair("waves", seed=2, rows=60, columns=80, spacing=6.0)
    print("one core                      s a pair   µs a pixel   pairs/s")
    met = []
    for pair, bar in ((large, BAR_SECONDS), (small, BAR_SMALL)):
        engine = FlowEstimator(pair.first.shape)
        engine(pair.first, pair.second)
        times = []
        for _ in range(5):
            start = time.process_time()
            engine(pair.first, pair.second)
            times.append(time.process_time() - start)
        each = min(times)
        rows, columns = pair.first.shape
        pixel = 1e6 * each / pair.first.size
        print(f"  {columns} × {rows} {each:16.3f} {pixel:12.2f} {1 / each:9.1f}")
        met.append(each <= bar)
    print(f"  bars ({BAR_SECONDS:g} s and {BAR_SMALL:g} s): {'met' if all(met) else 'MISSED'}")
    return all(met)


if __name__ == "__main__":
    sys.exit(main())
