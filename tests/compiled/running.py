"""Making the calls of an entry, at once and compiled, from the same state of everything."""

from __future__ import annotations

import contextlib
import gc
import importlib
import inspect
import io
import os
import random
import sys
import tempfile
import types
import warnings
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import tapegrad as torch
from tapegrad.errors import warn_once
from tests.compiled import declaring
from tests.compiled.declaring import Entry
from tests.compiled.seeing import Differs, agree, seen, settings, surroundings

HERE = Path(__file__).parent
Calls = list[tuple]


@cache
def entries(kind: str = "") -> dict[str, Entry]:
    """The table, by names; of the files that begin so."""
    found: dict[str, Entry] = {}
    for file in sorted(HERE.glob("*_*.py")):
        if file.stem.startswith(("steps_", "attacks_")):
            module = importlib.import_module(f"tests.compiled.{file.stem}")
            mine = [value.entry for value in list(vars(module).values()) if hasattr(value, "entry")]
            assert not (again := found.keys() & {one.name for one in mine}), again
            found |= {one.name: one for one in mine}
    return {name: one for name, one in found.items() if Path(one.file).stem.startswith(kind)}


@cache
def code_of(file: str) -> Any:
    """The code of a file with programs."""
    return compile(Path(file).read_text(), file, "exec")


@contextlib.contextmanager
def fresh(entry: Entry) -> Iterator[Callable]:
    """The function that sets an entry up, of a module that nobody has used."""
    module = types.ModuleType(f"tests.compiled.{Path(entry.file).stem}")
    before = sys.modules.get(module.__name__)
    sys.modules[module.__name__] = module
    try:
        exec(code_of(entry.file), vars(module))
        yield vars(module)[entry.name]
    finally:
        if before is not None:
            sys.modules[module.__name__] = before


class Compile:
    """What a program is given as ``compile``.

    Args:
        by: what functions and modules are wrapped in; None: they are left as they are.

    Attributes:
        made: what has been compiled.
        counts: after each call of the program, how many calls were made of these, and how many of them replayed.
    """

    def __init__(self, by: Callable | None) -> None:
        self.by, self.made, self.counts = by, [], []  # type: ignore[var-annotated]

    def count(self) -> None:
        """Note how many calls were made until now, and how many of them replayed."""
        known = self.known()
        self.counts.append((sum(one.calls for one in known), sum(one.replayed for one in known)))

    def known(self) -> list:
        """What has been compiled, as far as it can say how it went."""
        found = [vars(one).get("_compiled_call_impl") or vars(one).get("forward") or one for one in self.made]
        return [one for one in found if hasattr(one, "known_entries")]

    def __call__(self, function: Any = None, **options: Any) -> Any:
        if function is None:
            return lambda function: self(function, **options)
        if self.by is None:
            return function
        made = self.by(function, **options)
        self.made.append(made)
        return made

    def in_place(self, net: Any, **options: Any) -> None:
        """``net.compile()``."""
        if self.by is torch.compile:
            net.compile(**options)
            self.made.append(net)
        elif self.by is not None:
            net._compiled_call_impl = self(net._call_impl, **options)


@contextlib.contextmanager
def surrounded() -> Iterator[tuple[io.StringIO, list]]:
    """An empty folder, generators from their seeds; gives what is printed and warned of. All is put back."""
    before, environment, modes = settings(), dict(os.environ), torch.get_rng_state()
    streams = np.random.get_state(), random.getstate()
    printed = io.StringIO()
    with (
        tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder), contextlib.redirect_stdout(printed),
        contextlib.redirect_stderr(printed), warnings.catch_warnings(record=True) as warned,
    ):  # fmt: skip
        warnings.simplefilter("always")
        torch.manual_seed(3)
        np.random.seed(3)
        random.seed(3)
        declaring.ALIVE.clear()
        warn_once.given.clear()
        try:
            yield printed, warned
        finally:
            os.environ.clear()
            os.environ.update(environment)
            torch.set_rng_state(modes)
            np.random.set_state(streams[0])
            random.setstate(streams[1])
            put_back(before)


def put_back(before: dict[str, Any]) -> None:
    """The settings as they were."""
    torch.set_default_dtype(getattr(torch, before["dtype"].partition(".")[2]))
    torch.set_grad_enabled(before["grad enabled"])
    torch.set_num_threads(before["threads"])
    torch.set_float32_matmul_precision(before["precision"])
    torch.use_deterministic_algorithms(before["deterministic"])
    torch.backends.cudnn.benchmark = before["benchmark"]
    torch.set_printoptions(profile="default")
    np.seterr(**eval(before["errors"]))


def calls_of(entry: Entry, compile: Compile, calls: int | None = None) -> Calls:
    """What is seen after each call of an entry, and at last which of the watched things are alive."""
    found: Calls = []
    with fresh(entry) as make, surrounded() as (printed, warned):
        call, state = make(compile)
        for number in range(calls or entry.calls):
            result = attempt(entry, call, number)
            compile.count()
            found.append(seen({
                "result": result, "state": state, "printed": printed.getvalue(),
                "warned": [str(one.message) for one in warned], **surroundings(),
            }))  # fmt: skip
            printed.seek(0)
            printed.truncate()
            warned.clear()
            del result
        if any(one() is not None for one in declaring.ALIVE):  # perhaps only in cycles
            gc.collect()
        found.append(("objects alive", sum(one() is not None for one in declaring.ALIVE)))
    return found


def attempt(entry: Entry, call: Callable[[int], Any], number: int) -> Any:
    """What a call gives; or what it raises, if the entry may."""
    try:
        return call(number)
    except Exception as error:
        if not entry.raises:
            raise
        return "raised", type(error).__name__, str(error)


def difference(
    entry: Entry, by: Callable = torch.compile, calls: int | None = None, compared: int | None = None
) -> tuple[str | None, Compile]:
    """How an entry that is compiled differs from the plain one, or None; and what was compiled.

    Of so many calls the first ones are ``compared``: where numbers grow, last digits are soon first ones.
    """
    plain, compile = calls_of(entry, Compile(None), calls), Compile(by)
    try:
        ours = calls_of(entry, compile, calls)
        pairs = list(zip(ours, plain, strict=True))
        for number, (one, other) in enumerate([*pairs[:-1][:compared], pairs[-1]]):  # at last, what is alive
            agree(one, other, f"call {number}: ", entry.rtol)
    except Differs as error:
        return str(error), compile
    except Exception as error:
        trace = inspect.trace()[-1]
        return f"raised {type(error).__name__}: {error} ({Path(trace.filename).name}:{trace.lineno})", compile
    return None, compile
