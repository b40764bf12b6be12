"""Plain pickles name public modules only, so that they outlive moves of the implementation."""

import pickle
import pickletools

import pytest

import tapegrad as torch

MADE = {
    "tensor": lambda: torch.arange(6.0).reshape(2, 3),
    "transposed": lambda: torch.arange(6.0).reshape(2, 3).t(),
    "parameter": lambda: torch.nn.Parameter(torch.ones(2, dtype=torch.bfloat16)),
    "module": lambda: torch.nn.Linear(2, 2),
    "optimizer": lambda: torch.optim.SGD([torch.ones(1)], lr=0.1).state_dict(),
    "storage": lambda: torch.ones(2, dtype=torch.float64).untyped_storage(),
    "method": lambda: torch.Tensor.add,
}


@pytest.mark.parametrize("kind", MADE)
def test_no_module_of_the_implementation_is_named(kind):
    named = [text for _, text, _ in pickletools.genops(pickle.dumps(MADE[kind]())) if isinstance(text, str)]
    assert not [text for text in named if "tapegrad._src" in text]


OLDER = b"""ctapegrad._src.bindings.protocols
rebuild_tensor
(ctapegrad._src.tensor.tensor
Tensor
cnumpy
array
((F1.5
F2.0
tVfloat32
tRctapegrad._src.execution.data.dtypes
float32
ctapegrad._src.execution.data.devices
device
(Vcpu
tRI00
tR."""
"""A pickle with the class, the dtype, the device and the function by the modules that they are in."""


def test_older_pickles_are_read():
    again = pickle.loads(OLDER)
    assert again.tolist() == [1.5, 2.0] and again.dtype is torch.float32 and type(again) is torch.Tensor


@pytest.mark.filterwarnings("ignore:TypedStorage is deprecated")
def test_storages_are_pickled():
    x = torch.tensor([1.5, 2], dtype=torch.bfloat16)
    assert pickle.loads(pickle.dumps(x.untyped_storage())).tolist() == x.untyped_storage().tolist()
    again = pickle.loads(pickle.dumps(x.storage()))
    assert again.dtype is torch.bfloat16 and again.tolist() == [1.5, 2.0]


def test_shared_memory_is_told():
    x = torch.ones(4)
    assert not x.is_shared() and x.share_memory_() is x
    assert x.is_shared() and x[1:].is_shared() and not torch.ones(4).is_shared()


def test_compiled_modules_have_the_attribute_that_tells_them():
    assert hasattr(torch.compile(torch.nn.ReLU()), "dynamo_ctx") and not hasattr(torch.nn.ReLU(), "dynamo_ctx")
