"""Runs a script and writes down its losses: what ``backward()`` was called on, in the order of the calls.

It is run by its file name, with PyTorch in one process and with tapegrad in another: ``recording.py OUT LIBRARY HOW
SCRIPT ARGUMENTS...``; nothing of tapegrad is imported for PyTorch's. HOW says whether SCRIPT is a module, and profiled.
"""

import builtins
import importlib
import io
import json
import os
import runpy
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import ModuleType
from typing import Any


def record(torch: Any, losses: list[float]) -> None:
    """Let ``losses`` grow by each number that ``backward()`` is called on."""
    backward = torch.Tensor.backward

    def noted(self: Any, *args: Any, **kwargs: Any) -> Any:
        if self.numel() == 1:
            losses.append(float(self.detach()))
        return backward(self, *args, **kwargs)

    torch.Tensor.backward = noted


def execute(script: str, arguments: Sequence[str], as_module: bool) -> None:
    """Run a script, or a module, as ``__main__``: its folder comes first on the path, it has the arguments."""
    sys.argv = [script, *arguments]
    sys.path[0] = os.getcwd() if as_module else os.path.dirname(os.path.realpath(script))
    if as_module:
        runpy.run_module(script, run_name="__main__", alter_sys=True)
        return
    path = os.path.abspath(script)
    main = sys.modules["__main__"] = ModuleType("__main__")  # for good: it is looked at when Python ends, too
    vars(main).update(
        __file__=path, __builtins__=builtins, __cached__=None, __loader__=SourceFileLoader("__main__", path)
    )
    with io.open_code(path) as file:
        code = compile(file.read(), path, "exec", dont_inherit=True)
    exec(code, vars(main))


@contextmanager
def profiled(torch: Any) -> Iterator[None]:
    """Print what took how long inside."""
    with torch.profiler.profile(with_modules=True) as profile:
        yield
    print(profile.key_averages().table(sort_by="self_cpu_time_total", row_limit=20))


def main(out: str, library: str, how: str, script: str, *arguments: str) -> None:
    """Run the script, and write its losses to a file of JSON, also if it fails."""
    losses: list[float] = []
    if library == "tapegrad":
        package = importlib.import_module("tapegrad")
        package.install()
        package.random.use("pytorch")
    torch = importlib.import_module("torch")
    torch.manual_seed(0)
    record(torch, losses)
    try:
        with profiled(torch) if "profiled" in how else nullcontext():
            execute(script, arguments, "module" in how)
    finally:
        Path(out).write_text(json.dumps(losses))


if __name__ == "__main__":
    main(*sys.argv[1:])
