"""Our coder of velocity fields beside the lowest 10 % of their temporal frequencies, at equal error.

Bytes of float32 coefficients, of float16 ones deflated, and of our file, on flows captured by OpenCV's DIS:
the built-in film and, where they are (MAREY_DATA), the pilgrims and the PETS video. Exits with 1 where our
file is not at least three times as small as the smaller of the two.

    python benchmarks/field_codec.py
"""

from __future__ import annotations

import os
import time
import zlib
from collections.abc import Iterable, Iterator
from itertools import pairwise
from pathlib import Path

import cv2
import numpy as np
from _ledger import record
from numpy.typing import NDArray

import marey
from marey.crowd import FieldSeries, codec, spectrum

BAR = 3.0


def main() -> int:
    met = True
    print(f"{'flow':12}{'frames':>7}{'rms':>8}{'float32':>10}{'float16 z':>10}{'ours':>9}   ratios, seconds")
    for name, fields in flows():
        plain = spectrum.compress(fields, keep=0.1)
        deflated = len(zlib.compress(plain.coefficients.astype(np.float16).tobytes(), 9))
        error = spectrum.field_error(fields, plain.decode()).rms
        codec.compress(fields[:9], rms_error=error).decode()  # so that compilation is not counted
        started = time.perf_counter()
        ours = codec.compress(fields, rms_error=error)
        encoded = time.perf_counter()
        again = ours.decode()
        decoded = time.perf_counter()
        if spectrum.field_error(fields, again).rms > error:
            raise SystemExit(f"{name}: our error is larger than that of the frequencies")
        ratios = plain.coefficients.nbytes / ours.bytes, deflated / ours.bytes
        work = f"a flow in bytes at equal error, {name}"
        record(work, ours.bytes, plain.coefficients.nbytes, peer="float32 spectrum", unit="bytes", bar=BAR)
        record(work, ours.bytes, deflated, peer="float16 spectrum, deflated", unit="bytes", bar=BAR)
        met &= min(ratios) >= BAR
        print(
            f"{name:12}{fields.frames:7}{error:8.4f}{plain.coefficients.nbytes:10}{deflated:10}{ours.bytes:9}"
            f"   {ratios[0]:.0f} ×, {ratios[1]:.0f} ×   {encoded - started:.1f} s, {decoded - encoded:.1f} s"
        )
    print(f"at least {BAR:g} times as small: {'yes' if met else 'NO'}")
    return 0 if met else 1


def flows() -> Iterator[tuple[str, FieldSeries]]:
    """Captured flows by name."""
    yield "footage", captured(marey.samples.video().grey(), (320, 180), 25.0)
    data = (
        Path(os.environ.get("MAREY_DATA", Path(__file__).resolve().parents[2] / "shared" / "data")) / "crowd"
    )
    for name, place, size, rate in (
        ("pilgrims", "ali_shah_IM03", (360, 240), 25.0),
        ("PETS", "pets2009_s2l1/vtest.avi", (320, 240), 10.0),
    ):
        if (data / place).exists():
            yield name, captured(marey.load(data / place).grey(), size, rate)
        else:
            print(f"{name:12}is not here (set MAREY_DATA)")


def captured(images: Iterable[NDArray[np.uint8]], size: tuple[int, int], rate: float) -> FieldSeries:
    """Flow of neighbouring images at `size`, averaged over 4 × 4 pixels."""
    engine = cv2.DISOpticalFlow_create(cv2.DISOPTICAL_FLOW_PRESET_MEDIUM)
    small = [cv2.resize(image, size, interpolation=cv2.INTER_AREA) for image in images]
    shrunk = (size[0] // 4, size[1] // 4)
    fields = [
        cv2.resize(engine.calc(a, b, None), shrunk, interpolation=cv2.INTER_AREA) / 4
        for a, b in pairwise(small)
    ]
    return FieldSeries(np.stack(fields), rate)


if __name__ == "__main__":
    raise SystemExit(main())
