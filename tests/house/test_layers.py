"""The house rules about imports, read from the source: they point down and stand at the top of a file.

*Down* is nearer the ground, on which all else stands. A *room* is a module or a package right under the package; a
*floor* is a row of rooms that may not see one another.
"""

import ast
import graphlib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest
from sources import PACKAGE, nodes_in, nodes_of, tree_of

from tapegrad._src.doors import Door

pytestmark = pytest.mark.once("reads the source")

FLOORS = [
    ["__future__", "absent", "torch_version", "version", "warn"],
    ["absent_modules", "as_torch", "caches", "declaring", "doors", "errors", "progress"],
    ["tape"],
    ["engine"],
    ["execution"],
    ["tensor"],
    ["streams"],
    ["dispatch"],
    ["ops"],
    ["bindings"],
    ["functions"],
    ["autograd"],
    ["amp", "complex32", "func", "compiler", "interop", "multiprocessing"],
    ["_higher_order_ops", "utils"],
    ["distributions", "nested", "nn", "sparse", "testing"],
    ["ao", "export", "optim", "serialization"],
    ["fx"],
    ["distributed", "viz"],
    [
        "_C", "_VF", "__config__", "_classes", "_custom_ops", "_decomp", "_dynamo", "_functorch", "_guards",
        "_inductor", "_ops", "_prims_common", "_refs", "_tensor", "_tensor_str", "_utils", "accelerator", "backends",
        "cpu", "cuda", "fft", "functional", "_subclasses", "futures", "hub", "jit", "library", "linalg", "masked",
        "mps", "mtia",
        "onnx", "overrides", "profiler", "quantization", "quasirandom", "random", "return_types", "signal", "special",
        "storage", "types", "xpu",
    ],
    ["_jit_internal", "functorch"],
    ["__init__"],
    ["demo", "script", "shipping", "stubs"],
    ["__main__"],
]  # fmt: skip
"""From the ground up. A module may import from floors below its own, and from its own room."""

OPS = [
    "facts", "memory_formats", "schema_table", "composite_schemas", "schemas", "overloads", "signatures",
    "saved_fields", "wording", "fallbacks", "operator", "kinds", "foreign",
    "conventions", "assignment", "checks", "comparison", "conversion", "random", "dropout", "formulas", "selection",
    "unary", "arithmetic", "special", "retyping", "shape", "slicing", "arrangement", "strided", "reductions", "norms",
    "softmax", "indexing", "gathering", "joining", "sorting", "scans", "matmul", "einsum", "activations", "losses",
    "convolving", "convolution", "resampling", "pooling", "patches", "normalization", "embedding", "attention",
    "quantiles", "histograms", "sets", "fft", "bessel", "polynomials", "samplers", "solving", "lu", "ldl",
    "determinants", "distances", "matrix_functions", "eigen", "svd", "cholesky", "qr", "pseudoinverse",
    "grid_sampling", "bags", "ctc", "recurrent", "packing", "unpooling", "segments", "margins", "native", "sparse",
    "nested", "quantization", "levels", "page", "__main__",
]  # fmt: skip

