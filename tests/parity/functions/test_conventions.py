"""The table of conventions tells the truth about PyTorch."""

import numpy as np
import pytest
import torch as pytorch
from kinks import all_kinks

pytestmark = pytest.mark.parity

KINKS = all_kinks()


@pytest.mark.parametrize("name", KINKS)
def test_so_does_pytorch_choose(name):
    np.testing.assert_allclose(KINKS[name].gradient(pytorch), np.array(KINKS[name].by_torch), rtol=1e-6, atol=1e-6)
