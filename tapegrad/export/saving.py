"""``torch.export.save`` and ``load``: programs in files, which jax alone can run.

Note [Files of programs]
A file is a ZIP archive. ``program.jax`` is what ``jax.export`` writes of the program: StableHLO, and its gradient if
that was asked for. ``program.json`` lists the arguments of the program, in their order: each has a name, and either the
name of a file in the archive, with its elements as they lie in memory (row by row, little-endian), or a place in what
the user gives; shapes and dtypes the program knows itself. The same page says what else is known: results, structures,
bounds of lengths. Nothing in a file is executed when it is read, but what XLA compiles. So a process that has jax, and
the flatbuffers by which ``jax.export`` reads, runs it; ``docs/export.md`` has the lines.
"""

from __future__ import annotations

import json
import os
import zipfile
from collections.abc import Callable
from dataclasses import astuple
from importlib.util import find_spec
from typing import Any

import jax
import numpy as np
from jax import export

from tapegrad._src.execution.data import dtypes
from tapegrad._src.tensor.tensor import Tensor
from tapegrad._src.tensor.trees import flatten
from tapegrad.export.calling import Expected, ExpectedTensor, ExpectedValue, Symbol, ValueRanges
from tapegrad.export.dimensions import int_oo
from tapegrad.export.exported_program import ExportedProgram, ModuleCallEntry, ModuleCallSignature
from tapegrad.export.graph_signature import (
    ConstantArgument,
    ExportGraphSignature,
    InputKind,
    InputSpec,
    OutputKind,
    OutputSpec,
    SymIntArgument,
    TensorArgument,
    TokenArgument,
)
from tapegrad.export.structures import from_json, to_json
from tapegrad.interop.arrays import from_jax_array, to_arrays
from tapegrad.nn import Parameter

VERSION = 1
PROGRAM, PAGE = "program.jax", "program.json"
ARGUMENTS: dict[str, type] = {
    cls.__name__: cls for cls in (TensorArgument, SymIntArgument, TokenArgument, ConstantArgument)
}  # fmt: skip


def save(
    ep: ExportedProgram, f: Any, *, extra_files: dict[str, Any] | None = None, opset_version: Any = None,
    pickle_protocol: int = 2, vjp_order: int = 0,
) -> None:  # fmt: skip
    """Write a program to a file. See Note [Files of programs].

    Args:
        ep: the program.
        f: the name of a file, or a file that is open for writing bytes.
        extra_files: texts or bytes by name, which are put in, too.
        opset_version, pickle_protocol: accepted; nothing is pickled.
        vjp_order: how often what is loaded can be differentiated: 0, not at all, or 1, or more.

    Raises:
        TypeError: no program.
        ModuleNotFoundError: ``flatbuffers`` is not installed, by which jax writes programs.
        NotImplementedError: arguments or results are in containers that have no name in files.

    >>> import io
    >>> ep = torch.export.export(torch.nn.ReLU(), (torch.ones(2),))
    >>> file = io.BytesIO()
    >>> torch.export.save(ep, file)
    >>> torch.export.load(file).module()(torch.tensor([-1.0, 2.0]))
    tensor([0., 2.])
    """
    if not isinstance(ep, ExportedProgram):
        raise TypeError(
            f"The 'ep' parameter must be an instance of 'ExportedProgram', got '{type(ep).__name__}' instead."
        )
    require_flatbuffers()
    files: dict[str, Any] = {}
    page = {**page_of(ep, files), **example_of(ep, files), "vjp_order": vjp_order}
    with jax.enable_x64(True):
        files[PROGRAM] = bytes(ep.exported.serialize(vjp_order=vjp_order))
    files |= {f"extra/{name}": content for name, content in (extra_files or {}).items()}
    with zipfile.ZipFile(f, "w") as archive:
        archive.writestr(PAGE, json.dumps(page, indent=1))
        for name, content in files.items():
            archive.writestr(name, content)


def require_flatbuffers() -> None:
    """Say what is missing where jax can't read and write programs. Raises ModuleNotFoundError: it says what to do."""
    if find_spec("flatbuffers") is None:
        raise ModuleNotFoundError(
            "jax.export reads and writes programs by flatbuffers, which is not installed; pip install "
            "'tapegrad[export]', or pip install flatbuffers"
        )