ORDERS = {
    "engine": ["gradient_ops", "graph_task", "inbox", "threads", "workers", "turns", "engine"],
    "execution": [
        "state.persistent", "state.processes", "state.threads", "state", "data.allocating", "data.dtypes",
        "data.opaque", "data.sizes",
        "data.devices", "data.promotion", "data.row_layout", "data.values", "data.boxes",
        "data.tracing", "data", "numpy_backend.expression", "numpy_backend.vectorized", "numpy_backend.operands",
        "numpy_backend.parts", "numpy_backend.printing", "numpy_backend.shares", "numpy_backend.swept",
        "numpy_backend.channels_innermost", "numpy_backend.images_innermost", "numpy_backend.single_positions",
        "numpy_backend.winograd", "numpy_backend.convolutions",
        "numpy_backend.elementwise", "numpy_backend.forms", "numpy_backend.fourier", "numpy_backend.linear_algebra",
        "numpy_backend.random_bits", "numpy_backend.shapes", "numpy_backend.writer",
        "numpy_backend.casts", "numpy_backend.contractions", "numpy_backend.control", "numpy_backend.exponentials",
        "numpy_backend.indexing", "numpy_backend.reductions", "numpy_backend.special", "numpy_backend.scans",
        "numpy_backend.softmax", "numpy_backend.windowed", "numpy_backend.cutting", "numpy_backend.putting",
        "numpy_backend", "tiers.costs", "recording.capturing",
        "tiers.keeping", "tiers.settings", "tiers.host_trace", "tiers.xla_copies",
        "tiers.entry", "tiers.stripped", "tiers.symbolic_trace", "tiers.tiered_kernel", "tiers",
        "recording.recording_policy", "recording.program", "recording.execution_mode", "recording.recorded_call",
        "recording", "kernels.kernel", "kernels.deferred_checks", "kernels.symbolic_kernel", "kernels.xla_costs",
        "kernels", "array_functions.bits", "array_functions.copies", "array_functions.equal_steps",
        "array_functions.layouts", "array_functions.sums", "array_functions.updates", "array_functions.host",
        "array_functions.windows", "array_functions.nonfinite", "array_functions.random",
        "array_functions.statistics", "array_functions", "programs.batching", "programs.compiled_before",
        "programs.hardware", "programs.partition", "programs.program_text", "programs.releasing", "programs.segment",
        "programs.loop_carry", "programs.subprogram", "programs.running", "programs.scanned_loops",
        "programs.step_executable", "programs",
    ],
    "tensor": [
        "geometry", "layout", "storage", "shared", "spec", "paths", "trees", "printing", "tensor",
        "exposing", "placing", "dual", "level_messages", "lifted", "refusals",
    ],
    "dispatch": [
        "operator_like", "nodes.packing", "nodes.saved_tensor", "nodes.gradient_check", "nodes.accumulate_grad",
        "nodes.error", "function_levels", "patterns", "call_keys", "shape_class", "many_operands",
        "kernels", "plan", "planning", "many_operands_code", "plan_template", "nodes.constant_gradients",
        "nodes.operator", "codegen.backward", "codegen.forward_ad", "nodes.lost_gradients", "codegen.runner",
        "codegen", "nodes", "call_cache", "view_history",
    ],
    "ops": OPS,
    "bindings": [
        "arguments", "bounds", "matrix_checks", "layouts", "naming", "return_types", "viewing",  # checks
        "declaration.handing", "declaration.parser_table", "schema_calls", "dispatching",  # who sees a call, and how
        "declaration.parser", "declaration.declarations", "function_calls", "declaration.registry",
        "declaration.scalars", "declaration.dunders", "shown_calls", "declaration.factory", "declaration",
        "capsules", "windows", "fused_update",
        "state.attributes", "state.memory", "state.storages", "state.storage_methods", "state.generator",
        "state.settings", "state",
        "writes.overlaps", "tangents", "writes.cached", "writes.in_place", "writes.parts", "writes.cached_parts",
        "writes.out", "outside", "placement", "writes.views", "writes", "function_modes", "overriding",
        "wrapper_subclass", "subclass", "protocols", "layout_methods", "scripting", "unbound",
        "device_names.accelerator", "device_names.cpu", "device_names.cuda", "device_names.streams",
        "device_names.gpus", "device_names.other_devices", "device_names", "symbolic", "checking", "asked", "fusers",
        "attach",
    ],
    "complex32": ["tensor", "refusals", "views", "computing", "attributes"],
    "autograd": [
        "running", "gradient_types", "shown_backward", "shown_formulas",
        "function_node", "laid_out", "backward_cache", "graph_log",
        "source_lines",
        "grad_mode", "forward_ad", "edges", "differentiate", "graph_task", "variable", "convolution_backward",
        "function_forward", "function_mapped", "function_call", "function_levels", "function", "saved_tensors",
        "mutation", "multi_grad_hooks", "subgradient", "graph",
        "backward_hook",  # from here on: what backward does not share
        "custom_op_node", "registered_ops", "custom_ops", "dispatch_keys", "aten_kernels", "libraries",
        "nonfinite", "anomaly_mode", "tensor_methods", "functional", "gradcheck", "profiling", "profiler",
        "profiler_util", "profiler_legacy",
    ],
    "compiler": [
        "attachments",
        *(f"guards.{name}" for name in """trace_rules locations code appended allowed objects reached what_ran
        location_finder watching reachable written_guard guards""".split()),  # noqa: SIM905 - what Python runs, and what that depends on
        *(f"capture.{name}" for name in """arguments dynamic_number numbers proxies kept_numbers capture
            autograd_histories results sources residuals joint_graph rebuilt_graph backward_programs compiled_function
        side_effects rebinding""".split()),  # noqa: SIM905 - what a call does
        "replay.compiled_modules", "replay.write_outputs", "replay.reading", "replay.programs", "replay.replay",
        "guards.tensor_guards", "replay.cache_keys", "replay.likeness", "replay.cache_entry", "capture.captured_call",
        "guards", "capture", "replay", "options", "settings", "compiled_methods", "step", "explanation", "annotations",
    ],
    "nn": [
        "_reduction", "common_types", "functional", "grad", "parameter", "init",
        "utils.rnn",  # of sequences: layers take them
        "modules", "attention", "parallel", "utils",
    ],
    "nested": [
        "lengths", "overloads", "tensor", "attributes", "padding", "elementwise", "strided", "construction", "shape",
        "parts", "reductions", "products", "layers", "attention", "strided_functions", "multihead", "saving",
        "_internal",
    ],
    "sparse": [
        "tensor", "fills", "attributes", "coordinates", "arithmetic", "resizing", "products", "reductions", "parts",
        "compressed", "masked", "checking", "conversion", "legacy", "embedding", "saving",
    ],
    "optim": [
        "fused_parameters", "optimizer", "functional_forms", "sgd", "adam", "adamw", "adamax", "nadam", "radam",
        "sparse_adam", "adagrad", "adadelta", "adafactor", "rmsprop", "rprop", "asgd", "lbfgs", "muon", "optax",
        "_functional", "schedule", "schedules", "cycles", "plateau", "combined_schedules", "lr_scheduler", "swa_utils",
    ],
    "serialization": [
        "rebuild", "names", "locations", "archive", "unpickling", "trusting", "pickling", "records", "legacy",
        "saving", "safetensors", "loading",
    ],
    "export": [
        "errors", "graph_signature", "dimensions", "dynamic_shapes", "naming", "lengths", "lifting", "tracing",
        "solving", "signing", "calling", "module", "exported_program", "exporting", "structures", "saving",
    ],
    "distributed": [
        "device_mesh", "tensor", "_tensor", "store", "keeper", "peers", "groups", "collectives", "objects", "nn",
        "_functional_collectives", "distributed_c10d", "constants", "parts", "fsdp", "_composable", "data_parallel",
        "checkpoint", "algorithms", "optim", "rpc", "autograd", "elastic", "run", "launch",
    ],
    "viz": [
        "recording", "describing", "raster", "plots", "pages",
        "boxes", "folding", "reading", "layered_layout", "placing", "dot", "svg", "tape_graph",
        "explanations", "showing",
    ],
}  # fmt: skip
"""Inside some rooms there is an order too: a module, or a wing of several, imports only from those before it. A module
of a wing may have a place of its own."""

