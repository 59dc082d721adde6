"""Video in and out through PyAV (FFmpeg), extra `video`: frame-accurate, in bounded memory.

Reading counts the packets of the file, not what its header claims, and notes where the key frames are; a
frame is reached by seeking to the key frame before it and decoding on. A frame the file skips repeats the
one before. A video of variable rate is read frame by frame at its average rate; a phone's note on how it
was held is ignored. Written are MP4, MOV, MKV (H.264), AVI (MJPEG), WebM (VP9) and GIF (one palette for the
whole clip, found in a first pass over a lossless draft).
"""

from __future__ import annotations

import itertools
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path

import numpy as np

from marey._arrays import checked_rate
from marey._work import Progress, tracked
from marey.crowd.fields import Footage, Image
from marey.errors import FormatError, InputError, require
from marey.io._files import Untyped, atomic_write, check_readable, time_facts
from marey.io._limits import LIMITS

# Players show faster GIFs at 10 frames per second.
FASTEST_GIF = 50.0
# Enough to see whether decoded frames come in the order of their time stamps.
FRAMES_TRIED = 8
RATE_TOLERANCE = 0.02
CODECS: dict[str, tuple[str, str, dict[str, str]]] = {
    ".mp4": ("libx264", "yuv420p", {"crf": "18", "preset": "veryfast"}),
    ".mov": ("libx264", "yuv420p", {"crf": "18", "preset": "veryfast"}),
    ".mkv": ("libx264", "yuv420p", {"crf": "18", "preset": "veryfast"}),
    ".webm": ("libvpx-vp9", "yuv420p", {"crf": "24", "b": "0", "cpu-used": "4", "row-mt": "1"}),
    ".avi": ("mjpeg", "yuvj420p", {"qmin": "2", "qmax": "3"}),
    # Lossless; only ever a draft.
    ".nut": ("ffv1", "bgr0", {}),
}
# A file that is secretly a playlist must not make FFmpeg open other files or addresses.
TRUSTED = {
    "protocol_whitelist": "file",
    "format_whitelist": "mov,mp4,m4a,3gp,3g2,mj2,matroska,webm,avi,gif,mpeg,mpegts,mpegvideo,flv,asf,ogg,nut",
}
PALETTE = "stats_mode=full"
DITHER = "dither=sierra2_4a:diff_mode=rectangle"


def read(path: Path) -> Footage:
    """Footage of a video file; nothing is decoded before it is used."""
    path = Path(path)
    check_readable(path)
    index = _index(path)

    def open_frames(start: int, stop: int, step: int) -> Iterator[Image]:
        return _decode(index, range(start, min(stop, len(index.times)), step))

    return Footage(len(index.times), index.rows, index.columns, index.frame_rate, open_frames, path.stem)


def facts(path: Path) -> dict[str, object]:
    """What a video holds, as its header says; frames are counted where that does not."""
    check_readable(path)
    with _opened(path) as (_, stream):
        frames, rate, context = stream.frames, stream.average_rate, stream.codec_context
        if frames > 0 and rate and context is not None:
            size = {"rows": context.height, "columns": context.width}
            return {"kind": "video", **time_facts(frames, float(rate)), **size}
    footage = read(path)
    return {**footage.facts(), **time_facts(footage.frames, footage.frame_rate)}


def write(footage: Footage, path: Path, *, progress: Progress | None = None) -> None:
    """Encode footage; the ending chooses how. See :func:`write_frames`."""
    write_frames(footage, path, frame_rate=footage.frame_rate, progress=progress, total=footage.frames)


def write_frames(
    images: Iterable[Image],
    path: Path,
    *,
    frame_rate: float,
    progress: Progress | None = None,
    total: int | None = None,
) -> None:
    """Encode images `(rows, columns, 3)` uint8, red green blue, as they come; one is held at a time.

    Odd sizes are padded by one pixel, as video codecs want even ones (not in GIF). A GIF faster than 50
    frames per second keeps every second frame (third, …). Nothing is left behind if something fails.
    """
    path = Path(path)
    av = require("av", extra="video")
    rate = checked_rate(frame_rate)
    frames = tracked(images, progress, total)
    try:
        with atomic_write(path) as draft:
            if path.suffix.lower() == ".gif":
                _write_gif(av, frames, draft, rate)
            elif path.suffix.lower() in CODECS:
                _encode(av, _checked(frames), draft, rate)
            else:
                raise InputError(f"{path}: videos are written as {', '.join(CODECS)} or .gif")
    except av.FFmpegError as error:
        raise InputError(f"{path}: cannot be encoded: {error.strerror or error}") from error


