"""Kernels that programs register for operators of aten: ``Library("aten", "IMPL")``, and the keys they are for."""

import gc
import threading

import pytest
from dispatching import dispatch_of
from harness import agree, attempt

pytestmark = [pytest.mark.parity, pytest.mark.once("kernels are called, or not"), pytest.mark.filterwarnings("ignore")]


def leaf(lib):
    return lib.tensor([1.0, 2.0], requires_grad=True)


def kernels(lib, *given):
    """A library with these kernels, and what they have been called for."""
    library, seen = lib.library.Library("aten", "IMPL"), []

    def counted(name, fn):
        return lambda *args, **kwargs: (seen.append(name), fn(*args, **kwargs))[1]

    for name, fn, key in given:
        library.impl(name, counted(f"{name} {key}", fn), key)
    return library, seen


def node(x):
    return type(x.grad_fn).__name__


def of_a_device(lib):
    x = leaf(lib)
    library, seen = kernels(lib, ("mul.Tensor", lambda x, y: lib.full_like(x, 7.0), "CPU"))
    y = x * x
    found = [y.detach(), node(y), lib.mul(x, 2.0).detach(), lib.ops.aten.mul(x, x).detach(), x.detach().clone().mul_(2)]
    y.sum().backward()
    found += [x.grad.tolist(), len(seen)]
    library._destroy()
    return [*found, (x * x).detach(), len(seen)]


def goes_with_its_library(lib):
    x = leaf(lib).detach()
    library, _ = kernels(lib, ("exp", lambda x: x.clone(), "CPU"))
    found = [x.exp()]
    del library
    gc.collect()
    return [*found, x.exp()]


def of_autograd(lib):
    x = leaf(lib)
    library, seen = kernels(lib, ("mul.Tensor", lambda x, y: x + y, "AutogradCPU"), ("sub.Tensor", lambda x, y: x + y,
                                                                                    "Autograd"))  # fmt: skip
    y, z = x * x, x - x
    found = [y.detach(), node(y), z.detach(), node(z), seen]
    library._destroy()
    return found


def of_compositions(lib):
    x = leaf(lib)
    library, seen = kernels(
        lib, ("silu", lambda x: x * 3, "CompositeImplicitAutograd"), ("relu", lambda x: x * 3, "CUDA"),
        ("einsum", lambda equation, tensors, path=None: tensors[0] * len(tensors), "CompositeImplicitAutograd"),
        ("linalg_det", lambda A: A.sum() * 5, "CompositeImplicitAutograd"),
    )  # fmt: skip
    found = [lib.nn.functional.silu(x), lib.relu(x), lib.einsum("i,i->", x, x), lib.linalg.det(lib.eye(2))]
    (grad,) = lib.autograd.grad(found[2].sum(), x)
    library._destroy()
    return [[one.detach() for one in found], grad, seen, lib.einsum("i,i->", x, x).detach()]


def one_over_another(lib):
    x = leaf(lib).detach()
    first, seen = kernels(lib, ("exp", lambda x: lib.zeros(2), "CPU"))
    second, _ = kernels(lib, ("exp", lambda x: lib.ones(2), "CPU"), ("sin", lambda x: x.exp(), "CPU"))
    found = [x.exp(), x.sin(), seen]
    second._destroy()
    found += [x.exp().tolist()]
    first._destroy()
    return [*found, x.exp()]


def beside_modes(lib):
    x, calls = leaf(lib).detach(), []

    class Mode(dispatch_of(lib).TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            calls.append(str(func))
            return func(*args, **(kwargs or {}))

    with Mode():
        library, seen = kernels(lib, ("exp", lambda x: x.sin(), "CPU"))
        found = [x.exp()]
    found += [x.exp(), calls, seen]
    library._destroy()
    with Mode():
        return [*found, x.exp()]


def in_other_threads(lib):
    library, _ = kernels(lib, ("exp", lambda x: x.clone(), "CPU"))
    found = []
    thread = threading.Thread(target=lambda: found.append(leaf(lib).detach().exp()))
    thread.start()
    thread.join()
    library._destroy()
    return found


def with_keys(lib):
    library, seen = lib.library.Library("aten", "IMPL", "CPU"), []
    library.impl("exp", lambda keys, x: (seen.append(str(keys)), x.clone())[1], with_keyset=True)
    found = leaf(lib).exp()
    library._destroy()
    return [found.detach(), node(found), seen]


def refused(lib):
    library = lib.library.Library("aten", "IMPL")
    cases = [
        lambda: library.impl("mul.Tensor", len, "Nokey"), lambda: library.impl("mul.Tensor", 3, "CPU"),
        lambda: library.impl("mul", lambda x, y: x, "CPU"), lambda: library.impl("no_such", lambda x: x, "CPU"),
        lambda: library.impl("mul.Tensor", lib.library.fallthrough_kernel, "CPU"),
    ]  # fmt: skip
    found = [attempt(case) for case in cases]
    return [*found, lib.ones(2) * 3]


def keys(lib):
    key, keys = lib._C.DispatchKey, lib._C.DispatchKeySet
    x, has = lib.ones(2), lib._C._dispatch_has_kernel_for_dispatch_key
    both = keys(key.CPU).add(key.AutogradCPU)
    with lib.inference_mode():
        inside = lib._C._dispatch_keys(lib.ones(2))
    cases = [
        lambda: has("aten::mul.Tensor", "CPU"), lambda: has("aten::mul.Tensor", "CompositeImplicitAutograd"),
        lambda: has("aten::einsum", "CompositeImplicitAutograd"), lambda: has("aten::einsum", "CPU"),
        lambda: has("aten::mul.Tensor", "CUDA"), lambda: has("aten::nope", "CPU"),
        lambda: has("aten::mul.Tensor", "No"), lambda: lib._C._dispatch_key_parse("No"),
    ]  # fmt: skip
    return [
        [str(key.CPU), repr(key.Meta), int(key.Autograd), key.CPU.name, len(key.__members__)],
        [str(both), both.has(key.CUDA), both.has(key.CPU), str(both.remove(key.CPU)), str(both & keys(key.CPU))],
        [str(both - keys(key.CPU)), str(both | keys(key.CPU)), both == keys(key.AutogradCPU).add(key.CPU)],
        [str(lib._C._dispatch_keys(one)) for one in (x, x.to("meta"), x.to_sparse(), x.view(1, 2).to_sparse_csr())],
        [str(inside), str(lib._C._dispatch_keys(x).highestPriorityTypeId()), lib._C._dispatch_key_name(key.CUDA)],
        [lib._C._dispatch_key_for_device("cuda"), str(lib._C._dispatch_key_parse("CPU"))],
        [lib._C._dispatch_is_included_in_alias(key.AutogradCPU, key.Autograd), [attempt(case) for case in cases]],
    ]


PROGRAMS = [of_a_device, goes_with_its_library, of_autograd, of_compositions, one_over_another, beside_modes,
            in_other_threads, with_keys, refused, keys]  # fmt: skip


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_program(program):
    agree(program)
