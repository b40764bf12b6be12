"""The `repr` of a tensor: PyTorch's text, to the letter, of an array that is already on the host.

A tensor is printed in three steps: cut out what is shown of a large array (`_cut`), choose one way of writing its
numbers so that they line up (`_column`), lay the cells out in brackets and lines (`_brackets`). What else there is to
know about the tensor follows as suffixes.

>>> print(tensor_str(np.array([[1.5, 2], [3, 4]], np.float32), dtype=float32, grad_fn_name="MulBackward0"))
tensor([[1.5000, 2.0000],
        [3.0000, 4.0000]], grad_fn=<MulBackward0>)
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from tapegrad._src.execution.data.dtypes import bool as bool_
from tapegrad._src.execution.data.dtypes import dtype, float32, get_default_dtype, int64
from tapegrad._src.execution.data.opaque import Meta


class _Options(NamedTuple):
    precision: int = 4
    threshold: float = 1000
    edgeitems: int = 3
    linewidth: int = 80
    sci_mode: bool | None = None


_PROFILES = {
    "default": _Options(),
    "short": _Options(precision=2, edgeitems=2),
    "full": _Options(threshold=math.inf),
}
_options = _Options()


def set_printoptions(
    precision: int | None = None, threshold: float | None = None, edgeitems: int | None = None,
    linewidth: int | None = None, profile: str | None = None, sci_mode: bool | None = None,
) -> None:  # fmt: skip
    """Choose how tensors are printed, from now on and in all threads.

    Args:
        precision: digits after the point.
        threshold: the number of elements above which a tensor is summarised.
        edgeitems: how many items a summary shows at each end of a dimension.
        linewidth: characters per line.
        profile: "default", "short" or "full"; the arguments above override it.
        sci_mode: whether to write 1.0e+05; None leaves it to the numbers.

    >>> set_printoptions(precision=2); tensor_str(np.float32(math.pi), dtype=float32)
    'tensor(3.14)'
    >>> set_printoptions(profile="default")
    """
    global _options
    given = {"precision": precision, "threshold": threshold, "edgeitems": edgeitems, "linewidth": linewidth}
    changes: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    base = _PROFILES.get(profile, _options) if profile is not None else _options
    _options = base._replace(**changes, sci_mode=sci_mode)


class _PrintOptions:
    """``PRINT_OPTS``: the options in force as attributes, which can be set."""

    def __getattr__(self, name: str) -> Any:
        return getattr(_options, name)

    def __setattr__(self, name: str, value: Any) -> None:
        global _options
        _options = _options._replace(**{name: value})


PRINT_OPTS = _PrintOptions()


def get_printoptions() -> dict[str, Any]:
    """The options in force, by name.

    >>> get_printoptions()
    {'precision': 4, 'threshold': 1000, 'edgeitems': 3, 'linewidth': 80, 'sci_mode': None}
    """
    return _options._asdict()


@contextmanager
def printoptions(**options: Any) -> Iterator[None]:
    """`set_printoptions(**options)` for the length of a `with` block."""
    global _options
    previous = _options
    set_printoptions(**options)
    try:
        yield
    finally:
        _options = previous


def tensor_str(
    array: np.ndarray | np.generic | Meta, *, dtype: dtype, default_dtype: dtype | None = None,
    device_suffix: str | None = None, requires_grad: bool = False, grad_fn_name: str | None = None,
    tangent: str | None = None, class_prefix: str = "tensor(",
) -> str:  # fmt: skip
    """The text of a tensor with these elements.

    Args:
        array: the elements, on the host, any shape; or a ``Meta``, that has none.
        dtype: the tensor's dtype, shown unless it can be guessed from the numbers.
        default_dtype: the float dtype that is not shown; the process's default if None.
        device_suffix: the device's name, "cuda:0", if it is to be shown.
        requires_grad: shown for leaves, that is, without a `grad_fn_name`.
        grad_fn_name: the name of the node that made the tensor, "MulBackward0".
        tangent: the text of a dual tensor's tangent.
        class_prefix: how the text begins; a subclass has its name there.

    >>> tensor_str(np.zeros((0, 3)), dtype=float32, requires_grad=True)
    'tensor([], size=(0, 3), requires_grad=True)'
    """
    options = _options
    default = default_dtype or get_default_dtype()
    shape = tuple(array.shape)
    elements = None if isinstance(array, Meta) else np.asarray(array)
    if elements is None:
        body, sized, obvious = "...", True, dtype is default
    elif elements.size:
        body = _body(elements, len(class_prefix), options)
        sized = options.edgeitems == 0
        obvious = dtype in (int64, bool_, default, _obvious_complex(default))
    else:
        body = "[]"
        sized = elements.ndim != 1
        obvious = dtype is default
    suffixes = (
        device_suffix and f"device='{device_suffix}'",
        sized and f"size={shape}",
        not obvious and f"dtype={dtype}",
        grad_fn_name and f"grad_fn=<{grad_fn_name}>",
        requires_grad and not grad_fn_name and "requires_grad=True",
        tangent and f"tangent={tangent}",
    )
    return _with_suffixes(class_prefix + body, [s for s in suffixes if s], len(class_prefix), options.linewidth)


def _obvious_complex(default: dtype) -> dtype:
    return (default if default.is_64bit else float32).to_complex()


def _with_suffixes(text: str, suffixes: list[str], indent: int, linewidth: int) -> str:
    column = len(text) - text.rfind("\n") + 1
    for suffix in suffixes:
        if column + len(suffix) + 2 > linewidth:
            text += ",\n" + " " * indent + suffix
            column = indent + len(suffix)
        else:
            text += ", " + suffix
            column += len(suffix) + 2
    return text + ")"


def body_str(array: np.ndarray, indent: int) -> str:
    """The numbers alone, in their brackets; lines after the first are indented by so many characters.

    >>> body_str(np.ones((2, 1)), 4)
    '[[1.],\\n     [1.]]'
    """
    return _body(array, indent, _options) if array.size else "[]"


# The numbers -------------------------------------------------------------------------------------------------------


def _body(array: np.ndarray, indent: int, options: _Options) -> str:
    array, cut = _cut(array, options) if array.size > options.threshold else (array, (False,) * array.ndim)
    if array.dtype.kind not in "biuc":  # floats, those of ml_dtypes among them
        array = array.astype(np.float64)
    cell, width = (_complex_column if array.dtype.kind == "c" else _column)(array, options)
    if array.ndim == 0:
        return cell(array.item())
    return _PrintLayout(cell, width + 2, cut, options).brackets(array.tolist(), indent)


def _cut(array: np.ndarray, options: _Options) -> tuple[np.ndarray, tuple[bool, ...]]:
    """The corners of `array`, and for each axis whether its middle is missing."""
    edge = options.edgeitems
    cut = tuple(length > 2 * edge for length in array.shape)
    for axis, missing in enumerate(cut):
        if missing:
            shown = np.r_[0:edge, array.shape[axis] - edge : array.shape[axis]]
            array = array.take(shown, axis=axis)
    return array, cut


def _column(numbers: np.ndarray, options: _Options) -> tuple[Callable[[Any], str], int]:
    """The texts of these numbers, padded to line up, and the width that is reckoned with."""
    if numbers.dtype.kind == "f":
        write = _float_format(numbers, options)
        measured = numbers[np.isfinite(numbers) & (numbers != 0)]
    else:
        write = str
        measured = numbers.reshape(-1)
    width = max((len(write(number)) for number in measured.tolist()), default=1)
    return lambda number: write(number).rjust(width), width


def _complex_column(numbers: np.ndarray, options: _Options) -> tuple[Callable[[complex], str], int]:
    real, real_width = _column(numbers.real.astype(np.float64), options)
    imag, imag_width = _column(numbers.imag.astype(np.float64), options)

    def cell(number: complex) -> str:
        imaginary = imag(number.imag).lstrip()
        return f"{real(number.real)}{'' if imaginary.startswith('-') else '+'}{imaginary}j"

    return cell, real_width + imag_width + 1


def _float_format(numbers: np.ndarray, options: _Options) -> Callable[[float], str]:
    finite = np.abs(numbers[np.isfinite(numbers) & (numbers != 0)])
    if finite.size == 0:
        return _whole
    low, high = finite.min().item(), finite.max().item()
    scientific = options.sci_mode
    if scientific is None:
        scientific = high / low > 1000 or high > 1e8 or low < 1e-4
    if scientific:
        return f"{{:.{options.precision}e}}".format
    if np.array_equal(finite, np.ceil(finite)):
        return _whole
    return f"{{:.{options.precision}f}}".format


def _whole(number: float) -> str:
    return f"{number:.0f}." if math.isfinite(number) else str(number)


class _PrintLayout(NamedTuple):
    """Nested lists of numbers as nested brackets; `cut[axis]` says whether dots stand for the middle of an axis."""

    cell: Callable[[Any], str]
    cell_width: int
    cut: tuple[bool, ...]
    options: _Options

    def brackets(self, items: list, indent: int, axis: int = 0) -> str:
        """`items` of dimension `axis`, whose opening bracket stands at column `indent`."""
        innermost = axis == len(self.cut) - 1
        if innermost:
            parts = [self.cell(item) for item in items]
        else:
            parts = [self.brackets(item, indent + 1, axis + 1) for item in items]
        if self.cut[axis]:
            parts.insert(self.options.edgeitems, " ..." if innermost and parts else "...")
        if innermost:
            parts = self._lines(parts, indent)
        newlines = "\n" * max(1, len(self.cut) - axis - 1)
        return "[" + ("," + newlines + " " * (indent + 1)).join(parts) + "]"

    def _lines(self, cells: list[str], indent: int) -> list[str]:
        per_line = max(1, (self.options.linewidth - indent) // self.cell_width)
        return [", ".join(cells[i : i + per_line]) for i in range(0, len(cells), per_line)]
