"""Datasets of the tests of ``utils.data`` on PyTorch: its workers needn't import tapegrad and jax."""

import torch as pytorch
from data_samples import Drawn, Stream


class TheirDrawn(Drawn, pytorch.utils.data.Dataset):
    torch = pytorch


class TheirStream(Stream, pytorch.utils.data.IterableDataset):
    torch = pytorch