def page_of(ep: ExportedProgram, files: dict[str, Any]) -> dict[str, Any]:
    """All that is known of a program, as JSON; elements of tensors go to ``files``."""
    signature, first = ep.graph_signature, ep.module_call_graph[0].signature
    assert first is not None
    seen: dict[int, str] = {}
    inputs = []
    for spec in signature.input_specs:
        said = written(spec)
        if spec.target is not None:
            tensor, kept = ep.tensor_of(spec), spec.kind == InputKind.CONSTANT_TENSOR
            where = seen.setdefault(id(tensor), f"{'constants' if kept else 'weights'}/{spec.target}")
            files.setdefault(where, elements(tensor))
            said |= {"file": where, "requires_grad": tensor.requires_grad, "persistent": spec.persistent}
        inputs.append(said)
    return {
        "version": VERSION, "inputs": inputs, "outputs": [written(spec) for spec in signature.output_specs],
        "in_spec": to_json(first.in_spec), "out_spec": to_json(first.out_spec), "names": first.forward_arg_names,
        "modules": [entry.fqn for entry in ep.module_call_graph[1:]],
        "sources": ep.sources, "expected": [expectation(one) for one in ep.expected],
        "ranges": {name: [None if bound == int_oo else bound for bound in astuple(bounds)]
                   for name, bounds in ep.range_constraints.items()},
    }  # fmt: skip


def written(spec: InputSpec | OutputSpec) -> dict[str, Any]:
    """An input or an output as JSON."""
    said = {"name": spec.arg.name, "kind": spec.kind.name, "argument": type(spec.arg).__name__, "target": spec.target}
    return said | ({"value": plain(spec.arg.value)} if isinstance(spec.arg, ConstantArgument) else {})


def expectation(one: Expected) -> dict[str, Any]:
    """The checks of an argument, as JSON."""
    if isinstance(one, ExpectedTensor):
        return {"name": one.name, "shape": one.shape, "dtype": one.dtype.name}
    return {"name": one.name, "value": plain(one.value)}


def plain(value: Any) -> Any:
    """A constant as JSON can say it."""
    return {"real": value.real, "imag": value.imag} if isinstance(value, complex) else value


def constant(said: Any) -> Any:
    """The constant that JSON says."""
    return complex(said["real"], said["imag"]) if isinstance(said, dict) else said


def elements(tensor: Tensor) -> bytes:
    """The elements of a tensor, row by row, little-endian."""
    array = np.ascontiguousarray(to_arrays(tensor))
    return array.astype(array.dtype.newbyteorder("<"), copy=False).tobytes()


def example_of(ep: ExportedProgram, files: dict[str, Any]) -> dict[str, Any]:
    """The example of the arguments, as JSON."""
    if ep.example_inputs is None:
        return {"example": None}
    leaves = flatten(ep.example_inputs)[0]
    said: list[Any] = []
    for number, leaf in enumerate(leaves):
        if isinstance(leaf, Tensor):
            files[f"example/{number}"] = elements(leaf)
            said.append({"file": f"example/{number}", "shape": list(leaf.shape), "dtype": leaf.dtype.name})
        else:
            said.append({"value": plain(leaf)})
    return {"example": said}


# -- reading -----------------------------------------------------------------------------------------------------------


def load(f: Any, *, extra_files: dict[str, Any] | None = None, expected_opset_version: Any = None) -> ExportedProgram:
    """The program that ``save`` wrote to a file.

    Args:
        f: the name of a file, or a file that is open for reading bytes.
        extra_files: a dict to which the texts are added that were put in.
        expected_opset_version: accepted.

    Raises:
        FileNotFoundError, zipfile.BadZipFile: no file, or no archive.
        RuntimeError: an archive that ``save`` didn't write, or one of a newer version.
        ModuleNotFoundError: ``flatbuffers`` is not installed, by which jax reads programs.
    """
    require_flatbuffers()
    with zipfile.ZipFile(f if hasattr(f, "read") else os.fspath(f)) as archive:
        names = set(archive.namelist())
        if not {PROGRAM, PAGE} <= names:
            raise RuntimeError(
                "this file was not written by torch.export.save of tapegrad: programs of PyTorch are made of its own "
                "operators; export the module here, with the weights that torch.load reads"
            )
        page = json.loads(archive.read(PAGE))
        if page["version"] > VERSION:
            raise RuntimeError(f"this file was written by a newer version: its format is {page['version']}")
        for name in names if extra_files is not None else ():
            if name.startswith("extra/"):
                extra_files[name.removeprefix("extra/")] = archive.read(name).decode()  # type: ignore[index]
        with jax.enable_x64(True):
            return read(page, export.deserialize(bytearray(archive.read(PROGRAM))), archive.read)


