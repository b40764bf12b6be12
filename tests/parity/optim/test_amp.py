"""Automatic mixed precision beside PyTorch's: what is cast, where gradients go, how scales move."""

import copy
import pickle
import warnings

import numpy as np
import pytest
import torch
from harness import attempt
from late_database import listed
from opinfo import ENTRIES, counterpart, flat_outputs, translated

import tapegrad
from tapegrad._src.tape.modes import thread
from tapegrad.amp.casting import POLICIES, lower, to_float32

pytestmark = pytest.mark.parity


def dtypes(result):
    return [str(one.dtype).partition(".")[2] for one in flat_outputs(result)]


def both(program):
    return program(tapegrad), program(torch)


def matrix(lib, rows=3, columns=3, **options):
    return lib.linspace(-1, 1, rows * columns, **options).reshape(rows, columns).detach()


# -- lists -------------------------------------------------------------------------------------------------------------

LISTED = {name.removeprefix("aten::").partition(".")[0]
          for name in torch._C._dispatch_get_registrations_for_dispatch_key("AutocastCPU")}  # fmt: skip
ALSO = """
__rmatmul__ chain_matmul corrcoef cov einsum hstack linalg.matmul linalg.multi_dot nn.functional.pad masked.prod
nn.functional.cross_entropy nn.functional.max_unpool1d nn.functional.multi_head_attention_forward tensordot vstack
nn.functional.softmax nn.functional.layer_norm nn.functional.gelu nn.functional.avg_pool2d add mul sum pow mv addmv dot
linalg.vector_norm exp bernoulli
""".split()  # noqa: SIM905
KNOWN = listed(lambda: [
    name for name in ENTRIES
    if {name.replace("nn.functional.", "").replace(".", "_"), name.partition(".")[0]} & LISTED
    or name.rpartition(".")[2] in LISTED
    or any(name == one or name.startswith(f"{one}_") for one in ALSO)
])  # fmt: skip
OTHERWISE = {
    "tensordot": "where all is summed PyTorch takes dot, which is on no list",
    "masked.prod": "of a number alone PyTorch does nothing",
}


@pytest.mark.parametrize("name", [name for name in KNOWN if name not in OTHERWISE])
def test_dtypes_of_results(name):
    """Every function of PyTorch's lists, and some that are on none, for arguments of float32 and of bfloat16."""
    entry = ENTRIES[name]
    compared = 0
    for dtype in (torch.float32, torch.bfloat16):
        if not entry.supports_dtype(dtype, "cpu"):
            continue
        for sample, _ in zip(entry.sample_inputs("cpu", dtype), range(2), strict=False):
            with torch.autocast("cpu"), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                theirs = dtypes(entry.op(sample.input, *sample.args, **sample.kwargs))
                args, kwargs = translated([sample.input, *sample.args]), translated(sample.kwargs)
                with tapegrad.autocast("cpu"):
                    assert dtypes(counterpart(entry)(*args, **kwargs)) == theirs
            compared += 1
    assert compared


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_lists_name_functions_of_the_vocabulary(device):
    spellings = {name.replace(".", "_") for name in dir(tapegrad)} | {
        f"{home}_{name}" for home in ("linalg", "fft") for name in dir(getattr(tapegrad, home))
    }
    known = spellings | set(dir(tapegrad.nn.functional)) | set(dir(tapegrad.Tensor)) | set(dir(tapegrad._C._nn))
    lost = sorted(set(POLICIES[device]) - known)
    assert set(lost) <= LISTED | {"rnn_relu", "rnn_tanh", "lstm", "gru"}, lost


def test_lists_of_the_gpu():
    """There is none to ask; these are PyTorch's registrations for CUDA."""
    registered = {name.removeprefix("aten::").partition(".")[0]
                  for name in torch._C._dispatch_get_registrations_for_dispatch_key("AutocastCUDA")}  # fmt: skip
    assert registered & set(POLICIES["cuda"]) >= {"conv2d", "exp", "softmax", "layer_norm", "addcmul", "cumsum"}
    assert POLICIES["cuda"]["linear"] is lower
    assert POLICIES["cuda"]["log"] is to_float32


