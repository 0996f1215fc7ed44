"""The plots of the speed benchmarks. matplotlib comes with the extra ``benchmarks``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")  # no window
from matplotlib import pyplot

from benchmarks.lib.measuring import short

# The lines of the plot: name in the JSON, label, color and style.
_LINES = (
    ("whole", "whole search, words and meaning", "#b3261e", "-"),
    ("keyword", "words alone", "#e8a33d", "-"),
    ("semantic", "meaning alone", "#3d7de8", "-"),
    ("floor_50", "bare FTS5 + bare vec0 scan", "#555555", "--"),
    ("vec0_50", "bare vec0 scan (exact)", "#999999", "--"),
    ("fts5", "bare FTS5", "#999999", ":"),
    ("numpy", "numpy, all vectors (memory bandwidth)", "#2e7d32", ":"),
)
_ALL = "all kinds"


def plot_query_time(numbers: Path, picture: Path, peers: Path | None = None) -> None:
    """Plot the medians of ``query_time``, and of ``peers`` if measured, by the library's size."""
    measured: list[dict[str, Any]] = json.loads(numbers.read_text())["measured"]
    figure, axes = pyplot.subplots(figsize=(8, 5), layout="constrained")
    sizes = [one["notes"] for one in measured]
    for name, label, color, line in _LINES:
        times = [one["kinds"][_ALL][name]["p50"] for one in measured]
        axes.plot(sizes, times, line, color=color, label=label, marker="o", markersize=4)
    whole = [one["kinds"][_ALL]["whole"] for one in measured]
    axes.fill_between(
        sizes,
        [times["p50"] for times in whole],
        [times["p95"] for times in whole],
        color="#b3261e",
        alpha=0.12,
        label="… up to the 95th percentile",
        linewidth=0,
    )
    peers = peers or numbers.with_name("peers.json")
    if peers.exists():
        _draw_peers(axes, json.loads(peers.read_text())["measured"])
    axes.set(xscale="log", yscale="log", xlabel="notes", ylabel="milliseconds, median")
    axes.set_title("A search, warm, beyond making the query's vector", fontsize=11)
    axes.grid(True, which="major", alpha=0.3)
    axes.legend(fontsize=8, frameon=False)
    figure.savefig(picture, dpi=150)
    pyplot.close(figure)
    print(f"The plot is {picture}.")


def plot_peers(numbers: Path, picture: Path) -> None:
    """Plot the medians of each way to search, with one panel per library size."""
    measured = json.loads(numbers.read_text())["measured"]
    panels = {
        f"{one['notes']:,} notes": {name: times["p50"] for name, times in one["ways"].items()}
        for one in measured
    }
    _plot_bars(panels, picture, "milliseconds a query, median", logarithmic=True)


def plot_start_up(numbers: Path, picture: Path) -> None:
    """Plot the memory of a server after each step."""
    measured = json.loads(numbers.read_text())["measured"]
    memory = {name: step["megabytes"] for name, step in measured["server"].items()}
    _plot_bars({"A server with the demo library": memory}, picture, "MB of memory")


def _plot_bars(
    panels: dict[str, dict[str, float]], picture: Path, unit: str, *, logarithmic: bool = False
) -> None:
    bars = max(len(values) for values in panels.values())
    size = (8, (0.35 * bars + 0.8) * len(panels))
    figure, all_axes = pyplot.subplots(
        len(panels), figsize=size, layout="constrained", squeeze=False
    )
    for axes, (title, values) in zip(all_axes[:, 0], panels.items()):
        colors = ["#b3261e" if name.startswith("ours") else "#8a8a8a" for name in values]
        drawn = axes.barh(list(values), list(values.values()), color=colors, log=logarithmic)
        axes.bar_label(drawn, fmt=short, padding=3, fontsize=8)
        axes.invert_yaxis()
        axes.margins(x=0.15)
        axes.set_title(title, fontsize=11)
        axes.set_xlabel(unit)
    figure.savefig(picture, dpi=150)
    pyplot.close(figure)
    print(f"The plot is {picture}.")


def _draw_peers(axes: Any, measured: list[dict[str, Any]]) -> None:
    names = dict.fromkeys(name for one in measured for name in one["ways"])
    for name, marker in zip(names, "sD^v<>PX*"):
        points = [
            (one["notes"], one["ways"][name]["p50"]) for one in measured if name in one["ways"]
        ]
        axes.plot(*zip(*points), "-.", marker=marker, markersize=4, linewidth=1, label=name)
