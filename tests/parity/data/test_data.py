"""``utils.data``: the same loaders on both libraries, and workers that fail, die and hand memory over."""

import contextlib
import gc
import os
import pickle
import signal
import subprocess
import sys
import warnings
from collections import OrderedDict, UserDict, UserList, namedtuple
from pathlib import Path

import numpy as np
import pytest
import torch as pytorch
from data_programs import (
    LARGE,
    OurDrawn,
    OurStream,
    Rows,
    as_it_is,
    fail_in_one,
    where_it_lies,
)
from data_programs_torch import TheirDrawn, TheirStream

import tapegrad
from tapegrad.utils.data import DataLoader
from tapegrad.utils.data._utils import worker
from tapegrad.utils.data._utils.fetch import MISSING, rows_together
from tapegrad.utils.data.segments import Segment

pytestmark = [pytest.mark.parity, pytest.mark.once("what is computed is in other tests")]

DATASETS = {tapegrad: (OurDrawn, OurStream), pytorch: (TheirDrawn, TheirStream)}


@pytest.fixture(autouse=True)
def _stream():
    tapegrad.random.use("pytorch")
    yield
    tapegrad.random.use("jax")


def plain(found):
    """Batches without their tensors, so that those of both libraries can be compared; dtypes stay."""
    if isinstance(found, (tapegrad.Tensor, pytorch.Tensor)):
        return str(found.dtype), found.tolist()
    if isinstance(found, (UserDict, dict)):
        return type(found).__name__, {key: plain(value) for key, value in found.items()}
    if isinstance(found, (list, tuple, UserList)):
        return type(found).__name__, [plain(one) for one in found]
    return found


def outcome(program, torch):
    """What a program gives, or raises, and warns of."""
    torch.manual_seed(5)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        try:
            found = plain(program(torch))
        except Exception as error:
            found = type(error).__name__, str(error).replace("tapegrad", "torch")
    state = torch.get_rng_state().numpy().tobytes()
    return found, [str(one.message) for one in said], state


def same(program):
    ours, theirs = outcome(program, tapegrad), outcome(program, pytorch)
    assert ours[0] == theirs[0]
    assert ours[1:] == theirs[1:]
    return ours[0]


def rows(torch, count=10):
    return torch.utils.data.TensorDataset(torch.arange(2 * count).reshape(count, 2), torch.arange(count) * 0.5)


def numbers(torch):
    class Numbers(torch.utils.data.IterableDataset):
        def __iter__(self):
            return iter(range(7))

        def __len__(self):
            return 3

        def __repr__(self):
            return "Numbers()"

    return Numbers()


def split(torch, *arguments):
    return [part.indices for part in torch.utils.data.random_split(range(10), *arguments)]


def twice(loader):
    return [list(loader), list(loader)]