WIDEST = [
    ("float32", "bfloat16"), ("bfloat16", "bfloat16"), ("float64", "bfloat16"), ("float64", "float32"),
    ("float16", "float16"), ("float16", "bfloat16"), ("int64", "bfloat16"), ("float32", "float16"),
]  # fmt: skip


@pytest.mark.parametrize("name", ["cat", "stack", "hstack"])
@pytest.mark.parametrize("given", WIDEST, ids="-".join)
def test_joins(name, given):
    def program(lib):
        with lib.autocast("cpu"):
            try:
                return dtypes(getattr(lib, name)([lib.ones(2, dtype=getattr(lib, dtype)) for dtype in given]))
            except RuntimeError as error:
                return str(error)

    mine, theirs = both(program)
    assert mine == theirs


LSTM_BY_ONEDNN = torch.ops.mkldnn._is_mkldnn_bf16_supported()
"""Whether oneDNN computes with bfloat16 on this processor: where it doesn't, PyTorch's LSTM raises an error."""

LAYERS = """
lib.nn.Linear(3, 2)
lib.nn.LSTM(3, 2)
lib.nn.GRU(3, 2)
lib.nn.RNN(3, 2)
lib.nn.LSTMCell(3, 2)
lib.nn.GRUCell(3, 2)
lib.nn.RNNCell(3, 2)
lib.nn.LayerNorm(3)
lib.nn.Sequential(lib.nn.Linear(3, 3), lib.nn.LayerNorm(3), lib.nn.Linear(3, 2), lib.nn.Softmax(-1))
lib.nn.Sequential(lib.nn.Linear(3, 4), lib.nn.BatchNorm1d(4), lib.nn.GELU(), lib.nn.Dropout(0.1), lib.nn.Linear(4, 2))
lib.nn.Sequential(lib.nn.Linear(3, 3), lib.nn.GRU(3, 2))
lib.nn.Sequential(lib.nn.Linear(3, 3), lib.nn.GroupNorm(1, 3), lib.nn.Tanh())
lib.nn.TransformerEncoderLayer(3, 1, 4)
""".strip().splitlines()


@pytest.mark.parametrize("layer", LAYERS)
def test_layers(layer):
    def program(lib):
        made = eval(layer, {"lib": lib})
        with lib.autocast("cpu"):
            result = made(matrix(lib, 4, 3))
        sum(one.float().sum() for one in flat_outputs(result)).backward()
        grads = [None if p.grad is None else dtypes(p.grad) for p in made.parameters()]
        return dtypes(result), grads, [tuple(one.shape) for one in flat_outputs(result)]

    if "LSTM(" in layer and not LSTM_BY_ONEDNN:
        assert set(program(tapegrad)[0]) == {"bfloat16"}
        return
    mine, theirs = both(program)
    assert mine == theirs


RECURRENT = [("LSTM", {}), ("LSTM", {"proj_size": 2}), ("LSTM", {"bidirectional": True, "num_layers": 2}), ("GRU", {}),
             ("RNN", {}), ("LSTMCell", {}), ("GRUCell", {}), ("RNNCell", {})]  # fmt: skip


def recurrent(lib, name, options, dtypes_of, packed, low):
    """Results, and gradients of all that is given, of a recurrent layer under autocast; or the error."""
    weights, x, *states = [getattr(lib, dtype) for dtype in dtypes_of]
    lib.manual_seed(0)
    layer, lead = getattr(lib.nn, name)(3, 4, dtype=weights, **options), () if "Cell" in name else (5,)
    for place, weight in enumerate(layer.parameters()):
        weight.data = (matrix(lib, 1, weight.numel()).reshape(weight.shape) * (place + 1) / 9).to(weights)
    input = matrix(lib, 1, 6 * 5 ** len(lead)).reshape(*lead, 2, 3).to(x).requires_grad_()
    depth = () if "Cell" in name else (4,) if options.get("num_layers") else (1,)
    widths = options.get("proj_size", 4), 4
    given = [matrix(lib, 1, 2 * width * (*depth, 1)[0]).reshape(*depth, 2, width).to(dtype).requires_grad_()
             for width, dtype in zip(widths, states, strict=False)]  # fmt: skip
    x = lib.nn.utils.rnn.pack_padded_sequence(input, lib.tensor([5, 3])) if packed else input
    hidden = () if not states else (tuple(given),) if "LSTM" in name else (given[0],)
    try:
        with lib.autocast("cpu", dtype=getattr(lib, low)):
            found = layer(x, *hidden)
        results = [one for one in flat_outputs(found) if one.is_floating_point()]
        sum(one.double().sum() for one in results).backward()
    except RuntimeError as error:
        return str(error)
    grads = [one.grad for one in (*layer.parameters(), input, *given) if one.grad is not None]
    return [(str(one.dtype)[-8:], one.detach().double().numpy()) for one in (*results, *grads)]


