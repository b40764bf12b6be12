"""The names that libraries import from PyTorch: none that was here goes missing."""

import pytest

import tapegrad
from tests.libraries import names as counted

pytestmark = pytest.mark.once("imports modules, and computes nothing")

LACKING = """
torch.UntypedStorage._new_shared_filename_cpu torch.accelerator.memory torch.accelerator.memory.get_memory_info
torch.compiler.config torch.compiler.config.cache_key_tag torch.distributed.distributed_c10d._pg_map
torch.distributed.rpc.api.UNSET_RPC_TIMEOUT torch.ops.aten._assert_scalar torch.ops.aten._assert_tensor_metadata
torch.ops.aten._scaled_dot_product_cudnn_attention_backward
torch.ops.aten._scaled_dot_product_flash_attention_backward torch.ops.aten.is_non_overlapping_and_dense
torch.ops.aten.sym_constrain_range_for_size torch.utils._pytree.treespec_dumps torch.utils._pytree.treespec_loads
"""
"""Names of the list that are not here."""


def test_names_of_a_source():
    source = """
import torch, torch.nn.functional as F
from torch.optim import SGD as Descent
from torch import nn
class Model(nn.Module):
    import torch.fx.node
    def forward(self, x):
        return F.relu(x) + torch.linalg.inv(x) + self.torch.nothing
"""
    assert counted.names_in(source) == {
        "torch", "torch.nn", "torch.nn.functional", "torch.optim.SGD", "torch.nn.Module", "torch.fx.node",
        "torch.nn.functional.relu", "torch.linalg", "torch.linalg.inv",
    }  # fmt: skip


@pytest.mark.filterwarnings("ignore")
def test_names_that_libraries_import_are_here():
    names = counted.read()
    assert counted.missing(tapegrad, names) == [name for name in names if name in LACKING.split()]
    assert set(LACKING.split()) <= set(names) and len(names) > 2300


def test_a_name_that_is_not_here_is_missing():
    missing = ["torch.nn.Sinn", "torch.sinn.x"]
    assert counted.missing(tapegrad, ["torch.nn.Linear", *missing]) == missing
