"""Small functions that programs by others call: numbers as sizes, devices that are not there, what was removed."""

import pytest
from transcripts import same_transcript

pytestmark = [pytest.mark.parity, pytest.mark.once("hardly anything is computed")]

LINES = """
torch.sym_int(2.7), torch.sym_int(-2.7), torch.sym_int("4"), torch.sym_float(2), torch.sym_not(True)
torch.sym_int("a")
torch.sym_max(2, 3.0), torch.sym_max(3, 2.0), torch.sym_min(2, 3), torch.sym_min(2.0, 3), torch.sym_sqrt(4)
torch.sym_max("a", 1)
torch.sym_ite(True, 1, 2), torch.sym_ite(False, 1, 2), torch.sym_sum([1, 2]), torch.sym_sum(1, 2.5)
torch.sym_ite(1, 1, 2)
torch.sym_ite(True, 1, 2.0)
torch.get_device_module() is torch.cpu, torch.get_device_module("cuda:0") is torch.cuda
torch.get_device_module("xla")
torch.get_device_module(3)
torch.frobenius_norm(torch.ones(2, 2), [0, 1]), torch.frobenius_norm(torch.ones(2, 2), 0, keepdim=True)
torch.nuclear_norm(torch.diag(torch.tensor([3.0, 4.0]))), torch.nuclear_norm(torch.ones(2, 1, 2), (0, 2), True).round()
(torch.ones(2) > 0)._is_all_true(), (torch.ones(2) > 1)._is_any_true(), torch._is_any_true(torch.tensor([True]))
torch.ones(2)._is_zerotensor(), torch.is_distributed(torch.ones(2)), torch.is_vulkan_available()
torch.matrix_rank(torch.eye(2))
torch.solve(torch.eye(2), torch.eye(2))
torch.eye(2).solve(torch.eye(2))
torch.lstsq(torch.eye(2), torch.eye(2))
torch.eye(2).lstsq(torch.eye(2))
torch.symeig(torch.eye(2))
torch.eye(2).symeig()
torch.eig(torch.eye(2))
torch.eye(2).eig(True)
torch.ones(2).reinforce(1)
torch.mps.manual_seed(1), torch.xpu.manual_seed(1), torch.xpu.empty_cache(), torch.mtia.manual_seed_all(2)
torch.xpu.memory_allocated(), torch.xpu.is_bf16_supported(), torch.xpu.seed()
torch.cpu.current_stream() is torch.cpu.current_stream(), torch.cpu.Event().query(), torch.cpu.Event().wait()
torch.backends.cuda.is_flash_attention_available(), torch.backends.cuda.fp16_bf16_reduction_math_sdp_allowed()
torch.backends.cuda.is_ck_sdpa_available()
"""


@pytest.mark.parametrize("line", LINES.strip().splitlines())
def test_a_line_says_the_same(line):
    same_transcript(line)


PROGRAMS = {
    "streams of the CPU": """
        stream = torch.cpu.Stream()
        with torch.cpu.stream(stream):
            print(torch.cpu.current_stream() is stream)
        print(torch.cpu.current_stream() is stream)
        """,
    "kernels of attention, by the old name": """
        import warnings
        q = torch.ones(1, 1, 2, 4)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            with torch.backends.cuda.sdp_kernel(enable_flash=False):
                print(torch.backends.cuda.flash_sdp_enabled(), torch.backends.cuda.math_sdp_enabled())
                print(torch.nn.functional.scaled_dot_product_attention(q, q, q).shape)
        print([(one.category.__name__, str(one.message)) for one in caught], torch.backends.cuda.flash_sdp_enabled())
        """,
    "modules that run": """
        from torch.utils.module_tracker import ModuleTracker
        net = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.Sequential(torch.nn.ReLU(), torch.nn.Linear(3, 1)))
        def show(what):
            return lambda *_: print(what, sorted(tracker.parents), tracker.is_bw)
        net[1][1].register_forward_pre_hook(show("called"))
        net[0].register_full_backward_hook(show("backward"))
        net[1][1].weight.register_hook(show("weight"))
        with ModuleTracker() as tracker:
            for _ in range(2):
                x = torch.ones(1, 2, requires_grad=True)
                x.register_hook(show("input"))
                net(x).sum().backward()
                show("end")()
        net(x).sum()
        show("after")()
        """,
    "formulas for operators of a program": """
        from torch.utils.flop_counter import FlopCounterMode, register_flop_formula
        @torch.library.custom_op("mylib::sine", mutates_args=())
        def sine(x: torch.Tensor, times: int) -> torch.Tensor:
            return x.sin() * times
        @register_flop_formula(torch.ops.mylib.sine)
        def count(shape, times, out_shape=None, **settings):
            print(shape, times, out_shape)
            return 7 * shape[0] * times
        with FlopCounterMode(display=False) as counter:
            sine(torch.ones(5), 2) @ torch.ones(5, 2)
        print(counter.get_total_flops(), counter.get_flop_counts()["Global"])
        register_flop_formula(torch.ops.mylib.sine)(count)
        """,
    "what has no formula": """
        from torch.utils.flop_counter import register_flop_formula
        register_flop_formula(3)(lambda: 0)
        """,
    "a formula for a block": """
        sine = torch.ops.aten.sin
        from torch.utils.flop_counter import FlopCounterMode
        with FlopCounterMode(display=False, custom_mapping={sine: lambda shape, out_shape=None: 100}) as one:
            torch.ones(5).sin()
        print(one.get_total_flops())
        """,
    "copies of a module": """
        from torch.nn.parallel import parallel_apply
        parallel_apply([torch.nn.ReLU()], [1, 2])
        """,
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_says_the_same(name):
    same_transcript(PROGRAMS[name])