ORDERS = [
    lambda torch: twice(torch.utils.data.DataLoader(rows(torch), 4)),
    lambda torch: twice(torch.utils.data.DataLoader(rows(torch), 4, shuffle=True)),
    lambda torch: twice(torch.utils.data.DataLoader(rows(torch), 4, True, drop_last=True)),
    lambda torch: twice(torch.utils.data.DataLoader(rows(torch), None, shuffle=True)),
    lambda torch: twice(torch.utils.data.DataLoader(range(5), 2, True, generator=torch.Generator().manual_seed(3))),
    lambda torch: list(torch.utils.data.DataLoader(numbers(torch), 3)),
    lambda torch: list(torch.utils.data.DataLoader(numbers(torch), 3, drop_last=True)),
    lambda torch: list(torch.utils.data.DataLoader(numbers(torch), None)),
    lambda torch: list(torch.utils.data.DataLoader("abcd", 2, sampler=[3, 1, 0])),
    lambda torch: list(torch.utils.data.DataLoader("abcd", batch_sampler=[[3], [1, 0]], collate_fn=tuple)),
    lambda torch: [len(torch.utils.data.DataLoader(range(7), 3)), len(torch.utils.data.DataLoader(numbers(torch), 2))],
    lambda torch: list(torch.utils.data.RandomSampler(range(5), replacement=True, num_samples=70)),
    lambda torch: list(torch.utils.data.RandomSampler(range(5), num_samples=12)),
    lambda torch: list(torch.utils.data.SubsetRandomSampler([4, 7, 9])),
    lambda torch: list(torch.utils.data.WeightedRandomSampler([0.1, 0.9, 3.0], 20)),
    lambda torch: list(torch.utils.data.WeightedRandomSampler([0.1, 0.9, 3.0], 2, replacement=False)),
    lambda torch: [list(torch.utils.data.BatchSampler(range(n), 3, last)) for n in (0, 5, 6) for last in (True, False)],
    lambda torch: [len(torch.utils.data.BatchSampler(range(n), 3, last)) for n in (0, 5, 6) for last in (True, False)],
    lambda torch: [list(torch.utils.data.DistributedSampler(range(n), 3, r, drop_last=last))
                   for n in (2, 7, 9) for r in range(3) for last in (True, False)],
    lambda torch: split(torch, [7, 3]),
    lambda torch: split(torch, [0.5, 0.33, 0.17], torch.Generator().manual_seed(3)),
    lambda torch: split(torch, [0.99, 0.01]),
    lambda torch: list(torch.utils.data.DataLoader(torch.utils.data.random_split(rows(torch), [0.5, 0.5])[1], 2)),
    lambda torch: list(torch.utils.data.ChainDataset([numbers(torch), numbers(torch)])),
    lambda torch: [(rows(torch) + rows(torch))[12], (rows(torch) + rows(torch))[-1]],
    lambda torch: torch.utils.data.StackDataset(a=[5, 6], b=torch.utils.data.Subset("ab", [1, 0])).__getitems__([1]),
    lambda torch: list(torch.utils.data.DataLoader(torch.utils.data.StackDataset(range(4), "abcd"), 3)),
    lambda torch: list(torch.utils.data.DataLoader(torch.utils.data.StackDataset(x=range(4), y="abcd"), 3)),
    lambda torch: (list(zip(range(2), torch.utils.data.DataLoader(rows(torch), 4, True), strict=False)), torch.rand(2)),
    lambda torch: (len(loader := torch.utils.data.DataLoader(numbers(torch), 2)), list(loader)),
]  # fmt: skip


@pytest.mark.parametrize("program", ORDERS)
def test_orders_and_what_is_drawn(program):
    same(program)


Point = namedtuple("Point", "x y")

COLLATED = [
    [1, 2], [1.5, 2], [True, False], ["a", "b"], [b"a", b"b"], [(1, "a"), (2, "b")], [[1, 2], [3, 4]], [[], []],
    [{"x": 1, "y": [2]}, {"x": 3, "y": [4]}], [Point(1, 2.0), Point(3, 4.0)], [OrderedDict(a=1), OrderedDict(a=2)],
    [UserDict(a=1), UserDict(a=2)], [UserList([1]), UserList([2])], [range(2), range(2)],
    [np.float32(1), np.float32(2)], [np.bool_(True)], [np.arange(2), np.arange(2)], [np.arange(2), np.arange(2.0)],
    [np.array(1.5), np.array(2.5)], [np.zeros((2, 0), np.int8)] * 2,
    [(1,), (1, 2)], [None], [object], [np.array("a")], [np.array([None])], [1, "a"], [[1], 2], [{"x": 1}, {"y": 1}],
    [np.zeros(2), np.zeros(3)],
]  # fmt: skip


@pytest.mark.parametrize("batch", COLLATED, ids=str)
def test_collation(batch):
    same(lambda torch: torch.utils.data.default_collate(batch))
    same(lambda torch: torch.utils.data.default_convert(batch))


def test_collation_of_tensors():
    same(lambda torch: torch.utils.data.default_collate([torch.ones(2), torch.zeros(2)]))
    same(lambda torch: torch.utils.data.default_collate([torch.ones(2), torch.zeros(3)]))
    same(lambda torch: torch.utils.data.default_collate([torch.ones(2), torch.zeros(2, dtype=torch.int64)]))


def test_collation_can_be_extended():
    def program(torch):
        collate = torch.utils.data._utils.collate
        known = {complex: lambda batch, collate_fn_map: torch.tensor(batch), **collate.default_collate_fn_map}
        return collate.collate([(1j, 2), (3j, 4)], collate_fn_map=known)

    same(program)