JAX_ROOMS = {"execution", "ops", "interop", "export", "distributed", "demo"}
"""Where arrays are computed with. All others pass the backend interface (or compare us with jax on purpose)."""

UNKNOWN = {
    "tape": ["jax", "numpy"],
    "engine": ["jax", "numpy"],
    "nn": ["tapegrad.tape.node", "tapegrad.engine"],
    "optim": ["tapegrad.tape.node", "tapegrad.engine"],
    "serialization": ["tapegrad.tape", "tapegrad.engine", "tapegrad.dispatch", "tapegrad.ops"],
    "distributions": ["tapegrad.tape", "tapegrad.engine", "tapegrad.ops"],
}
"""What a room must never know, though that stands below."""

PROGRAMS = [
    "recording.program", "programs.running", "programs.partition", "programs.batching", "programs.loop_carry",
    "programs.program_text", "programs.step_executable", "programs.subprogram",
]  # fmt: skip
CLIENTS = {
    **{name: {"compiler"} for name in PROGRAMS},
    "recording.recorded_call": {"dispatch"},
    "programs.segment": {"autograd"},
}
"""What of ``execution/`` is seen by those rooms outside only: programs by the compiler, the code that emits a call by
what writes runners and appliers, and what can be recorded again as it was by the cache of backward passes."""


