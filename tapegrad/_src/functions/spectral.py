"""Short-time Fourier transforms: ``stft``, and ``istft`` which undoes it by overlapping and adding."""

from __future__ import annotations

from typing import Any

from tapegrad._src.bindings.arguments import wrap_dim
from tapegrad._src.bindings.bounds import refuse_elements
from tapegrad._src.bindings.declaration.registry import public
from tapegrad._src.bindings.state.memory import as_strided
from tapegrad._src.bindings.writes.views import squeeze_, transpose_
from tapegrad._src.execution.data.dtypes import FLOATING
from tapegrad._src.functions.arrangement import pad
from tapegrad._src.functions.creation import ones
from tapegrad._src.functions.retyping import resolve_conj, view_as_complex, view_as_real
from tapegrad._src.functions.shape import expanded, squeeze, transposed, unsqueeze, viewed
from tapegrad._src.functions.slicing import sliced
from tapegrad._src.tensor.tensor import Tensor
from tapegrad.errors import warn_once
from tapegrad.ops import arithmetic, arrangement, fft, slicing, unary
from tapegrad.ops.kinds import cast

NO_WINDOW = (
    "A window was not provided. A rectangular window will be applied,which is known to cause spectral leakage. Other "
    "windows such as torch.hann_window or torch.hamming_window are recommended to reduce spectral leakage.To suppress "
    "this warning and use a rectangular window, explicitly set `window=torch.ones(n_fft, device=<device>)`."
)
NO_WINDOW_BACK = (
    "A window was not provided. A rectangular window will be applied.Please provide the same window used by stft to "
    "make the inversion lossless.To suppress this warning and use a rectangular window, explicitly set "
    "`window=torch.ones(n_fft, device=<device>)`."
)
REAL_PARTS = (
    "stft with return_complex=False is deprecated. In a future pytorch release, stft will return complex tensors for "
    "all inputs, and return_complex=False will raise an error.\nNote: you can still call torch.view_as_real on the "
    "complex output to recover the old return format."
)
TOO_SHORT = (
    "The length of signal is shorter than the length parameter. Result is being padded with zeros in the tail. Please "
    "check your center and hop_length settings."
)


def _shown(value: Any) -> str:
    """A setting as PyTorch's messages show it."""
    if isinstance(value, Tensor):
        return f"torch.{value.dtype.scalar_name}Tensor{{{list(value.shape)}}}"
    return str(int(value)) if isinstance(value, bool) else str(value)


def _call(function: str, kind: str, shape: Any, **settings: Any) -> str:
    """The call as PyTorch's messages show it."""
    shown = ", ".join(f"{name}={_shown(value)}" for name, value in settings.items())
    return f"{function}({kind}{list(shape)}, {shown})"


def _centred(window: Tensor, length: int) -> Tensor:
    """A window with zeros around it."""
    left = (length - window.shape[0]) // 2
    return arrangement.constant_pad(window, 0, widths=((left, length - window.shape[0] - left),))


# -- forward -----------------------------------------------------------------------------------------------------------


