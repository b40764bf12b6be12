"""Exported programs: what jax alone does with them, lengths that change, gradients, random numbers, files, refusals."""

import io
import json
import subprocess
import sys
import zipfile

import jax
import numpy as np
import pytest

import tapegrad as torch
from tapegrad.export import saving

nn = torch.nn
Dim, export = torch.export.Dim, torch.export.export

pytestmark = pytest.mark.once("jax traces and compiles them")


class Function(nn.Module):
    """A module of a function."""

    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *args):
        return self.function(*args)


class Decoder(nn.Module):
    """A small language model, whose lengths change."""

    def __init__(self):
        super().__init__()
        self.tokens, self.places = nn.Embedding(20, 8), nn.Embedding(16, 8)
        self.layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True, dropout=0.0)
        self.head = nn.Linear(8, 20)
        self.register_buffer("mask", torch.triu(torch.full((16, 16), float("-inf")), 1), persistent=False)

    def forward(self, tokens):
        length = tokens.shape[1]
        x = self.tokens(tokens) + self.places(torch.arange(length))
        return self.head(self.layer(x, src_mask=self.mask[:length, :length]))


MODELS = {
    "convolutions": (
        lambda: nn.Sequential(nn.Conv2d(3, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2),
                              nn.Flatten(), nn.Linear(64, 5)).eval(),
        {0: Dim("batch")}, lambda n: torch.randn(n, 3, 8, 8),
    ),
    "images of any size": (
        lambda: nn.Sequential(nn.Conv2d(3, 4, 3), nn.GroupNorm(2, 4), nn.Upsample(scale_factor=2),
                              nn.AdaptiveAvgPool2d(1), nn.Flatten()),
        {0: Dim.AUTO, 2: Dim.AUTO, 3: Dim.AUTO}, lambda n: torch.randn(n, 3, 4 + n, 10 - n),
    ),
    "recurrent": (lambda: nn.LSTM(3, 4), {0: Dim("time"), 1: Dim("batch")}, lambda n: torch.randn(2 * n, n, 3)),
    "a language model": (
        Decoder, {0: Dim("batch"), 1: Dim("time", max=16)}, lambda n: torch.randint(0, 20, (n, 2 * n))
    ),
    "running statistics": (
        lambda: nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4)), {0: Dim("batch")}, lambda n: torch.randn(2 * n, 3)
    ),
}  # fmt: skip


def outputs_and_gradients(module, x):
    module.zero_grad()
    result = module(x)
    result = result[0] if isinstance(result, tuple) else result
    result.sin().sum().backward()
    return result.detach(), [parameter.grad.clone() for parameter in module.parameters()]


@pytest.mark.parametrize("name", MODELS)
def test_models_of_any_length_and_their_gradients(name):
    torch.manual_seed(0)
    make, lengths, example = MODELS[name]
    model = make()
    inside = export(model, (example(2),), dynamic_shapes=(lengths,)).module()
    x = example(3)
    state = {key: value.clone() for key, value in model.state_dict().items()}
    expected, gradients = outputs_and_gradients(model, x)
    written = {key: value.clone() for key, value in model.state_dict().items()}
    model.load_state_dict(state)
    found, others = outputs_and_gradients(inside, x)
    assert torch.allclose(found, expected, atol=1e-5)
    for ours, theirs in zip(others, gradients, strict=True):
        assert torch.allclose(ours, theirs, atol=1e-4)
    for key, value in inside.state_dict().items():
        assert torch.allclose(value, written[key], atol=1e-6), key


