"""``torch.cuda``: without a GPU as a PyTorch without CUDA, and with stand-ins for GPUs of JAX's."""

import pytest
from transcripts import MODULES, same_transcript

import tapegrad
from tapegrad._src.bindings.device_names import cuda, streams
from tapegrad._src.execution.programs import hardware

pytestmark = [pytest.mark.parity, pytest.mark.once("nothing is computed")]

LINES = """
torch.cuda.memory_allocated(), torch.cuda.max_memory_allocated("cuda:0"), torch.cuda.memory_stats()
torch.cuda.memory_reserved(), torch.cuda.max_memory_reserved(), torch.cuda.is_initialized(), torch.cuda.get_arch_list()
torch.cuda.mem_get_info()
torch.cuda.get_device_name()
torch.cuda.get_device_capability(0)
torch.cuda.get_device_properties(0)
torch.cuda.current_device()
torch.cuda.set_device(-1)
torch.cuda.set_device("cpu")
torch.cuda.synchronize()
torch.cuda.empty_cache(), torch.cuda.manual_seed(3), torch.cuda.manual_seed_all(3), torch.cuda.seed()
torch.cuda.init()
torch.cuda.get_rng_state()
torch.cuda.get_rng_state_all(), torch.cuda.set_rng_state_all([]), torch.cuda.set_rng_state(torch.get_rng_state())
torch.cuda.initial_seed()
with torch.cuda.device(0): pass
with torch.cuda.device(-1), torch.cuda.device_of(torch.ones(1)), torch.cuda.stream(None): pass
with torch.cuda.device("cpu"): pass
torch.cuda.Stream()
torch.cuda.Event(enable_timing=True)
torch.cuda.current_stream()
torch.cuda.set_stream(None), torch.cuda.is_bf16_supported(including_emulation=False), torch.cuda.is_tf32_supported()
torch.cuda.ipc_collect()
issubclass(torch.cuda.OutOfMemoryError, RuntimeError), torch.cuda.OutOfMemoryError is torch.OutOfMemoryError
issubclass(torch.AcceleratorError, RuntimeError), torch.AcceleratorError.__name__
torch.accelerator.memory_allocated()
torch.accelerator.max_memory_allocated()
torch.accelerator.memory_reserved()
torch.accelerator.max_memory_reserved()
torch.accelerator.memory_stats()
torch.accelerator.reset_peak_memory_stats()
"""


@pytest.mark.parametrize("line", LINES.strip().splitlines())
def test_without_a_gpu(line):
    assert not any(module.cuda.is_available() for module in MODULES)
    same_transcript(line)


class Gpu:
    """What JAX tells of a GPU."""

    device_kind = "NVIDIA H100"
    compute_capability = "9.0"
    core_count = 132

    def memory_stats(self):
        return {"bytes_in_use": 100, "peak_bytes_in_use": 300, "bytes_limit": 1000, "pool_bytes": 400}


@pytest.fixture
def two_gpus(monkeypatch):
    monkeypatch.setattr(cuda, "count_devices", lambda kind: 2)
    monkeypatch.setattr(hardware, "jax_device", lambda where: Gpu())
    waited = []
    for module in (cuda, streams):
        monkeypatch.setattr(module, "wait_for", waited.append)
    return waited


def test_what_gpus_are(two_gpus):
    here = tapegrad.cuda
    assert here.is_initialized() and here.device_count() == 2 and here.current_device() == 0
    assert here.get_device_name(1) == "NVIDIA H100" and here.get_device_capability("cuda:1") == (9, 0)
    assert here.get_device_properties(0).total_memory == 1000
    assert here.get_device_properties(0).multi_processor_count == 132 and here.is_tf32_supported()
    assert (here.memory_allocated(), here.max_memory_allocated(), here.memory_reserved()) == (100, 300, 400)
    assert here.mem_get_info() == (900, 1000)
    with pytest.warns(UserWarning, match="peak of memory since the process began"):
        here.reset_peak_memory_stats()


def test_which_gpu_is_the_default(two_gpus):
    with tapegrad.cuda.device(1):
        assert tapegrad.get_default_device() == tapegrad.device("cuda:1")
    with tapegrad.cuda.device(0):
        assert tapegrad.get_default_device() == tapegrad.device("cpu")
    try:
        tapegrad.cuda.set_device(1)
        assert tapegrad.get_default_device() == tapegrad.device("cuda:1")
    finally:
        tapegrad.set_default_device(None)


def test_states_of_the_generator(two_gpus):
    states = tapegrad.cuda.get_rng_state_all()
    first = tapegrad.rand(3)
    assert len(states) == 2
    tapegrad.cuda.set_rng_state_all(states)
    assert tapegrad.equal(tapegrad.rand(3), first)


def test_events_wait_for_their_device(two_gpus):
    start, end = (tapegrad.cuda.Event(enable_timing=True) for _ in range(2))
    with pytest.raises(ValueError, match="must be recorded before"):
        start.elapsed_time(end)
    start.record()
    with tapegrad.cuda.stream(tapegrad.cuda.Stream(1)) as inside:
        end.record(inside.stream)
    tapegrad.cuda.synchronize(1)
    names = [str(where) for where in two_gpus]
    assert names == ["cuda:0", "cuda:1", "cuda:1"] and start.elapsed_time(end) >= 0
    assert tapegrad.cuda.current_stream() == tapegrad.cuda.default_stream(0) != tapegrad.cuda.Stream(1)
    with pytest.raises(ValueError, match="enable_timing=True"):
        tapegrad.cuda.Event().elapsed_time(end)


def test_waiting_for_a_device_computes_what_was_recorded():
    with tapegrad.deferred():
        x = tapegrad.ones(3) * 2
        hardware.wait_for(tapegrad.device("cpu"))
        assert x.tolist() == [2, 2, 2]
