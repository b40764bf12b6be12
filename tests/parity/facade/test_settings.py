"""Numbers of threads, switches, ``torch.accelerator``, ``torch.jit``: what programs set and ask, against PyTorch."""

import subprocess
import sys

import pytest
import torch as pytorch
from harness import agree, attempt, warned
from transcripts import MODULES, same_transcript

import tapegrad

pytestmark = [pytest.mark.parity, pytest.mark.once("nothing is computed")]

THREADS = """
torch.set_num_threads(1); torch.get_num_threads()
torch.set_num_threads(0)
torch.set_num_threads(-1)
torch.set_num_threads("a")
torch.set_num_threads(2.5)
torch.set_num_threads(True)
torch.set_num_threads(2**31)
torch.set_num_threads(2**40)
torch.set_num_threads(-2**40)
torch.set_num_threads(3); torch.get_num_threads()
torch.set_num_interop_threads(0)
torch.set_num_interop_threads("a")
type(torch.get_num_interop_threads())
torch.get_float32_matmul_precision()
torch.set_float32_matmul_precision("high"); p = torch.get_float32_matmul_precision(); p
torch.set_float32_matmul_precision("other"); torch.set_float32_matmul_precision("highest")
torch.set_float32_matmul_precision(3)
torch.are_deterministic_algorithms_enabled(), torch.is_deterministic_algorithms_warn_only_enabled()
torch.use_deterministic_algorithms(True, warn_only=True); torch.is_deterministic_algorithms_warn_only_enabled()
torch.use_deterministic_algorithms(False); torch.are_deterministic_algorithms_enabled()
torch.ones(3).broadcast_to(2, 3), torch.ones(3).broadcast_to((2, 3)), torch.ones(3).broadcast_to(size=(2, 3))
torch.ones(3).broadcast_to(2, -1), torch.ones(3).broadcast_to(-1), torch.broadcast_to(torch.ones(3), (2, 3))
torch.ones(3).broadcast_to()
torch.broadcast_to(torch.ones(3), 2, 3)
torch.ones(3).broadcast_to(2, 4)
torch.functional.einsum is torch.einsum or torch.functional.einsum.__name__, torch.functional.split(torch.ones(2), 1)
torch.backends.cudnn.enabled, torch.backends.cudnn.benchmark, torch.backends.cudnn.deterministic
torch.backends.cudnn.allow_tf32, torch.backends.cudnn.version(), torch.backends.cudnn.is_available()
torch.backends.mps.is_available(), torch.backends.mps.is_built(), torch.backends.cuda.is_built()
torch.backends.cudnn.benchmark = True; x = torch.backends.cudnn.benchmark; torch.backends.cudnn.benchmark = False; x
with torch.backends.cudnn.flags(enabled=False): x = torch.backends.cudnn.enabled; x, torch.backends.cudnn.enabled
torch.backends.cuda.matmul.allow_tf32 = True; torch.backends.cuda.matmul.allow_tf32
torch.cuda.is_available(), torch.cuda.device_count()
"""

ACCELERATOR = """
torch.accelerator.is_available(), torch.accelerator.device_count(), torch.accelerator.current_accelerator()
torch.accelerator.current_accelerator(check_available=True)
torch.accelerator.current_device_index()
torch.accelerator.current_device_idx()
torch.accelerator.set_device_index(0)
torch.accelerator.set_device_idx(0)
torch.accelerator.synchronize()
torch.accelerator.synchronize(0)
torch.accelerator.empty_cache()
with torch.accelerator.device_index(None): pass
device = torch.accelerator.current_accelerator() or torch.device("cpu"); torch.ones(2, device=device)
"""


@pytest.mark.parametrize("line", THREADS.strip().splitlines())
def test_line(line, monkeypatch):
    switches = pytorch.backends.flags_frozen.__globals__
    monkeypatch.setitem(switches, "__allow_nonbracketed_mutation_flag", True)  # its database of operators forbids it
    same_transcript(line)


