"""Compare what programs with graphs print on tapegrad and on PyTorch: names of nodes, code, errors, warnings.

A program is a text of several lines; what the last one gives is shown, too. Programs are separated by blank lines.
"""

from __future__ import annotations

import ast
import collections
import contextlib
import copy
import dataclasses
import enum
import io
import math
import operator
import pickle
import typing
from typing import Any

from harness import recorded_warnings, sentence
from transcripts import MODULES, plain

import tapegrad.fx.experimental.proxy_tensor
import tapegrad.fx.passes.shape_prop
import tapegrad.fx.passes.split_module
import tapegrad.fx.passes.utils.matcher_utils  # noqa: F401 - programs name them

LIBRARIES = (collections, copy, dataclasses, enum, math, operator, pickle, typing)


def programs(text: str) -> list[str]:
    """The programs of a text."""
    return text.strip("\n").split("\n\n")


def account(torch: Any, program: str) -> str:
    """What a program prints, with what its last line gives or the error, and the warnings."""
    space = {"__name__": __name__, "torch": torch, "nn": torch.nn, "fx": torch.fx, "F": torch.nn.functional}
    space |= {library.__name__: library for library in LIBRARIES}
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(io.StringIO()), recorded_warnings() as caught:
        try:
            torch.manual_seed(0)
            shown = run(program, space)
            print(shown if isinstance(shown, str) else repr(shown))
        except Exception as error:  # what it raises is what is compared
            print(f"{type(error).__name__}: {sentence(error)}")
    said = [f"{item.category.__name__}: {item.message}" for item in caught if "LeafSpec" not in str(item.message)]
    return plain("\n".join([printed.getvalue(), *said]))


def run(program: str, space: dict[str, Any]) -> Any:
    """Run a program, and give what its last statement gives."""
    tree = ast.parse(program)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "<program>", "exec"), space)
    return last and eval(compile(ast.Expression(last.value), "<program>", "eval"), space)


def same_account(program: str) -> None:
    """Assert that a program says the same on both."""
    theirs, ours = (account(module, program) for module in MODULES)
    assert ours == theirs, f"{ours}\nexpected\n{theirs}"
