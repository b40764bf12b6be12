"""``torch.backends.cuda``: see ``torch.backends``."""


class Matmul:
    """Switches of matrix products on a GPU."""

    allow_tf32 = True
    allow_fp16_reduced_precision_reduction = True
    allow_bf16_reduced_precision_reduction = True


matmul = Matmul()


def is_built() -> bool:
    """False: the package has no code for GPUs of its own. ``torch.cuda.is_available()`` says whether JAX has one."""
    return False
