"""What the surface room reports in words and numbers."""

from __future__ import annotations

from marey.studio.surface.state import State
from marey.studio.text import escape_markdown


def facts(state: State, shown_vertices: int) -> str:
    """What is played."""
    if state.library is None:
        if state.distances is None:
            return ""
        count = len(state.distances.names)
        sequences = f"{count} sequence{'s' if count != 1 else ''}"
        return f"{state.distances.frames:,} frames of {sequences}, without their meshes."
    played = state.played or state.library.sequences[0]
    vertices = played.vertices.shape[1]
    what = {"captured": "Captured", "animation": "New animation", "between": "In between"}[state.shown]
    lines = [f"**{what}** · {vertices:,} vertices, {len(played.faces):,} faces"]
    if shown_vertices < vertices:
        lines.append(f"({shown_vertices:,} of them drawn here)")
    if state.shown == "captured":
        label = state.library.labels[state.sequence]
        lines.append(
            f"· behaviour: {escape_markdown(label)}" if label != state.library.names[state.sequence] else ""
        )
        if len(state.library) > 1:
            lines.append(f"· {state.library.frames:,} frames in {len(state.library)} sequences")
    return " ".join(line for line in lines if line)


def of_animation(state: State) -> str:
    """How well the new motion keeps to what was asked, and what it consists of."""
    animation = state.animation
    if animation is None:
        return ""
    report, frames = animation.report, animation.sequence.frames
    seconds = (frames - 1) / animation.sequence.frame_rate
    captured = animation.provenance.captured_frames / frames
    rows = [
        f"{seconds:.1f} s: **{captured:.0%} captured**, {1 - captured:.0%} synthetic",
        "Blue line: captured, the body in its colours. Red line and red body: synthetic.",
    ]
    if report is not None:
        if report.path_error is not None:
            rows.append(f"Off the path by **{_centimetres(report.path_error)}** on average")
            if report.path_error > 0.25:
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
    if state.animation is None or state.shown != "animation":
        return ""
    origin = state.animation.provenance
    if state.animation.report is None or state.library is None:
        return "Now **synthetic**" if origin.synthetic[frame] else "Now **captured**"
    names = state.library.names
    both = (int(origin.sources[frame]), int(origin.destinations[frame]))
    first, second = (names[state.library.locate(of)[0]] for of in both)
    if not origin.synthetic[frame]:
        return f"Now **captured**: {escape_markdown(first)}"
    return f"Now **synthetic**: from {escape_markdown(first)} to {escape_markdown(second)}"


def of_figures(state: State, frame: int) -> str:
    """Which frames are picked, how far apart they are, and what the graph holds."""
    rows = []
    here, other = state.frame_of_library(frame), state.other_frame(frame)
    if state.distances is not None and here is not None and other is not None:
        unit = "rad" if state.distances.metric in ("surface", "skeleton") else "m"
        apart = float(state.distances.values[here, other])
        first, second = escape_markdown(state.name_of(here)), escape_markdown(state.name_of(other))
        rows.append(f"**{first}** and **{second}** (pale): {apart:.3f} {unit} apart")
    elif state.matrix is not None:
        rows.append("Click the matrix to compare two frames; dark is similar.")
    if state.repertoire is not None:
        graph = state.repertoire.graph
        rows.append(
            f"{int(graph.synthetic.sum()):,} transitions between {graph.frames:,} frames. "
            "Click the circle to go to a frame."
        )
    return "  \n".join(rows)


def of_ends(state: State) -> str:
    """The two chosen poses."""
    names = ["…" if end is None else f"**{escape_markdown(state.name_of(end))}**" for end in state.ends]
    return f"From {names[0]} to {names[1]}"


def of_between(state: State, weight: float) -> str:
    """How much in-betweens swell or shrink, by both methods."""
    if state.between is None:
        return ""
    turning, straight = (
        f"volume off by {volume:.1%}, edges by {edges:.1%}"
        for volume, edges in state.between.distortion(weight)
    )
    rows = [f"Turning: {turning}", f"Straight: {straight}"]
    rows[state.between.is_straight] = f"**{rows[state.between.is_straight]}**"
    return "  \n".join(rows)


def _centimetres(metres: float) -> str:
    return f"{100 * metres:.1f} cm"
