"""Why a step was compiled again, and statistics of a model while it is trained."""

import math

import numpy as np
import pytest

import tapegrad as torch
from tapegrad._src.execution.array_functions.statistics import Statistics, ask_statistics, read_statistics


def step(length=3, power=2, extra=False):
    w = torch.ones(length, requires_grad=True)
    y = (w * 2) ** power
    if extra:
        y = y.exp()
    y.sum().backward()


# -- diff --------------------------------------------------------------------------------------------------------------


def test_steps_that_do_the_same():
    report = torch.viz.diff(step, lambda: step())
    assert report.title.startswith("the steps do the same: 6 operators") and not report.rows


def test_a_setting_that_differs_is_told_with_its_line():
    report = torch.viz.diff(step, lambda: step(power=3))
    assert report.title == (
        "the steps part at operator 1: it was power(%0: f32[3], exponent=2), and is power(%0: f32[3], exponent=3)"
    )
    (row,) = report.rows
    assert "y = (w * 2) ** power" in row.before.line


def test_a_shape_that_differs_is_told():
    first = torch.viz.diff(step, lambda: step(length=4)).rows[0]
    assert (first.before.takes[0], first.after.takes[0]) == ("f32[3], requires grad", "f32[4], requires grad")


def test_an_operator_that_is_there_once_only_is_told():
    report = torch.viz.diff(step, lambda: step(extra=True))
    assert "exp(%1: f32[3]) is only in the second" in report.title
    assert [row.after.name for row in report.rows if row.before is None] == ["exp", "ExpBackward0"]


@pytest.mark.parametrize("given", [(step,), (step, None), (torch.nn.Linear(1, 1),)])
def test_one_function_has_no_other_beside_it(given):
    with pytest.raises(TypeError, match=r"or one compiled step, got (function|Linear) alone$"):
        torch.viz.diff(*given)


def test_the_kinds_of_calls_of_a_compiled_step():
    w = torch.ones(3, requires_grad=True)

    @torch.compile
    def compiled(x, power=2):
        w.grad = None
        loss = ((w * x) ** power).sum()
        loss.backward()
        return loss.detach()

    x = torch.ones(2, 3)
    for args in ((x,), (torch.ones(5, 3),), (x, 3), (torch.ones(2, 3, requires_grad=True),)):
        compiled(*args)
    told = [row.unlike for row in torch.viz.diff(compiled).rows]
    assert told[:2] == ["", "x has shape [5, 3]; it had [2, 3]"]
    assert told[2].startswith("it has other arguments") and told[3] == "x has requires_grad True; it had False"
    assert "compiled: 4 calls of 4 kinds" in torch.viz.diff(compiled).title


def test_the_kinds_of_calls_of_a_compiled_module():
    net = torch.compile(torch.nn.Linear(2, 1))
    net(torch.ones(1, 2))
    net.eval()
    net(torch.ones(1, 2))
    assert torch.viz.diff(net).rows[1].unlike == "it is evaluating; it was training"


@pytest.mark.parametrize("given", [(3,), (step,), (step, torch.ones(1))])
def test_what_is_no_step_gets_a_sentence(given):
    with pytest.raises(TypeError, match=r"^diff\(\): a function that is run wants arguments; .*lambda: step\(x\)"):
        torch.viz.diff(lambda x: x, step)
    with pytest.raises(TypeError, match=r"^diff\(\): expected two functions without arguments, or one compiled step"):
        torch.viz.diff(*given)


# -- reasons of new programs -------------------------------------------------------------------------------------------


@pytest.mark.once("asks for deferred execution by itself")
@pytest.mark.parametrize(
    ("before", "now", "told"),
    [
        (
            lambda: (torch.ones(7) * 2.5 + 1) ** 2,
            lambda: (torch.ones(7) * 2.5 + 1) ** 3,
            "instruction 2 is power(%1) with exponent=3; it was power(%1) with exponent=2",
        ),
        (
            lambda: torch.ones(11).cosh().tanh(),
            lambda: torch.ones(12).cosh().tanh(),
            "instruction 0 is cosh(in0) with argument 0=float32[12], result 0=float32[12]; "
            "it was cosh(in0) with argument 0=float32[11], result 0=float32[11]",
        ),
    ],
)
def test_reasons_say_what_differs(before, now, told):
    torch.execution.reset_stats()
    for program in (before, now):
        with torch.deferred():
            program().tolist()
    assert torch.execution.stats().reasons[-1] == told


# -- statistics --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("tiers", ["auto", "xla"])
@pytest.mark.parametrize(
    "numbers",
    [[3.0, -4.0, 0.0], [1e4, 1e4 + 1], [math.nan, 1.0, -math.inf], [math.nan], [0.0, 0.0], [3 + 4j]],
)
def test_statistics_are_those_of_numpy(numbers, tiers):
    array = np.asarray(numbers, "complex64" if isinstance(numbers[0], complex) else "float32")
    with torch.execution.tiers(tiers):
        (found,) = read_statistics(ask_statistics([array]))
    real = np.abs(array) if np.iscomplexobj(array) else array.astype("float64")
    kept = real[np.isfinite(real)] if np.isfinite(real).any() else np.zeros(1)
    expected = Statistics(
        kept.mean(), kept.std(), kept.min(), kept.max(), np.linalg.norm(kept), (real == 0).mean(),
        int((~np.isfinite(real)).sum()),
    )  # fmt: skip
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-6)


# -- watch -------------------------------------------------------------------------------------------------------------


def network():
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.ReLU(), torch.nn.Linear(3, 1))


