"""``torch.distributed.fsdp._common_utils``: names of parameters."""

__all__ = ["clean_tensor_name"]

PREFIXES = ("_fsdp_wrapped_module.", "_checkpoint_wrapped_module.")


def clean_tensor_name(tensor_name: str) -> str:
    """The name of a parameter without those of modules that stand around others.

    Args:
        tensor_name: the name.

    >>> clean_tensor_name("layers.0._checkpoint_wrapped_module.weight")
    'layers.0.weight'
    """
    for prefix in PREFIXES:
        tensor_name = tensor_name.replace(prefix, "")
    return tensor_name
