"""What the surface panel says in words and numbers."""

from __future__ import annotations

from marey.studio.plain import plain
from marey.studio.surface.state import State

# Metres off a path on average from which there is advice.
FAR_OFF = 0.25


def facts(state: State, shown_vertices: int) -> str:
    """What is played."""
    if state.library is None:
        if state.distances is None:
            return ""
        count = len(state.distances.names)
        return f"{state.distances.frames:,} frames of {_count(count, 'sequence')}, without their meshes."
    played = state.played or state.library.sequences[0]
    vertices = played.vertices.shape[1]
    what = {"captured": "Captured", "animation": "New animation", "between": "In between"}[state.shown]
    lines = [f"**{what}** · {vertices:,} vertices, {len(played.faces):,} faces"]
    if shown_vertices < vertices:
        lines.append(f"({shown_vertices:,} of them drawn here)")
    if state.shown == "captured":
        label = state.library.labels[state.sequence]
        lines.append(f"· behaviour: {plain(label)}" if label != state.library.names[state.sequence] else "")
        if len(state.library) > 1:
            lines.append(f"· {state.library.frames:,} frames in {len(state.library)} sequences")
    return " ".join(line for line in lines if line)


def of_animation(state: State) -> str:
    """How well the new motion keeps to what was asked, and what it consists of."""
    if state.made is None:
        return ""
    animation, report = state.made.animation, state.made.report
    frames = animation.sequence.frames
    seconds = (frames - 1) / animation.sequence.frame_rate
    captured = animation.provenance.captured_frames / frames
    rows = [
        f"{seconds:.1f} s: **{captured:.0%} captured**, {1 - captured:.0%} synthetic",
        "Blue line: captured, the body in its colours. Red line and red body: synthetic.",
    ]
    if report is not None:
        if report.path_error is not None:
            rows.append(f"Off the path by **{_centimetres(report.path_error)}** on average")
            if report.path_error > FAR_OFF:
                rows.append("That is far: try wider turns, any behaviour, or quicker transitions.")
            if report.label_violations:
                rows.append(f"{report.label_violations} frames of another behaviour")
        rows.append(
            f"Feet slide {_centimetres(report.foot_skate)}/s "
            f"(captured: {_centimetres(report.captured_foot_skate)}/s)"
        )
    return "  \n".join(rows)


def of_frame(state: State, frame: int) -> str:
    """Whether a frame of new motion was captured, and where, or made."""
    if state.made is None or state.shown != "animation":
        return ""
    origin = state.made.animation.provenance
    if state.made.report is None or state.library is None:
        return "Now **synthetic**" if origin.synthetic[frame] else "Now **captured**"
    names = state.library.names
    both = (int(origin.sources[frame]), int(origin.destinations[frame]))
    first, second = (names[state.library.locate(of)[0]] for of in both)
    if not origin.synthetic[frame]:
        return f"Now **captured**: {plain(first)}"
    return f"Now **synthetic**: from {plain(first)} to {plain(second)}"


def of_pictures(state: State, frame: int, other: int | None) -> str:
    """Which frames are picked, how far apart they are, and what the graph holds."""
    rows = []
    here = state.frame_of_library(frame)
    if state.distances is not None and here is not None and other is not None:
        unit = "rad" if state.distances.metric in ("surface", "skeleton") else "m"
        apart = float(state.distances.values[here, other])
        first, second = plain(state.name_of(here)), plain(state.name_of(other))
        rows.append(f"**{first}** and **{second}** (pale): {apart:.3f} {unit} apart")
    elif state.matrix is not None:
        rows.append("Click the matrix to compare two frames; dark is alike.")
    if state.repertoire is not None:
        graph = state.repertoire.graph
        rows.append(
            f"{int(graph.synthetic.sum()):,} transitions between {graph.frames:,} frames. "
            "Click the circle to go to a frame."
        )
    return "  \n".join(rows)


def of_ends(state: State) -> str:
    """The two chosen poses."""
    names = ["…" if end is None else f"**{plain(state.name_of(end))}**" for end in state.ends]
    return f"From {names[0]} to {names[1]}"


def of_between(state: State, way: float) -> str:
    """How much in-betweens swell or shrink, by both methods."""
    if state.between is None or state.shown != "between":
        return ""
    turning, along = state.between.distortions(way)
    chosen = ("**", "") if not state.between.is_straight else ("", "**")
    return (
        f"{chosen[0]}Turning: volume off by {turning[0]:.1%}, edges by {turning[1]:.1%}{chosen[0]}  \n"
        f"{chosen[1]}Straight: volume off by {along[0]:.1%}, edges by {along[1]:.1%}{chosen[1]}"
    )


def _centimetres(metres: float) -> str:
    return f"{100 * metres:.1f} cm"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
