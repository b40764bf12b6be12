"""Programs that differentiate more: transforms, double backward, own functions, equations, meta learning."""

import functools

import tapegrad as torch
from tapegrad import nn
from tests.compiled.declaring import classes, mlp, program, regression, sgd

F = nn.functional


@program("torch.func.grad of a functional call")
def func_grad(compile):
    net = mlp()
    params = {name: p.detach().clone() for name, p in net.named_parameters()}

    def loss_of(params, x, y):
        return F.mse_loss(torch.func.functional_call(net, params, (x,)), y)

    @compile
    def step(params, x, y):
        grads = torch.func.grad(loss_of)(params, x, y)
        return {name: p - 0.1 * grads[name] for name, p in params.items()}

    def call(n):
        params.update(step(params, *regression(n)))

    return call, params


@program("gradients per sample by vmap of grad, clipped one by one")
def per_sample(compile):
    net = mlp(out=3)
    params = {name: p.detach() for name, p in net.named_parameters()}

    def loss_of(params, x, y):
        return F.cross_entropy(torch.func.functional_call(net, params, (x.unsqueeze(0),)), y.unsqueeze(0))

    @compile
    def step(x, y):
        grads = torch.func.vmap(torch.func.grad(loss_of), in_dims=(None, 0, 0))(params, x, y)
        norms = torch.stack([g.flatten(1).norm(dim=1) for g in grads.values()]).norm(dim=0)
        scale = (1.0 / norms.clamp(min=1e-6)).clamp(max=1.0)
        with torch.no_grad():
            for name, p in params.items():
                p -= 0.1 * torch.einsum("n,n...->...", scale, grads[name]) / len(x)
        return norms

    return lambda n: step(*classes(n)), params


@program("a Hessian and a Jacobian by torch.func", calls=5)
def hessian(compile):
    net = mlp()

    @compile
    def curvature(x):
        f = lambda x: net(x).sum()
        return torch.func.hessian(f)(x), torch.func.jacrev(net)(x), torch.func.jvp(f, (x,), (torch.ones_like(x),))[1]

    return lambda n: [one.detach() for one in curvature(regression(n)[0][0])], [net]


@program("the output's Jacobian is penalized, by torch.func, and the weights are updated by hand")
def jacobian_penalty(compile):
    net = mlp()

    @compile
    def step(x, y):
        slope = torch.func.vmap(torch.func.jacfwd(net))(x)
        loss = F.mse_loss(net(x), y) + 0.1 * slope.pow(2).mean()
        loss.backward()
        with torch.no_grad():
            for p in net.parameters():
                p -= 0.1 * p.grad
                p.grad = None
        curvature = torch.func.hessian(lambda x: net(x).sum())(x[0])
        return loss.detach(), curvature

    def call(n):
        loss, curvature = step(*regression(n))
        curvature.sum().backward()
        return loss, curvature.detach()

    return call, [net]


@program("a Hessian-vector product by double backward")
def hessian_product(compile):
    net = mlp()

    @compile
    def product(x, y):
        params = list(net.parameters())
        grads = torch.autograd.grad(F.mse_loss(net(x), y), params, create_graph=True)
        dot = sum((g * torch.ones_like(g)).sum() for g in grads)
        return [g.detach() for g in torch.autograd.grad(dot, params)]

    return lambda n: product(*regression(n)), [net]


