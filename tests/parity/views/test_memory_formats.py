"""Where layers and operators leave channels that lie innermost, or dimensions in another order; and their gradients."""

import pytest
from harness import agree

pytestmark = [pytest.mark.parity, pytest.mark.filterwarnings("ignore")]


def places(torch, *shape):
    return torch.zeros(*shape, dtype=torch.int64)


IMAGES = {
    "conv": lambda F, torch, x: F.conv2d(x, torch.ones(5, 4, 3, 3), torch.ones(5), padding=1, stride=2),
    "conv 1x1": lambda F, torch, x: F.conv2d(x, torch.ones(4, 4, 1, 1)),
    "conv, groups": lambda F, torch, x: F.conv2d(x, torch.ones(4, 1, 3, 3), groups=4),
    "conv, doubles": lambda F, torch, x: F.conv2d(x.double(), torch.ones(4, 4, 3, 3).double()),
    "conv, bfloat16": lambda F, torch, x: F.conv2d(x.bfloat16(), torch.ones(4, 4, 3, 3).bfloat16()),
    "conv, no batch": lambda F, torch, x: F.conv2d(x[0], torch.ones(4, 4, 3, 3)),
    "conv transposed": lambda F, torch, x: F.conv_transpose2d(x, torch.ones(4, 5, 3, 3), stride=2),
    "batch norm": lambda F, torch, x: F.batch_norm(x, None, None, training=True),
    "batch norm, parameters": lambda F, torch, x: F.batch_norm(x, *torch.ones(4, 4).unbind(), training=True),
    "batch norm, eval": lambda F, torch, x: F.batch_norm(x, *torch.ones(4, 4).unbind()),
    "instance norm": lambda F, torch, x: F.instance_norm(x),
    "group norm": lambda F, torch, x: F.group_norm(x, 2, torch.ones(4), torch.ones(4)),
    "layer norm": lambda F, torch, x: F.layer_norm(x, (6,)),
    "rms norm": lambda F, torch, x: F.rms_norm(x, (6,)),
    "local response": lambda F, torch, x: F.local_response_norm(x, 2),
    "max pool": lambda F, torch, x: F.max_pool2d(x, 2),
    "max pool, indices": lambda F, torch, x: F.max_pool2d(x, 2, return_indices=True)[1],
    "avg pool": lambda F, torch, x: F.avg_pool2d(x, 2),
    "lp pool": lambda F, torch, x: F.lp_pool2d(x, 2, 2),
    "adaptive avg": lambda F, torch, x: F.adaptive_avg_pool2d(x, 3),
    "adaptive avg of all": lambda F, torch, x: F.adaptive_avg_pool2d(x, 1),
    "adaptive max": lambda F, torch, x: F.adaptive_max_pool2d(x, 3),
    "fractional": lambda F, torch, x: F.fractional_max_pool2d(
        x, 2, output_size=3, _random_samples=torch.full((2, 4, 2), 0.5)
    ),
    "unpool": lambda F, torch, x: F.max_unpool2d(*F.max_pool2d(x, 2, return_indices=True), 2),
    **{
        mode: lambda F, torch, x, mode=mode: F.interpolate(x, scale_factor=2, mode=mode)
        for mode in ("nearest", "nearest-exact", "bilinear", "bicubic", "area")
    },
    "antialiased": lambda F, torch, x: F.interpolate(x, size=(3, 3), mode="bilinear", antialias=True),
    "pixel unshuffle": lambda F, torch, x: F.pixel_unshuffle(x, 2),
    "pixel shuffle": lambda F, torch, x: F.pixel_shuffle(torch.cat([x, x], 1), 2),
    "channel shuffle": lambda F, torch, x: F.channel_shuffle(x, 2),
    **{
        f"pad {mode}": lambda F, torch, x, mode=mode: F.pad(x, (1, 1, 1, 1), mode=mode)
        for mode in ("constant", "reflect", "replicate", "circular")
    },
    "pad, cut": lambda F, torch, x: F.pad(x, (-1, 1)),
    "grid sample": lambda F, torch, x: F.grid_sample(x, torch.zeros(2, 3, 3, 2)),
    "unfold": lambda F, torch, x: F.unfold(x, 2),
    "dropout": lambda F, torch, x: F.dropout(x, 0.5, True),
    "dropout2d": lambda F, torch, x: F.dropout2d(x, 0.5, True),
    "alpha dropout": lambda F, torch, x: F.alpha_dropout(x, 0.5, True),
    "softmax": lambda F, torch, x: F.softmax(x, 1),
    "normalize": lambda F, torch, x: F.normalize(x, dim=1),
    "prelu": lambda F, torch, x: F.prelu(x, torch.ones(4)),
    "glu": lambda F, torch, x: F.glu(x, 1),
    **{
        name: lambda F, torch, x, name=name: getattr(F, name)(x)
        for name in ("relu", "leaky_relu", "gelu", "silu", "elu", "hardtanh", "hardswish", "logsigmoid", "softshrink")
    },
    "linear": lambda F, torch, x: F.linear(x, torch.ones(3, 6)),
    "attention": lambda F, torch, x: F.scaled_dot_product_attention(x, x, x),
    "mse": lambda F, torch, x: F.mse_loss(x, torch.zeros_like(x), reduction="none"),
    "mse, mean": lambda F, torch, x: F.mse_loss(x, torch.zeros(2, 4, 6, 6)),
    "smooth l1": lambda F, torch, x: F.smooth_l1_loss(x, torch.zeros(2, 4, 6, 6)),
    "huber": lambda F, torch, x: F.huber_loss(x, torch.zeros(2, 4, 6, 6)),
    "cross entropy": lambda F, torch, x: F.cross_entropy(x, places(torch, 2, 6, 6)),
    "a block": lambda F, torch, x: F.relu(F.instance_norm(F.conv2d(x, torch.ones(4, 4, 3, 3), padding=1)) + x),
    "squeeze and excite": lambda F, torch, x: x * x.mean((2, 3), keepdim=True).sigmoid(),
    "cat": lambda F, torch, x: torch.cat([x, x], 1),
    "cat of two formats": lambda F, torch, x: torch.cat([x, x.contiguous()], 1),
    "cat with nothing": lambda F, torch, x: torch.cat([torch.zeros(0), x], 2),
    "sum of two formats": lambda F, torch, x: x.contiguous() + x,
    "times channels": lambda F, torch, x: x * torch.ones(2, 4, 1, 1),
    "where": lambda F, torch, x: torch.where(x > 0.5, x, 0.0),
    "masked fill": lambda F, torch, x: x.masked_fill(x > 0.5, 2.0),
    "clamp": lambda F, torch, x: x.clamp(0.2, 0.8),
    "clamp min": lambda F, torch, x: x.clamp_min(0.2),
    "mean": lambda F, torch, x: x.mean((2, 3), keepdim=True),
    "amax": lambda F, torch, x: x.amax(1, True),
    "max": lambda F, torch, x: x.max(1)[0],
    "std": lambda F, torch, x: x.std((2, 3)),
    "var and mean": lambda F, torch, x: torch.var_mean(x, 1, keepdim=True)[0],
    "norm": lambda F, torch, x: x.norm(dim=1),
    "prod": lambda F, torch, x: x.prod(1, True),
    "logsumexp": lambda F, torch, x: x.logsumexp(1, True),
    "nansum": lambda F, torch, x: x.nansum(1, True),
    "renorm": lambda F, torch, x: x.renorm(2, 1, 1.0),
    "cumsum": lambda F, torch, x: x.cumsum(1),
    "cumprod": lambda F, torch, x: x.cumprod(1),
    "cummax": lambda F, torch, x: x.cummax(1)[0],
    "sort": lambda F, torch, x: x.sort(1)[0],
    "topk": lambda F, torch, x: x.topk(2, 1)[0],
    "flip": lambda F, torch, x: x.flip(2),
    "roll": lambda F, torch, x: x.roll(1, 2),
    "rot90": lambda F, torch, x: x.rot90(1, (2, 3)),
    "gather": lambda F, torch, x: x.gather(1, places(torch, 2, 1, 6, 6)),
    "scatter": lambda F, torch, x: x.scatter(1, places(torch, 2, 1, 6, 6), 2.0),
    "index fill": lambda F, torch, x: x.index_fill(1, torch.tensor([0]), 1.0),
    "index select": lambda F, torch, x: x.index_select(1, torch.tensor([0, 2])),
    "slice": lambda F, torch, x: x[:, 1:3] * 2,
    "double": lambda F, torch, x: x.double(),
    "to channels last": lambda F, torch, x: x.to(memory_format=torch.channels_last),
    "matmul": lambda F, torch, x: x @ x,
}  # fmt: skip

