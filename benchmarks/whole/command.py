"""``--models`` and ``--growth`` of ``python -m benchmarks``: what is asked for is measured, told and drawn."""

from __future__ import annotations

import argparse
import json
from typing import Any

from benchmarks import targets
from benchmarks.whole import pictures, promises
from benchmarks.whole.contestants import COMPILED, DEFERRED, EAGER, IMMEDIATE
from benchmarks.whole.growth import NETS, grown, title
from benchmarks.whole.measuring import Found, available, in_turns, measured
from benchmarks.whole.models import MODELS
from benchmarks.whole.process import Question
from benchmarks.whole.tables import table

GROWING = (IMMEDIATE, DEFERRED, COMPILED, EAGER)
"""The contestants that are measured on models that grow."""


def of_models(options: argparse.Namespace, rounds: int) -> dict[str, Any]:
    """Measure whole models and print what was found."""
    everybody, question = available(options.torch_compile), asked(options)
    found: dict[str, Found] = {}
    for name in chosen(MODELS, options.only):
        found[name] = measured(Question(name, **question), everybody, rounds)
        print(table(f"{name}; cores: {options.cores}", found[name]), end="\n\n", flush=True)
    before = json.loads(options.before.read_text())["models"] if options.before else {}
    rows = [] if options.quick else promises.rows(found, options.cores == "1", before)
    print(targets.lines(rows))
    return {"cores": options.cores, "models": found, "targets": rows}


def asked(options: argparse.Namespace) -> dict[str, Any]:
    """The parts of a question that are the same for all models."""
    return {"who": "", "began": 0.0, "cpu": options.cores == "1", "quick": options.quick}


def chosen(names: Any, only: str | None) -> list[str]:
    """The names with a text in them.

    Raises:
        SystemExit: there are none.
    """
    found = [name for name in names if only is None or only in name]
    if not found:
        raise SystemExit(f"nothing has {only!r} in its name: {', '.join(names)}")
    return found


def of_growth(options: argparse.Namespace, rounds: int) -> dict[str, Any]:
    """Measure models that grow, print what was found and draw it."""
    if not options.no_plot:
        pictures.pyplot()  # if it isn't there, say so before an hour has passed
    everybody = [who for who in GROWING if who in available()]
    found: dict[str, Found] = {}
    for name in dict.fromkeys(titles(options.only, options.quick)):
        found[name] = in_turns(Question(name, **asked(options)), everybody, rounds)
        print(table(f"{name}; cores: {options.cores}", found[name]), end="\n\n", flush=True)
    if not options.no_plot:
        pictures.draw(found, options.plot)
        print(f"the picture: {options.plot}")
    return {"cores": options.cores, "growth": found}


def titles(only: str | None, quick: bool) -> list[str]:
    """Nets in all sizes in which they are measured; ``quick`` ones are doubled once."""
    doublings = {"doublings": 1} if quick else {}
    return [
        title(net, sizes)
        for net in chosen(NETS, only)
        for axis in NETS[net][1]
        for sizes in grown(net, axis, **doublings)
    ]
