"""``python -m tests.libraries --names`` counts the names that libraries import from PyTorch and tapegrad has.

The names stand in ``imported_names.txt``, each with the number of libraries that use it: what their sources import from
``torch``, and the attributes ``torch.a.b`` that they read, as far as PyTorch 2.13 has them. Those that were asked for
one by one (``ASKED``) are among them, with 0 if no library here uses them. ``--count-names`` fetches the libraries of
``COUNTED`` and writes that file again, which takes PyTorch.
"""

from __future__ import annotations

import ast
import importlib
import subprocess
import sys
import types
import zipfile
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

COUNTED = """
accelerate==1.15.0 adapters==1.3.0 botorch==0.18.1 captum==0.9.0 composer==0.32.1 compressed_tensors==0.20.1
curvlinops_for_pytorch==3.0.1 denoising_diffusion_pytorch==2.3.4 diffusers==0.42.1 e3nn==0.6.0 einops==0.8.2
ema_pytorch==0.8.3 entmax==1.3 fastai==2.8.12 flair==0.15.1 geoopt==0.5.1 gpytorch==1.15.2
julius==0.2.8 kornia==0.9.0 laplace_torch==0.3 lightly==1.6.0 lightning==2.6.6 linear_operator==0.6.1 litgpt==0.5.13
lpips==0.1.4 monai==1.6.1 nnsight==0.8.1 opacus==1.6.0 open_clip_torch==3.3.0 optimum==2.3.0 peft==0.21.2
pyro_ppl==1.9.2 pytorch_forecasting==1.8.0 pytorch_ignite==0.5.5 pytorch_metric_learning==2.9.0
pytorch_optimizer==4.1.0 sbi==0.27.0 schnetpack==2.1.1 segmentation_models_pytorch==0.6.0 sentence_transformers==6.2.0
skorch==1.4.0 speechbrain==1.1.2 spikingjelly==2.0.0 stable_baselines3==2.9.2 tensordict==0.15.3 tensorly==0.10.0
tianshou==2.0.1 timm==1.0.31 torch_geometric==2.8.1 torchcde==0.2.5 torchdiffeq==0.2.5
torcheval==0.0.7 torchinfo==1.8.0 torchio==1.2.1 torchkbnufft==1.5.2 torchmetrics==1.9.0 torchopt==0.7.3
torchrl==0.14.1 torchsde==0.2.6 torchtune==0.6.1 transformer_lens==4.3.0 transformers==5.24.0 trl==1.16.0
ultralytics==8.4.190 vector_quantize_pytorch==1.32.0 x_transformers==2.31.10 zuko==1.6.0
"""
"""The libraries whose sources are read: wheels in Python that depend on PyTorch, or compute with it if it is there."""

ASKED = """
torch._dynamo.optimize torch._dynamo.config torch._dynamo.allow_in_graph torch._dynamo.disable
torch._dynamo.eval_frame.OptimizedModule torch._inductor.config torch._functorch.apis
torch._functorch.eager_transforms torch._functorch.make_functional torch._functorch.vmap torch._functorch.config
torch._tensor.Tensor torch._VF torch._refs torch._prims_common torch._decomp.get_decompositions
torch._decomp.decomposition_table torch._utils._flatten_dense_tensors torch._utils._unflatten_dense_tensors
torch._utils._take_tensors torch._jit_internal.boolean_dispatch torch._jit_internal.Final torch._jit_internal.Future
torch.nn.modules.activation.MultiheadAttention torch.nn.modules.transformer._get_clones
torch.nn.modules.module._addindent torch.nn.functional.has_torch_function torch.nn.functional._get_softmax_dim
torch.nn.functional._verify_batch_size torch.optim.sgd.sgd torch.optim.sgd.SGD torch.optim.adamw.adamw
torch.optim.adamw.AdamW torch.optim._functional.sgd torch.optim._functional.adam
torch.optim.optimizer._use_grad_for_differentiable torch.optim.optimizer._get_value
torch.utils.benchmark torch.utils.weak torch.utils.collect_env
torch.utils.model_zoo.load_url torch.jit.annotations torch.return_types torch.cuda.nvtx torch.cuda.comm
torch.cuda.Stream torch.cuda.Event torch.cuda.amp.grad_scaler.GradScaler torch.distributed.fsdp.MixedPrecision
torch.distributed.fsdp.ShardingStrategy torch.distributed.fsdp.wrap torch.distributed.launch
torch.distributed.elastic.multiprocessing.errors.record torch.testing._internal.common_utils.TestCase
"""
"""Names that are to be there, whether or not one of these libraries uses them."""

HEAD = """\
# Names that libraries import from PyTorch 2.13, with the number of those libraries: see names.py, which writes this.
"""

PLACE = Path(__file__).resolve().parent / "imported_names.txt"


def dotted(node: ast.AST) -> str | None:
    """The text of an attribute of an attribute … of a name, None for anything else."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return ".".join((node.id, *reversed(parts))) if isinstance(node, ast.Name) else None


def is_torchs(module: str | None) -> bool:
    """Tell whether a module's name is that of PyTorch, or of a part of it."""
    return module is not None and (module == "torch" or module.startswith("torch."))


