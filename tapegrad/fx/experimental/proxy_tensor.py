"""``torch.fx.experimental.proxy_tensor``: operators are not traced into graphs; a program's own calls are."""

from tapegrad._src.absent import refused

__all__ = ["get_innermost_proxy_mode", "get_proxy_mode", "make_fx"]

make_fx = refused(
    "torch.fx.experimental.proxy_tensor.make_fx",
    "torch.fx.symbolic_trace traces a program's calls, and jax.make_jaxpr(torch.interop.to_jax(f)) shows what is "
    "computed",
)


def get_proxy_mode() -> None:
    """None: nobody traces operators.

    >>> get_proxy_mode() is None
    True
    """
    return


get_innermost_proxy_mode = get_proxy_mode