FUNCTIONS = {
    "views": lambda x: x.view(x.shape[0], -1).t().reshape(-1, x.size(0)),
    "slices": lambda x: x[1:, -2:] + x[:-1, :2],
    "places": lambda x: x.flatten(1)[:, 0] * torch.arange(1, x.shape[0] + 1) / x.shape[0],
    "new tensors": lambda x: torch.cat([x, torch.zeros(x.shape[0], 1, 2), x.new_full((x.size(0), 1, 2), 3.0)], 1),
    "writes": lambda x: x.clone().index_fill_(1, torch.tensor([0]), 0).add_(x.mean(0)),
    "parts": lambda x: torch.stack(x.chunk(2, 2), 0).softmax(1).cumsum(1),
    "masks": lambda x: x.sum(2).masked_fill(torch.ones(x.size(0), x.shape[1]).triu(1) > 0, -1.0),
    "sorted": lambda x: (x.sort(0)[0], x.max(0)[0], x.argmax(0)),
    "numbers": lambda x: (x * x.shape[0] + torch.mul(x, x.size(0))).sum() / x.numel() ** 2,
    "isinstance": lambda x: x * 2 if isinstance(x.shape[0], (int, torch.SymInt)) else x,
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_of_any_length(name):
    module = Function(FUNCTIONS[name])
    inside = export(module, (torch.randn(4, 3, 2),), dynamic_shapes=(({0: Dim("batch")},),)).module()
    for length in (5, 2):
        x = torch.randn(length, 3, 2)
        pairs = zip(jax.tree.leaves(inside(x)), jax.tree.leaves(module(x)), strict=True)
        assert all(ours.dtype == theirs.dtype and np.allclose(ours, theirs, atol=1e-6) for ours, theirs in pairs)


ALONE = """
import sys
sys.modules["tapegrad"] = None
import json, zipfile, jax, numpy as np
with zipfile.ZipFile(sys.argv[1]) as file, jax.enable_x64(True):
    program = jax.export.deserialize(bytearray(file.read("program.jax")))
    inputs = json.loads(file.read("program.json"))["inputs"]
    weights = [
        np.frombuffer(file.read(one["file"]), aval.dtype).reshape(aval.shape)
        for one, aval in zip(inputs, program.in_avals)
        if "file" in one
    ]
    first = lambda weight, x: program.call(weight, *weights[1:], x)
    for rows in (5, 2):
        x = np.arange(3 * rows, dtype="float32").reshape(rows, 3)
        results = first(weights[0], x)
        slope = jax.grad(lambda weight: first(weight, x)[-1].sum())(weights[0])
        print(json.dumps([np.asarray(one).tolist() for one in (*results, slope)]))
"""


@pytest.mark.ring("default")
def test_jax_alone_runs_and_differentiates_it(tmp_path):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Tanh())
    ep = export(model, (torch.randn(4, 3),), dynamic_shapes=({0: Dim("batch")},))
    path = tmp_path / "model.pt2"
    torch.export.save(ep, path, vjp_order=1)
    command = [sys.executable, "-c", ALONE, str(path)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    state = {key: value.clone() for key, value in model.state_dict().items()}
    for line, rows in zip(done.stdout.splitlines(), (5, 2), strict=True):
        *written, result, slope = json.loads(line)
        model.load_state_dict(state)
        model.zero_grad()
        expected = model(torch.arange(3.0 * rows).view(rows, 3))
        expected.sum().backward()
        np.testing.assert_allclose(result, expected.detach(), atol=1e-5)
        np.testing.assert_allclose(slope, model[0].weight.grad, atol=1e-4)
        for value, buffer in zip(written, model[1].buffers(), strict=True):
            np.testing.assert_allclose(value, buffer, rtol=1e-5)


def test_it_is_made_for_all_platforms_from_this_one():
    assert export(nn.Linear(3, 2), (torch.ones(1, 3),)).exported.platforms == ("cpu", "cuda", "tpu")
    eigen = Function(lambda x: torch.linalg.eigvals(x))
    with pytest.raises((NotImplementedError, ValueError), match="tpu|platform"):
        export(eigen, (torch.eye(3),))
    assert export(eigen, (torch.eye(3),), platforms=["cpu"]).module()(2 * torch.eye(3)).real.tolist() == [2, 2, 2]


def test_what_is_detached_has_no_gradient_and_kinks_have_those_of_the_tape():
    class Halves(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(torch.tensor([2.0, 3.0]))

        def forward(self, x):
            with torch.no_grad():
                scale = self.weight * 2
            return (self.weight.detach() * scale * self.weight * x).sum() + x.norm()

    module, zeros = Halves(), torch.zeros(2, requires_grad=True)
    inside = export(module, (torch.ones(2),)).module()
    for run in (module, inside):
        module.zero_grad()
        zeros.grad = None
        run(zeros + 0).backward()
        assert zeros.grad.tolist() == [16, 54]
        module.zero_grad()
        run(torch.ones(2)).backward()
        assert module.weight.grad.tolist() == [8, 18]


def test_layers_that_are_frozen_inside_learn_nothing_and_the_program_is_trained_on():
    class Frozen(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.norm, self.last = nn.Linear(3, 8), nn.BatchNorm1d(8), nn.Linear(8, 1)

        def forward(self, x):
            with torch.no_grad():
                hidden = self.first(x)
            return self.last(self.norm(hidden).relu())

    torch.manual_seed(0)
    module, x = Frozen(), torch.randn(32, 3)
    inside = export(module, (x[:4],), dynamic_shapes=({0: Dim("batch")},)).module()
    optimizer = torch.optim.Adam(inside.parameters(), 0.03)
    losses = []
    for _ in range(40):
        optimizer.zero_grad()
        losses.append(((inside(x) - x.sum(1, keepdim=True)) ** 2).mean())
        losses[-1].backward()
        assert not inside.first.weight.grad.any()
        optimizer.step()
    assert losses[-1] < losses[0] / 4 and module.norm.num_batches_tracked == 40


def test_forces_that_a_module_computes_have_gradients():
    class Forces(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(3, 3)

        def forward(self, x):
            x = x.detach().requires_grad_()
            return torch.autograd.grad((self.layer(x).tanh() ** 2).sum(), x, create_graph=True)[0]

    module, x = Forces(), torch.randn(4, 3)
    inside = export(module, (x,)).module()
    found = []
    for run in (module, inside):
        module.zero_grad()
        run(x).pow(2).sum().backward()
        found.append(module.layer.weight.grad.clone())
    assert torch.allclose(*found, atol=1e-5) and found[0].abs().sum() > 0


def test_a_custom_function_needs_its_jvp():
    class Triple(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 3

        @staticmethod
        def backward(ctx, grad):
            return grad * 3

    result = export(Function(Triple.apply), (torch.ones(2),)).module()(torch.ones(2, requires_grad=True))
    assert result.tolist() == [3, 3]
    with pytest.raises(NotImplementedError, match="You must implement the jvp function"):
        result.sum().backward()


def test_second_derivatives_and_results_that_nothing_flows_from():
    both = Function(lambda x, y: (x.sin() * x, y * 2, x.argmax()))
    inside = export(both, (torch.ones(2), torch.ones(3))).module()
    x = torch.tensor([0.3, 0.7], requires_grad=True)
    first, second, third = inside(x, torch.ones(3))
    assert first.requires_grad and not second.requires_grad and third.item() == 1
    (grad,) = torch.autograd.grad(first.sum(), x, create_graph=True)
    grad.sum().backward()
    assert torch.allclose(x.grad, (2 * x.cos() - x * x.sin()).detach(), atol=1e-5)


def test_random_numbers_are_new_ones_in_each_call_and_those_of_the_seed():
    ep = export(Function(lambda x: (nn.functional.dropout(x), torch.rand(3), torch.randperm(8))), (torch.ones(50),))
    assert list(ep.graph_signature.input_tokens) == ["key"]
    inside = ep.module()
    torch.manual_seed(1)
    first, second = inside(torch.ones(50)), inside(torch.ones(50))
    torch.manual_seed(1)
    again = inside(torch.ones(50))
    assert all(torch.equal(one, other) for one, other in zip(first, again, strict=True))
    assert not any(torch.equal(one, other) for one, other in zip(first, second, strict=True))
    assert set(first[0].tolist()) == {0, 2} and sorted(first[2].tolist()) == list(range(8))
    torch.random.use("pytorch")
    try:
        with pytest.raises(NotImplementedError, match=r"call torch.random.use\('jax'\) before"):
            inside(torch.ones(50))
    finally:
        torch.random.use("jax")


def test_the_module_is_as_it_was_and_the_program_remains_as_it_was_made():
    class Seen(nn.Module):
        def __init__(self):
            super().__init__()
            self.calls, self.scale, self.asked = 0, 2.0, []
            self.weight = nn.Parameter(torch.ones(2))

        def forward(self, x, fails=False):
            self.calls, self.last = self.calls + 1, None
            self.asked.append(torch.compiler.is_exporting())
            if fails:
                raise RuntimeError("so it fails")
            return self.weight * x * self.scale

    module = Seen()
    inside = export(module, (torch.ones(2),)).module()
    with pytest.raises(RuntimeError, match="^so it fails"):
        export(module, (torch.ones(2), True))
    assert (module.calls, module.asked, hasattr(module, "last")) == (0, [], False)
    assert type(module.weight) is nn.Parameter and not torch.compiler.is_exporting()
    module.scale = 5.0
    inside(torch.ones(2)).sum().backward()
    assert module.weight.grad.tolist() == [2, 2]
    export(Function(lambda x: module.asked.append(torch.compiler.is_exporting()) or x), (torch.ones(2),))
    assert module.asked and all(module.asked)


def saved(ep, **options):
    file = io.BytesIO()
    torch.export.save(ep, file, **options)
    return file


def test_files_keep_dtypes_structures_and_gradients():
    class Kinds(nn.Module):
        def __init__(self):
            super().__init__()
            self.small = nn.Parameter(torch.tensor([1.5, -2.0], dtype=torch.bfloat16))
            self.wide = nn.Parameter(torch.tensor([0.1, 0.2], dtype=torch.float64), requires_grad=False)
            self.register_buffer("count", torch.tensor(2**40))
            self.shift = torch.tensor(1 + 2j)

        def forward(self, x, *, scale=1, names=("a",)):
            wide = [self.wide * scale, self.count + 1, x[1]["y"] + self.shift]
            return {"half": self.small * x[0].bfloat16(), 3: wide, "n": names}

    y = torch.ones(2)
    ep = export(Kinds(), ([y, {"y": y}],), {"scale": 2, "names": ("b", None)})
    file = saved(ep, vjp_order=1)
    assert all(kind not in " ".join(zipfile.ZipFile(file).namelist()) for kind in (".pkl", "pickle"))
    loaded = torch.export.load(file)
    assert str(loaded.graph_signature) == str(ep.graph_signature) and loaded.call_spec == ep.call_spec
    result = loaded.module()([y, {"y": y}], names=("b", None), scale=2)
    assert [result["half"].dtype, result[3][0].dtype] == [torch.bfloat16, torch.float64]
    assert (result[3][1].item(), result[3][2].tolist(), result["n"]) == (2**40 + 1, [2 + 2j, 2 + 2j], ("b", None))
    result["half"].sum().backward()
    kept = dict(loaded.named_parameters())
    assert kept["small"].grad.tolist() == [1, 1] and not kept["wide"].requires_grad
    with pytest.raises(AssertionError, match="Guard failed: scale == 2"):
        loaded.module()([y, {"y": y}], names=("b", None), scale=3)


def test_what_a_file_has_not_is_said():
    loaded = torch.export.load(saved(export(nn.Linear(3, 2), (torch.ones(1, 3),))))
    loss = loaded.module()(torch.ones(1, 3)).sum()
    with pytest.raises(RuntimeError, match=r"gradient of this exported program is not in its file.*vjp_order=1"):
        loss.backward()


def test_files_of_others_are_refused(monkeypatch):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("archive/models/model.json", "{}")
    with pytest.raises(RuntimeError, match="not written by torch.export.save of tapegrad"):
        torch.export.load(file)
    ep = export(Function(lambda x: {(1, 2): x}), (torch.ones(1),))
    with pytest.raises(NotImplementedError, match=r"keys \[\(1, 2\)\] of a dict: not all are strings or numbers"):
        saved(ep)
    monkeypatch.setattr(saving, "find_spec", lambda name: None)
    for action in (lambda: saved(ep), lambda: torch.export.load(file)):
        with pytest.raises(ModuleNotFoundError, match=r"pip install 'tapegrad\[export\]'"):
            action()


def test_named_classes_come_back_from_files():
    from collections import namedtuple

    Pair = namedtuple("Pair", "left right")
    torch.utils._pytree._register_namedtuple(Pair, serialized_type_name="tests.Pair")
    ep = export(Function(lambda x: Pair(x, x * 2)), (torch.ones(1),))
    result = torch.export.load(saved(ep)).module()(torch.ones(1))
    assert type(result) is Pair and result.right.item() == 2


def test_other_shapes_and_dtypes_are_refused():
    inside = export(Function(lambda x: x * 2), (torch.ones(4, 3),), dynamic_shapes=(({0: Dim("b")},),)).module()
    for given, text in (
        (torch.ones(4, 3, 1), r"Guard failed: len(args[0].size()) == 2"),
        (torch.ones(4, 3, dtype=torch.int64), r"Guard failed: args[0].dtype == torch.float32"),
        (torch.ones(0, 3), r"Guard failed: args[0].size()[0] >= 1"),
    ):
        with pytest.raises(AssertionError) as caught:
            inside(given)
        assert str(caught.value) == text
    inside = export(Function(lambda x: x * 2), (torch.ones(6, 3),), dynamic_shapes=(({0: 2 * Dim("b") + 2},),)).module()
    with pytest.raises(AssertionError, match=r"^Guard failed: \(args\[0\].size\(\)\[0\] - 2\) % 2 == 0$"):
        inside(torch.ones(7, 3))


def test_a_draft_is_given_where_lengths_cannot_change():
    module, shapes = Function(lambda x: x + torch.ones(4, 1)), (({0: Dim("batch"), 1: Dim.AUTO},),)
    with pytest.raises(torch._dynamo.exc.UserError, match="batch = 4"):
        export(module, (torch.ones(4, 3),), dynamic_shapes=shapes)
    ep = torch.export.draft_export(module, (torch.ones(4, 3),), dynamic_shapes=shapes)
    assert list(ep.range_constraints) == ["s1"] and ep.module()(torch.ones(4, 7)).shape == (4, 7)


def test_what_comes_from_a_file_is_shown_as_stablehlo():
    file = io.BytesIO()
    torch.export.save(export(nn.Linear(3, 2), (torch.ones(4, 3),)), file)
    file.seek(0)
    shown = str(torch.export.load(file))
    assert shown.startswith("ExportedProgram:\n    module @") and "stablehlo.dot_general" in shown
    assert "loc(" not in shown and "\n    p_weight: PARAMETER target='weight'\n" in shown


@pytest.mark.parametrize(
    ("action", "text"),
    [
        (lambda ep: ep.run_decompositions({"aten.add": print}), "not decomposed by functions of the user"),
        (lambda ep: torch.export.unflatten(ep), "a program is flat"),
        (lambda ep: export(nn.ReLU(), (torch.ones(1),), preserve_module_call_signature=("x",)), "a program is flat"),
        (lambda ep: torch.onnx.export(nn.ReLU(), (torch.ones(1),)), r"torch\.export\.export gives a module's program"),
    ],
)
def test_what_is_refused_says_so_when_it_is_asked_for(action, text):
    with pytest.raises(NotImplementedError, match=text):
        action(export(nn.ReLU(), (torch.ones(1),)))


def test_the_signature_must_be_that_of_the_program():
    ep = export(nn.ReLU(), (torch.ones(1),))
    ep.validate()
    ep.graph_signature.input_specs.pop()
    with pytest.raises(AssertionError, match="the signature has 0 inputs and 1 outputs"):
        ep.validate()
