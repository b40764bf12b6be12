"""``python -m tests.compiled --status``: a line for each entry, and the figures.

Costs are those of a user's process. Without them all is compiled when it is first run, as in the tests: what becomes of
an entry shows after a few calls then, and also small programs are compiled.
"""

from __future__ import annotations

import argparse
import sys

if "--torch" in sys.argv:
    from tests.compiled.on_torch import mean_pytorch

    mean_pytorch()

if not {"--cost", "--torch"}.intersection(sys.argv):
    import conftest  # noqa: F401 - as in the tests

from tests.compiled.running import Compile, calls_of, entries


def main() -> None:
    """Print what was asked for."""
    parser = argparse.ArgumentParser(prog="python -m tests.compiled", description=__doc__)
    parser.add_argument("--status", action="store_true", help="what has become of each entry (also without saying so)")
    parser.add_argument("--cost", action="store_true", help="and what a call costs beside one that isn't compiled")
    parser.add_argument("--only", default="", metavar="TEXT", help="entries with TEXT in their names")
    parser.add_argument("--kind", default="", choices=("", "steps", "attacks"), help="one of the two tables")
    parser.add_argument("--torch", action="store_true", help="only run the programs, at once and on PyTorch")
    parser.add_argument("--scale", type=int, default=1, help="so many times as many rows and hidden units, for costs")
    options = parser.parse_args()
    chosen = [one for name, one in entries(options.kind).items() if options.only in name]
    if options.torch:
        for entry in chosen:
            print(entry.name, flush=True)
            calls_of(entry, Compile(None))
        return
    from tests.compiled.status import status, summary

    found = []
    for entry in chosen:
        found.append(status(entry, options.cost, options.scale))
        print(found[-1], flush=True)
    print(*summary(found), sep="\n")


if __name__ == "__main__":
    main()