def read(page: dict[str, Any], program: Any, content: Callable[[str], bytes]) -> ExportedProgram:
    """The program of a page, and of what it names."""
    inputs = [
        InputSpec(InputKind[one["kind"]], argument(one), one["target"], one.get("persistent")) for one in page["inputs"]
    ]
    outputs = [OutputSpec(OutputKind[one["kind"]], argument(one), one["target"]) for one in page["outputs"]]
    taken = [one for one in page["inputs"] if "value" not in one]
    tensors = tensors_of(taken, program.in_avals, content)
    constants = {
        one.target: tensors[one.target]
        for one in inputs
        if one.target is not None and (one.kind == InputKind.CONSTANT_TENSOR or one.persistent is False)
    }
    kept = {name: tensor for name, tensor in tensors.items() if name not in constants}
    in_spec = from_json(page["in_spec"])
    call = ModuleCallSignature([], [], in_spec, from_json(page["out_spec"]), page["names"])
    ranges = {Symbol(name): bounds_in(said) for name, said in page["ranges"].items()}
    example = None if page["example"] is None else in_spec.unflatten([leaf(one, content) for one in page["example"]])
    return ExportedProgram(
        program, ExportGraphSignature(inputs, outputs), kept, ranges,
        [ModuleCallEntry("", call), *map(ModuleCallEntry, page["modules"])], list(map(expected, page["expected"])),
        example, constants, sources=page["sources"], has_gradient=page["vjp_order"] > 0,
    )  # fmt: skip


def bounds_in(said: list[int | None]) -> ValueRanges:
    """The bounds of a length."""
    bounds: list[Any] = [int_oo if bound is None else bound for bound in said]
    return ValueRanges(*bounds)


def argument(said: dict[str, Any]) -> Any:
    """The argument that JSON says."""
    given = [constant(said["value"])] if "value" in said else []
    return ARGUMENTS[said["argument"]](said["name"], *given)


def expected(said: dict[str, Any]) -> Expected:
    """The checks of an argument."""
    if "value" in said:
        return ExpectedValue(said["name"], constant(said["value"]))
    shape = tuple(one if isinstance(one, int) else tuple(one) for one in said["shape"])
    return ExpectedTensor(said["name"], shape, getattr(dtypes, said["dtype"]))


def tensors_of(taken: list[dict], avals: Any, content: Callable[[str], bytes]) -> dict[str, Tensor]:
    """The tensors that come with a program, by their places; what is tied is one tensor."""
    found: dict[str, Tensor] = {}
    by_file: dict[str, Tensor] = {}
    for said, aval in zip(taken, avals, strict=True):
        if "file" in said:
            if said["file"] not in by_file:
                by_file[said["file"]] = owned(said, array(content(said["file"]), aval.dtype, aval.shape))
            found[said["target"]] = by_file[said["file"]]
    return found


def owned(said: dict[str, Any], tensor: Tensor) -> Tensor:
    """A tensor as a module has it."""
    if said["kind"] == "PARAMETER":
        return Parameter(tensor, requires_grad=said["requires_grad"])
    return tensor.requires_grad_(said["requires_grad"])


def array(content: bytes, dtype: Any, shape: Any) -> Tensor:
    """A tensor with these elements."""
    host = np.frombuffer(content, np.dtype(dtype).newbyteorder("<")).astype(dtype).reshape(shape)
    return from_jax_array(jax.numpy.asarray(host))


def leaf(said: dict[str, Any], content: Callable[[str], bytes]) -> Any:
    """One of the arguments of the example."""
    if "value" in said:
        return constant(said["value"])
    return array(content(said["file"]), getattr(dtypes, said["dtype"]).numpy, said["shape"])
