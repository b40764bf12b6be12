"""The same program gives the same bits in each process, whatever the clock, the compiler and the collector do."""

import subprocess
import sys

import pytest

pytestmark = pytest.mark.once("it chooses how it is run")

PROGRAM = """
import contextlib, gc, hashlib, sys, time

disturbed = sys.argv[1] == "disturbed"
if disturbed:  # before anything has taken them: clocks that stand, or jump
    ticks = iter(range(10**18))
    time.perf_counter = time.monotonic = time.process_time = lambda: next(ticks) ** 2 % 1009
    time.perf_counter_ns = time.monotonic_ns = lambda: next(ticks) ** 3 % 10007
    gc.set_threshold(77, 3, 3)

import tapegrad as torch
import tapegrad.nn.functional as F
from tapegrad._src.execution.tiers import costs
from tapegrad._src.execution.programs import subprogram
from tapegrad._src.execution.tiers import settings

costs.COMPILE, costs.COMPILE_EQUATION, costs.XLA_CALL, costs.XLA_ARRAY = 1e6, 0.0, 0.0, 0.0  # it is compiled soon
costs.PRODUCT = costs.Figures(0.5, 0.01)
subprogram.SECONDS_PER_SUBPROGRAM, subprogram.SECONDS_PER_INSTRUCTION, subprogram.PROGRAM_ON_XLA = 1e-3, 0.0, 0.0
if disturbed:  # nothing is compiled before somebody waits for it
    settings.compiler.add = lambda due: None


def digest(*tensors):
    bits = hashlib.sha256()
    for tensor in tensors:
        bits.update(tensor.detach().numpy().tobytes())
    return bits.hexdigest()[:12]


def convolutions():
    torch.manual_seed(0)
    x, w = torch.randn(4, 16, 150), torch.randn(16, 16, 5)
    return [digest(F.conv1d(x, w)) for _ in range(120)]


def trained(way):
    torch.manual_seed(0)
    net = torch.nn.Sequential(
        torch.nn.Conv2d(2, 4, 3, padding=1), torch.nn.BatchNorm2d(4), torch.nn.ReLU(), torch.nn.MaxPool2d(2),
        torch.nn.Dropout(0.1), torch.nn.Flatten(), torch.nn.Linear(144, 5),
    )
    optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
    x, y = torch.randn(8, 2, 12, 12), torch.randint(0, 5, (8,))

    def step(x, y):
        optimizer.zero_grad()
        loss = F.cross_entropy(net(x), y)
        loss.backward()
        optimizer.step()
        return loss.detach()

    step = torch.compile(step) if way == "compiled" else step
    with torch.deferred() if way == "deferred" else contextlib.nullcontext():
        losses = [step(x, y) for _ in range(40)]
    return digest(*net.state_dict().values(), *losses)


found = convolutions()
print(len(set(found)), *found)
for way, times in (("at once", 4), ("deferred", 2), ("compiled", 2)):
    print(way, *(trained(way) for _ in range(times)))
print(torch.execution.stats().tiers.compiled, torch.execution.stats().compiled)
"""


def test_two_processes_with_one_seed_give_the_same_bits():
    started = [
        subprocess.Popen(
            [sys.executable, "-c", PROGRAM, how], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        for how in ("as it is", "disturbed")
    ]
    (one, errors), (other, more_errors) = (process.communicate(timeout=300) for process in started)
    assert [process.returncode for process in started] == [0, 0], errors + more_errors
    *lines, compiled = one.splitlines()
    *others, compiled_later = other.splitlines()
    assert lines == others
    assert lines[0].startswith("2 ")  # NumPy's bits, then XLA's
    assert all(map(int, (compiled + " " + compiled_later).split()))
