"""Compiled models, losses and updates: a part of the step is compiled, and tensors with a history cross the border."""

import tapegrad as torch
from tapegrad import nn
from tests.compiled.declaring import classes, images, mlp, program, regression, sgd, tokens

F = nn.functional


def trained(model, net, opt, batch=regression, loss_of=F.mse_loss, clip=None):
    """A loop whose model is compiled, and nothing else: it gives the loss as a number."""

    def call(n):
        x, y = batch(n)
        loss = loss_of(model(x), y)
        opt.zero_grad(set_to_none=True)
        loss.backward()
        if clip:
            nn.utils.clip_grad_norm_(net.parameters(), clip)
        opt.step()
        return loss.item()

    return call, [net, opt]


@program("model = torch.compile(model)")
def compiled_model(compile):
    net = mlp()
    return trained(compile(net), net, sgd(net, momentum=0.9))


@program("model.compile()")
def compiled_in_place(compile):
    net = mlp()
    compile.in_place(net)
    return trained(net, net, sgd(net))


@program("a compiled model with a clipped norm and AdamW")
def compiled_and_clipped(compile):
    net = mlp(out=3)
    opt = torch.optim.AdamW(net.parameters(), lr=0.01)
    return trained(compile(net), net, opt, classes, F.cross_entropy, clip=0.5)


@program("a compiled model with batch norm and dropout, in both modes")
def compiled_both_modes(compile):
    net = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.ReLU(), nn.Dropout(0.3), nn.Linear(4, 1))
    model, opt = compile(net), sgd(net)
    train, _ = trained(model, net, opt)

    def call(n):
        if n % 3 == 2:
            model.eval()
            with torch.no_grad():
                return model(regression(n)[0])
        model.train()
        return train(n)

    return call, [net, opt]


@program("a compiled conv net on images")
def compiled_conv(compile):
    net = nn.Sequential(nn.Conv2d(1, 3, 3, padding=1), nn.BatchNorm2d(3), nn.ReLU(), nn.AdaptiveAvgPool2d(1),
                        nn.Flatten(), nn.Linear(3, 3))  # fmt: skip
    return trained(compile(net), net, sgd(net), images, F.cross_entropy)


@program("a compiled model and batches of other lengths")
def compiled_ragged(compile):
    net = mlp()
    return trained(compile(net, dynamic=True), net, sgd(net), lambda n: regression(n, rows=(4, 4, 3, 5)[n % 4]))


@program("each block is compiled by itself")
def compiled_blocks(compile):
    blocks = [nn.Sequential(nn.Linear(3, 3), nn.Tanh()) for _ in range(3)]
    net = nn.Sequential(*blocks, nn.Linear(3, 1))
    model = nn.Sequential(*map(compile, blocks), net[-1])
    return trained(model, net, sgd(net))


@program("a compiled loss")
def compiled_loss(compile):
    net = mlp(out=3)
    loss_of = compile(lambda logits, y: F.cross_entropy(logits, y, label_smoothing=0.1) + 0.01 * logits.pow(2).mean())
    return trained(net, net, sgd(net), classes, loss_of)


@program("a compiled function of forward and loss")
def compiled_forward(compile):
    net = mlp()
    forward = compile(lambda x, y: F.mse_loss(net(x), y))
    opt = sgd(net)

    def call(n):
        loss = forward(*regression(n))
        opt.zero_grad()
        loss.backward()
        opt.step()
        return loss.detach()

    return call, [net]


@program("a compiled update: opt.step")
def compiled_update(compile):
    net = mlp()
    opt = torch.optim.Adam(net.parameters(), lr=0.01)
    update = compile(lambda: opt.step())

    def call(n):
        opt.zero_grad()
        loss = F.mse_loss(net(regression(n)[0]), regression(n)[1])
        loss.backward()
        update()
        return loss.item()

    return call, [net, opt]


@program("a compiled model, and a compiled update")
def compiled_both(compile):
    net = mlp()
    opt = torch.optim.AdamW(net.parameters(), lr=0.01)
    model = compile(net)

    @compile
    def update():
        opt.step()
        opt.zero_grad()

    def call(n):
        x, y = regression(n)
        loss = F.mse_loss(model(x), y)
        loss.backward()
        update()
        return loss.detach()

    return call, [net, opt]


@program("a compiled model that returns a dict of several outputs, of which some are used")
def compiled_many_outputs(compile):
    class Heads(nn.Module):
        def __init__(self):
            super().__init__()
            self.body, self.a, self.b = nn.Linear(3, 4), nn.Linear(4, 1), nn.Linear(4, 2)

        def forward(self, x, mask=None):
            h = torch.tanh(self.body(x))
            h = h if mask is None else h * mask
            return {"a": self.a(h), "b": self.b(h), "hidden": h, "size": x.shape[0]}

    net = Heads()
    model, opt = compile(net), sgd(net)

    def call(n):
        x, y = regression(n)
        out = model(x, mask=torch.ones(4) if n % 2 else None)
        loss = F.mse_loss(out["a"], y) + (out["b"].mean() if n % 3 else 0)
        opt.zero_grad()
        loss.backward()
        opt.step()
        return loss.detach(), out["size"], out["hidden"].detach()

    return call, [net]