@pytest.mark.filterwarnings("ignore:LSTM with projections:UserWarning")
@pytest.mark.parametrize(("name", "options"), RECURRENT, ids=str)
def test_recurrent_states_of_other_dtypes(name, options):
    """Products are cast, and what is added to a state meets it at the wider dtype."""
    mixtures = [("float32", "float32", *states) for states in (
        (), ("float16",) * 2, ("bfloat16", "float32"), ("float32", "bfloat16"), ("float64",) * 2)]
    mixtures += [("bfloat16", "float16", "float16", "float16"), ("float64",) * 4, ("float32", "float64"),
                 ("float64", "float32")]  # fmt: skip
    for dtypes_of in mixtures:
        for packed in (False, True)[: 1 + ("Cell" not in name)]:
            for low in ("bfloat16", "float16")[: 1 + (dtypes_of[2:] == ("float16",) * 2)]:
                mine, theirs = (recurrent(lib, name, options, dtypes_of, packed, low) for lib in (tapegrad, torch))
                if isinstance(theirs, str) and ("mkldnn" in theirs or "primitive" in theirs):
                    continue  # what another library has no kernel for
                assert isinstance(mine, list) == isinstance(theirs, list), (mine, theirs)
                if isinstance(theirs, str):
                    assert mine == theirs
                    continue
                assert [one[0] for one in mine] == [one[0] for one in theirs], (dtypes_of, packed, low)
                for (_, own), (_, other) in zip(mine, theirs, strict=True):
                    np.testing.assert_allclose(own, other, rtol=0.05, atol=0.05)


# -- gradients, nesting, weights ---------------------------------------------------------------------------------------


def trained(lib, **options):
    """Losses and weights of some steps of a small net."""
    w, x, seen = matrix(lib).requires_grad_(), matrix(lib, 2, 3), []
    for _ in range(4):
        with lib.autocast("cpu", **options):
            loss = lib.nn.functional.mse_loss(lib.relu(x @ w) @ w.t(), x)
        w.grad = None
        loss.backward()
        with lib.no_grad():
            w -= 0.1 * w.grad
        seen.append((loss.item(), w.detach().tolist()))
    return seen


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
@pytest.mark.parametrize("cache_enabled", [True, False])
def test_steps(dtype, cache_enabled):
    mine, theirs = both(lambda lib: trained(lib, dtype=getattr(lib, dtype), cache_enabled=cache_enabled))
    within = 1e-5 if tapegrad.get_execution() == "immediate" else 2e-2  # a program rounds less often
    for (loss, w), (other_loss, other_w) in zip(mine, theirs, strict=True):
        np.testing.assert_allclose(loss, other_loss, rtol=within)
        np.testing.assert_allclose(w, other_w, atol=within)


def test_a_weight_is_cast_once():
    def program(lib, cache_enabled):
        w, x = matrix(lib).requires_grad_(), matrix(lib)
        with lib.autocast("cpu", cache_enabled=cache_enabled):
            with lib.no_grad():
                assert (x @ w).grad_fn is None
            first, second = x @ w, x.mm(w)
            with lib.no_grad():
                w.add_(100.0)
            third = x @ w  # it is not cast again when it was written to
        nodes = [one.grad_fn.next_functions[1][0] for one in (first, second, third)]
        with lib.autocast("cpu"):
            later = x @ w
        (first.sum() + second.sum()).backward()
        return (
            [node.name() for node in nodes], nodes[0] is nodes[1], lib.equal(first, third),
            lib.equal(third, later), dtypes(w.grad), w.grad.tolist(),
        )  # fmt: skip

    for cache_enabled in (True, False):
        mine, theirs = both(lambda lib, cache_enabled=cache_enabled: program(lib, cache_enabled))
        assert mine == theirs