@dataclass(frozen=True)
class Import:
    """One import: of ``target`` (a dotted name) in ``module``; ``lazy`` if it stands inside a function."""

    module: str
    target: str
    line: int
    lazy: bool = False

    def __str__(self):
        return f"{self.module}:{self.line} imports {self.target}"


def modules_of(package):
    """Dotted name to path, for every module of a package; a package is called by its own name."""
    found = {}
    for path in sorted(set(package.rglob("*.py")) - {package / "_src" / "__init__.py"}):
        parts = [package.name, *path.relative_to(package).with_suffix("").parts]
        found[in_the_house(".".join(parts[:-1] if parts[-1] == "__init__" else parts))] = path
    return found


def in_the_house(name):
    """The name of a module, as if rooms that are not public lay beside the others."""
    return name.replace("._src.", ".", 1)


def path_in_the_house(path, package):
    return str(path.relative_to(package)).removeprefix("_src/")


def imports_of(name, path, modules):
    """All imports of a module. ``from package import module`` counts as one of ``package.module``.

    What a facade names in its table of what is imported ``on_demand`` counts as imported by it.
    """
    found = []

    def visit(node, lazy):
        if isinstance(node, ast.Import):
            found.extend(Import(name, in_the_house(alias.name), node.lineno, lazy) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = absolute(node, name, path)
            targets = [in_the_house(f"{base}.{alias.name}") for alias in node.names]
            targets = {target if target in modules else in_the_house(base) for target in targets}
            found.extend(Import(name, target, node.lineno, lazy) for target in sorted(targets))
        found.extend(Import(name, in_the_house(home), line) for _, home, line in on_demand(node, name))
        lazy = lazy or isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
        for child in ast.iter_child_nodes(node):
            visit(child, lazy)

    visit(tree_of(path), False)
    return found


def on_demand(node, module):
    """If this is a call of ``on_demand``: what it names, the module that has it, and the line."""
    if not (isinstance(node, ast.Call) and ast.unparse(node.func) == "on_demand"):
        return
    package, homes = node.args
    package = in_the_house(getattr(package, "value", module))
    for home, names in zip(homes.keys, homes.values, strict=True):
        home = in_the_house(getattr(home, "value", module))
        for name in names.value.split():
            yield name, f"{package}.{name}" if home == package else home, names.lineno


def absolute(node, name, path):
    """The absolute name of the module in ``from ... import``."""
    if not node.level:
        return node.module
    parts = name.split(".")
    parents = parts[: len(parts) - node.level + (path.name == "__init__.py")]
    return ".".join([*parents, *([node.module] if node.module else [])])


def room_of(name):
    parts = name.split(".")
    return parts[1] if len(parts) > 1 else "__init__"


def floor_of(name):
    room = room_of(name)
    return next((number for number, rooms in enumerate(FLOORS) if room in rooms), None)


def check_direction(imports, package):
    """Upward imports, imports between rooms of one floor, imports against the order inside a room."""
    for one in imports:
        if one.target.split(".")[0] != package:
            continue
        if floor_of(one.target) is None or floor_of(one.module) is None:
            unknown = one.target if floor_of(one.target) is None else one.module
            yield f"{unknown} is in no room; say in tests/house/test_layers.py where it belongs"
        elif room_of(one.module) == room_of(one.target):
            if not in_order(one.module, one.target):
                yield f"{one}: against the order inside {room_of(one.module)}"
        elif floor_of(one.target) >= floor_of(one.module):
            yield f"{one}: upward"


def in_order(module, target):
    order, one, other = ORDERS.get(room_of(module), []), place_of(module), place_of(target)
    return one == other or one not in order or other not in order or order.index(other) < order.index(one)


def place_of(name):
    """A module of a room, or the folder inside of it that a module is in; None for the room itself.

    A module in such a folder, if the order of the room has a place for it.
    """
    _, room, wing, *rest = (*name.split("."), None, None)
    own = f"{wing}.{rest[0]}" if rest else None
    return own if own in ORDERS.get(room, []) else wing


def check_cycles(imports, package):
    """Modules that import one another, be it for type checkers only."""
    graph = {}
    for one in imports:
        if one.target.split(".")[0] == package:
            graph.setdefault(one.module, set()).add(one.target)
    try:
        graphlib.TopologicalSorter(graph).prepare()
    except graphlib.CycleError as error:
        yield f"cycle: {' <- '.join(error.args[1])}"


def check_lazy(imports, package):
    for one in imports:
        if one.lazy and one.target.split(".")[0] == package:
            yield f"{one}: inside a function"


def check_jax(imports, package):
    """Only public names of jax, only in the rooms that compute."""
    for one in imports:
        if one.target.split(".")[0] not in ("jax", "jaxlib"):
            continue
        if one.target.split(".")[0] == "jaxlib" or "_src" in one.target or one.target.startswith("jax.interpreters"):
            yield f"{one}: not public"
        if room_of(one.module) not in JAX_ROOMS:
            yield f"{one}: this room passes the backend interface"


def check_unknown(imports, package):
    for one in imports:
        for forbidden in UNKNOWN.get(room_of(one.module), []):
            if (one.target + ".").startswith(forbidden + "."):
                yield f"{one}: which it must never know"


def check_interface(imports, package):
    """Programs and what they are made of: see ``CLIENTS``, and Note [Values] in ``execution/data/values.py``."""
    for one in imports:
        name = one.target.removeprefix(f"{package}.execution.")
        if name in CLIENTS and room_of(one.module) not in {"execution", *CLIENTS[name]}:
            yield f"{one}: ask execution/data/values.py, or a kernel"


CHECKS = [check_direction, check_cycles, check_lazy, check_jax, check_unknown, check_interface]


@cache
def imports_in(package):
    modules = modules_of(package)
    return [one for name, path in modules.items() for one in imports_of(name, path, modules)]


def complaints(check, package):
    return list(check(imports_in(package), package.name))


def private_names(package):
    """Uses of ``jax._src`` and of other private names of jax that are no imports."""
    for name, path in modules_of(package).items():
        for node in nodes_of(path):
            if isinstance(node, ast.Attribute) and node.attr.startswith("_") and not node.attr.startswith("__"):
                root = node
                while isinstance(root, ast.Attribute):
                    root = root.value
                if isinstance(root, ast.Name) and root.id in ("jax", "jnp", "lax"):
                    yield f"{name}:{node.lineno} uses {ast.unparse(node)}"


def private_across_rooms(package):
    """Names with an underscore that a module takes from another room, be it as ``module._name``."""
    modules = modules_of(package)
    for name, path in modules.items():
        homes = {}
        for node in nodes_of(path):
            for alias in node.names if isinstance(node, ast.ImportFrom) else ():
                base = in_the_house(absolute(node, name, path))
                if f"{base}.{alias.name}" in modules:
                    homes[alias.asname or alias.name] = f"{base}.{alias.name}"
                elif is_private(alias.name) and is_elsewhere(base, name, package):
                    yield name, base, alias.name
        for node in nodes_of(path):
            home = homes.get(ast.unparse(node.value), "") if isinstance(node, ast.Attribute) else ""
            if home and is_private(node.attr) and is_elsewhere(home, name, package):
                yield name, home, node.attr


def is_private(name):
    return name.startswith("_") and not name.startswith("__")


def is_elsewhere(home, name, package):
    return home.partition(".")[0] == package.name and room_of(home) != room_of(name)


REGISTERS = {"NAMESPACES", "PROPERTIES", "RULES", "inherited_state", "memory"}
"""Tables to which any room above may add something of its own when it is imported."""


def doors_of(package):
    """For each door its name and its module as a path, and the module by which it says to be filled."""
    for name, path in modules_of(package).items():
        for node in tree_of(path).body:
            if isinstance(node, ast.AnnAssign) and ast.unparse(node.annotation).startswith("Door["):
                filled_by = {key.arg: key.value.value for key in node.value.keywords}["filled_by"]
                assert node.value.args[0].value == node.target.id, f"{name}:{node.lineno}"
                yield node.target.id, path_in_the_house(path, package), filled_by


def handed_down(package):
    """What modules put into imported objects when they are imported themselves: its name there, and how; the module."""
    for path in modules_of(package).values():
        tree = tree_of(path)
        imports = [node for node in tree.body if isinstance(node, ast.ImportFrom)]
        imported = {alias.asname or alias.name for node in imports for alias in node.names}
        for node in tree.body:
            called = isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)
            if called and isinstance(node.value.func, ast.Attribute):
                *owner, method = ast.unparse(node.value.func).split(".")
                given = owner[0] in imported and method in ("fill", "append", "update", "extend", "add", "insert")
                if given and owner[0] not in REGISTERS:
                    yield owner[-1], method, path_in_the_house(path, package)


