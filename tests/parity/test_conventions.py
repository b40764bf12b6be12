"""The table of conventions tells the truth about PyTorch."""

import numpy as np
import pytest
import torch as pytorch
from kinks import GRADIENTS, KINKS

pytestmark = pytest.mark.parity


@pytest.mark.parametrize("name", KINKS)
def test_so_does_pytorch_choose(name):
    np.testing.assert_allclose(KINKS[name].gradient(pytorch), np.array(GRADIENTS[name][0]), rtol=1e-6, atol=1e-6)