@program("a gradient penalty on the inputs")
def gradient_penalty(compile):
    net = mlp()
    opt = torch.optim.Adam(net.parameters(), lr=0.01)

    @compile
    def step(x, y):
        x = x.requires_grad_(True)
        out = net(x)
        (g,) = torch.autograd.grad(out.sum(), x, create_graph=True)
        loss = F.mse_loss(out, y) + 0.1 * (g.norm(dim=1) ** 2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        return loss.item()

    return lambda n: step(*regression(n)), [net]


@program("a physics-informed net: second derivatives, points drawn anew", calls=6, rtol=1e-4)
def pinn(compile):
    net = mlp(1, 6, 1)
    opt = torch.optim.Adam(net.parameters(), lr=0.01)

    @compile
    def step():
        x = torch.rand(5, 1, requires_grad=True)
        u = net(x)
        (du,) = torch.autograd.grad(u, x, torch.ones_like(u), create_graph=True)
        (ddu,) = torch.autograd.grad(du, x, torch.ones_like(du), create_graph=True)
        loss = ((ddu + u) ** 2).mean() + (net(torch.zeros(1, 1)) - 1).pow(2).sum()
        opt.zero_grad()
        loss.backward()
        opt.step()
        return loss.detach()

    return lambda n: step(), [net]


@program("MAML: an inner step with create_graph", calls=6, rtol=1e-4)
def maml(compile):
    net = mlp()
    opt = torch.optim.Adam(net.parameters(), lr=0.01)

    def forward(params, x):
        h = torch.tanh(F.linear(x, params[0], params[1]))
        return F.linear(h, params[2], params[3])

    @compile
    def step(tasks):
        opt.zero_grad()
        losses = []
        for (x, y), (xq, yq) in tasks:
            params = list(net.parameters())
            grads = torch.autograd.grad(F.mse_loss(forward(params, x), y), params, create_graph=True)
            fast = [p - 0.1 * g for p, g in zip(params, grads, strict=True)]
            losses.append(F.mse_loss(forward(fast, xq), yq))
        loss = torch.stack(losses).mean()
        loss.backward()
        opt.step()
        return loss.detach()

    return lambda n: step([(regression(n), regression(n + 20)), (regression(n + 40), regression(n + 60))]), [net]


@program("Reptile: inner steps on a copy of the state, then back towards it", calls=6)
def reptile(compile):
    net = mlp()
    opt = sgd(net)

    @compile
    def step(x, y, rate):
        before = {name: value.clone() for name, value in net.state_dict().items()}
        for _ in range(2):
            opt.zero_grad()
            F.mse_loss(net(x), y).backward()
            opt.step()
        after = net.state_dict()
        net.load_state_dict({name: before[name] + (after[name] - before[name]) * rate for name in before})

    return lambda n: step(*regression(n), 0.5), [net]


class Exp(torch.autograd.Function):
    """PyTorch's example."""

    @staticmethod
    def forward(ctx, i):
        result = i.exp()
        ctx.save_for_backward(result)
        return result

    @staticmethod
    def backward(ctx, g):
        (result,) = ctx.saved_tensors
        return g * result


class Reverse(torch.autograd.Function):
    """A gradient that is reversed: nothing is saved but a number."""

    @staticmethod
    def forward(ctx, x, alpha):
        ctx.alpha = alpha
        return x.view_as(x)

    @staticmethod
    def backward(ctx, g):
        return g.neg() * ctx.alpha, None


class Sign(torch.autograd.Function):
    """Straight through: nothing is saved at all."""

    @staticmethod
    def forward(ctx, x):
        return x.sign()

    @staticmethod
    def backward(ctx, g):
        return g.clamp(-1, 1)


@program("an own function that saves a tensor")
def own_function(compile):
    net = mlp()
    opt = sgd(net, lr=0.01)

    @compile
    def step(x, y):
        loss = F.mse_loss(Exp.apply(net(x)), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        return loss.detach()

    return lambda n: step(*regression(n)), [net]


@program("an own function of several outputs: shapes in a list, gradients as None, needs_input_grad")
def own_function_of_several(compile):
    class Project(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, w, scale, *rest):
            ctx.set_materialize_grads(False)
            ctx.save_for_backward(x, w)
            ctx.scale, ctx.shapes = scale, [one.shape for one in rest]
            y = x @ w * scale
            best = y.argmax(1)
            ctx.mark_non_differentiable(best)
            return y, best, sum(one.sum() for one in rest)

        @staticmethod
        @torch.autograd.function.once_differentiable
        def backward(ctx, grad, _, grad_of_rest):
            x, w = ctx.saved_tensors
            needs, rest = ctx.needs_input_grad, [None] * len(ctx.shapes)
            if grad_of_rest is not None:
                rest = [grad_of_rest.expand(shape) for shape in ctx.shapes]
            mine = [None, None] if grad is None else [grad @ w.t() * ctx.scale, x.t() @ grad * ctx.scale]
            return (*[one if need else None for one, need in zip(mine, needs, strict=False)], None, *rest)

    weights = [nn.Parameter(torch.ones(shape)) for shape in ((3, 4), (2,), (3,))]
    opt = torch.optim.SGD(weights, lr=0.01)

    @compile
    def step(x, scale, first):
        y, best, rest = Project.apply(x, weights[0], scale, *weights[1:])
        loss = y.pow(2).mean() if first else rest * 2
        opt.zero_grad()
        loss.backward()
        opt.step()
        return loss.detach(), best

    return lambda n: step(regression(n)[0], 2.0, n % 2 == 0), [weights, opt]


@program("domain adversarial: a gradient is reversed, by a factor of the epoch")
def reversed_gradient(compile):
    body, head, domain = nn.Linear(3, 4), nn.Linear(4, 3), nn.Linear(4, 2)
    opt = torch.optim.SGD([p for m in (body, head, domain) for p in m.parameters()], lr=0.1)

    @compile
    def step(x, y, alpha):
        h = torch.relu(body(x))
        loss = F.cross_entropy(head(h), y) + F.cross_entropy(domain(Reverse.apply(h, alpha)), y.clamp(max=1))
        opt.zero_grad()
        loss.backward()
        opt.step()
        return loss.detach()

    return lambda n: step(*classes(n), 0.1 * (n + 1)), [body, head, domain]


@program("binary weights, straight through")
def binary_weights(compile):
    w = torch.randn(3, 2, requires_grad=True)

    @compile
    def step(x, y):
        loss = F.cross_entropy(x @ Sign.apply(w), y.clamp(max=1))
        (g,) = torch.autograd.grad(loss, w)
        with torch.no_grad():
            w.sub_(0.1 * g).clamp_(-1, 1)
        return loss.detach()

    return lambda n: step(*classes(n)), w


@program("checkpointing of activations")
def checkpointed(compile):
    net = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Dropout(0.2), nn.Linear(4, 1))
    opt = sgd(net)

    @compile
    def step(x, y):
        loss = F.mse_loss(torch.utils.checkpoint.checkpoint(net, x, use_reentrant=False), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        return loss.detach()

    return lambda n: step(*regression(n)), [net]


@program("a neural ODE by Runge and Kutta, with the number of steps as an argument", calls=6)
def neural_ode(compile):
    net = mlp(3, 4, 3)
    opt = torch.optim.Adam(net.parameters(), lr=0.01)

    @compile
    def step(x, y, steps):
        h, z = 1.0 / steps, x
        for _ in range(steps):
            k1 = net(z)
            k2 = net(z + 0.5 * h * k1)
            z = z + h * k2
        loss = F.mse_loss(z.sum(1, keepdim=True), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        return loss.detach()

    return lambda n: step(*regression(n), 2 if n < 4 else 3), [net]


@program("an equilibrium: iterations until the residual is small, read in each")
def equilibrium(compile):
    w = (0.2 * torch.randn(3, 3)).requires_grad_()

    @compile
    def step(x):
        counts = 0
        with torch.no_grad():
            z = torch.zeros_like(x)
            while True:
                new = torch.tanh(z @ w + x)
                counts += 1
                if (new - z).norm() < 1e-2 or counts > 20:
                    break
                z = new
        loss = torch.tanh(new @ w + x).pow(2).mean()
        w.grad = None
        loss.backward()
        with torch.no_grad():
            w.sub_(0.1 * w.grad)
        return counts

    return lambda n: step(regression(n)[0]), w


@program("Newton's method with linalg.solve and a damping that is changed")
def newton(compile):
    state = {"x": torch.tensor([1.0, 2.0, -1.0]), "damping": 1.0}

    def f(x):
        return (x**4).sum() + (x[0] - x[1]) ** 2

    @compile
    def step():
        x = state["x"].clone().requires_grad_()
        (g,) = torch.autograd.grad(f(x), x)
        h = torch.autograd.functional.hessian(f, state["x"])
        state["x"] = state["x"] - torch.linalg.solve(h + state["damping"] * torch.eye(3), g)
        state["damping"] *= 0.5

    return lambda n: step(), state


@program("Langevin dynamics: samples walk", calls=8)
def langevin(compile):
    chains = torch.randn(4, 2)

    @compile
    def walk(x, rate):
        x = x.detach().requires_grad_()
        energy = (x**2).sum() + torch.cos(3 * x).sum()
        (g,) = torch.autograd.grad(energy, x)
        return x.detach() - rate * g + (2 * rate) ** 0.5 * torch.randn_like(x)

    kept = [chains]

    def call(n):
        kept[0] = walk(kept[0], 0.1 / (1 + n))
        return kept[0]

    return call, kept


@program("a Gaussian process' likelihood by Cholesky", calls=6, rtol=1e-4)
def gaussian_process(compile):
    log_scale, log_noise = torch.zeros((), requires_grad=True), torch.tensor(-1.0, requires_grad=True)
    opt = torch.optim.Adam([log_scale, log_noise], lr=0.05)

    @compile
    def step(x, y):
        k = torch.exp(-0.5 * torch.cdist(x, x) ** 2 / log_scale.exp() ** 2) + log_noise.exp() * torch.eye(len(x))
        factor = torch.linalg.cholesky(k)
        a = torch.cholesky_solve(y, factor)
        loss = 0.5 * (y.t() @ a).squeeze() + factor.diagonal().log().sum()
        opt.zero_grad()
        loss.backward()
        opt.step()
        return loss.item()

    return lambda n: step(*regression(n)), [log_scale, log_noise]


@program("a decorator of the user's around the step, with a retry")
def decorated(compile):
    net, log = mlp(), []
    opt = sgd(net)

    def logged(function):
        @functools.wraps(function)
        def inner(*args, **kwargs):
            log.append(function.__name__)
            return function(*args, **kwargs)

        return inner

    @compile
    @logged
    def step(x, y, *, scale=1.0):
        loss = scale * F.mse_loss(net(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        return loss.detach()

    return lambda n: step(*regression(n), scale=1.0 if n < 5 else 0.5), [net, log]