MISTAKES = [
    lambda data, torch: data.DataLoader([1], num_workers=-1),
    lambda data, torch: data.DataLoader([1], timeout=-1),
    lambda data, torch: data.DataLoader([1], prefetch_factor=2),
    lambda data, torch: data.DataLoader([1], num_workers=1, prefetch_factor=-2),
    lambda data, torch: data.DataLoader([1], persistent_workers=True),
    lambda data, torch: data.DataLoader(numbers(torch), shuffle=True),
    lambda data, torch: data.DataLoader(numbers(torch), sampler=[1]),
    lambda data, torch: data.DataLoader(numbers(torch), batch_sampler=[[1]]),
    lambda data, torch: data.DataLoader([1], sampler=[0], shuffle=True),
    lambda data, torch: data.DataLoader([1], batch_sampler=[[0]], drop_last=True),
    lambda data, torch: data.DataLoader([1], batch_size=None, drop_last=True),
    lambda data, torch: data.DataLoader([1], batch_size=0),
    lambda data, torch: data.DataLoader([1], batch_size=2, drop_last=1),
    lambda data, torch: data.DataLoader([], shuffle=True),
    lambda data, torch: data.DataLoader([1], multiprocessing_context="spawn"),
    lambda data, torch: data.DataLoader([1], num_workers=1, multiprocessing_context="thread"),
    lambda data, torch: data.DataLoader([1], num_workers=1, multiprocessing_context=3),
    lambda data, torch: setattr(data.DataLoader([1]), "batch_size", 2),
    lambda data, torch: list(data.DataLoader([1], timeout=3)),
    lambda data, torch: len(data.DataLoader(data.IterableDataset())),
    lambda data, torch: list(data.DataLoader(data.Dataset(), sampler=[0])),
    lambda data, torch: list(data.DataLoader([1], sampler=[3])),
    lambda data, torch: list(data.DataLoader(rows(torch), sampler=[10])),
    lambda data, torch: list(data.DataLoader([1], pin_memory=True, pin_memory_device="cuda")),
    lambda data, torch: data.DataLoader([1], num_workers=500),
    lambda data, torch: pickle.dumps(iter(data.DataLoader([1]))),
    lambda data, torch: list(data.Sampler()),
    lambda data, torch: data.RandomSampler([1], replacement=1),
    lambda data, torch: data.RandomSampler([1], num_samples=0),
    lambda data, torch: data.WeightedRandomSampler([1.0], True),
    lambda data, torch: data.WeightedRandomSampler([1.0], 1, replacement=1),
    lambda data, torch: data.WeightedRandomSampler([[1.0]], 1),
    lambda data, torch: data.DistributedSampler([1], 2, 2),
    lambda data, torch: data.TensorDataset(torch.ones(2), torch.ones(3)),
    lambda data, torch: data.StackDataset(),
    lambda data, torch: data.StackDataset([1], a=[1]),
    lambda data, torch: data.StackDataset([1], [1, 2]),
    lambda data, torch: data.ConcatDataset([]),
    lambda data, torch: data.ConcatDataset([numbers(torch)]),
    lambda data, torch: data.ConcatDataset([[1]])[-2],
    lambda data, torch: list(data.ChainDataset([[1]])),
    lambda data, torch: data.ConcatDataset([[1]]).cummulative_sizes,
    lambda data, torch: type("Part", (data.Subset,), {"__getitem__": lambda self, index: 0})([1], [0]),
    lambda data, torch: split(torch, [3, 3]),
    lambda data, torch: split(torch, [-0.5, 1.5]),
    lambda data, torch: split(torch, [1.0, 0.0]),
]


@pytest.mark.parametrize("number", range(len(MISTAKES)))
def test_mistakes_and_warnings(number):
    same(lambda torch: MISTAKES[number](torch.utils.data, torch) and None)


def test_forks_are_refused():
    with pytest.raises(ValueError, match="waits for those would never end; leave it out, or say 'spawn'"):
        DataLoader([1], num_workers=1, multiprocessing_context="fork")


def test_ranks_have_to_be_said():
    with pytest.raises(ValueError, match="Default process group has not been initialized"):
        tapegrad.utils.data.DistributedSampler([1])


def test_rows_of_tensors_are_read_at_once_where_nobody_can_tell():
    data = tapegrad.utils.data
    part = data.Subset(rows(tapegrad), [7, 5, 3])
    assert plain(rows_together(part, [2, 0])) == plain(data.default_collate([part[2], part[0]]))
    for dataset, index in [
        (data.TensorDataset(tapegrad.ones(3, requires_grad=True)), [1]),
        (part, [3]),
        (part, [tapegrad.tensor(1)]),
        (part, []),
        (data.Subset([1, 2], [1]), [0]),
    ]:
        assert rows_together(dataset, index) is MISSING