def doors_listed():
    """The table of doors in the account of the house."""
    text = (PACKAGE / "README.md").read_text().partition("## Doors")[2].partition("## ")[0]
    rows = [[cell.strip().strip("`") for cell in line.split("|")[1:-1]] for line in text.splitlines() if "`" in line]
    return [tuple(row[:3]) for row in rows if len(row) == 4 and row[3]]


TWICE_IN_PYTORCH = {
    "Attribute", "Conv1d", "Conv2d", "Conv3d", "ConvBn1d", "ConvBn2d", "ConvBn3d", "ConvBnReLU1d", "ConvBnReLU2d",
    "ConvBnReLU3d", "ConvReLU1d", "ConvReLU2d", "ConvReLU3d", "Event", "GradScaler", "Identity", "Linear",
    "LinearBn1d", "LinearReLU", "Node", "Stream", "StreamContext", "Transformer", "autocast", "profile",
}  # fmt: skip
"""Classes that PyTorch has two of: layers, whose weights may be fake-quantized; nodes, of which only
``torch.autograd.graph.Node`` is shown; profilers; no-ops; and, of ``amp``, streams and events, those for one device."""


def classes_with_one_name(package):
    """For each name of several classes where they are."""
    found = {}
    for name, path in modules_of(package).items():
        for node in nodes_of(path):
            if isinstance(node, ast.ClassDef):
                found.setdefault(node.name, []).append(f"{name}:{node.lineno}")
    return {name: places for name, places in found.items() if len(places) > 1}