def test_nesting():
    def program(lib):
        x, seen = matrix(lib), []

        def look():
            seen.append((*dtypes(x @ x), lib.is_autocast_enabled("cpu"), str(lib.get_autocast_dtype("cpu"))[-8:]))

        with lib.autocast("cpu"):
            look()
            with lib.autocast("cpu", enabled=False):
                look()
                with lib.autocast("cpu", dtype=lib.float16):
                    look()
                look()
            look()
            with pytest.raises(KeyError), lib.autocast("cpu", enabled=False):
                raise KeyError
            look()
            with lib.no_grad(), lib.inference_mode():
                look()
        look()
        return seen

    mine, theirs = both(program)
    assert mine == theirs
    assert thread.modes.autocast == ()


def test_as_a_decorator_and_by_hand():
    def program(lib):
        x, seen = matrix(lib), []

        @lib.autocast("cpu", dtype=lib.float16)
        def product(a):
            """It multiplies."""
            return a @ a

        seen += [*dtypes(product(x)), *dtypes(x @ x), product.__name__, product.__doc__]
        lib.set_autocast_enabled("cpu", True)
        try:
            seen += dtypes(x @ x)
            lib.set_autocast_dtype("cpu", lib.float16)
            seen += dtypes(x @ x)
        finally:
            lib.set_autocast_enabled("cpu", False)
            lib.set_autocast_dtype("cpu", lib.bfloat16)
        seen += [*dtypes(x @ x), lib.autocast_increment_nesting(), lib.autocast_decrement_nesting()]
        return [*seen, lib.is_autocast_cache_enabled(), lib.is_autocast_enabled()]

    mine, theirs = both(program)
    assert mine == theirs


def test_what_is_not_cast():
    """Tensors of float64 and of integers; results that are written to given tensors; what writes in place."""

    def program(lib):
        x, out = matrix(lib), lib.empty(3, 3)
        with lib.autocast("cpu"):
            lib.mm(x, x, out=out)
            return [
                *dtypes(out), *dtypes(x.double() @ x.double()), *dtypes(lib.ones(2, 2, dtype=lib.int64).mm(
                    lib.ones(2, 2, dtype=lib.int64))), *dtypes(x.clone().addmm_(x, x)), *dtypes(x + x.bfloat16()),
            ]  # fmt: skip

    mine, theirs = both(program)
    assert mine == theirs


@pytest.mark.parametrize("reentrant", [True, False])
def test_checkpoints_find_it_again(reentrant):
    def program(lib):
        checkpoint = __import__(f"{lib.__name__}.utils.checkpoint", fromlist=["checkpoint"]).checkpoint
        w, seen = matrix(lib).requires_grad_(), []

        def part(w):
            y = w @ w
            seen.extend(dtypes(y))
            return y.sin() @ w

        with lib.autocast("cpu"):
            loss = checkpoint(part, w, use_reentrant=reentrant).sum()
        loss.backward()
        seen += [*dtypes(w @ w), w.grad.tolist()]
        with lib.autocast("cpu", enabled=False):
            loss = checkpoint(part, w, use_reentrant=reentrant).sum()
        with lib.autocast("cpu"):
            loss.backward()
        return seen

    mine, theirs = both(program)
    assert mine == theirs


def test_transforms():
    def program(lib):
        x, w = matrix(lib), matrix(lib).requires_grad_()
        with lib.autocast("cpu"):
            mapped = lib.vmap(lambda row: w @ row)(x)
            again = x @ w
            slope = lib.func.grad(lambda a: (a @ w).sum())(x)
        return dtypes(mapped), dtypes(again), dtypes(slope), mapped.tolist(), slope.tolist()

    mine, theirs = both(program)
    assert mine == theirs


