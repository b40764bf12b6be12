"""Names that few programs use: the order of dimensions in memory, the old classes of storages, what exports ask."""

import warnings

import pytest
import torch
from harness import attempt

import tapegrad

pytestmark = [pytest.mark.parity, pytest.mark.once("next to nothing is computed")]

LAID_OUT = [
    lambda lib: lib.ones(()),
    lambda lib: lib.ones(2, 3, 4).permute(2, 0, 1),
    lambda lib: lib.ones(2, 1, 3).expand(2, 4, 3),
    lambda lib: lib.ones(1, 3, 1, 5),
    lambda lib: lib.ones(2, 3, 4, 5).contiguous(memory_format=lib.channels_last),
    lambda lib: lib.ones(2, 3, 1, 1).contiguous(memory_format=lib.channels_last),
    lambda lib: lib.ones(4, 1, 4).transpose(0, 2),
    lambda lib: lib.ones(20).as_strided((2, 3, 2), (1, 1, 1)),
]


@pytest.mark.parametrize("number", range(len(LAID_OUT)))
def test_order_of_dimensions(number):
    def said(lib):
        x = LAID_OUT[number](lib)
        checks = False, True, "x", [3], [lib.contiguous_format], [lib.contiguous_format, lib.channels_last]
        return [attempt(lambda check=check: x.dim_order(ambiguity_check=check)) for check in checks]

    assert said(tapegrad) == said(torch)


def test_old_classes_of_storages():
    def said(lib):
        shown = lib.ones(2).storage()
        return [
            lib.FloatStorage([1, 2, 3]).tolist(),
            len(lib.LongStorage(4)),
            lib.DoubleStorage(wrap_storage=lib.ones(2, dtype=lib.float64).untyped_storage()).tolist(),
            [isinstance(shown, kind) for kind in (lib.FloatStorage, lib.DoubleStorage, lib.TypedStorage)],
            attempt(lambda: lib.FloatStorage(1, 2)),
            attempt(lambda: lib.FloatStorage({})),
        ]

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert said(tapegrad) == said(torch)


def test_what_is_asked_of_exports_and_graphs():
    def said(lib):
        return lib.onnx.is_in_onnx_export(), attempt(lib.cuda.CUDAGraph), lib.distributed.ReduceOp.RedOpType is not None

    assert said(tapegrad) == said(torch)
    with pytest.raises(NotImplementedError, match="fully_shard"):
        tapegrad.distributed.fsdp.FullyShardedDataParallel(tapegrad.nn.Linear(1, 1))