VOLUMES = {
    "conv": lambda F, torch, x: F.conv3d(x, torch.ones(5, 4, 3, 3, 3), padding=1),
    "conv, doubles": lambda F, torch, x: F.conv3d(x.double(), torch.ones(5, 4, 3, 3, 3).double()),
    "conv transposed": lambda F, torch, x: F.conv_transpose3d(x, torch.ones(4, 5, 2, 2, 2), stride=2),
    "batch norm": lambda F, torch, x: F.batch_norm(x, None, None, training=True),
    "group norm": lambda F, torch, x: F.group_norm(x, 2),
    "max pool": lambda F, torch, x: F.max_pool3d(x, 2),
    "avg pool": lambda F, torch, x: F.avg_pool3d(x, 2),
    "adaptive avg": lambda F, torch, x: F.adaptive_avg_pool3d(x, 2),
    "adaptive avg of all": lambda F, torch, x: F.adaptive_avg_pool3d(x, 1),
    "adaptive max": lambda F, torch, x: F.adaptive_max_pool3d(x, 2),
    "unpool": lambda F, torch, x: F.max_unpool3d(*F.max_pool3d(x, 2, return_indices=True), 2),
    "nearest": lambda F, torch, x: F.interpolate(x, scale_factor=2),
    "trilinear": lambda F, torch, x: F.interpolate(x, scale_factor=2, mode="trilinear"),
    "pad": lambda F, torch, x: F.pad(x, (1, 1)),
    "pad reflect": lambda F, torch, x: F.pad(x, (1,) * 6, mode="reflect"),
    "cat": lambda F, torch, x: torch.cat([x, x], 1),
    "relu": lambda F, torch, x: x.relu(),
}  # fmt: skip

