"""Rules of Fourier transforms: ``numpy.fft``, which knows single precision, too."""

from __future__ import annotations

from typing import Any

import numpy as np

from tapegrad.execution.host_tier.rules import Unwritable, rule

TRANSFORMS = {"FFT": np.fft.fftn, "IFFT": np.fft.ifftn, "RFFT": np.fft.rfftn, "IRFFT": np.fft.irfftn}
"""The transforms by XLA's names for their kinds."""

ONE_DIMENSION = {"FFT": np.fft.fft, "IFFT": np.fft.ifft, "RFFT": np.fft.rfft, "IRFFT": np.fft.irfft}


@rule("fft")
def fft(writer: Any, equation: Any) -> str:
    """The transform of the last dimensions."""
    kind, lengths = equation.params["fft_type"], equation.params["fft_lengths"]
    name = getattr(kind, "name", str(kind))
    name = {"0": "FFT", "1": "IFFT", "2": "RFFT", "3": "IRFFT"}.get(name, name)
    if name not in TRANSFORMS or 0 in equation.aval.shape or 0 in equation.avals[0].shape:
        raise Unwritable(f"fft: {name}")
    source = writer.full(equation, 0)
    if not lengths:
        return source
    if len(lengths) == 1:
        return f"{writer.helper(ONE_DIMENSION[name])}({source}, {writer.size(lengths[0])})"
    axes = tuple(range(-len(lengths), 0))
    return f"{writer.helper(TRANSFORMS[name])}({source}, {writer.shape(lengths)}, {axes})"
