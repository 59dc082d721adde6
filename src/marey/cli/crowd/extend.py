"""`marey crowd extend`: a short captured flow, played on for as long as wanted."""

from marey.cli._console import warn
from marey.cli._options import Fields, Figure, Out, Seed, Window, option
from marey.cli._run import Output, Run, command


@command(writes="FieldSeries", reports="information, bytes")
def extend(
    run: Run,
    field: Fields,
    out: Out,
    frames: int = option(..., "Number of frames to write.", "N", min=1, max=50_000_000),
    window: Window = 8,
    fade: int | None = option(
        None, "Frames of the cross-fade at a jump; as many as needed if not given.", "N"
    ),
    seed: Seed = 0,
    figure: Figure = None,
) -> Output:
    """Extend a captured flow to any length without repeating it.

    Examples:
        marey crowd extend street.zarr hour.zarr --frames 90000
        marey crowd extend street.zarr long.zarr --frames 2000 --window 16 --seed 3
        marey crowd extend short.zarr long.zarr --frames 500 --figure jumps.png

    Playback jumps between similar moments and fades over some frames about every jump. Smoothness is how
    quickly fields change there, over the quickest hundredth of the capture; below 1.5 jumps hardly show. The
    figure shows distances, jumps and what was played.
    """
    from marey.crowd.texture import PlaybackReport, learn
    from marey.io.zarr_store import check_fits, write_blocks

    check_fits(field, frames, out)
    texture = run.call("comparing frames", learn, field, taps=window)
    order = texture.sequence(frames, rng=seed)
    played = PlaybackReport(texture, order)
    blocks = played.watched(texture.blocks(frames, rng=seed))
    size = run.call(f"writing {out.name}", write_blocks, blocks, frames, out)
    if (played.smoothness or 0.0) > 1.5:
        warn("this flow never comes back to where it was: some jumps show; a longer capture helps")
    if played.information < 5.0 and frames >= field.frames:
        warn("less than 5 % of the captured motion is used; trim the still part")
    report = {
        "information": played.information,
        "bytes": size,
        "frames": frames,
        "seconds": frames / field.frame_rate,
        "jumps": len(played.jumps),
        "frames_between_jumps": frames / (len(played.jumps) + 1),
        "smoothness": played.smoothness,
        "fade": texture.fade,
        "window": window,
        "scale": texture.scale,
        "source_frames_played": len(set(order.tolist())),
    }
    return Output(None, report, ("texture_picture", texture, order))