NAMES_OF_PROGRAMS = {"DeferredValue", "recording.program"}


def deferred_values(package):
    """Where the rooms above the backend interface name what tells values apart."""
    for name, path in modules_of(package).items():
        source, inside = path.read_text(), room_of(name) in {"execution", *CLIENTS["recording.program"]}
        if not inside and any(word in source for word in NAMES_OF_PROGRAMS):
            for node in nodes_in(source):
                if isinstance(node, (ast.Name, ast.Attribute)) and ast.unparse(node) in NAMES_OF_PROGRAMS:
                    yield f"{name}:{node.lineno} names {ast.unparse(node)}"


def replaced_by_modules(package):
    """What is imported on demand, but has the name of another module: whoever imports that puts it in its place."""
    modules = modules_of(package)
    for name, path in modules.items():
        for node in nodes_of(path):
            for given, home, line in on_demand(node, name):
                if f"{name}.{given}" in modules and home != f"{name}.{given}":
                    yield f"{name}:{line} gives {given}, which is a module too"


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__.removeprefix("check_"))
def test_the_house_keeps_its_rules(check):
    assert complaints(check, PACKAGE) == []


def test_no_private_names_of_jax():
    assert list(private_names(PACKAGE)) == []


def test_private_names_across_rooms_are_found(tmp_path):
    """Those of the package are PyTorch's own, as ``parity/facade/test_names.py`` holds."""
    source = "from house.tape import _a, b, __version__\nfrom house import tape as t, engine\nt._c\nengine._d\nb._e"
    package = house(tmp_path, tape="", engine=source, ops__x="from house.ops.y import _f", ops__y="")
    assert list(private_across_rooms(package)) == [("house.engine", "house.tape", name) for name in ("_a", "_c")]


def test_values_are_opaque_above_the_seam():
    assert list(deferred_values(PACKAGE)) == []


def test_doors_are_listed_and_filled_by_whom_they_say():
    doors = list(doors_of(PACKAGE))
    assert sorted(doors) == sorted(doors_listed())
    assert sorted(handed_down(PACKAGE)) == sorted((name, "fill", filled_by) for name, _, filled_by in doors)


def test_no_class_has_the_name_of_another():
    assert classes_with_one_name(PACKAGE).keys() == TWICE_IN_PYTORCH


def test_classes_with_one_name_are_found(tmp_path):
    package = house(tmp_path, tape="class A: pass", engine="class B:\n  class A: pass")
    assert classes_with_one_name(package) == {"A": ["house.engine:2", "house.tape:1"]}


