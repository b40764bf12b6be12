"""``torch.utils.tensorboard``: tensors go to tensorboardX, for which a class stands here that keeps them."""

import importlib
import sys
from types import ModuleType

import numpy as np
import pytest

import tapegrad as torch

NAME = "tapegrad.utils.tensorboard"


@pytest.fixture
def written(monkeypatch):
    """What a writer is given."""
    calls = []

    class Writer:
        def __init__(self, logdir=None):
            self.logdir = logdir

        def add_scalar(self, *args, **kwargs):
            calls.append((args, kwargs))

        add_scalars = add_histogram = add_scalar

    module = ModuleType("tensorboardX")
    module.SummaryWriter = Writer
    monkeypatch.setitem(sys.modules, "tensorboardX", module)
    monkeypatch.delitem(sys.modules, NAME, raising=False)
    monkeypatch.delitem(sys.modules, f"{NAME}.writer", raising=False)
    yield calls
    sys.modules.pop(NAME, None)
    sys.modules.pop(f"{NAME}.writer", None)


def test_tensors_are_written_as_arrays(written):
    writer = importlib.import_module(NAME).SummaryWriter("runs")
    w = torch.ones(2, requires_grad=True)
    writer.add_scalar("loss", w.sum() * 2, global_step=3)
    writer.add_scalars("both", {"a": torch.tensor(1.5), "b": 2.5})
    writer.add_histogram("weights", values=w.bfloat16())
    (loss, step), (both, _), (_, histogram) = written
    assert loss[0] == "loss" and loss[1] == np.float32(4.0) and step == {"global_step": 3}
    assert both[1] == {"a": np.float32(1.5), "b": 2.5}
    assert isinstance(histogram["values"], np.ndarray) and histogram["values"].dtype == np.float32
    assert writer.logdir == "runs"
    assert importlib.import_module(f"{NAME}.writer").SummaryWriter is type(writer)


def test_without_the_package_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "tensorboardX", None)
    monkeypatch.delitem(sys.modules, NAME, raising=False)
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'tapegrad\[tensorboard\]'"):
        importlib.import_module(NAME)
