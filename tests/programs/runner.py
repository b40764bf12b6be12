"""A process that runs examples, as many as it is asked for, by one library: ``runner.py LIBRARY``.

It is run by its file name, and imports nothing of tapegrad for PyTorch's.
"""

import contextlib
import importlib
import io
import json
import os
import runpy
import sys
from pathlib import Path

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


def prepare(library):
    """The module ``torch``, which is one of the two."""
    if library == "tapegrad":
        package = importlib.import_module("tapegrad")
        package.install()
        package.random.use("pytorch")
        importlib.import_module("tapegrad._src.execution.programs.subprogram").SEEN_ENOUGH = 3
        importlib.import_module("tapegrad._src.execution.tiers.settings").settings.background = False
    torch = importlib.import_module("torch")
    torch.set_num_threads(1)
    return torch


def run(torch, name, arguments, execution=None):
    """What an example prints, and how often its compiled step was called and replayed, if it is a global name."""
    if execution is not None:
        torch.set_execution(execution)
    sys.argv, said = [name, *arguments], io.StringIO()
    try:
        with contextlib.redirect_stdout(said):
            names = runpy.run_path(str(EXAMPLES / f"{name}.py"), run_name="__main__")
    finally:
        torch.set_default_dtype(torch.float32)
    steps = [one for one in names.values() if hasattr(one, "replayed")]
    return {"said": said.getvalue(), "calls": sum(s.calls for s in steps), "replayed": sum(s.replayed for s in steps)}


def main(library):
    """Answer each line of JSON by another one, until there are no more."""
    answers = os.fdopen(os.dup(1), "w")
    sys.path.insert(0, str(EXAMPLES))
    torch = prepare(library)
    for line in sys.stdin:
        print(json.dumps(run(torch, *json.loads(line))), file=answers, flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