MATRICES = {
    "a product": lambda F, torch, x: x.mm(torch.ones(6, 2)),
    "a product, right": lambda F, torch, x: torch.ones(2, 4).mm(x),
    "added to a product": lambda F, torch, x: torch.addmm(x, torch.ones(4, 2), torch.ones(2, 6), beta=2),
    "a product added": lambda F, torch, x: torch.addmm(torch.ones(4, 2), x, torch.ones(6, 2), alpha=2),
    "linear": lambda F, torch, x: F.linear(x, torch.ones(3, 6)),
    "a weight": lambda F, torch, x: F.linear(torch.ones(6), x),
    "a batch": lambda F, torch, x: torch.bmm(x.expand(2, 4, 6), torch.ones(2, 6, 3)),
    "broadcast": lambda F, torch, x: x / (torch.ones(3, 4, 6) + 1),
    "erf": lambda F, torch, x: torch.erf(x),
    "maximum": lambda F, torch, x: torch.maximum(x, torch.full((4, 6), 0.5)),
    "a bound": lambda F, torch, x: x.clamp_min(torch.full((4, 6), 0.5)),
    "take": lambda F, torch, x: x.take(torch.tensor([1, 5])),
    "masked select": lambda F, torch, x: x.masked_select(x > 0.5),
    "dist": lambda F, torch, x: torch.dist(x, torch.zeros(4, 6)),
    "prod of all": lambda F, torch, x: x.prod(),
    "index put": lambda F, torch, x: x.index_put((torch.tensor([1]),), torch.zeros(6)),
    "index fill": lambda F, torch, x: x.index_fill(0, torch.tensor([1]), torch.tensor(2.0)),
    "index copy": lambda F, torch, x: torch.zeros(4, 6).index_copy(0, torch.arange(4), x),
    "put": lambda F, torch, x: x.put(torch.tensor([1, 5]), torch.zeros(2)),
    "select scatter": lambda F, torch, x: x.select_scatter(torch.zeros(6), 0, 1),
    "slice scatter": lambda F, torch, x: x.slice_scatter(torch.zeros(2, 6), 0, 1, 3),
    "diagonal scatter": lambda F, torch, x: x.diagonal_scatter(torch.zeros(4)),
    "bce": lambda F, torch, x: F.binary_cross_entropy(x * 0.9, torch.zeros(4, 6)),
    "bce with logits": lambda F, torch, x: F.binary_cross_entropy_with_logits(x, torch.zeros(4, 6)),
    "cdist": lambda F, torch, x: torch.cdist(x, torch.zeros(3, 6)),
    "a signal": lambda F, torch, x: F.conv1d(x.expand(3, 4, 6), torch.ones(2, 4, 3)),
    "the mean of a signal": lambda F, torch, x: F.adaptive_avg_pool1d(x.expand(3, 4, 6), 1),
}  # fmt: skip