@program("a compiled model, gradients of its input, retained twice")
def compiled_saliency(compile):
    net = mlp()
    model = compile(net)

    def call(n):
        x = regression(n)[0].requires_grad_()
        out = model(x).sum()
        out.backward(retain_graph=True)
        out.backward()
        return x.grad

    return call, [net]


@program("a compiled discriminator with a gradient penalty: double backward")
def compiled_penalty(compile):
    net = mlp()
    model, opt = compile(net), sgd(net)

    def call(n):
        x = regression(n)[0].requires_grad_()
        (gradient,) = torch.autograd.grad(model(x).sum(), x, create_graph=True)
        loss = ((gradient.norm(dim=1) - 1) ** 2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        return loss.detach()

    return call, [net]


@program("a compiled model called twice, of which one call has no gradients")
def compiled_twice(compile):
    net = mlp()
    model, opt = compile(net), sgd(net)

    def call(n):
        x, _ = regression(n)
        with torch.no_grad():
            target = model(x) * 0.9
        loss = F.mse_loss(model(x + 0.1), target)
        opt.zero_grad()
        loss.backward()
        opt.step()
        return loss.item()

    return call, [net]


@program("a compiled model with hooks on its output and its parameters")
def compiled_hooked(compile):
    net, seen = mlp(), []
    model = compile(net)
    net[0].weight.register_hook(lambda g: seen.append(g.shape))

    def call(n):
        x, y = regression(n)
        out = model(x)
        out.register_hook(lambda g: g * 0.5)
        net.zero_grad()
        F.mse_loss(out, y).backward()
        return net[0].weight.grad.norm()

    return call, [net, seen]


@program("a compiled model in inference mode")
def compiled_inference(compile):
    net = mlp().eval()
    model = compile(net)

    def call(n):
        with torch.inference_mode():
            return model(regression(n, rows=2 + n % 2)[0]).clone()

    return call, [net]


@program("a compiled function in no_grad, as a decorator")
def compiled_predict(compile):
    net = mlp(out=3).eval()

    @compile
    @torch.no_grad()
    def predict(x):
        p = net(x).softmax(-1)
        return {"label": p.argmax(-1), "confidence": p.max(-1).values}

    return lambda n: predict(classes(n)[0]), [net]


@program("a small GPT is compiled, and trained outside", calls=6)
def compiled_gpt(compile):
    class Block(nn.Module):
        def __init__(self, width=8):
            super().__init__()
            self.norm, self.out = nn.LayerNorm(width), nn.Linear(width, width)
            self.qkv = nn.Linear(width, 3 * width, bias=False)  # that of keys has no gradient but rounding

        def forward(self, x):
            b, t, c = x.shape
            q, k, v = (z.view(b, t, 2, c // 2).transpose(1, 2) for z in self.qkv(self.norm(x)).split(c, 2))
            y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
            return x + self.out(y.transpose(1, 2).reshape(b, t, c))

    net = nn.Sequential(nn.Embedding(7, 8), Block(), nn.LayerNorm(8), nn.Linear(8, 7, bias=False))
    net[-1].weight = net[0].weight
    model, opt = compile(net), torch.optim.AdamW(net.parameters(), lr=0.01)

    def call(n):
        words = tokens(n, length=6)
        logits = model(words[:, :-1])
        loss = F.cross_entropy(logits.reshape(-1, 7), words[:, 1:].reshape(-1))
        opt.zero_grad(set_to_none=True)
        loss.backward()
        opt.step()
        return loss.item()

    return call, [net]


@program("a compiled method of a module")
def compiled_method(compile):
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b = nn.Linear(3, 4), nn.Linear(4, 1)

        def features(self, x):
            return F.gelu(self.a(x))

        def forward(self, x):
            return self.b(self.features(x))

    net = Net()
    net.features = compile(net.features)
    call, _ = trained(net, net, sgd(net), loss_of=F.l1_loss)
    return call, list(net.parameters())


@program("a compiled model under autocast", rtol=2e-2)
def compiled_autocast(compile):
    net = mlp()
    model, opt = compile(net), sgd(net)

    def call(n):
        x, y = regression(n)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            out = model(x)
        loss = F.mse_loss(out.float(), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        return loss.item()

    return call, [net]


@program("a compiled model whose output is written to, and whose input needs no gradient")
def compiled_written(compile):
    net = mlp(out=2)
    model = compile(net)

    def call(n):
        out = model(regression(n)[0])
        out[:, 0] += 1
        out.mul_(2)
        net.zero_grad()
        out.pow(2).sum().backward()
        return net[0].weight.grad

    return call, [net]


@program("state_dict is loaded into a compiled model between calls")
def compiled_loaded(compile):
    net = mlp()
    model, opt = compile(net), sgd(net)
    train, state = trained(model, net, opt)
    kept = {name: value.clone() for name, value in net.state_dict().items()}

    def call(n):
        if n == 5:
            net.load_state_dict(kept)
        return train(n)

    return call, state