def test_seeds_of_numpy():
    theirs = pytorch.utils.data._utils.worker._generate_state
    for seed, number in [(0, 0), (7, 3), (2**62 + 5, 11)]:
        assert worker.numpy_seed(seed, number) == theirs(seed, number)


# Workers: each of these starts processes ------------------------------------------------------------------------------


def drawn_by_workers(torch):
    drawn, stream = DATASETS[torch]
    data, more = torch.utils.data, {"num_workers": 2}
    if torch is pytorch:
        more["multiprocessing_context"] = "spawn"  # it would fork this process, in which jax has threads
    loader = data.DataLoader(drawn(), 3, shuffle=True, persistent_workers=True, **more)
    return twice(loader), list(data.DataLoader(stream(), 2, **more)), torch.rand(2)


@pytest.mark.ring("full")
def test_workers_draw_and_deal_as_in_pytorch():
    same(drawn_by_workers)


@pytest.mark.ring("full")
def test_memory_is_handed_over_without_being_copied():
    loader = DataLoader(Rows(), 4, num_workers=1, collate_fn=where_it_lies)
    batch, made, as_it_was_made, platform = next(iter(loader))
    assert (made, as_it_was_made, platform) == (1, True, "cpu")
    assert batch.shape == (4, LARGE) and batch[:, 7].tolist() == [0, 1, 2, 3]
    arrays = next(iter(DataLoader(Rows(), 2, num_workers=1, collate_fn=as_it_is)))
    base = arrays[1]
    while isinstance(base, np.ndarray):
        base = base.base
    assert isinstance(base, Segment) and arrays[1].tolist() == [1] * LARGE


def names_of_segments():
    place = Path("/dev/shm")
    return set(os.listdir(place)) if place.exists() else set()


@pytest.mark.ring("full")
def test_workers_that_fail():
    before = names_of_segments()
    batches = iter(DataLoader(Rows(), None, sampler=[1, 101, 105, 2], num_workers=1))
    assert next(batches)[0] == 1
    with pytest.raises(KeyError) as raised:
        next(batches)
    text = str(raised.value)
    assert text.startswith("Caught KeyError in DataLoader worker process 0.\nOriginal Traceback (most recent call ")
    assert text.endswith("KeyError: 'no such row'\n") and "data_programs.py" in text
    with pytest.raises(ValueError, match="(?s)Caught ValueError in DataLoader worker process 0.*I stay here"):
        next(batches)
    assert next(batches)[0] == 2 and next(batches, None) is None
    del batches
    gc.collect()
    assert names_of_segments() <= before


@pytest.mark.ring("full")
@pytest.mark.parametrize(("index", "cause"), [(102, "unexpectedly with exit code 3"), (103, "by signal: Killed")])
def test_workers_that_die(index, cause):
    with pytest.raises(RuntimeError, match=r"^DataLoader worker \(pid\(s\) \d+\) exited unexpectedly$") as raised:
        list(DataLoader(Rows(), 1, sampler=[1, index], num_workers=1))
    assert cause in str(raised.value.__cause__)


@pytest.mark.ring("full")
def test_waiting_ends():
    batches = iter(DataLoader(Rows(), 1, sampler=[1, 104], num_workers=1, timeout=1))
    next(batches)
    with pytest.raises(RuntimeError, match="DataLoader timed out after 1 seconds"):
        next(batches)
    os.kill(batches._workers[0].pid, signal.SIGKILL)


@pytest.mark.ring("full")
def test_functions_that_fail_when_workers_begin():
    with pytest.raises(ValueError, match="(?s)Caught ValueError in DataLoader worker process 1.*not worker 1"):
        list(DataLoader(range(4), num_workers=2, worker_init_fn=fail_in_one))


def test_batches_as_they_are_ready():
    loader = DataLoader(range(8), 2, num_workers=2, in_order=False, prefetch_factor=1)
    assert sorted(one for batch in loader for one in batch.tolist()) == list(range(8))


def test_what_cannot_be_pickled_is_said_before_anything_is_started():
    with pytest.raises((AttributeError, pickle.PicklingError), match="pickle.*workers of a DataLoader are spawned"):
        iter(DataLoader([1], num_workers=1, collate_fn=lambda batch: batch))


