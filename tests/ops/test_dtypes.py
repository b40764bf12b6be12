"""Dtypes, promotion, devices and printing by themselves, without PyTorch."""

import copy
import pickle
import threading

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tapegrad._src.execution.data import devices, dtypes, promotion
from tapegrad._src.tensor import printing


@pytest.mark.parametrize("d", dtypes.ALL_DTYPES, ids=str)
def test_dtypes_are_singletons(d):
    assert pickle.loads(pickle.dumps(d)) is d
    assert copy.deepcopy(d) is copy.copy(d) is d
    assert getattr(dtypes, d.name) is d
    assert dtypes.as_dtype(d) is d
    assert d.numpy.itemsize == d.itemsize


@pytest.mark.parametrize("d", [d for d in dtypes.ALL_DTYPES if d is not dtypes.complex32], ids=str)
def test_jax_knows_every_dtype_but_complex32(d):
    with jax.enable_x64(d.is_64bit):
        assert dtypes.from_numpy(jnp.zeros(2, d.numpy).dtype) is d


@pytest.mark.parametrize("python_type", [bool, int, float, complex])
def test_numpy_and_python_types_are_read_as_dtypes(python_type):
    assert dtypes.as_dtype(python_type).numpy == np.dtype(python_type)
    assert dtypes.as_dtype(np.int16) is dtypes.short
    assert dtypes.as_dtype(jnp.bfloat16) is dtypes.bfloat16


@pytest.mark.parametrize("x", [None, "float32", 3])
def test_other_things_are_not(x):
    with pytest.raises(TypeError, match=r"expected a torch\.dtype or a numpy\.dtype, got"):
        dtypes.as_dtype(x)


def test_a_change_of_the_default_dtype_is_announced(monkeypatch):
    seen = []

    def announce():
        seen.append(dtypes.get_default_dtype())

    forget = dtypes.default_dtype_listener.content
    monkeypatch.setattr(dtypes.default_dtype_listener, "content", lambda: (forget(), announce()))
    for d in (dtypes.float32, dtypes.float64, dtypes.float64, dtypes.float32):
        dtypes.set_default_dtype(d)
    assert seen == [dtypes.float64, dtypes.float32]


def test_promotion_is_commutative_and_associative_where_it_is_defined():
    defined = [d for d in dtypes.ALL_DTYPES if "float8" not in d.name and d.name not in ("uint16", "uint32", "uint64")]
    meet = promotion.promote_types
    for a in defined:
        for b in defined:
            assert meet(a, b) is meet(b, a)
            assert promotion.can_cast(a, meet(a, b))
            assert meet(a, meet(a, b)) is meet(a, b)


def test_result_dtype_needs_an_operand():
    with pytest.raises(ValueError, match="at least one operand"):
        promotion.result_dtype([])


def test_scalars_of_derived_types_count_as_their_base():
    assert promotion.inferred_dtype(np.float64) is dtypes.float32
    assert promotion.result_dtype([(dtypes.uint8, 1), np.float64]) is dtypes.float32


@pytest.mark.parametrize("string", ["cpu", "cpu:0", "cuda", "cuda:3", "tpu:1"])
def test_devices_are_singletons(string):
    d = devices.device(string)
    assert d is devices.device(string) is devices.device(d) is pickle.loads(pickle.dumps(d)) is copy.deepcopy(d)
    assert str(d) == string
    assert d != string


def test_devices_do_not_change():
    with pytest.raises(AttributeError, match="attribute 'type' of 'torch.device' objects is not writable"):
        devices.device("cpu").type = "cuda"


def test_devices_of_jax():
    for k, cpu in enumerate(jax.devices("cpu")):
        assert devices.jax_device(devices.device("cpu", k)) is cpu
        assert devices.from_jax(cpu) is devices.device("cpu", k or None)
    assert devices.jax_device(devices.device("cpu")) is jax.devices("cpu")[0]


def test_devices_that_jax_lacks():
    with pytest.raises(RuntimeError, match="tensors cannot lie on device 'meta'.*cpu, cuda, tpu"):
        devices.jax_device(devices.device("meta"))
    with pytest.raises(RuntimeError, match="invalid device ordinal 1000"):
        devices.jax_device(devices.device("cpu:1000"))
    if jax.default_backend() == "cpu":
        with pytest.raises(AssertionError, match="Torch not compiled with CUDA enabled"):
            devices.jax_device(devices.device("cuda"))


def test_the_default_device_belongs_to_a_thread_and_is_restored():
    seen = []
    with pytest.raises(KeyError), devices.device("cuda"):
        assert devices.get_default_device() is devices.device("cuda:0")
        thread = threading.Thread(target=lambda: seen.append(devices.get_default_device()))
        thread.start()
        thread.join()
        raise KeyError
    assert seen == [devices.device("cpu")] == [devices.get_default_device()]


def test_print_options_are_restored():
    with pytest.raises(KeyError), printing.printoptions(precision=2):
        assert printing.tensor_str(np.float32(1.234), dtype=dtypes.float32) == "tensor(1.23)"
        raise KeyError
    assert printing.tensor_str(np.float32(1.234), dtype=dtypes.float32) == "tensor(1.2340)"


def test_gpu_is_another_name_of_cuda():
    assert devices.device("gpu") is devices.device("cuda")
    assert devices.device("gpu:1") is devices.device("cuda", 1)