def step_of(w, lib):
    def step(x):
        loss = lib.nn.functional.mse_loss(lib.relu(x @ w) @ w.t(), x)
        w.grad = None
        loss.backward()
        with lib.no_grad():
            w.sub_(0.1 * w.grad)
        return loss

    return step


@pytest.mark.parametrize("inside", [True, False])
def test_compiled_steps(inside):
    """A captured step casts its weights itself, each time; it is another one without autocast."""
    x, w = matrix(tapegrad, 2, 3), matrix(tapegrad).requires_grad_()
    step = step_of(w, tapegrad)
    compiled = tapegrad.compile(tapegrad.autocast("cpu")(step) if inside else step)
    losses = []
    with tapegrad.autocast("cpu", enabled=not inside):
        for _ in range(6):
            losses.append(compiled(x).item())
    plain = step_of(other := matrix(torch).requires_grad_(), torch)
    expected = []
    for _ in range(6):
        with torch.autocast("cpu"):
            expected.append(plain(matrix(torch, 2, 3)).item())
    np.testing.assert_allclose(losses, expected, rtol=5e-2)
    np.testing.assert_allclose(w.detach().numpy(), other.detach().numpy(), atol=5e-2)
    assert "replayed" in compiled.report()


def test_a_compiled_function_asks_whether_it_is_on():
    product = tapegrad.compile(lambda a: a @ a)
    x = matrix(tapegrad)
    assert [product(x).dtype for _ in range(3)] == [tapegrad.float32] * 3
    with tapegrad.autocast("cpu"):
        assert [product(x).dtype for _ in range(3)] == [tapegrad.bfloat16] * 3
    assert product(x).dtype is tapegrad.float32


def test_custom_functions():
    def program(lib, cast_inputs):
        seen = []

        class Product(lib.autograd.Function):
            @staticmethod
            @lib.amp.custom_fwd(device_type="cpu", cast_inputs=lib.float32 if cast_inputs else None)
            def forward(ctx, a, b):
                ctx.save_for_backward(a, b)
                seen.extend(dtypes([a, b, a @ b]))
                return a @ b

            @staticmethod
            @lib.amp.custom_bwd(device_type="cpu")
            def backward(ctx, grad):
                a, b = ctx.saved_tensors
                seen.append(lib.is_autocast_enabled("cpu"))
                return grad.to(a.dtype) @ b.t().to(a.dtype), a.t() @ grad.to(a.dtype)

        a, b = matrix(lib).requires_grad_(), matrix(lib).requires_grad_()
        with lib.autocast("cpu"):
            y = Product.apply(a.bfloat16() if cast_inputs else a, b)
        y.sum().backward()
        seen.extend(dtypes([y, a.grad, b.grad]))
        seen.extend(dtypes(Product.apply(a, b)))
        return seen

    for cast_inputs in (False, True):
        mine, theirs = both(lambda lib, cast_inputs=cast_inputs: program(lib, cast_inputs))
        assert mine == theirs


SAYS = """
lib.autocast("foo")
lib.autocast(3)
lib.autocast("cpu", lib.float32)._enabled
lib.autocast("cuda")._enabled
lib.autocast("meta")
lib.autocast("cpu")(3)
lib.amp.is_autocast_available("mps")
lib.amp.is_autocast_available("meta")
lib.amp.is_autocast_available("foo")
lib.get_autocast_dtype("cpu")
lib.get_autocast_dtype("cuda")
lib.get_autocast_dtype("xla")
lib.get_autocast_dtype("meta")
lib.is_autocast_enabled("meta")
lib.is_autocast_enabled(3)
lib.set_autocast_enabled("cpu", 1)
lib.set_autocast_dtype("cpu", 3)
lib.is_autocast_cpu_enabled()
lib.get_autocast_cpu_dtype()
lib.get_autocast_gpu_dtype()
lib.cpu.amp.autocast().fast_dtype
lib.cuda.amp.autocast().fast_dtype
lib.cuda.amp.GradScaler().is_enabled()
lib.cpu.amp.GradScaler().get_scale()
lib.GradScaler().is_enabled()
lib.GradScaler("cpu", growth_factor=1.0)
lib.GradScaler("cpu", backoff_factor=1.0)
lib.GradScaler("cpu").update()
lib.GradScaler("cpu").unscale_(None)
lib.GradScaler("cpu").load_state_dict({})
lib.GradScaler("cpu").scale([3])
lib.GradScaler("cpu", enabled=False).state_dict()
lib.GradScaler("cpu").state_dict()
lib.amp.custom_fwd(device_type=3)
lib.amp.custom_bwd(device_type=3)
lib.cuda.amp.custom_bwd(len) is None
""".strip().splitlines()


