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
    (
        r"cummin|cummax",
        "(log|grad): False for True|is_leaf: False for True",
        "the gradient of nothing requires grad in PyTorch",
    ),
    (
        r"as_strided",
        "raised NotImplementedError: as_strided.* inside a function transform",
        "a transform has not the memory around what it is given",
    ),
    (r"hardsigmoid|hardswish", "numbers", "PyTorch's tangent takes a sixth in float32"),
    (r"autograd\.grad", "requires_grad: False for True", "PyTorch may give the seed itself for a gradient"),
    (r"baddbmm", "batch1 must be a 3D|raised", "both refuse it, one for another reason"),
    (r"embedding", "must be #-D for IndexError", "both refuse it, one for another reason"),
    (r"float16|half\(", "complex32", "no function transform takes complex numbers of half precision here"),
    (
        r"dual|jvp|jacfwd|linearize|hessian",
        "grad: False for True|tensors does not require grad and does not have a grad_fn for nothing",
        "PyTorch adds zeros that depend on the primal",
    ),
    (r"vmap[^\n]*jac", "unsupported operation|view size", "what does not depend on the example is expanded here"),
    (
        r"linearize",
        "numbers|float|requires_grad|is_leaf|nothing for",
        "PyTorch takes the primals of linearize for constants, and gives what was in memory "
        "before inside other transforms; here its derivative has derivatives",
    ),
    (
        r"",
        "raised NotImplementedError.*Complex.* for RuntimeError: .*complex dtype",
        "both refuse it, one for another reason",
    ),
    (
        r"checkpoint|saved_tensors_hooks",
        "don't yet support saved tensor hooks",
        "here function transforms run under saved-tensor hooks",
    ),
    (
        r"multi_grad_hook[\s\S]*checkpoint|checkpoint[\s\S]*multi_grad_hook",
        "log: length",
        "in PyTorch a backward inside a backward changes how many gradients such a hook of the outer one waits for",
    ),
    (
        r"(?<!grad)_\([\s\S]*make_dual\((\w+), \1\)|\b(\w+)\.\w+_\(\2\b[\s\S]*(dual|jvp|jacfwd|hessian)",
        "numbers",
        "PyTorch's tangent of a write of a tensor to itself, or along itself, reads what was written",
    ),
    (
        r"inference_mode[\s\S]*make_dual",
        "dict for 'NoneType'",
        "functions of inference tensors alone lose tangents in PyTorch, without a word",
    ),
    (r"dual|jvp", "graph a second time", "PyTorch's tangent is a sum with zeros, whose node saves nothing"),
    (r"vmap[\s\S]*checkpoint|checkpoint[\s\S]*vmap", "nothing for .*escaped", "PyTorch's checkpoint lets examples out"),
    (r"", "INTERNAL ASSERT|MKL FFT error|unallocated storage", "PyTorch fails"),
    (r"(det|linalg\.solve)[\s\S]*(dual|jvp)", "numbers", "PyTorch's gradient of the tangent is wrong"),
    (
        r"as_strided",
        "setStorage",
        "results of losses have the memory of what was summed in PyTorch",
    ),
    (
        r"GRU|LSTM|RNN|RMSNorm|Linear|matmul|@",
        "grad_fn",
        "layers and products are one node here, which has the name of one of PyTorch's",
    ),
    (
        r"inplace=True|relu_|elu_",
        "not implemented for .* for RuntimeError: a (view of a )?leaf",
        "both refuse it, one for another reason",
    ),
    (r"cat\(|stack|hsplit", "log: None for ndarray", "PyTorch computes all gradients of a list, wanted or not"),
    (
        r"\.(double|to|type_as)\(|float64|float_power",
        "digits of float32",
        "numbers that were computed in float32 are rounded so, whatever they are cast to",
    ),
    (
        r"dual|jvp|jacfwd",
        "dtype: 'float#' for 'float#'",
        "PyTorch's tangent of a 0-dim tensor and a number is float64, and one of a dtype of its own may lose it",
    ),
    (r"0, 3\)[\s\S]*conv", "shape", "PyTorch gives what has no input channels no output channels"),
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
        r"median|\bmode\(|kthvalue|topk",
        "numbers: numbers|grad: numbers|log: numbers",
        "which of several equal elements is chosen is not defined",
    ),
    (
        r"scaled_dot_product_attention|rms_norm",
        "grad_fn|log: list",
        "the last node is another of several that PyTorch computes it by",
    ),
    (
        r"vmap|jac|hessian|is_grads_batched",
        "Batching rule not implemented|could not generate a fallback|do not yet support aten::rrelu",
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
        "stride|storage_offset",
        "PyTorch copies all of the memory behind a view, gaps too",
    ),
    (
        r"einsum|kron|inner|tensordot|multi_dot",
        "stride|grad_fn|requires_grad: True for False|graph a second time",
        "the order in which PyTorch contracts shows: its result may be a view of another node's",
    ),
    (
        r"autograd\.grad[\s\S]*checkpoint|checkpoint[\s\S]*autograd\.grad",
        "stride|view size|requires_grad: True for False",
        "a checkpoint and transforms are given gradients in row-major order, and give them so",
    ),
    (
        r"(stack|cat\(|@|matmul)[\s\S]*autograd\.grad",
        "stride|view size",
        "gradients of what was put together have no gaps here, those of products of batches lie in row-major order",
    ),
    (
        r"batch_norm[\s\S]*(dual|jvp)|(dual|jvp)[\s\S]*batch_norm",
        "numbers",
        "PyTorch's gradient of the tangent is wrong",
    ),
    (
        r"(unbind|split|chunk|no_grad|set_grad_enabled)[\s\S]*(checkpoint|vjp|func\.)",
        "is a view and its base or another view|A view was created in no_grad mode",
        "what is given to a checkpoint or a transform is looked at where it is given",
    ),
    (
        r"(softmax|norm|scatter_reduce)[\s\S]*(dual|jvp)",
        "raised nothing for .*modified by an inplace opera",
        "PyTorch writes itself to what nodes of a tangent (of softmax, norm, scatter_reduce) have saved",
    ),
    (r"linearize", "shape", "as above, and a program that branches on it"),
    (
        r"inference_mode[\s\S]*(transpose|swap\w+|\bt|squeeze)_\(",
        "shape",
        "PyTorch has turned a tensor by the time it refuses to",
    ),
    (
        r"inference_mode",
        "raised RuntimeError: (?!Inference).* for RuntimeError: Inference tensors cannot be saved",
        "both refuse it, one for another reason",
    ),
    (
        r"retain_grad\(\)[\s\S]*is_grads_batched",
        "escaped from inside",
        "what is retained of a batch of gradients escapes; PyTorch lets it where it is empty",
    ),
    (
        r"(fmod|remainder|%)[\s\S]*make_dual",
        "for 'torch::autograd::CopySlices",
        "PyTorch's tangent of a remainder is that of its input, and is written to with it",
    ),
    (
        r"make_dual[\s\S]*complex|\dj\b[\s\S]*make_dual",
        "dtype: 'complex#' for 'float#'",
        "PyTorch drops the imaginary part of a tangent of a real number by some functions",
    ),
    (
        r"jacfwd[\s\S]*\.apply\(",
        "must implement the jvp.* for RuntimeError: Nested forward mode",
        "both refuse it, one for another reason",
    ),
    (
        r"batch_norm",
        "raised NotImplementedError: .*batch_norm.* for RuntimeError: mean",
        "both refuse it, one for another reason",
    ),
    (
        r"embedding",
        "log: list for list.*RuntimeError.*IndexError",
        "both refuse a weight that is no matrix, one for another reason",
    ),
    (
        r"cumsum|cumprod|\bmode\(|kthvalue",
        "not implemented for '(Bool|Complex\\w+)' for nothing",
        "PyTorch does not look at the dtype of one number",
    ),
    (r"linearize", "length|modified by an inplace", "PyTorch takes the primals of linearize for constants"),
    (
        r"scaled_dot_product_attention|hardsigmoid",
        "raised nothing for .*derivative for aten::.* is not implemented",
        "derivatives that PyTorch lacks",
    ),
    (
        r"@|matmul|einsum|take_along_dim|block_diag",
        "log: list for list",
        "one node here, where PyTorch has several; the last has the same name",
    ),
    (
        r"(reduce[\s\S]*'prod'|reduce='multiply')[\s\S]*(dual|jvp|jacfwd|hessian)",
        "numbers",
        "PyTorch's tangent of a product that scatters is zero where a factor is",
    ),
    (r"ctc_loss", "Expected #-dimensional tensor", "both refuse it, and count dimensions otherwise"),
    (r"abs\(\)|sgn|sign", "ZeroTensors are immutable", "zeros that no node reaches have no memory in PyTorch"),
    (
        r"functionalize|vmap[\s\S]*index_(put|add)_",
        "single memory location.*expected no error",
        "inside functionalize PyTorch looks at no overlap, nor does it in a batched index_put_ or index_add_",
    ),
    (
        r"vmap[\s\S]*(squeeze|unsqueeze|t|transpose)_\(",
        "shape",
        "PyTorch squeezes the dimension of a vmap around it, too",
    ),
    (
        r"out=",
        "single memory location.*expected no error",
        "PyTorch's products read what they have written; they are refused here",
    ),
    (
        r"torch\.(matmul|addmm|outer|dot|sum|prod|mean|std|cum\w+|linalg\.\w+|sort|softmax|gather|take|index_select|diag"
        r"|tril)\([^\n]*\b(\w)\b[^\n]*out=\(?\2\b|torch\.\w+\([^\n]*\b(\w)\b[^\n]*out=\3(\[|\.)",
        "numbers|shape",
        "PyTorch's products, reductions and what it resizes read what they have written",
    ),
    (r"\b(\w)\.add\w+_\([^\n]*\b\1\b", "numbers", "PyTorch's products read what they have written"),
    (r"(\w)\.masked_scatter_\(.*\b\1\)|vmap[\s\S]*\.set_\(", "numbers", "PyTorch reads what it has written"),
    (r"autograd\.grad\([^\n]*\[(\w)\b[^\n]*\b\1\]", "log: (numbers|list)", "gradients of one tensor may share memory"),
    (
        r"same_memory",
        r"'h\d+', True\], expected \['h\d+', False\]",
        "a copy that nobody has written to begins where what it is of begins",
    ),
    (r"logsigmoid", r"expected '\? log_sigmoid'", "PyTorch's function has a name under which nobody finds it"),
    (
        r"^(?![\s\S]*float64)[\s\S]*LBFGS",
        "log: numbers|float",
        "differences of gradients cancel in float32, and are divided by",
    ),
    (r"scatter_reduce", "for RuntimeError: .*for outputs with complex", "both refuse it, one for another reason"),
    (
        r"make_dual",
        "single memory location.*expected no error",
        "gradients of sums are expanded here, and no tangent fits these",
    ),
    (r"symeig", "AttributeError.* for RuntimeError: This function was", "what PyTorch has removed is absent"),
    (r"vmap", r"mutate a captured Tensor[\s\S]*mutate a captured", "both refuse it, one by another operator's name"),
    (r"rand|normal", "version: int for int", "PyTorch counts a write that it then refuses"),
    (r"(eq|ne|lt|gt)\(.*out=", "'UserWarning'", "PyTorch casts a complex number to a real target by way of another"),
    (
        r"TransformerEncoderLayer|MultiheadAttention|Linear",
        "must have the same dtype|expected m1 and m2",
        "both refuse it, in other words",
    ),
    (
        r"relu6|leaky_relu|hardtanh|threshold|clamp|adaptive_max_pool",
        "nothing for RuntimeError: Trying to backward through the graph a second time",
        "nodes of derivatives that are constant save nothing here",
    ),
    (
        r"log_normal_|cauchy_|exponential_|geometric_",
        "(not implemented for '|continuous probability distribution).*expected no error",
        "PyTorch does not look at the dtype of no elements",
    ),
    (r"saved_tensors_hooks", "log: length|log: list", "PyTorch packs what it saves before it looks at shapes"),
    (
        r"(Watching|Tagged|[tT]abled)[\s\S]*(func\.(grad|vjp|jvp|jac|hessian|linearize)|autograd\.(grad\(|functional|"
        r"graph))",
        "log: (length|list|'\\w+' for|'Tensor)",
        "what PyTorch's transforms call in Python for themselves is handed to modes and classes",
    ),
    (r"Tagged|tabled", "_backward_hooks.__set__", "PyTorch clears the hooks of what is written in Python"),
    (r"functionalize|func\.vjp", "class: 'Ta.* for 'Tensor'", "PyTorch's transforms give plain tensors"),
    (r"linearize", "class: 'Tensor' for 'Parameter'", "a constant of what PyTorch has traced is a parameter of that"),
    (
        r"_foreach_\w+_\(",
        "grad_fn: '[A-Z][a-z]+Backward#' for",
        "functions of lists are the ordinary ones here, and their nodes are named so",
    ),
    (
        r"F\.linear|matmul|@|einsum",
        r"log: '(torch::autograd::)?\w+' for '(T|Permute)Backward#'",
        "layers and products are one node here",
    ),
    (
        r"func\.|autograd\.functional",
        "raised RuntimeError: (?!During).* for RuntimeError: During a grad.* transform",
        "both refuse it, one for another reason",
    ),
    (r"index_fill", "out of bounds for dimension # with size #", "PyTorch looks at no index of an empty dimension"),
    (r"", "'TypeError' for 'AttributeError'", "both refuse it; PyTorch's Python asks for attributes first"),
    (r"F\.(un)?fold", "im#col|col#im", "PyTorch names the function behind it"),
    (
        r"log\('asked'",
        r"log: False for True log\[\d+\]\[\d+\]: \[True, .*\], expected \[True,",
        "what a node hands on as it is is a tensor of its own for each who asks for it here",
    ),
    (
        r"(randint|multinomial|conj_physical|std)\([^\n]*out=",
        "log: (int for int|length)|shape: None for int",
        "PyTorch resizes what it then refuses to write to",
    ),
    (
        r"(bitwise_\w+|dot|median|norm|addmm|fft|softmax|amax)\([^\n]*out=",
        "raised \\w+: .* for RuntimeError: (result d?type|Expected (out tensor|tensor|the dtype)|"
        "fft expects|Found dtype)",
        "both refuse it, one for another reason",
    ),
    (
        r"(sum|prod|mean)\([^\n]*out=",
        "log: 'Casting complex values.* for 'An output",
        "of two warnings of one result PyTorch gives the other first",
    ),
    (r"unbind|split|chunk", "for RuntimeError: Output # of", "both refuse it, one for another reason"),
    (r"functionalize", "Can't detach views in-place", "inside functionalize nothing of PyTorch's is a view"),
    (
        r"vmap[\s\S]*(vmap|grad)|grad[\s\S]*vmap",
        r"calling .item\(\) on a Tensor.*for RuntimeError: vmap: It looks like you're either",
        "both refuse it, in other words",
    ),
    (r"norm\(.*nuc", "for RuntimeError: linalg.matrix_norm: The input", "both refuse it, one for another reason"),
    (r"same_memory", "^compiled: ", "gradients have no address while a step is compiled"),
    (r"xlog1?p?y", "gradient: numbers", "jax's derivative of x log(y) by x is 0 where x is"),
]


def left_out(program: str, found: Difference) -> str | None:
    """Why a difference is left, if it is a known one."""
    said = f"{found.key} {found.what}"
    return next((why for words, what, why in LEFT if re.search(words, program) and re.search(what, said)), None)