def test_a_door_is_filled_once():
    door = Door("example", filled_by="somewhere.py")
    with pytest.raises(RuntimeError, match=r"'example' is empty: somewhere\.py has to be imported"):
        door.content()
    door.fill(int)
    assert door.content() == 0
    with pytest.raises(RuntimeError, match=r"'example' is filled already: by somewhere\.py"):
        door.fill(float)
    with pytest.raises(AttributeError, match="contents"):
        door.contents


def test_no_module_takes_the_place_of_what_is_imported_on_demand():
    assert list(replaced_by_modules(PACKAGE)) == []


def test_every_room_is_on_the_list():
    known = {room for floor in FLOORS for room in floor}
    assert {room_of(name) for name in modules_of(PACKAGE)} - known == set()


@pytest.mark.parametrize("room", ORDERS)
def test_every_module_has_its_place_in_the_order_of_its_room(room):
    names = {place_of(name) for name in modules_of(PACKAGE) if room_of(name) == room} - {None}
    assert names == set(ORDERS[room])


# -- the checker itself can fail ---------------------------------------------------------------------------------------


def house(root, **files):
    """A synthetic package ``house`` with these sources; ``ops__scan`` is ``ops/scans.py``."""
    package = root / "house"
    for name, source in {"__init__": "", **files}.items():
        path = package.joinpath(*name.split("__")) if not name.startswith("__") else package / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.with_suffix(".py").write_text(source)
    return package


@pytest.mark.parametrize(
    ("check", "files", "complaint"),
    [
        (check_direction, {"tape": "import house.engine", "engine": ""}, "house.tape:1 imports house.engine: upward"),
        (check_direction, {"tape": "from house import engine", "engine": ""}, "upward"),
        (check_direction, {"tape__node": "from ..engine import Engine", "engine": ""}, "house.engine: upward"),
        (check_direction, {"ops__scans": "import house"}, "house.ops.scans:1 imports house: upward"),
        (check_direction, {"nn": "from house.optim import SGD", "optim": ""}, "upward"),
        (check_direction, {"ops__operator": "from house.ops.scans import cumsum", "ops__scans": ""}, "inside ops"),
        (check_direction, {
            "bindings__declaration__parser": "from . import registry", "bindings__declaration__registry": "",
        }, "inside bindings"),
        (check_direction, {"nn__utils__rnn": "from house.nn import modules", "nn__modules": ""}, "inside nn"),
        (check_direction, {"nn__utils__prune": "from house.nn import modules", "nn__modules": ""}, None),
        (check_direction, {"attic": "import house.tape", "tape": ""}, "house.attic is in no room"),
        (check_direction, {"autograd": "def f():\n    from house.nn import Module", "nn": ""}, "upward"),
        (check_direction, {"func": "on_demand('x', {'house.nn': 'a'})", "nn": ""}, "house.func:1 imports house.nn"),
        (check_cycles, {"tape__a": "import house.tape.b", "tape__b": "from house.tape import a"}, "cycle"),
        (check_cycles, {"nn__a": "from . import b", "nn__b": "from . import c", "nn__c": "from .a import x"}, "cycle"),
        (check_cycles, {"tape": "from house import tape"}, "cycle"),
        (check_cycles, {"nn__a": "from . import b", "nn__b": "if TYPE_CHECKING:\n    from . import a"}, "cycle"),
        (check_lazy, {"nn": "def f():\n    from house import tape", "tape": ""}, "house.nn:2 imports house.tape"),
        (check_lazy, {"nn": "class A:\n    def f(self):\n        import house.tape", "tape": ""}, "inside a function"),
        (check_jax, {"ops__scans": "from jax._src import core"}, "not public"),
        (check_jax, {"execution": "import jaxlib"}, "not public"),
        (check_jax, {"functions__shape": "import jax.numpy as jnp"}, "this room passes the backend interface"),
        (check_jax, {"dispatch": "def f():\n    from jax import jit"}, "this room passes the backend interface"),
        (check_unknown, {"engine": "import jax"}, "must never know"),
        (check_unknown, {"tape__node": "from numpy import ndarray"}, "must never know"),
        (check_unknown, {"nn__module": "from house.tape import node", "tape__node": ""}, None),
        (check_unknown, {"nn__module": "from tapegrad._src.tape.node import Node"}, "must never know"),
        (check_interface, {
            "tensor": "from house.execution.recording.program import x", "execution__recording__program": "",
        }, "or a kernel"),
        (check_interface, {
            "autograd": "from house.execution.recording import recorded_call",
            "execution__recording__recorded_call": "",
        }, "ask execution/data/values"),
        (check_interface, {
            "compiler": "import house.execution.programs.running", "execution__programs__running": "",
        }, None),
        (check_interface, {
            "dispatch": "import house.execution.recording.recorded_call", "execution__recording__recorded_call": "",
        }, None),
    ],
)  # fmt: skip
def test_the_checker_finds(tmp_path, check, files, complaint):
    found = complaints(check, house(tmp_path, **files))
    if complaint is None:  # another package of the same shape
        assert found == []
    else:
        assert len(found) == 1 and complaint in found[0]


