"""``torch.testing._internal.common_utils``: cases that compare tensors."""

from __future__ import annotations

import unittest
from typing import Any

from tapegrad._src.absent import refusing
from tapegrad._src.bindings.state.generator import manual_seed
from tapegrad._src.tensor.tensor import Tensor
from tapegrad.testing.comparison import assert_close
from tapegrad.testing.creation import make_tensor

__getattr__ = refusing(__name__)
__all__ = ["TestCase", "make_tensor", "run_tests"]

SEED = 1234


class TestCase(unittest.TestCase):
    """A case whose ``assertEqual`` compares tensors by ``assert_close``, and whose tests all begin with one seed."""

    precision = 0.0
    rel_tol = 0.0
    __test__ = False  # of pytest, which would collect the class itself; subclasses say True by being written

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls.__test__ = True

    def setUp(self) -> None:
        """Seed random numbers."""
        manual_seed(SEED)

    def assertEqual(
        self, x: Any, y: Any, msg: Any = None, *, atol: float | None = None, rtol: float | None = None,
        equal_nan: bool = True, exact_dtype: bool = True, exact_device: bool = False,
    ) -> None:  # fmt: skip
        """Fail unless two things are equal, tensors in them to within tolerances.

        Args:
            x, y: tensors, numbers, sequences or mappings of them, or anything else.
            msg: what to say.
            atol, rtol: tolerances; those of the dtypes by default.
            equal_nan: whether nans are equal.
            exact_dtype, exact_device: whether these have to be equal, too.
        """
        if not _compared(x) and not _compared(y):
            super().assertEqual(x, y, msg)
            return
        if isinstance(x, Tensor) != isinstance(y, Tensor) and not isinstance(x, (list, tuple, dict)):
            like = x if isinstance(x, Tensor) else y
            x, y = (one if isinstance(one, Tensor) else like.new_tensor(one) for one in (x, y))
        settings = {"atol": atol, "rtol": rtol, "equal_nan": equal_nan, "msg": msg}
        assert_close(x, y, check_dtype=exact_dtype, check_device=exact_device, check_stride=False, **settings)


def _compared(x: Any) -> bool:
    """Tell whether it is a tensor or a number, or has some."""
    if isinstance(x, dict):
        return any(map(_compared, x.values()))
    return any(map(_compared, x)) if isinstance(x, (list, tuple)) else isinstance(x, (Tensor, float, complex))


def run_tests(argv: Any = None) -> None:
    """Run the tests of the program that calls it, and end it."""
    unittest.main(argv=argv)
