"""Runs a script and writes down its losses: what ``backward()`` was called on, in the order of the calls.

It is run by its file name, with PyTorch in one process and with tapegrad in another: ``recording.py OUT LIBRARY SCRIPT
ARGUMENTS...``; nothing of tapegrad is imported for PyTorch's.
"""

import importlib
import json
import runpy
import sys
from pathlib import Path
from typing import Any


def record(torch: Any, losses: list[float]) -> None:
    """Let ``losses`` grow by each number that ``backward()`` is called on."""
    backward = torch.Tensor.backward

    def noted(self: Any, *args: Any, **kwargs: Any) -> Any:
        if self.numel() == 1:
            losses.append(float(self.detach()))
        return backward(self, *args, **kwargs)

    torch.Tensor.backward = noted


def main(out: str, library: str, script: str, *arguments: str) -> None:
    """Run the script, and write its losses to a file of JSON, also if it fails."""
    losses: list[float] = []
    if library == "tapegrad":
        package = importlib.import_module("tapegrad")
        package.install()
        package.random.use("pytorch")
    torch = importlib.import_module("torch")
    torch.manual_seed(0)
    record(torch, losses)
    sys.argv, sys.path[0] = [script, *arguments], str(Path(script).resolve().parent)
    try:
        runpy.run_path(script, run_name="__main__")
    finally:
        Path(out).write_text(json.dumps(losses))


if __name__ == "__main__":
    main(*sys.argv[1:])