def strides(torch, function, x):
    """Of the result, of what three seeds give ``autograd.grad``, and of ``.grad``."""
    x = x.requires_grad_()
    y = x.clone()
    out = function(torch.nn.functional, torch, y)
    if not out.requires_grad:
        return [out.stride()]
    grad = lambda loss, *seed: torch.autograd.grad(loss, y, *seed, retain_graph=True)[0].stride()
    grads = grad((out * out).sum()), grad(out.sum()), grad(out, torch.ones(out.shape, dtype=out.dtype))
    (out * out).sum().backward()
    return [out.stride(), *grads, x.grad.stride()]


def counted(torch, *shape):
    return (torch.arange(float(torch.Size(shape).numel())) * 0.37 % 1 + 0.01).view(shape)


@pytest.mark.parametrize("name", IMAGES)
def test_of_images(name):
    def program(torch):
        x = counted(torch, 2, 4, 6, 6)
        turned = x.mT.contiguous().mT, x.transpose(0, 1).contiguous().transpose(0, 1)
        inputs = x, x.contiguous(memory_format=torch.channels_last), *turned
        return [strides(torch, IMAGES[name], each) for each in inputs]

    agree(program)


@pytest.mark.parametrize("name", MATRICES)
def test_of_matrices(name):
    def program(torch):
        x = counted(torch, 4, 6)
        return [strides(torch, MATRICES[name], each) for each in (x, x.mT.contiguous().mT)]

    agree(program)


@pytest.mark.parametrize("name", VOLUMES)
def test_of_volumes(name):
    def program(torch):
        x = counted(torch, 2, 4, 4, 4, 4)
        return [strides(torch, VOLUMES[name], each) for each in (x, x.contiguous(memory_format=torch.channels_last_3d))]

    agree(program)


def test_a_weight_decides_as_well_as_the_input():
    def program(torch):
        seen = []
        for nd, last in ((2, torch.channels_last), (3, torch.channels_last_3d)):
            x, w = counted(torch, 2, 4, *[5] * nd), counted(torch, 4, 4, *[2] * nd)
            for one in (x, x.to(memory_format=last)):
                for other in (w, w.to(memory_format=last)):
                    for name in ("conv", "conv_transpose"):
                        a, b = one.clone().requires_grad_(), other.clone().requires_grad_()
                        y = getattr(torch.nn.functional, f"{name}{nd}d")(a, b)
                        seen.append([y.stride(), *(g.stride() for g in torch.autograd.grad(y.sum(), [a, b]))])
        return seen

    agree(program)


def test_a_network_moved_to_channels_last():
    def program(torch):
        nn = torch.nn
        net = nn.Sequential(
            nn.Conv2d(3, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2), nn.Dropout(0.0),
            nn.ConvTranspose2d(4, 2, 2, 2), nn.GroupNorm(1, 2), nn.Upsample(scale_factor=2), nn.AdaptiveAvgPool2d(2),
        ).to(memory_format=torch.channels_last)  # fmt: skip
        x = counted(torch, 2, 3, 6, 6).contiguous(memory_format=torch.channels_last).requires_grad_()
        seen, y = [p.stride() for p in net.parameters()], x
        for layer in net:
            y = layer(y)
            y.register_hook(lambda g: seen.append(g.stride()))
            seen.append(y.stride())
        y.square().sum().backward()
        return seen, x.grad.stride(), [p.grad.stride() for p in net.parameters()]

    agree(program)
