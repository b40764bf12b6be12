"""``torch.futures``, and ``torch.torch_version``: what two libraries say of the same lines."""

import itertools
import operator

import pytest
from transcripts import same_transcript

from tapegrad.torch_version import TorchVersion

pytestmark = [pytest.mark.parity, pytest.mark.once("nothing is computed")]

LINES = """
f = torch.futures.Future(); f.done(), f.set_result(3), f.done(), f.value(), f.wait()
f = torch.futures.Future(); f.set_result(3); f.set_result(4)
f = torch.futures.Future(); g = f.then(lambda f: f.value() + 1); f.set_result(3); g.wait()
f = torch.futures.Future(); f.set_exception(KeyError("no")); f.wait()
f = torch.futures.Future(); f.set_exception(KeyError("no")); f.then(lambda f: 5).wait()
torch.futures.Future().set_exception(3)
f = torch.futures.Future(); seen = []; f.add_done_callback(lambda f: seen.append(f.wait())); f.set_result(3); seen
a, b = torch.futures.Future(), torch.futures.Future(); c = torch.futures.collect_all([a, b]); a.set_result(1); c.done()
a, b = torch.futures.Future(), torch.futures.Future(); a.set_result(1); b.set_result(2); torch.futures.wait_all([a, b])
a = torch.futures.Future(); a.set_exception(KeyError("a")); torch.futures.wait_all([a])
torch.futures.wait_all([])
torch.futures.Future(devices=["cpu"])
torch.multiprocessing.get_all_sharing_strategies() >= {torch.multiprocessing.get_sharing_strategy()}
torch.multiprocessing.set_sharing_strategy("none")
torch.mps.is_available(), torch.xpu.is_available(), torch.xpu.device_count(), torch.mtia.is_initialized()
isinstance(3, (int, torch.SymInt)), isinstance(3.0, torch.SymFloat), isinstance(True, torch.SymBool)
isinstance(torch.nn.Linear(1, 1), torch.fx.GraphModule), torch.fx.wrap("len")
torch._C._get_tracing_state(), torch._C._is_tracing(), torch.jit.onednn_fusion_enabled()
torch.jit.set_fusion_strategy([("STATIC", 4)]), torch.jit.set_fusion_strategy([("STATIC", 2), ("DYNAMIC", 10)])
torch.jit.set_fusion_strategy([("OTHER", 4)])
torch.jit.fuser("fuser9").__enter__()
torch.jit.fuser("fuser1").__enter__(), torch.jit.optimized_execution(False).__enter__()
torch._C._are_functorch_transforms_active(), torch._C._is_torch_function_mode_enabled()
torch.types.Number, torch.types._Number
"""


@pytest.mark.parametrize("line", LINES.strip().splitlines())
def test_lines(line):
    same_transcript(line)


VERSIONS = [
    "2.13.0", "2.13", "2.9", "2.13.0a1", "2.13.0rc2", "2.13.0.dev3", "2.13.0+cpu", "2.13.0+cu121", "2.13.post1",
    "parrot", "v2.1", "2.13.0+1.2", "2.13.0a0+git123",
]  # fmt: skip


def test_versions_compare_as_pytorch_has_it():
    from torch.torch_version import TorchVersion as Theirs

    for one, other in itertools.product(VERSIONS, [*VERSIONS, (2, 13), (1,), [2, 14, 0], 3, None]):
        for compare in (operator.lt, operator.le, operator.eq, operator.ne, operator.ge, operator.gt):
            said = []
            for kind in (Theirs, TorchVersion):
                try:
                    said.append(compare(kind(one), other))
                except TypeError:
                    said.append("TypeError")
            assert said[0] == said[1], (one, compare.__name__, other)
    assert hash(TorchVersion("2.13")) == hash("2.13")


@pytest.mark.parametrize("call", ["mps.empty_cache()", "xpu.synchronize()"])
def test_what_is_not_there_says_what_to_do(call):
    with pytest.raises((NotImplementedError, AttributeError), match=r"^torch\..+ is not in tapegrad \(yet\): .{20,}"):
        eval(f"torch.{call}", {"torch": __import__("tapegrad")})
