"""What PyTorch has and tapegrad has not: who calls it is told so, and what to do instead."""

import importlib

import pytest
from harness import attempt
from transcripts import MODULES, same_transcript

import tapegrad
from tapegrad._src.absent import MODULES as ABSENT_MODULES
from tapegrad._src.absent import REASONS, is_stand_in

pytestmark = [pytest.mark.parity, pytest.mark.once("nothing is computed")]

SPOKEN_OF = {
    "torch.nn.attention.varlen", "torch.utils.tensorboard",
    "torch.utils.bottleneck", "torch.utils.mobile_optimizer", "torch.utils.model_zoo", "torch.onnx",
}  # fmt: skip
"""Modules that PyTorch imports when they are asked for only."""


@pytest.mark.filterwarnings("ignore")  # of PyTorch's modules when they are imported
def test_what_is_listed_is_in_pytorch_and_not_here():
    pytorch = MODULES[0]
    for full in REASONS:
        home, _, name = full.rpartition(".")
        theirs = importlib.import_module(home.replace("torch", pytorch.__name__, 1))
        ours = importlib.import_module(home.replace("torch", "tapegrad", 1))
        assert full in SPOKEN_OF or hasattr(theirs, name), f"PyTorch has no {full}"
        is_absent = not hasattr(ours, name) if name in ABSENT_MODULES else is_stand_in(getattr(ours, name))
        assert is_absent, f"{full} is there by now: delete its entry in absent.py"


def test_modules_of_pytorch_have_no_attribute_that_is_not_accounted_for():
    """All of ``torch.nn``: what is neither here nor listed is PyTorch's own machinery."""
    names = {name for name in dir(MODULES[0].nn) if not name.startswith("_")}
    missing = {name for name in names if not hasattr(tapegrad.nn, name) and f"torch.nn.{name}" not in REASONS}
    assert missing <= {"LinearCrossEntropyOptions", "common_types", "factory_kwargs", "grad", "intrinsic"}


@pytest.mark.parametrize(
    ("name", "error"),
    {
        "package": AttributeError, "nn.quantized": AttributeError, "cuda.graphs": AttributeError,
        "onnx.ONNXProgram": NotImplementedError, "library.triton_op": NotImplementedError,
        "sparse.spsolve": NotImplementedError, "distributed.rpc.RRef": NotImplementedError,
    }.items(),
)  # fmt: skip
def test_the_error_says_what_to_do(name, error):
    with pytest.raises(error, match=rf"^torch.{name} is not in tapegrad \(yet\): .{{20,}}"):
        eval(f"torch.{name}()", {"torch": tapegrad})


def test_what_is_refused_can_be_imported_and_derived_from():
    from tapegrad import quantize_per_tensor
    from tapegrad.distributed.rpc import RRef

    class Remote(RRef):
        pass

    for refused in (quantize_per_tensor, Remote):
        with pytest.raises(NotImplementedError, match="is not in tapegrad"):
            refused(1)


def test_other_names_are_as_unknown_as_ever():
    assert attempt(lambda: tapegrad.sinn) == ["raised", "AttributeError", "module 'tapegrad' has no attribute 'sinn'"]
    assert attempt(lambda: tapegrad.nn.sinn)[1:] == ["AttributeError", "module 'tapegrad.nn' has no attribute 'sinn'"]
    assert not hasattr(tapegrad, "package") and getattr(tapegrad.cuda, "graphs", None) is None
    with pytest.raises(ImportError, match="cannot import name 'quantized'"):
        from tapegrad.nn import quantized  # noqa: F401
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("tapegrad.package")


@pytest.mark.parametrize("call", ["q_scale()", "xpu()"])
def test_calls_are_refused(call):
    with pytest.raises(NotImplementedError, match=rf"^Tensor.{call.partition('(')[0]} is not in tapegrad \(yet\): "):
        eval(f"x.{call}", {"x": tapegrad.ones(2)})


DENSE = """
torch.ones(2).coalesce()
torch.ones(2).is_coalesced()
torch.ones(2).indices()
torch.ones(2).values()
torch.ones(2).crow_indices()
torch.ones(2).col_indices()
torch.ones(2).ccol_indices()
torch.ones(2).row_indices()
torch.ones(2).sparse_dim(), torch.ones(2, 3).dense_dim(), torch.ones(2).is_distributed()
torch.ones(2).dequantize(), torch.ones(2).double().dequantize(), torch.tensor([1]).dequantize()
torch.ones(2).to_dense()
"""


@pytest.mark.parametrize("line", DENSE.strip().splitlines())
def test_dense_tensors_answer(line):
    same_transcript(line)