def test_the_checker_finds_private_names(tmp_path):
    package = house(tmp_path, ops="import jax\ny = jax._src.core.Tracer\nz = jax.numpy.sin.__name__")
    assert list(private_names(package)) == ["house.ops:2 uses jax._src"]


def test_the_checker_finds_deferred_values(tmp_path):
    source = "from house.execution.values import DeferredValue\nif type(x) is DeferredValue:\n  recording.program.run()"
    package = house(tmp_path, tensor=source, execution__values=source, compiler=source)
    assert list(deferred_values(package)) == [
        "house.tensor:2 names DeferredValue", "house.tensor:3 names recording.program",
    ]  # fmt: skip


def test_the_checker_finds_what_is_handed_down(tmp_path):
    source = "from house import tape\nfrom house.tape import doors, NAMESPACES, Watcher\ntape.doors.fill(1)\n"
    source += "doors.append(2)\nNAMESPACES.update(x=3)\nown = []\nown.append(4)\nWatcher()\n"
    package = house(tmp_path, tape="", engine=source)
    assert list(handed_down(package)) == [("doors", "fill", "engine.py"), ("doors", "append", "engine.py")]


def test_the_checker_finds_modules_in_the_place_of_names(tmp_path):
    source = "on_demand('house', {\n  'house.steps': 'step scan',\n  'house': 'ops'})"
    package = house(tmp_path, __init__=source, steps="", scan="", ops="")
    assert list(replaced_by_modules(package)) == ["house:2 gives scan, which is a module too"]


def test_a_tidy_house_has_no_complaints(tmp_path):
    package = house(
        tmp_path,
        errors="import math",
        tape__node="from house.errors import message",
        execution__kernel="import jax",
        ops__operator="import jax.numpy as jnp\nfrom house.tape import node",
        ops__scan="from house.ops.operator import linear\nfrom house.ops import operator",
        nn__modules="from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import house.tape.node",
        nn__attention="from .modules import Linear\nclass A:\n    import math",
        __main__="import house",
    )
    assert [complaints(check, package) for check in CHECKS] == [[]] * len(CHECKS)


def foreign_imports(folder, foreign):
    """The lines of the modules right in a folder that import one of the modules named."""
    for path in sorted(folder.glob("*.py")):
        for node in nodes_of(path):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            yield from (f"{path.name}:{node.lineno}" for name in names if name.partition(".")[0] in foreign)


BESIDE_PYTORCH = ("drawn", "compiled", "programs")
"""Rooms in which programs are run on both, where PyTorch is there; their tests don't need it."""


def test_only_parity_tests_need_pytorch():
    tests = Path(__file__).resolve().parents[1]
    foreign = {"torch", *(path.stem for path in (tests / "parity" / "helpers").glob("*.py"))}
    rooms = {path.parent for path in tests.rglob("*.py")} - {tests / name for name in BESIDE_PYTORCH}
    rooms = {folder for folder in rooms if tests / "parity" not in folder.parents}
    assert [line for folder in sorted(rooms) for line in foreign_imports(folder, foreign)] == []


def test_foreign_imports_are_found(tmp_path):
    (tmp_path / "a.py").write_text("import os\n\ndef f():\n    import torch.nn as nn\n")
    (tmp_path / "b.py").write_text("from harness import agree\nfrom torchlike import x\n")
    assert list(foreign_imports(tmp_path, {"torch", "harness"})) == ["a.py:4", "b.py:1"]