@pytest.mark.parametrize("line", SAYS)
def test_what_is_said(line):
    """Values, warnings and errors."""

    def program(lib):
        with warnings.catch_warnings(record=True) as given:
            warnings.simplefilter("always")
            try:
                result = str(eval(line, {"lib": lib}))
            except Exception as error:
                result = type(error).__name__, str(error)
        return result, [(one.category, str(one.message).partition(" (Triggered")[0]) for one in given]

    mine, theirs = both(program)
    assert mine == theirs


# -- scales ------------------------------------------------------------------------------------------------------------


class OwnScaling:
    """An optimizer that unscales gradients itself."""

    _step_supports_amp_scaling = True

    def __init__(self, params, seen):
        self.param_groups, self.seen = [{"params": params}], seen

    def step(self):
        scale = None if self.grad_scale is None else self.grad_scale.item()
        self.seen.append((scale, self.found_inf.item(), self.param_groups[0]["params"][0].grad.tolist()))


def scaled(lib, optimizer, bad, **options):
    """The scale, its tracker and the weights over some steps; in those of ``bad`` a gradient is not finite."""
    w = [lib.tensor([1.0, -2.0]).requires_grad_(), lib.tensor(0.5).requires_grad_()]
    optimizer = getattr(lib.optim, optimizer)(w, lr=0.1)
    scaler = lib.GradScaler("cpu", growth_interval=3, **options)
    seen = []
    for step in range(12):
        optimizer.zero_grad()
        loss = (w[0] * w[1]).sum() ** 2 * (float(bad[step]) if step in bad else 1.0)
        scaler.scale(loss).backward()
        if step % 2:
            scaler.unscale_(optimizer)
            seen.append(w[0].grad.tolist())
        scaler.step(optimizer)
        scaler.update(*([32.0] if step == 8 else []))
        seen.append((scaler.get_scale(), scaler._get_growth_tracker(), w[0].tolist(), w[1].item()))
        if step == 6:
            scaler = pickle.loads(pickle.dumps(scaler))
        if step == 9:
            state = copy.deepcopy(scaler.state_dict())
            scaler = lib.GradScaler("cpu")
            scaler.load_state_dict(state)
    return seen, state


@pytest.mark.parametrize("optimizer", ["SGD", "Adam"])
@pytest.mark.parametrize(
    ("bad", "options"), [({}, {}), ({2: "inf", 3: "nan", 9: "inf"}, {}), ({1: "inf"}, {"growth_factor": 3.0,
    "backoff_factor": 0.25})], ids=["good", "bad", "factors"],
)  # fmt: skip
def test_courses_of_scales(optimizer, bad, options):
    (mine, state), (theirs, other) = both(lambda lib: scaled(lib, optimizer, bad, **{"init_scale": 64.0} | options))
    assert state == other
    for one, two in zip(mine, theirs, strict=True):
        for a, b in zip(one, two, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-7)


UPDATES = [(1.0, 0, 0.0), (1.0, 2, 0.0), (1.0, 2, 1.0), (3e38, 2, 0.0), (3e38, 1, 4.0), (1e-38, 0, 1.0)]


@pytest.mark.parametrize("given", UPDATES)
def test_updates_of_scales(given):
    """A scale does not grow to infinity."""

    def program(lib):
        scale, tracker, found = (lib.tensor(number) for number in given)
        tracker = tracker.int()
        assert lib._amp_update_scale_(scale, tracker, found, 2.0, 0.75, 3) is scale
        return scale.item(), tracker.item()

    mine, theirs = both(program)
    assert mine == pytest.approx(theirs, rel=1e-6)


