"""Datasets and functions of the tests of ``utils.data`` that workers import: on tapegrad alone, so that these workers
needn't import PyTorch."""

import os
import signal
import time

import numpy as np
from data_samples import Drawn, Stream

import tapegrad
from tapegrad.utils.data import segments

LARGE = 10_000
"""Numbers in a row that goes through shared memory."""


class OurDrawn(Drawn, tapegrad.utils.data.Dataset):
    torch = tapegrad


class OurStream(Stream, tapegrad.utils.data.IterableDataset):
    torch = tapegrad


class Rows:
    """Large rows of NumPy; some indices make trouble."""

    def __len__(self):
        return 1000

    def __getitem__(self, index):
        if index == 101:
            raise KeyError("no such row")
        if index == 102:
            os._exit(3)
        if index == 103:
            os.kill(os.getpid(), signal.SIGKILL)
        if index == 104:
            time.sleep(60)
        if index == 105:
            return Stubborn()
        return np.full(LARGE, index, np.float32)


class Stubborn:
    def __reduce__(self):
        raise ValueError("I stay here")


def as_it_is(batch):
    return batch


def where_it_lies(batch):
    """A batch, and how many segments this worker has made for it, and made again to send it."""
    made = tapegrad.utils.data.default_collate(batch)
    before = list(segments.made)
    _, sent = segments.packed(made)
    segments.made.extend(sent)
    return made, len(before), sent == before, os.environ["JAX_PLATFORMS"]


def fail_in_one(worker_id):
    if worker_id == 1:
        raise ValueError(f"not worker {worker_id}")
