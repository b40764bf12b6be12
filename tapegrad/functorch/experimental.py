"""``functorch.experimental``. Nothing is defined here."""

from tapegrad._functorch.apis import chunk_vmap
from tapegrad._src.absent import refusing
from tapegrad.func import functionalize, hessian, jacfwd, jvp, replace_all_batch_norm_modules_

__getattr__ = refusing(__name__)
__all__ = ["chunk_vmap", "functionalize", "hessian", "jacfwd", "jvp", "replace_all_batch_norm_modules_"]