def test_stages():
    """What is refused between two updates."""

    def program(lib):
        w, seen = lib.ones(2).requires_grad_(), []
        optimizer, idle = lib.optim.SGD([w], lr=0.1), lib.optim.SGD([lib.ones(1)], lr=0.1)
        half = lib.ones(2).half().requires_grad_()
        scaler = lib.GradScaler("cpu")

        def trying(function, *args, **kwargs):
            try:
                function(*args, **kwargs)
            except (RuntimeError, ValueError, AssertionError) as error:
                seen.append((type(error).__name__, str(error)))
            else:
                seen.append("went well")

        trying(scaler.step, optimizer)
        scaler.scale((w.sum(), [half.sum()]))[0].backward()
        trying(scaler.update)
        trying(scaler.step, optimizer, closure=lambda: None)
        for call in (scaler.unscale_, scaler.unscale_, scaler.step, scaler.step, scaler.unscale_, scaler.step):
            trying(call, optimizer)
        trying(scaler.step, idle)
        trying(pickle.dumps, scaler)
        trying(scaler.update, lib.ones(2))
        trying(scaler.update)
        half.grad = half.detach().clone()
        trying(scaler.unscale_, lib.optim.SGD([half], lr=0.1))
        return seen

    mine, theirs = both(program)
    assert mine == theirs


def test_optimizers_that_unscale_themselves():
    def program(lib):
        w, seen = lib.ones(2).requires_grad_(), []
        optimizer, scaler = OwnScaling([w], seen), lib.GradScaler("cpu", init_scale=8.0)
        for factor in (1.0, float("inf"), 1.0):
            w.grad = None
            scaler.scale((w * factor).sum()).backward()
            if seen:
                scaler.unscale_(optimizer)
            scaler.step(optimizer)
            scaler.update()
            seen.append((scaler.get_scale(), hasattr(optimizer, "grad_scale")))
        return seen

    mine, theirs = both(program)
    assert mine == theirs


def test_a_disabled_scaler_does_nothing():
    def program(lib):
        w = lib.ones(2).requires_grad_()
        optimizer, scaler = lib.optim.SGD([w], lr=0.5), lib.GradScaler("cpu", enabled=False)
        loss = w.sum()
        assert scaler.scale(loss) is loss
        loss.backward()
        scaler.unscale_(optimizer)
        scaler.step(optimizer)
        scaler.update()
        return w.tolist(), scaler.get_scale(), scaler.state_dict(), scaler.is_enabled()

    mine, theirs = both(program)
    assert mine == theirs


@pytest.mark.parametrize("name", ["Adam", "SGD"])
def test_scales_of_fused_optimizers(name):
    """PyTorch's unscale gradients in their kernels: parameters, gradients, steps and scales are the same."""

    def program(lib):
        p = lib.nn.Parameter(lib.ones(2))
        optimizer = getattr(lib.optim, name)([p], lr=0.1, fused=True)
        scaler = lib.amp.GradScaler("cpu", init_scale=16.0, growth_interval=2)
        seen = []
        for factor in (1.0, float("inf"), 2.0, 3.0):
            optimizer.zero_grad()
            scaler.scale((p**2).sum() * factor).backward()
            if factor == 2:
                scaler.unscale_(optimizer)
            scaler.step(optimizer)
            scaler.update()
            seen += [*p.tolist(), *p.grad.tolist(), scaler.get_scale(), float(optimizer.state[p].get("step", 0))]
        return seen

    ours, theirs = both(program)
    np.testing.assert_allclose(ours, theirs, rtol=1e-6)


def mixed(lib):
    """Dtypes that are not cast: dots of several, float64 targets, float64 layers."""
    chain = [lib.ones(2, 3), lib.ones(3, 4).bfloat16(), lib.ones(4, 2)]
    layer = lib.nn.GRU(3, 4).double()
    with lib.autocast("cpu"):
        return [
            attempt(lambda: lib.linalg.multi_dot(chain)),
            str(lib.nn.functional.soft_margin_loss(lib.ones(3), lib.ones(3).double()).dtype),
            str(layer(lib.ones(2, 2, 3).double())[0].dtype),
        ]


def test_mixed_dtypes():
    assert mixed(tapegrad) == mixed(torch)