@pytest.mark.parametrize("line", ACCELERATOR.strip().splitlines())
def test_without_an_accelerator(line):
    assert not any(module.accelerator.is_available() for module in MODULES)
    same_transcript(line)


def test_interop_threads_are_set_once():
    program = (
        "torch.set_num_interop_threads(2); assert torch.get_num_interop_threads() == 2\n"
        "try: torch.set_num_interop_threads(3)\nexcept RuntimeError as error: print(error)"
    )
    told = [
        subprocess.run(
            [sys.executable, "-c", f"import {module} as torch\n{program}"], capture_output=True, text=True, check=True
        ).stdout
        for module in ("torch", "tapegrad")
    ]
    assert told[0] == told[1] != ""


def test_an_accelerator_of_one_kind(monkeypatch):
    """As it would be where JAX has GPUs."""
    from tapegrad._src.bindings.device_names import accelerator

    monkeypatch.setattr(accelerator, "accelerator_type", lambda: "cuda")
    monkeypatch.setattr(accelerator, "accelerator", lambda: "cuda")
    monkeypatch.setattr(accelerator, "count_devices", lambda kind: 2)
    here = tapegrad.accelerator
    assert here.is_available() and here.device_count() == 2 and here.current_device_index() == 0
    assert here.current_accelerator() == tapegrad.device("cuda")
    here.set_device_index(0)
    here.synchronize()
    with pytest.raises(RuntimeError, match=r"use torch.set_default_device\('cuda:1'\)"):
        here.set_device_index(1)
    with pytest.raises(RuntimeError, match="cuda:1"), here.device_index(1):
        pass


def double(x):
    return x * 2


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_what_is_decorated_for_torchscript_runs():
    def program(torch):
        @torch.jit.ignore
        def ignored(x):
            return x + 1

        @torch.jit.ignore(drop=False)
        def dropped(x):
            return x + 2

        @torch.jit.unused
        def unused(x):
            return x + 3

        @torch.jit.export
        def exported(x):
            return x + 4

        x = torch.ones(2, requires_grad=True)
        y = torch.jit.script(double)(x)
        y.sum().backward()
        traced = torch.jit.trace(double, torch.ones(2))
        told = [y.detach(), x.grad, traced(x).detach(), ignored(x).detach(), dropped(x).detach(), unused(x).detach()]
        told += [exported(x).detach(), torch.jit.annotate(int, 3), torch.jit.is_scripting(), torch.jit.is_tracing()]
        told += [torch.jit.wait(torch.jit.fork(double, torch.ones(1))), torch.jit.isinstance([1], list[int])]
        return [*told, isinstance(double, torch.jit.ScriptModule), isinstance(double, torch.jit.ScriptFunction)]

    agree(program)


def test_files_of_torchscript_are_refused():
    for act in (lambda: tapegrad.jit.load("x.pt"), lambda: tapegrad.jit.save(double, "x.pt")):
        _, kind, text = attempt(act)
        assert kind == "NotImplementedError" and "there are no TorchScript files here" in text


def test_the_engine_is_called_by_its_own_name():
    def program(torch):
        run = torch.autograd.graph._engine_run_backward
        x, z = torch.ones(2, requires_grad=True), torch.ones(1, requires_grad=True)
        y = (x * x).sum()
        seed = (torch.tensor(2.0),)
        told = [run((y,), seed, True, False, (x, z), allow_unreachable=True, accumulate_grad=False), x.grad]
        run((y,), seed, True, False, (), allow_unreachable=True, accumulate_grad=True)
        told.append(x.grad)
        told.append(attempt(lambda: run((y,), seed, True, False, (z,), allow_unreachable=False, accumulate_grad=False)))
        return told

    agree(program)


def test_old_names_warn():
    def program(torch):
        return warned(lambda: attempt(torch.accelerator.current_device_idx))

    agree(program)