@dataclass(frozen=True)
class _Index:
    """Where the frames of a file are, in the order they are shown."""

    path: Path
    rows: int
    columns: int
    frame_rate: float
    times: list[int]
    """Time stamp of each frame in the stream's time base, ascending."""
    keys: list[tuple[int, int]]
    """Presentation and decoding time stamps of the key frames."""
    seekable: bool = True
    """Whether decoded frames bear the time stamps of the packets; if not, they are counted."""

    def key_before(self, time: int) -> tuple[int, int] | None:
        """The last key frame shown at or before `time`; None = the start."""
        before = bisect_right(self.keys, (time, 2**63))
        return self.keys[before - 1] if before > 1 else None


def _index(path: Path) -> _Index:
    with _opened(path) as (container, stream):
        if stream.codec_context is None:
            raise FormatError("is coded with a codec FFmpeg does not know", path=path)
        rows, columns = stream.codec_context.height, stream.codec_context.width
        if not 0 < rows * columns <= LIMITS.pixels:
            raise FormatError(f"declares frames of {columns} × {rows} pixels", path=path)
        stated = stream.average_rate or stream.guessed_rate
        tick = stream.time_base
        times: set[int] = set()
        keys: list[tuple[int, int]] = []
        for packet in container.demux(stream):
            time = _time(packet)
            if packet.size == 0 or packet.is_discard or time is None:
                continue
            times.add(time)
            if packet.is_keyframe:
                keys.append((time, packet.dts if packet.dts is not None else time))
    if not times:
        raise FormatError("holds no frame", path=path)
    index = _Index(path, rows, columns, _rate(times, tick, stated), sorted(times), sorted(keys))
    first = [_time(frame) for frame in itertools.islice(_decoded(index, None), FRAMES_TRIED)]
    if not first:
        raise FormatError("its first frame cannot be decoded", path=path)
    return replace(index, seekable=first == sorted(times.intersection(first)))


def _rate(times: set[int], tick: Fraction, stated: Fraction | None) -> float:
    """What the file states if its time stamps agree (they may be rounded), else what they say."""
    seconds = (max(times) - min(times)) * tick
    measured = (len(times) - 1) / seconds if seconds else stated or Fraction(25)
    return float(stated if stated and abs(measured / stated - 1) < RATE_TOLERANCE else measured)


def _decode(index: _Index, wanted: range) -> Iterator[Image]:
    """Those frames, each once, in order."""
    if not wanted:
        return
    numbers = iter(wanted)
    number = next(numbers)
    shown = None
    for time, frame in _frames_from(index, index.times[number]):
        # `frame` is what is on screen from `time` on; those wanted before it show its predecessor.
        while index.times[number] < time and shown is not None:
            yield _image(shown, index)
            number = next(numbers, -1)
            if number < 0:
                return
        shown = frame
        if index.times[number] == time:
            yield _image(shown, index)
            number = next(numbers, -1)
            if number < 0:
                return
    if shown is None:
        raise FormatError(f"frame {number} cannot be decoded", path=index.path)
    for _ in itertools.chain([number], numbers):
        yield _image(shown, index)


def _frames_from(index: _Index, time: int) -> Iterator[tuple[int, Untyped]]:
    """Decoded frames with their times, from the one at or before `time` on."""
    if not index.seekable:
        yield from zip(index.times, _decoded(index, None), strict=False)
        return
    for frame in _decoded(index, index.key_before(time)):
        stamp = _time(frame)
        if stamp is not None:
            yield stamp, frame


def _decoded(index: _Index, key: tuple[int, int] | None) -> Iterator[Untyped]:
    """Frames from a key frame on, or from the start."""
    for start in (key, None):
        with _opened(index.path) as (container, stream):
            stream.thread_type = "AUTO"
            if start is not None:
                container.seek(start[1], stream=stream, backward=True)
            packets = container.demux(stream)
            first = next(packets, None)
            # Some demuxers land beside the key frame, with other time stamps: then decode from the start.
            landed = (_time(first), first.dts) if first is not None else None
            if first is None or (start is not None and (landed not in index.keys or landed > start)):
                continue
            for packet in itertools.chain([first], packets):
                yield from packet.decode()
            return


def _time(packet: Untyped) -> int | None:
    """Time stamp of a packet or frame."""
    time: int | None = packet.pts if packet.pts is not None else packet.dts
    return time


def _image(frame: Untyped, index: _Index) -> Image:
    if (frame.height, frame.width) != (index.rows, index.columns):
        frame = frame.reformat(width=index.columns, height=index.rows)
    return np.asarray(frame.to_ndarray(format="rgb24"))


@contextmanager
def _opened(path: Path) -> Iterator[tuple[Untyped, Untyped]]:
    """The container and its first video stream; FFmpeg's errors become ours."""
    av = require("av", extra="video")
    try:
        with av.open(str(path.absolute()), options=TRUSTED, metadata_errors="replace") as container:
            if not container.streams.video:
                raise FormatError("holds no video stream", path=path)
            yield container, container.streams.video[0]
    except (av.FFmpegError, OSError, ValueError, MemoryError) as error:
        reason = getattr(error, "strerror", None) or error
        raise FormatError(f"not a video, or a damaged one ({reason})", path=path) from error


