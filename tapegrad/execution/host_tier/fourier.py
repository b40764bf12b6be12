"""Rules of Fourier transforms: ``scipy.fft``, which takes a fraction of the time of ``numpy.fft``."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from tapegrad.execution.host_tier.rules import Unwritable, rule

KINDS = ("FFT", "IFFT", "RFFT", "IRFFT")
"""XLA's kinds of transforms, by their numbers."""


@rule("fft")
def fft(writer: Any, equation: Any) -> str:
    """The transform of the last dimensions."""
    kind, lengths = equation.params["fft_type"], equation.params["fft_lengths"]
    name = getattr(kind, "name", str(kind))
    name = KINDS[int(name)] if name.isdigit() and int(name) < len(KINDS) else name
    if name not in KINDS or 0 in equation.aval.shape or 0 in equation.avals[0].shape:
        raise Unwritable(f"fft: {name}")
    source = writer.full(equation, 0)
    if not lengths:
        return source
    single = len(lengths) == 1
    transform = getattr(import_module("scipy.fft"), name.lower() + "n" * (not single))  # imported when it is needed
    size = writer.size(lengths[0]) if single else writer.shape(lengths)
    words = f", {size}" if name == "IRFFT" else ""  # others are as long as what they are given
    axes = "" if single else f", axes={tuple(range(-len(lengths), 0))}"
    return f"{writer.helper(transform)}({source}{words}{axes})"
