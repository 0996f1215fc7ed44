"""``datasette bear-doctor``: what is well and what isn't, and the one command that mends it."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from pathlib import Path

import click

from .options import clear_errors, sidecar_option

MARKS = {True: "✓", False: "✗", None: "·"}
WORDS = {True: "ok", False: "problem", None: "note"}


@click.command()
@sidecar_option
@click.option("--model-check", is_flag=True, help="Load the embedding model and try it, too")
@click.option("--json", "as_json", is_flag=True, help="Print JSON")
@click.pass_context
def bear_doctor(
    context: click.Context, sidecar_path: Path | None, model_check: bool, as_json: bool
) -> None:
    """
    Check that everything is well

    Looks at the sources, the index, this Python and the embedding model, and says of each problem what mends it. Ends
    with status 1 if there are problems. Changes nothing.
    """
    from .. import doctor, sidecar

    path = sidecar_path or sidecar.default_path()
    with clear_errors():
        findings = doctor.examine(path, load_model=model_check)
    problems = [finding for finding in findings if finding.ok is False]
    if as_json:
        answer = {"ok": not problems, "findings": [asdict(finding) for finding in findings]}
        click.echo(json.dumps(answer, indent=2, ensure_ascii=False))
    else:
        click.echo(_as_text(findings, is_terminal=sys.stdout.isatty()))
        count = "1 problem" if len(problems) == 1 else f"{len(problems)} problems"
        click.echo(f"\n{count} found." if problems else "\nAll is well.")
    context.exit(1 if problems else 0)


def _as_text(findings, is_terminal: bool) -> str:
    marks = MARKS if is_terminal else WORDS
    width = max(len(mark) for mark in marks.values())
    indent = " " * (width + 2)
    lines, area = [], None
    for finding in findings:
        if finding.area != area:
            area = finding.area
            lines.extend(["", area] if lines else [area])
        mark = marks[finding.ok].ljust(width)
        color = {True: "green", False: "red", None: None}[finding.ok]
        lines.append(f"  {click.style(mark, fg=color) if is_terminal else mark} {finding.says}")
        if finding.mend:
            lines.append(f"{indent} {'→' if is_terminal else 'do:'} {finding.mend}")
    return "\n".join(lines)