def bound_by(node: ast.AST) -> Iterator[tuple[str, str]]:
    """What an import binds of PyTorch: the name, and the full name of the object."""
    if isinstance(node, ast.Import):
        for alias in node.names:
            if is_torchs(alias.name):
                yield (alias.asname, alias.name) if alias.asname else ("torch", "torch")
    elif isinstance(node, ast.ImportFrom) and not node.level and is_torchs(node.module):
        for alias in node.names:
            if alias.name != "*":
                yield alias.asname or alias.name, f"{node.module}.{alias.name}"


def names_in(source: str) -> set[str]:
    """PyTorch's names in a source: what is imported, and what is read of that.

    >>> sorted(names_in("import torch.nn as nn\\nfrom torch.optim import SGD\\nnn.Linear(2, 2).weight"))
    ['torch.nn', 'torch.nn.Linear', 'torch.optim.SGD']
    """
    nodes = list(ast.walk(ast.parse(source)))
    bound = {name: full for node in nodes for name, full in bound_by(node)}
    found = {*bound.values()}
    for node in nodes:
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names if is_torchs(alias.name))
        elif isinstance(node, ast.Attribute) and (text := dotted(node)):
            first, _, rest = text.partition(".")
            if first in bound:
                found.add(f"{bound[first]}.{rest}")
    return found


MISSING = object()


def part_of(owner: Any, name: str) -> Any:
    """An attribute of a module or class, or a module in it that is imported now; ``MISSING`` if there is none."""
    try:
        return getattr(owner, name)
    except (AttributeError, RuntimeError):  # the second: a class of C++ that nobody has registered
        pass
    if not isinstance(owner, types.ModuleType):
        return MISSING
    try:
        return importlib.import_module(f"{owner.__name__}.{name}")
    except ImportError:
        return MISSING


def has_parts(value: Any) -> bool:
    """Tell whether the attributes of something are names of the library: of a module or class they are."""
    return isinstance(value, (types.ModuleType, type)) or type(value).__name__ in ("_Ops", "_OpNamespace")


OTHERS = ["torch.ops", "torch.classes"]
"""Where PyTorch has names of other libraries, too: any that one asks for."""


def known_part(library: types.ModuleType, full: str) -> str | None:
    """As much of a full name as names something that PyTorch has; None if it lacks a part of it."""
    owner, known = library, "torch"
    for name in full.split(".")[1:]:
        if not has_parts(owner) or name.startswith("__"):
            break
        owner = part_of(owner, name)
        if owner is MISSING or (known in OTHERS and name not in ("aten", "prim", "prims", "higher_order")):
            return None
        known += f".{name}"
    return known


def read() -> dict[str, int]:
    """The names, each with the number of libraries that use it."""
    rows = [line.split() for line in PLACE.read_text().splitlines() if line and not line.startswith("#")]
    return {name: int(count) for count, name in rows}


def value_of(library: types.ModuleType, full: str) -> Any:
    """What a full name names; ``MISSING`` if there is nothing of that name."""
    owner: Any = library
    for name in full.split(".")[1:]:
        owner = part_of(owner, name)
    return owner


def missing(library: types.ModuleType, names: Iterable[str]) -> list[str]:
    """Those of the names that a library has not."""
    return [name for name in names if value_of(library, name) is MISSING]


def report() -> int:
    """Print how many of the names tapegrad has, which it has not, and which are refused when they are called."""
    import tapegrad
    from tapegrad._src.absent import is_stand_in

    names = read()
    lacking = missing(tapegrad, names)
    present = {name: count for name, count in names.items() if name not in lacking}
    refused = [name for name in present if is_stand_in(value_of(tapegrad, name))]
    uses, used = sum(names.values()), sum(present.values())
    share, libraries = len(present) / len(names), len(COUNTED.split())
    print(f"{len(present):,} of {len(names):,} names that {libraries} libraries import ({share:.1%});")
    print(f"{used:,} of {uses:,} uses, each library's of a name counted once ({used / uses:.1%})")
    print(f"{len(refused)} of those that are there are refused when they are called: {', '.join(refused)}")
    print("missing:", *(f"{names[name]:4} {name}" for name in lacking), sep="\n")
    return 0


def fetched(name: str, folder: Path) -> Path:
    """The wheel of a library, fetched if it isn't there."""
    place = folder / "wheels" / name
    if not place.exists():
        pip = [sys.executable, "-m", "pip", "download", "-qq", "--no-deps", "--only-binary", ":all:", "-d"]
        subprocess.run([*pip, str(place), name], check=True)
    return next(place.glob("*.whl"))


def sources(wheel: Path) -> Iterator[str]:
    """The sources in a wheel that speak of PyTorch."""
    with zipfile.ZipFile(wheel) as archive:
        for name in archive.namelist():
            if name.endswith(".py"):
                text = archive.read(name).decode(errors="replace")
                if "torch" in text:
                    yield text


def used_by(wheel: Path) -> set[str]:
    """PyTorch's names in all sources of a wheel that this Python can read."""
    found: set[str] = set()
    for text in sources(wheel):
        try:
            found |= names_in(text)
        except SyntaxError:
            continue
    return found


def count(folder: Path) -> None:
    """Fetch the libraries, count what they import, and write the list again."""
    torch = importlib.import_module("torch")
    users: Counter[str] = Counter()
    users.update(dict.fromkeys(ASKED.split(), 0))
    for name in COUNTED.split():
        known = {known_part(torch, full) for full in used_by(fetched(name, folder))}
        users.update(full for full in known if full)
    rows = sorted(users.items(), key=lambda row: (-row[1], row[0]))
    PLACE.write_text(HEAD + "".join(f"{count} {name}\n" for name, count in rows))