@public("torch", "functional", "Tensor", in_place=False, out=False)
def stft(
    input: Tensor, n_fft: int, hop_length: int | None = None, win_length: int | None = None,
    window: Tensor | None = None, center: bool = True, pad_mode: str = "reflect", normalized: bool = False,
    onesided: bool | None = None, return_complex: bool | None = None, align_to_window: bool | None = None,
) -> Tensor:  # fmt: skip
    """The Fourier transforms of windows on a signal, ``hop_length`` (``n_fft // 4``) apart.


    Returns:
        Shape (batch, frequencies, windows).

    Args:
        input: of shape (time,) or (batch, time).
        n_fft: how many points a transform has.
        win_length, window: the length of the window (``n_fft``) and its factors (ones), in the middle of the points.
        center, pad_mode: whether the signal is extended, and how, so that the t-th window is around its place.
        normalized: whether the factor is ``1 / sqrt(n_fft)``.
        onesided: whether the redundant half of the spectrum is left out, by default that of real input.
        return_complex: False gives real and imaginary parts in a last dimension.
        align_to_window: without ``center``, whether windows begin with the window's factors, not with the points.

    Raises:
        RuntimeError: PyTorch's messages.

    >>> torch.stft(torch.ones(8), n_fft=4, window=torch.ones(4), return_complex=True).shape
    torch.Size([3, 9])
    """
    if center and align_to_window is not None:
        raise RuntimeError("stft align_to_window should only be set when center = false")
    if center:
        half = int(n_fft // 2)
        extended = pad(viewed(input, (*[1] * (3 - input.ndim), *input.shape)), [half, half], pad_mode)
        input = viewed(extended, extended.shape[extended.ndim - input.ndim :])
    hop, length = n_fft // 4 if hop_length is None else hop_length, n_fft if win_length is None else win_length
    if window is None:
        warn_once(NO_WINDOW)
    return_complex = _whether_complex(input, window, return_complex)
    call = _call("stft", f"torch.{input.dtype.scalar_name}Tensor", input.shape, n_fft=n_fft, hop_length=hop,
                 win_length=length, window=window, normalized=normalized, onesided=onesided,
                 return_complex=return_complex, align_to_window=align_to_window)  # fmt: skip
    _check_signal(call, input, window, n_fft, hop, length)
    spectra = _spectra(input, window, n_fft, hop, length, int(normalized), onesided, bool(align_to_window))
    return spectra if return_complex else view_as_real(spectra)


def _whether_complex(input: Tensor, window: Tensor | None, given: bool | None) -> bool:
    """Tell whether ``stft`` returns complex numbers."""
    if given is not None:
        if not given:
            warn_once(REAL_PARTS)
        return given
    if not (input.dtype.is_complex or (window is not None and window.dtype.is_complex)):
        raise RuntimeError(
            "stft requires the return_complex parameter be given for real inputs, and will further require that "
            "return_complex=True in a future PyTorch release."
        )
    return True


def _check_signal(call: str, input: Tensor, window: Tensor | None, n_fft: int, hop: int, length: int) -> None:
    if input.dtype.category < FLOATING:
        raise RuntimeError(f"{call} : expected a tensor of floating point or complex values")
    if input.ndim not in (1, 2):
        raise RuntimeError(f"{call} : expected a 1D or 2D tensor")
    if not 0 < n_fft <= input.shape[-1]:
        raise RuntimeError(f"{call} : expected 0 < n_fft < {input.shape[-1]}, but got n_fft={n_fft}")
    if hop <= 0:
        raise RuntimeError(f"{call} : expected hop_length > 0, but got hop_length={hop}")
    if not 0 < length <= n_fft:
        raise RuntimeError(f"{call} : expected 0 < win_length <= n_fft, but got win_length={length}")
    if window is not None and tuple(window.shape) != (length,):
        raise RuntimeError(
            f"{call} : expected a 1D window tensor of size equal to win_length={length}, but got window with size "
            f"{list(window.shape)}"
        )


def _spectra(
    input: Tensor, window: Tensor | None, n_fft: int, hop: int, length: int, norm: int, onesided: bool | None,
    aligned: bool,
) -> Tensor:  # fmt: skip
    x = unsqueeze(input, 0) if input.ndim == 1 else input
    if length < n_fft:
        window = ones(length, dtype=x.dtype, device=x.device) if window is None else window
        window = _centred(window if window.dtype is x.dtype else cast(window, dtype=x.dtype), n_fft)
    count = 1 + (x.shape[1] - (length if aligned else n_fft)) // hop
    margin = (n_fft - length) // 2
    if aligned and margin:
        x = arrangement.constant_pad(x, 0, widths=((0, 0), (margin, margin)))
    step = x.stride(1)
    x = as_strided(x, (x.shape[0], count, n_fft), (x.stride(0), hop * step, step))
    x = x if window is None else arithmetic.mul(x, window)
    if x.dtype.category == FLOATING and x.dtype.itemsize < 4:
        raise RuntimeError(f"MKL FFT doesn't support tensors of type: {x.dtype.scalar_name}")
    if not x.dtype.is_complex:
        x = fft.fft_r2c(x, axes=(2,), norm=norm, onesided=onesided is not False)
    elif onesided:
        raise RuntimeError("Cannot have onesided output if window or input is complex")
    else:
        x = fft.fft_c2c(x, axes=(2,), norm=norm, forward=True)
    spectra = transpose_(x, 1, 2)  # in place, as in PyTorch, where the node's name shows it
    return squeeze_(spectra, 0) if input.ndim == 1 else spectra


# -- backward ----------------------------------------------------------------------------------------------------------


@public("torch", "functional", "Tensor")
def istft(
    input: Tensor, n_fft: int, hop_length: int | None = None, win_length: int | None = None,
    window: Tensor | None = None, center: bool = True, normalized: bool = False, onesided: bool | None = None,
    length: int | None = None, return_complex: bool = False,
) -> Tensor:  # fmt: skip
    """The signal whose ``stft`` with these settings comes nearest to ``input``, in the sense of least squares.

    Args:
        input: complex, of shape (batch, frequencies, windows) or (frequencies, windows).
        length: that of the signal, which is cut off or filled up with zeros.
        return_complex: whether the signal is complex.
        n_fft, hop_length, win_length, window, center, normalized, onesided: as for ``stft``.

    Raises:
        RuntimeError: PyTorch's messages; among others where the windows leave a part of the signal unseen.

    >>> spectrum = torch.stft(torch.arange(8.0), n_fft=4, window=torch.ones(4), return_complex=True)
    >>> torch.istft(spectrum, n_fft=4, window=torch.ones(4), length=8).round()
    tensor([0., 1., 2., 3., 4., 5., 6., 7.])
    """
    if not input.dtype.is_complex:
        raise RuntimeError(
            "istft requires a complex-valued input tensor matching the output from stft with return_complex=True."
        )
    hop, size = n_fft // 4 if hop_length is None else hop_length, n_fft if win_length is None else win_length
    if window is None:
        warn_once(NO_WINDOW_BACK)
    where = "CPU" if input.device.type == "cpu" else input.device.type.upper()
    call = _call("istft", f"{where}{input.dtype.scalar_name}Type", input.shape, n_fft=n_fft, hop_length=hop,
                 win_length=size, window=window, center=center, normalized=normalized, onesided=onesided,
                 length=length, return_complex=return_complex)  # fmt: skip
    onesided = _check_spectra(call, input, window, n_fft, hop, size, onesided)
    window = ones(size, dtype=input.dtype.to_real(), device=input.device) if window is None else window
    frames = _frames(input, window, n_fft, 1 if normalized else 2, onesided, return_complex)
    weights = window if size == n_fft else _centred(window, n_fft)
    expected = n_fft + hop * (frames.shape[1] - 1)
    start = n_fft // 2 if center else 0
    end = start + length if length is not None else expected - n_fft // 2 if center else expected
    signal = _overlapped(call, frames, weights, hop, expected, start, min(end, expected))
    signal = squeeze(signal, 0) if input.ndim == 2 else signal
    if end <= expected:
        return signal
    warn_once(TOO_SHORT)
    return arrangement.constant_pad(signal, 0, widths=(*((0, 0),) * (signal.ndim - 1), (0, end - expected)))


def _check_spectra(
    call: str, input: Tensor, window: Tensor | None, n_fft: int, hop: int, size: int, onesided: bool | None
) -> bool:
    """Check what ``istft`` is given; tells whether the spectra are halved."""
    wrap_dim(-3, input.ndim + 1)
    if input._spec.numel == 0:
        raise RuntimeError(f"{call} : input tensor cannot be empty.")
    if input.ndim not in (2, 3):
        raise RuntimeError(f"{call} : expected a tensor with 3 or 4 dimensions, but got {input.ndim + 1}")
    count = input.shape[-2]
    onesided = count != n_fft if onesided is None else onesided
    if count != (n_fft // 2 + 1 if onesided else n_fft):
        raise RuntimeError(
            f"{call} : expected the frequency dimension (3rd to the last) of the input tensor to match "
            f"{'n_fft / 2 + 1' if onesided else 'n_fft'} when onesided={onesided}, but got {count}"
        )
    if not 0 < hop <= size:
        raise RuntimeError(f"{call} : expected 0 < hop_length <= win_length")
    if not 0 < size <= n_fft:
        raise RuntimeError(f"{call} : expected 0 < win_length <= n_fft")
    if window is not None and tuple(window.shape) != (size,):
        raise RuntimeError(f"{call} : Invalid window shape. window has to be 1D and length of `win_length`")
    return onesided


def _frames(input: Tensor, window: Tensor, n_fft: int, norm: int, onesided: bool, complex: bool) -> Tensor:
    """The signals of all windows, of shape (batch, windows, n_fft)."""
    parts = view_as_real(resolve_conj(input))
    parts = unsqueeze(parts, 0) if input.ndim == 2 else parts
    spectra = view_as_complex(transposed(parts, 1, 2))
    if complex:
        if onesided:
            raise RuntimeError("Cannot have onesided output if window or input is complex")
        return fft.fft_c2c(spectra, axes=(2,), norm=norm, forward=False)
    if window.dtype.is_complex:
        raise RuntimeError("Complex windows are incompatible with return_complex=False")
    if not onesided:
        spectra = sliced(spectra, 2, 0, n_fft // 2 + 1)
    return fft.fft_c2r(spectra, axes=(2,), norm=norm, length=n_fft)


def _vanishes(envelope: Any) -> Any:
    return abs(envelope) < 1e-11


def _overlapped(call: str, frames: Tensor, window: Tensor, hop: int, expected: int, start: int, end: int) -> Tensor:
    """Windows weighted and added up, over the sum of the squares of their weights; from ``start`` to ``end``."""
    n_fft, count, length = frames.shape[2], frames.shape[1], max(end - start, 0)
    places: dict[str, int] = {"axis": 1, "size": n_fft, "step": hop, "length": expected}
    weighted = arithmetic.mul(frames, viewed(window, (1, 1, n_fft)))
    signal = sliced(slicing.unfold_adjoint(weighted, **places), 1, start, length)
    squares = expanded(unary.power(window, exponent=2), (1, count, n_fft))
    envelope = sliced(slicing.unfold_adjoint(squares, **places), 1, start, length)
    if not envelope._spec.numel:
        raise RuntimeError(
            "min(): Expected reduction dim to be specified for input.numel() == 0. Specify the reduction dim with the "
            "'dim' argument."
        )
    text = f"{call} window overlap add min: 1\n[ CPUBoolType{{}} ]"
    refuse_elements(envelope, _vanishes, complaint=lambda _: RuntimeError(text))
    return arithmetic.div(signal, envelope)
