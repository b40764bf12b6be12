"""Compare what a line of Python shows on tapegrad and on PyTorch: its value's text, its error, its warnings.

    same_transcript("x = torch.ones(2); x.requires_grad = 1")

A line has statements separated by ``; ``; what the last one gives is shown, with its dtype if it is a tensor.
"""

from __future__ import annotations

import copy
import pickle
import re
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch as pytorch
from harness import recorded_warnings, sentence

import tapegrad
import tapegrad.overrides
import tapegrad.random
import tapegrad.utils.dlpack

MODULES = (pytorch, tapegrad)
CLASSES = {
    "tapegrad.Tensor": "torch.Tensor",
    "tapegrad.Size": "torch.Size",
    "tapegrad.return_types": "torch.return_types",
    "tapegrad": "torch",
    "privateuseone, tpu": "privateuseone",
}


def transcript(module: Any, line: str, **names: Any) -> list:
    """What a line shows on a module."""
    space = {"torch": module, "np": np, "copy": copy, "pickle": pickle, "SimpleNamespace": SimpleNamespace, **names}
    *before, last = line.split("; ")
    with recorded_warnings() as caught:
        shown = evaluated(module, before, last, space)
    return [plain(shown), [[item.category.__name__, plain(str(item.message))] for item in caught]]


def evaluated(module: Any, before: list[str], last: str, space: dict) -> str:
    """The text of what the last statement gives, or of the error."""
    try:
        for statement in before:
            exec(statement, space)
        try:
            code = compile(last, last, "eval")
        except SyntaxError:
            exec(last, space)
            return "None"
        result = eval(code, space)
        return f"{result!r} {result.dtype}" if isinstance(result, module.Tensor) else repr(result)
    except Exception as error:  # what it raises is what is compared
        return f"{type(error).__name__}: {sentence(error)}"


def plain(text: str) -> str:
    """A text without what two libraries can't share: addresses, and places in PyTorch's source."""
    text = re.sub(r" \(Triggered internally.*?\)", "", text, flags=re.DOTALL)
    text = re.sub(r"0x[0-9a-f]+", "0x", text)
    for ours, theirs in CLASSES.items():
        text = text.replace(ours, theirs)
    return text


def same_transcript(line: str) -> None:
    """Assert that a line shows the same on both; warnings that come once in a process come each time."""
    shown = []
    for module in MODULES:
        module.set_warn_always(True)
        try:
            shown.append(transcript(module, line))
        finally:
            module.set_warn_always(False)
    theirs, ours = shown
    assert ours == theirs, f"{ours}\nexpected\n{theirs}"