def _checked(images: Iterable[Image]) -> Iterator[Image]:
    """The images as they come, all of one size; an error names the frame."""
    shape = None
    for number, given in enumerate(images):
        image = np.asarray(given)
        shape = shape or image.shape
        if image.ndim != 3 or image.shape[2] != 3 or image.dtype != np.uint8:
            raise InputError(
                f"frame {number}: expected (rows, columns, 3) bytes, got {image.shape} {image.dtype}"
            )
        if image.shape != shape or 0 in shape:
            raise InputError(f"frame {number} is {image.shape}, frame 0 is {shape}; a video has one size")
        yield np.ascontiguousarray(image)
    if shape is None:
        raise InputError("there is no frame to write")


def _encode(av: Untyped, images: Iterator[Image], path: Path, frame_rate: float) -> None:
    codec, pixels, options = CODECS[path.suffix.lower()]
    flags = {"movflags": "+faststart"} if path.suffix.lower() in (".mp4", ".mov") else {}
    with av.open(str(path), "w", options=flags) as container:
        padded = map(_even, images) if "420" in pixels else images
        first = next(padded)
        stream = container.add_stream(codec, rate=_fraction(frame_rate), options=options)
        stream.height, stream.width = first.shape[:2]
        stream.pix_fmt = pixels
        colours = _tag_colours(stream.codec_context) if pixels == "yuv420p" else {}
        for number, image in enumerate(itertools.chain([first], padded)):
            frame = av.VideoFrame.from_ndarray(image, format="rgb24")
            frame = frame.reformat(format=pixels, **colours)
            frame.pts, frame.time_base = number, 1 / _fraction(frame_rate)
            container.mux(stream.encode(frame))
        container.mux(stream.encode(None))


def _tag_colours(context: Untyped) -> dict[str, str]:
    """Say that colours are those of HDTV (ITU-R BT.709), and how to convert to them."""
    bt709 = 1
    context.colorspace = context.color_primaries = context.color_trc = bt709
    context.color_range = 1
    return {"dst_colorspace": "ITU709"}


def _even(image: Image) -> Image:
    rows, columns = image.shape[:2]
    if rows % 2 or columns % 2:
        return np.pad(image, ((0, rows % 2), (0, columns % 2), (0, 0)), mode="edge")
    return image


def _fraction(frame_rate: float) -> Fraction:
    return Fraction(frame_rate).limit_denominator(1001) or Fraction(1, 1001)


def _write_gif(av: Untyped, images: Iterator[Image], path: Path, frame_rate: float) -> None:
    every = int(np.ceil(frame_rate / FASTEST_GIF))
    lossless = path.with_suffix(".nut")
    _encode(av, _checked(itertools.islice(images, 0, None, every)), lossless, frame_rate / every)

    with av.open(str(lossless)) as source:
        graph, (entry,), sink = _filters(av, source.streams.video[0], "palettegen", PALETTE)
        graph.configure()
        for frame in source.decode(video=0):
            entry.push(frame)
        entry.push(None)
        palette = sink.pull()

    with av.open(str(lossless)) as source, av.open(str(path), "w") as target:
        recording = source.streams.video[0]
        graph, (entry, palette_entry), sink = _filters(av, recording, "paletteuse", DITHER, palette)
        graph.configure()
        stream = target.add_stream("gif", rate=_fraction(frame_rate / every))
        stream.height, stream.width, stream.pix_fmt = recording.height, recording.width, "pal8"
        palette_entry.push(palette)
        palette_entry.push(None)
        for frame in itertools.chain(source.decode(video=0), [None]):
            entry.push(frame)
            for drawn in _pulled(av, sink):
                target.mux(stream.encode(drawn))
        target.mux(stream.encode(None))


def _filters(
    av: Untyped, stream: Untyped, name: str, options: str, palette: Untyped = None
) -> tuple[Untyped, list[Untyped], Untyped]:
    """A graph of one filter fed by `stream`, and by a palette if there is one."""
    graph = av.filter.Graph()
    entries = [graph.add_buffer(template=stream)]
    if palette is not None:
        size = {"width": palette.width, "height": palette.height, "format": palette.format.name}
        entries.append(graph.add_buffer(**size, time_base=stream.time_base))
    drawing = graph.add(name, options)
    for place, entry in enumerate(entries):
        entry.link_to(drawing, 0, place)
    sink = graph.add("buffersink")
    drawing.link_to(sink)
    return graph, entries, sink


def _pulled(av: Untyped, sink: Untyped) -> Iterator[Untyped]:
    while True:
        try:
            yield sink.pull()
        except (av.BlockingIOError, av.EOFError):
            return
