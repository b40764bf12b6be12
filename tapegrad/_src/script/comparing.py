"""``--compare``: one script on PyTorch and on tapegrad, and the two loss curves beside one another."""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

CLOSE = 1e-4
"""Losses further apart than this, of the greater one, have parted."""

SHOWN = 5
"""The number of steps that are printed at the beginning, where they part, and at the end."""


def compare(given: argparse.Namespace) -> int:
    """Run the script twice; the status is 0 if both runs ended well and the curves did not part."""
    if importlib.util.find_spec("torch") is None:
        sys.exit("--compare wants PyTorch beside tapegrad: pip install 'tapegrad[parity]'")
    with tempfile.TemporaryDirectory() as folder:
        outs = {library: Path(folder, f"{library}.json") for library in ("torch", "tapegrad")}
        statuses = [_run(library, out, given) for library, out in outs.items()]
        theirs, mine = (json.loads(out.read_text()) if out.exists() else [] for out in outs.values())
    print("\n".join(table(theirs, mine)))
    return int(any(statuses) or parting(theirs, mine) is not None)


def _run(library: str, out: Path, given: argparse.Namespace) -> int:
    print(f"--- {given.script} on {library}", flush=True)
    environment = dict(os.environ)
    if given.execution:
        environment["TAPEGRAD_EXECUTION"] = given.execution
    recorder = str(Path(__file__).with_name("recording.py"))
    how = f"{'module' if given.module else 'script'} {'profiled' if given.profile else ''}"
    command = [sys.executable, recorder, str(out), library, how, given.script, *given.arguments]
    return subprocess.run(command, env=environment, check=False).returncode


def distance(one: float, other: float) -> float:
    """The distance of two losses, as a part of the greater one; 0 if both are nan."""
    if one == other or (one != one and other != other):
        return 0.0
    return abs(one - other) / max(abs(one), abs(other)) if one == one and other == other else float("inf")


def parting(theirs: Sequence[float], mine: Sequence[float]) -> int | None:
    """The first step at which two curves are apart, or None.

    >>> parting([1.0, 0.5], [1.0, 0.5]), parting([1.0, 0.5], [1.0, 0.6]), parting([1.0], [1.0, 0.5])
    (None, 1, 1)
    """
    for step, (one, other) in enumerate(zip(theirs, mine, strict=False)):
        if distance(one, other) > CLOSE:
            return step
    return None if len(theirs) == len(mine) else min(len(theirs), len(mine))


def table(theirs: Sequence[float], mine: Sequence[float]) -> list[str]:
    """Both curves as lines of text, and what is to be said of them.

    >>> print(*table([1.0, 0.5], [1.0, 0.6]), sep="\\n")
    step       PyTorch      tapegrad     apart
       0             1             1         0
       1           0.5           0.6     0.167
    They part at step 1.
    """
    steps, parts = min(len(theirs), len(mine)), parting(theirs, mine)
    wanted = {*range(SHOWN), *range(steps - SHOWN, steps)}
    if parts is not None:
        wanted |= set(range(parts - 1, parts + SHOWN))
    lines, before = [f"{'step':>4}{'PyTorch':>14}{'tapegrad':>14}{'apart':>10}"], -1
    for step in sorted(step for step in wanted if 0 <= step < steps):
        if step != before + 1:
            lines.append(" ...")
        one, other, before = theirs[step], mine[step], step
        lines.append(f"{step:>4}{one:>14.7g}{other:>14.7g}{distance(one, other):>10.3g}")
    if not steps:
        return ["backward() was called on no number by both programs, so there is nothing to compare."]
    if parts is None:
        greatest = max(map(distance, theirs, mine))
        return [*lines, f"They agree in all {steps} steps; the greatest distance is {greatest:.2g}."]
    if parts < steps:
        return [*lines, f"They part at step {parts}."]
    return [*lines, f"They agree in {steps} steps, but PyTorch made {len(theirs)} and tapegrad {len(mine)}."]