SCRIPT = """
import torch
from torch.utils.data import DataLoader, Dataset, get_worker_info

class Noise(Dataset):
    def __len__(self):
        return 6

    def __getitem__(self, index):
        return index, torch.rand(2), get_worker_info().id

if __name__ == "__main__":
    torch.manual_seed(1)
    for batch in DataLoader(Noise(), 2, shuffle=True, num_workers=2, multiprocessing_context="spawn"):
        print(batch)
"""


@pytest.mark.ring("full")
def test_workers_of_a_script_that_imports_torch(tmp_path):
    script = tmp_path / "train.py"
    script.write_text(SCRIPT)
    said = [
        subprocess.run([sys.executable, *command, script], capture_output=True, text=True, check=True).stdout
        for command in ([], ["-m", "tapegrad", "--random", "pytorch"])
    ]
    assert said[0] == said[1] and said[0].count("tensor") == 9


INTERRUPTED = SCRIPT.replace("return index", "__import__('time').sleep(0.2); return index").replace("print(batch)", (
    "print('running', flush=True)"
))


HEEDING = """
import os, signal, sys
signal.signal(signal.SIGINT, signal.SIG_DFL)
os.execv(sys.executable, [sys.executable, *sys.argv[1:]])
"""
"""Has a program heed interrupts: what a shell starts in the background ignores them, as does all that this starts."""


@pytest.mark.ring("full")
@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGKILL])
def test_workers_end_with_a_program_that_is_stopped(tmp_path, stop):
    script = tmp_path / "train.py"
    script.write_text(INTERRUPTED.replace("return 6", "return 1000"))
    command = [sys.executable, "-c", HEEDING, "-m", "tapegrad", script]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    program = subprocess.Popen(command, start_new_session=True, **pipes)
    for _ in range(2):  # a batch of each worker: one that still starts says where it was interrupted
        assert program.stdout.readline() == "running\n"
    said = said_when_stopped(program, stop)
    assert program.returncode == -stop and ("KeyboardInterrupt" in said) == (stop is signal.SIGINT)
    lost = said.count("Exception ignored in: <function _xla_gc_callback")
    assert said.count("Traceback") == (stop is signal.SIGINT) + lost


def said_when_stopped(program, stop):
    """What a program has said when it and its workers, who hold the pipes too, have ended.

    Interrupted again, as people do, if that was for nothing: what meets a callback of the garbage collector is lost.
    """
    for timeout in (20, 40):
        if stop is signal.SIGINT:
            os.killpg(program.pid, stop)  # as a terminal does: workers get it, too
        else:
            program.kill()
        with contextlib.suppress(subprocess.TimeoutExpired):
            return program.communicate(timeout=timeout)[1]
    pytest.fail("it goes on")


@pytest.mark.ring("full")
def test_scripts_that_start_workers_when_they_are_imported(tmp_path):
    script = tmp_path / "bare.py"
    script.write_text(SCRIPT.replace('__name__ == "__main__"', "True"))
    done = subprocess.run([sys.executable, "-m", "tapegrad", script], capture_output=True, text=True, check=False)
    assert done.returncode == 1 and "must keep what it does under if __name__ == '__main__'" in done.stderr


EARLY = """
import os
import {lib} as torch

class Numbers(torch.utils.data.Dataset):
    def __len__(self):
        return 4

    def __getitem__(self, index):
        return torch.tensor([index, os.getppid() == int(os.environ["LOADER"])])

if __name__ == "__main__":
    os.environ["LOADER"] = str(os.getpid())
    for number in range(3):
        if number == 2:
            os.environ["LATE"] = "1"
        print([batch.tolist() for batch in torch.utils.data.DataLoader(Numbers(), batch_size=2, num_workers=1)])
"""


@pytest.mark.once("starts processes")
def test_workers_are_forked_from_a_server(tmp_path):
    """Until the environment is another one, which they would not have."""
    script = tmp_path / "early.py"
    script.write_text(EARLY.format(lib="tapegrad"))
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=True, timeout=300)
    forked, spawned = ([[[0, own], [1, own]], [[2, own], [3, own]]] for own in (0, 1))
    assert done.stdout.splitlines() == [str(forked), str(forked), str(spawned)]