def test_what_is_watched_is_what_flowed():
    net, x = network(), torch.tensor([[1.0, -2.0], [0.5, 3.0]])
    with torch.watch(net, every=1) as watched:
        out = net(x)
        out.pow(2).sum().backward()
    found = {(row.name, row.kind): row.statistics for row in watched.history}
    hidden = net[0](x)
    for name, kind, tensor in [
        ("0", "activation", hidden), ("1", "activation", hidden.relu()), ("(model)", "activation", out),
        ("(model)", "gradient", 2 * out), ("0.weight", "gradient of parameter", net[0].weight.grad),
        ("2.bias", "gradient of parameter", net[2].bias.grad),
    ]:  # fmt: skip
        numbers = tensor.detach().numpy()
        statistics = found[name, kind]
        np.testing.assert_allclose(statistics.norm, np.linalg.norm(numbers), rtol=1e-4)
        np.testing.assert_allclose(statistics.mean, numbers.mean(), rtol=1e-3, atol=1e-6)
        assert statistics.zeros == pytest.approx((numbers == 0).mean())


def test_the_first_step_that_is_sampled_compiles_nothing():
    net = network()
    for _ in range(3):
        net(torch.ones(7, 2)).sum().backward()
    before = torch.execution.stats()
    with torch.watch(net, every=1):
        net(torch.ones(7, 2)).sum().backward()
    after = torch.execution.stats()
    assert after.kinds.get("kernels") == before.kinds.get("kernels") and after.tiers.xla == before.tiers.xla


def test_one_step_in_so_many_is_sampled_and_hooks_are_gone_in_between():
    net = network()
    watched = torch.watch(net, every=3)
    for _ in range(7):
        net(torch.ones(1, 2)).sum().backward()
        assert not any(module._forward_hooks for module in net.children()) and not net[0].weight._backward_hooks
    assert sorted({row.step for row in watched.history}) == [0, 3, 6] and watched.calls == 7
    watched.close()
    net(torch.ones(1, 2))
    assert watched.calls == 7 and not net._forward_pre_hooks and not net._forward_hooks


def test_gradients_are_what_they_would_be():
    plain, net = network(), network()
    with torch.watch(net, every=1):
        for model in (plain, net):
            model(torch.ones(4, 2)).exp().sum().backward()
    for a, b in zip(plain.parameters(), net.parameters(), strict=True):  # deferred, they are two programs
        torch.testing.assert_close(a.grad, b.grad, rtol=1e-6, atol=0.0)


def test_steps_without_a_backward_pass_and_those_that_fail():
    net = network()
    with torch.watch(net, every=1) as watched:
        with torch.no_grad():
            net(torch.ones(1, 2))
        with pytest.raises(RuntimeError):
            net(torch.ones(1, 5))
        net(torch.ones(1, 2)).sum().backward()
    assert {row.kind for row in watched.history if row.step == 0} == {"activation"}
    assert {row.kind for row in watched.history if row.step == 2} == {"activation", "gradient", "gradient of parameter"}


def test_what_looks_wrong_is_told():
    net = network()
    with torch.no_grad():
        net[0].bias.fill_(-100.0)
        net[2].weight.fill_(math.inf)
    with torch.watch(net, every=1) as watched:
        net(torch.ones(1, 2))
    facts = watched.report().facts
    assert "activation of 1 is 0 everywhere" in facts
    assert any("activation of 2 is not finite" in fact for fact in facts)


def test_what_is_watched_prints_and_is_drawn():
    net = network()
    with torch.watch(net, every=1) as watched:
        assert str(watched).startswith("Sequential: 0 calls, one in 1 sampled")
        for _ in range(3):
            net(torch.ones(1, 2)).sum().backward()
    assert "gradient of parameter" in str(watched) and "sampled last in call 2" in repr(watched)
    picture = watched.plot("gradient", "std")
    assert picture.content.count("<polyline") == 4 and "0</text>" in picture.content
    assert "<svg" in watched._repr_html_() and "<table>" in watched._repr_html_()


def test_calls_that_somebody_looks_at_are_told():
    double = torch.compile(lambda x: x * 2)
    with torch.autograd.set_record_source_lines(True):
        double(torch.ones(2))
    first, more = double.report().splitlines()
    assert first == "0 calls, 0 of them replayed" and more.startswith(
        "1 more ran as they stand: source lines are recorded"
    )
    assert "ran as they stand" in double._repr_html_()


def test_deferred_programs_are_watched_from_outside():
    """Statistics are no part of the program: that would be compiled for minutes, were there many of them."""
    net = network()
    with torch.deferred():
        with torch.watch(net, every=2) as watched:
            for _ in range(5):
                net(torch.ones(1, 2)).sum().backward()
            net(torch.ones(1, 2))
    assert [row.step for row in watched.history if row.name == "2.bias"] == [0, 2, 4]
    assert not any("statistics" in reason for reason in torch.execution.stats().reasons)


def test_a_compiled_step_is_not_seen():
    net = network()

    def plain(x):
        return net(x).sum().detach()

    with torch.watch(net, every=1) as watched:
        compiled = torch.compile(plain)
        for _ in range(3):
            compiled(torch.ones(1, 2))
    assert watched.calls == 0


def test_what_can_t_be_watched_gets_a_sentence():
    with pytest.raises(TypeError, match=r"^watch\(\): expected a module, got Tensor"):
        torch.watch(torch.ones(1))
    for every in (0, True, 1.5):
        with pytest.raises(ValueError, match=r"^watch\(\): every: expected 1 or more"):
            torch.watch(network(), every)
    with torch.watch(network()) as watched, pytest.raises(ValueError, match=r"^plot\(\): expected one of"):
        watched.plot("weights")
