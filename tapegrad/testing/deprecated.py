"""``assert_allclose``, the predecessor of ``assert_close``."""

from __future__ import annotations

from typing import Any

from tapegrad._src.functions.construction import tensor
from tapegrad._src.tensor.tensor import Tensor
from tapegrad._src.warn import warn
from tapegrad.testing.comparison import assert_close

TOLERANCES = {"float16": (1e-3, 1e-3), "float32": (1e-4, 1e-5), "float64": (1e-5, 1e-8)}
"""For each dtype ``rtol`` and ``atol``; others must be equal."""


def assert_allclose(
    actual: Any, expected: Any, rtol: float | None = None, atol: float | None = None, equal_nan: bool = True,
    msg: str = "",
) -> None:  # fmt: skip
    """Deprecated: ``assert_close``, for which dtypes needn't be the same, and nan is close to nan.

    Args:
        actual, expected: tensors, or what tensors are made of.
        rtol, atol: the tolerances, both or none; by default 1e-4 and 1e-5 for float32, 1e-5 and 1e-8 for float64,
            1e-3 and 1e-3 for float16, 0 for others.
        equal_nan: whether nan is close to nan.
        msg: an error message in place of the one that says what differs.

    Raises:
        AssertionError: they differ.
    """
    warn(
        "`torch.testing.assert_allclose()` is deprecated since 1.12 and will be removed in a future release. "
        "Please use `torch.testing.assert_close()` instead. "
        "You can find detailed upgrade instructions in https://github.com/pytorch/pytorch/issues/61844.",
        FutureWarning,
    )
    one = actual if isinstance(actual, Tensor) else tensor(actual)
    other = expected if isinstance(expected, Tensor) else tensor(expected, dtype=one.dtype)
    if rtol is None and atol is None:
        known = [TOLERANCES.get(each.dtype.name, (0.0, 0.0)) for each in (one, other)]
        rtol, atol = max(a for a, _ in known), max(b for _, b in known)
    assert_close(one, other, rtol=rtol, atol=atol, equal_nan=equal_nan, check_dtype=False, msg=msg or None)
