"""What is known to differ and is left so, with the reason.

Each entry is a pattern that is looked for in the shrunk program, one that is looked for in what differs, and why.
"""

from __future__ import annotations

import re

from .comparing import Difference

LEFT: list[tuple[str, str, str]] = [
    (
        r"dual|jvp|jacfwd|hessian",
        "raised nothing for .*(unsupported operation: more than one|Nested forward mode)",
        "PyTorch can't hold tangents of expanded tensors, nor nest forward mode in a dual level",
    ),
    (r"cummin|cummax", "log: False for True", "the gradient of nothing requires grad in PyTorch"),
    (
        r"jvp|vjp|vmap|jac|hessian|func\.|functional\.",
        "raised nothing for RuntimeError: (view size|unsupported operation)",
        "inside a transform tensors are contiguous here",
    ),
    (r"hardsigmoid|hardswish", "numbers", "PyTorch's tangent takes a sixth in float32"),
    (r"autograd\.grad", "requires_grad: False for True", "PyTorch may give the seed itself for a gradient"),
    (r"baddbmm", "batch1 must be a 3D|raised", "both refuse it, one for another reason"),
    (r"float16|half\(", "complex32", "there are no complex numbers of half precision here"),
    (
        r"dual|jvp|jacfwd|linearize|hessian",
        "requires_grad: False for True",
        "PyTorch adds zeros that depend on the primal",
    ),
    (r"vmap[^\n]*jac", "unsupported operation|view size", "what does not depend on the example is expanded here"),
    (
        r"linearize",
        "numbers|requires_grad|nothing for",
        "PyTorch takes the primals of linearize for constants, and gives what was in memory "
        "before inside other transforms; here its derivative has derivatives",
    ),
    (
        r"_\([\s\S]*(dual|jvp|jacfwd|hessian)|(dual|jvp)[\s\S]*_\(",
        "numbers",
        "PyTorch's tangent of a write of a tensor to itself reads what was written",
    ),
    (
        r"",
        "raised NotImplementedError.*Complex.* for RuntimeError: .*complex dtype",
        "both refuse it, one for another reason",
    ),
    (r"dual|jvp", "is_leaf", "the tangent of an alias is the tangent itself in PyTorch"),
    (
        r"checkpoint|saved_tensors_hooks",
        "don't yet support saved tensor hooks",
        "here function transforms run under saved-tensor hooks",
    ),
    (
        r"functionalize",
        "raised nothing for|numbers",
        "inside functionalize PyTorch has no tape, and forgets that of clamp_; here it is the function itself",
    ),
    (
        r"",
        "raised nothing for .*does not support automatic differentiation for outputs with complex",
        "derivatives that PyTorch lacks",
    ),
    (
        r"median|mode|kthvalue|topk",
        "grad: numbers|log: numbers",
        "which of several equal elements is chosen is not defined",
    ),
    (
        r"scaled_dot_product_attention|rms_norm",
        "grad_fn",
        "the last node is another of several that PyTorch computes it by",
    ),
    (
        r"vmap|jac|hessian",
        "Batching rule not implemented|could not generate a fallback",
        "PyTorch has no batching rule; every operator has one here",
    ),
    (r"logsigmoid", "log: length", "PyTorch's kernel for the CPU saves a buffer of its own"),
    (
        r"\b0, 3|\[1:\]|det|linalg",
        "not implemented for '(Half|BFloat.*|Bool)'",
        "PyTorch does not look at the dtype of an empty matrix",
    ),
    (
        r"diagonal_scatter|select_scatter|slice_scatter",
        "storage_offset",
        "PyTorch copies all of the memory behind a view",
    ),
    (r"einsum|kron|inner|tensordot|multi_dot", "stride|grad_fn", "the order in which PyTorch contracts shows"),
]


def left_out(program: str, found: Difference) -> str | None:
    """Why a difference is left, if it is a known one."""
    said = f"{found.key} {found.what}"
    return next((why for words, what, why in LEFT if re.search(words, program) and re.search(what, said)), None)
