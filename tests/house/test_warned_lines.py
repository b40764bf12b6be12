"""Warnings name the line of the program that brought them about, whichever module of the package gives them."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import pytest

import tapegrad as torch
from tapegrad._src.warn import is_of_package
from tapegrad.errors import warn_once

pytestmark = pytest.mark.once("warnings are the same in any order")


def hooked() -> Any:
    """Call a backward hook of a module whose inputs need no gradients."""
    layer = torch.nn.Linear(2, 2)
    layer.register_full_backward_hook(lambda *_: None)
    return layer(torch.ones(1, 2)).sum().backward()


PROGRAMS: dict[str, Callable[[], Any]] = {
    "a function of Python": lambda: torch.nn.functional.softmax(torch.ones(2)),
    "a function that was declared": lambda: torch.stft(torch.ones(64), 16, return_complex=True),
    "an initialization": lambda: torch.nn.init.kaiming_uniform_(torch.empty(0, 2)),
    "the engine": hooked,
    "an attribute": lambda: (torch.ones(2, requires_grad=True) * 2).grad,
    "a layer": lambda: torch.nn.LSTM(2, 2, dropout=0.5),
    "a scheduler": lambda: torch.optim.lr_scheduler.StepLR(torch.optim.SGD([torch.ones(1)], lr=1.0), 1).step(),
    "one for each process": lambda: torch.meshgrid(torch.ones(2), torch.ones(2)),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_warning_names_the_line_of_the_program(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(warn_once, "given", set())
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        PROGRAMS[name]()
    assert caught and {one.filename for one in caught} == {__file__}


def test_written_code_and_files_of_the_package_are_told_from_others() -> None:
    assert is_of_package(torch.__file__) and is_of_package(torch.nn.__file__)
    assert not is_of_package(__file__) and not is_of_package("<stdin>")
