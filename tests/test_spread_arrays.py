"""Arrays of jax that are spread over several devices: inside jit they are as any other, outside no tensor shows one."""

import os
import subprocess
import sys

import pytest

SCRIPT = """
import jax, jax.numpy as jnp, numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec
import tapegrad as torch
from tapegrad.interop import from_jax, from_jax_array, to_arrays, to_jax, to_tensors

mesh = Mesh(np.array(jax.devices()), ("x",))
split, copied = (NamedSharding(mesh, PartitionSpec(*axes)) for axes in (("x",), ()))
array = jax.device_put(jnp.arange(16.0), split)

def refused(call):
    try:
        return call()
    except RuntimeError as error:
        assert str(error).startswith("a tensor can't show an array that is spread over devices: expected one device, "
                                     "got 8, by NamedSharding("), error
        assert str(error).endswith("or gather it first, with jax.device_put(array, device)"), error
        return "refused"

def gradient(x, w):
    x, w = from_jax_array(x), from_jax_array(w).requires_grad_()
    (x * w * torch.tensor(2.0)).sum().backward()
    return to_arrays(w.grad)

print("in", refused(lambda: from_jax_array(array)), refused(lambda: from_jax_array(jax.device_put(array, copied))))
print("trees", refused(lambda: to_tensors({"a": array})), refused(lambda: torch.ones(16) + from_jax_array(array)))
product, sine = from_jax(jnp.multiply), to_jax(torch.sin)
print("functions", refused(lambda: product(torch.ones(16), array)), refused(lambda: sine(array)))
print("out", refused(lambda: jax.jit(lambda x: from_jax_array(x) * 2)(array)))
found = jax.jit(gradient)(array, jax.device_put(jnp.ones(16), split))
assert found.sharding == split and (found == 2 * array).all()
found = jax.jit(jax.grad(to_jax(lambda x: (x * x).sum())))(array)
assert found.sharding == split and (found == 2 * array).all()
one = from_jax_array(jax.device_put(array, jax.devices()[3]))
print("gathered", one.device, (one * torch.tensor(2.0)).sum().item(), from_jax_array(jnp.ones(2)).device)
"""


@pytest.mark.once("tensors are not computed with, but refused")
def test_tensors_lie_on_one_device():
    here = os.path.dirname(__file__)
    flags = {"XLA_FLAGS": "--xla_force_host_platform_device_count=8", "JAX_PLATFORMS": "cpu"}
    path = os.pathsep.join([os.path.dirname(here), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run([sys.executable, "-c", SCRIPT], env={**os.environ, **flags, "PYTHONPATH": path},
                          capture_output=True, text=True, timeout=120, check=False)  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == [
        "in refused refused", "trees refused refused", "functions refused refused", "out refused",
        "gathered cpu:3 240.0 cpu",
    ]  # fmt: skip
