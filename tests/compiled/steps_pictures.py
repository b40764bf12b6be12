"""Nets of pictures: classifiers with what is done to their batches, segmentation, contrasts, teachers and students."""

import copy
import random

import numpy as np

import tapegrad as torch
from tapegrad import nn
from tests.compiled.declaring import images, program, sgd

F = nn.functional


def conv_net(channels=1, out=3):
    """A small net with batch norm."""
    features = nn.Conv2d(channels, 4, 3, padding=1, bias=False), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2)
    return nn.Sequential(*features, nn.Flatten(), nn.Linear(36, out))


@program("MNIST of PyTorch's examples, with log_interval", calls=6)
def mnist(compile):
    net = nn.Sequential(conv_net(), nn.Dropout(0.25), nn.LogSoftmax(1))
    opt = torch.optim.Adadelta(net.parameters(), lr=1.0)

    @compile
    def train(batch_idx, data, target):
        net.train()
        opt.zero_grad()
        loss = F.nll_loss(net(data), target)
        loss.backward()
        opt.step()
        if batch_idx % 3 == 0:
            print(f"Train [{batch_idx * len(data)}/12 ({100.0 * batch_idx / 6:.0f}%)]\tLoss: {loss.item():.6f}")

    return lambda n: train(n, *images(n)), [net]


@program("MNIST's test: sums of losses and hits in Python's numbers", calls=6)
def mnist_test(compile):
    net = conv_net().eval()
    totals = {"loss": 0, "correct": 0}

    @compile
    def test(data, target):
        with torch.no_grad():
            output = net(data).log_softmax(1)
            totals["loss"] += F.nll_loss(output, target, reduction="sum").item()
            pred = output.argmax(dim=1, keepdim=True)
            totals["correct"] += pred.eq(target.view_as(pred)).sum().item()

    return lambda n: test(*images(n)), totals


@program("CIFAR's progress: train_loss, correct, total", calls=6)
def cifar(compile):
    net = conv_net()
    opt = sgd(net, lr=0.05, momentum=0.9, weight_decay=5e-4)
    epoch = {"train_loss": 0, "correct": 0, "total": 0}

    @compile
    def step(i, inputs, targets):
        opt.zero_grad()
        outputs = net(inputs)
        loss = F.cross_entropy(outputs, targets)
        loss.backward()
        opt.step()
        epoch["train_loss"] += loss.item()
        _, predicted = outputs.max(1)
        epoch["total"] += targets.size(0)
        epoch["correct"] += predicted.eq(targets).sum().item()
        return f"Loss: {epoch['train_loss'] / (i + 1):.3f} | Acc: {100.0 * epoch['correct'] / epoch['total']:.3f}%"

    return lambda n: step(n, *images(n)), [net, epoch]


class Residual(nn.Module):
    """A block of a residual net."""

    def __init__(self, width):
        super().__init__()
        self.conv1, self.conv2 = (nn.Conv2d(width, width, 3, padding=1, bias=False) for _ in range(2))
        self.norm1, self.norm2 = nn.BatchNorm2d(width), nn.BatchNorm2d(width)

    def forward(self, x):
        return F.relu(x + self.norm2(self.conv2(F.relu(self.norm1(self.conv1(x))))))


@program("a residual net", calls=5, rtol=1e-4)
def resnet(compile):
    net = nn.Sequential(nn.Conv2d(1, 3, 1), Residual(3), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(3, 3))
    opt = sgd(net, momentum=0.9)

    @compile
    def step(x, y):
        loss = F.cross_entropy(net(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        return loss.detach()

    return lambda n: step(*images(n)), [net]


@program("a net like a U, with the Dice loss", calls=5, rtol=1e-4)
def unet(compile):
    class UNet(nn.Module):
        def __init__(self):
            super().__init__()
            self.down, self.deep = nn.Conv2d(1, 2, 3, padding=1), nn.Conv2d(2, 4, 3, padding=1)
            self.up, self.out = nn.ConvTranspose2d(4, 2, 2, stride=2), nn.Conv2d(4, 1, 1)

        def forward(self, x):
            a = F.relu(self.down(x))
            b = F.relu(self.deep(F.max_pool2d(a, 2)))
            return self.out(torch.cat([a, self.up(b)], 1))

    net = UNet()
    opt = torch.optim.Adam(net.parameters(), lr=0.01)

    @compile
    def step(x):
        mask = (x > 0).float()
        logits = net(x)
        p = torch.sigmoid(logits)
        dice = 1 - (2 * (p * mask).sum() + 1) / (p.sum() + mask.sum() + 1)
        loss = F.binary_cross_entropy_with_logits(logits, mask) + dice
        opt.zero_grad()
        loss.backward()
        opt.step()
        return loss.detach()

    return lambda n: step(images(n)[0]), [net]


@program("mixup: np.random.beta and randperm", calls=6)
def mixup(compile):
    net = conv_net()
    opt = sgd(net)

    def mixup_data(x, y, alpha=1.0):
        lam = np.random.beta(alpha, alpha) if alpha > 0 else 1
        index = torch.randperm(x.size()[0])
        return lam * x + (1 - lam) * x[index, :], y, y[index], lam

    @compile
    def step(x, y):
        inputs, a, b, lam = mixup_data(x, y)
        outputs = net(inputs)
        loss = lam * F.cross_entropy(outputs, a) + (1 - lam) * F.cross_entropy(outputs, b)
        opt.zero_grad()
        loss.backward()
        opt.step()
        return loss.detach()

    return lambda n: step(*images(n)), [net]


@program("cutmix: a box drawn by np.random, with a probability", calls=6)
def cutmix(compile):
    net = conv_net()
    opt = sgd(net)

    @compile
    def step(x, y):
        if np.random.rand(1) < 0.7:
            lam, index = np.random.beta(1.0, 1.0), torch.randperm(len(x))
            side = int(6 * np.sqrt(1.0 - lam))
            cx, cy = np.random.randint(6), np.random.randint(6)
            x1, x2, y1, y2 = (np.clip(c + s, 0, 6) for c in (cx, cy) for s in (-(side // 2), side // 2))
            x = x.clone()
            x[:, :, x1:x2, y1:y2] = x[index, :, x1:x2, y1:y2]
            lam = 1 - ((x2 - x1) * (y2 - y1) / 36)
            out = net(x)
            loss = F.cross_entropy(out, y) * lam + F.cross_entropy(out, y[index]) * (1.0 - lam)
        else:
            loss = F.cross_entropy(net(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        return loss.detach()

    return lambda n: step(*images(n)), [net]


@program("flips and crops by the random module, in the step", calls=8)
def augments(compile):
    net = conv_net()
    opt = sgd(net)

    def augment(x):
        if random.random() > 0.5:
            x = x.flip(-1)
        i = random.randint(0, 2)
        return F.pad(x, (1, 1, 1, 1))[:, :, i : i + 6, i : i + 6]

    @compile
    def step(x, y):
        loss = F.cross_entropy(net(augment(x)), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        return loss.detach()

    return lambda n: step(*images(n)), [net]


@program("augmentation by torch's generator: masks and noise", calls=6)
def augments_by_torch(compile):
    net = conv_net()
    opt = sgd(net)

    @compile
    def step(x, y):
        flip = torch.rand(len(x), 1, 1, 1) < 0.5
        x = torch.where(flip, x.flip(-1), x) + 0.1 * torch.randn_like(x)
        loss = F.cross_entropy(net(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        return loss.detach()

    return lambda n: step(*images(n)), [net]


@program("label smoothing by hand and a soft target", calls=6)
def smoothing(compile):
    class LabelSmoothing(nn.Module):
        def __init__(self, smoothing):
            super().__init__()
            self.smoothing, self.confidence = smoothing, 1.0 - smoothing

        def forward(self, pred, target):
            pred = pred.log_softmax(dim=-1)
            with torch.no_grad():
                true = torch.full_like(pred, self.smoothing / (pred.size(-1) - 1))
                true.scatter_(1, target.data.unsqueeze(1), self.confidence)
            return torch.mean(torch.sum(-true * pred, dim=-1))

    net, criterion = conv_net(), LabelSmoothing(0.1)
    opt = sgd(net)

    @compile
    def step(x, y):
        loss = criterion(net(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        return loss.detach()

    def call(n):
        criterion.smoothing, criterion.confidence = (0.1, 0.9) if n < 4 else (0.3, 0.7)
        return step(*images(n))

    return call, [net]


@program("focal loss and class weights", calls=6)
def focal(compile):
    net, weights = conv_net(), torch.tensor([1.0, 2.0, 0.5])
    opt = torch.optim.Adam(net.parameters(), lr=0.01)

    @compile
    def step(x, y):
        ce = F.cross_entropy(net(x), y, weight=weights, reduction="none")
        loss = ((1 - torch.exp(-ce)) ** 2 * ce).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        return loss.detach()

    return lambda n: step(*images(n)), [net]


@program("distillation: a teacher in no_grad, a temperature", calls=6)
def distillation(compile):
    teacher, student = conv_net().eval(), conv_net()
    opt = sgd(student)

    @compile
    def step(x, y, T):
        with torch.no_grad():
            soft = F.softmax(teacher(x) / T, dim=-1)
        logits = student(x)
        loss = F.kl_div(F.log_softmax(logits / T, -1), soft, reduction="batchmean") * T * T
        loss = 0.5 * loss + 0.5 * F.cross_entropy(logits, y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        return loss.item()

    return lambda n: step(*images(n), 2.0), [student, teacher]


@program("SimCLR: NT-Xent over two views", calls=6, rtol=1e-4)
def simclr(compile):
    net = conv_net(out=4)
    opt = sgd(net)

    @compile
    def step(a, b):
        z = F.normalize(torch.cat([net(a), net(b)]), dim=1)
        similar = z @ z.t() / 0.5
        mask = torch.eye(len(z), dtype=torch.bool)
        similar = similar.masked_fill(mask, -9e15)
        positive = mask.roll(shifts=len(z) // 2, dims=0)
        loss = (-similar[positive] + torch.logsumexp(similar, dim=-1)).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        return loss.detach()

    return lambda n: step(images(n)[0], images(n + 40)[0]), [net]


@program("MoCo: a queue with a pointer, a momentum encoder", calls=6, rtol=1e-4)
def moco(compile):
    class MoCo(nn.Module):
        def __init__(self):
            super().__init__()
            self.q, self.m = conv_net(out=4), 0.9
            self.k = copy.deepcopy(self.q)
            for p in self.k.parameters():
                p.requires_grad = False
            self.register_buffer("queue", F.normalize(torch.randn(4, 8), dim=0))
            self.register_buffer("ptr", torch.zeros(1, dtype=torch.long))

        @torch.no_grad()
        def follow(self):
            for q, k in zip(self.q.parameters(), self.k.parameters(), strict=True):
                k.data = k.data * self.m + q.data * (1.0 - self.m)

        @torch.no_grad()
        def enqueue(self, keys):
            ptr = int(self.ptr)
            self.queue[:, ptr : ptr + len(keys)] = keys.T
            self.ptr[0] = (ptr + len(keys)) % 8

        def forward(self, a, b):
            q = F.normalize(self.q(a), dim=1)
            with torch.no_grad():
                self.follow()
                k = F.normalize(self.k(b), dim=1)
            positive = torch.einsum("nc,nc->n", [q, k]).unsqueeze(-1)
            logits = torch.cat([positive, torch.einsum("nc,ck->nk", [q, self.queue.clone().detach()])], dim=1) / 0.2
            self.enqueue(k)
            return logits, torch.zeros(len(a), dtype=torch.long)

    net = MoCo()
    opt = torch.optim.SGD(net.q.parameters(), lr=0.1)

    @compile
    def step(a, b):
        loss = F.cross_entropy(*net(a, b))
        opt.zero_grad()
        loss.backward()
        opt.step()
        return loss.detach()

    return lambda n: step(images(n)[0], images(n + 40)[0]), [net]


@program("BYOL: a target that follows with a cosine momentum", calls=6, rtol=1e-4)
def byol(compile):
    import math

    online, predictor = conv_net(out=4), nn.Linear(4, 4)
    target = copy.deepcopy(online)
    opt = torch.optim.SGD([*online.parameters(), *predictor.parameters()], lr=0.1)

    @compile
    def step(i, a, b):
        p = F.normalize(predictor(online(a)), dim=-1)
        with torch.no_grad():
            z = F.normalize(target(b), dim=-1)
        loss = (2 - 2 * (p * z).sum(-1)).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        m = 1 - 0.1 * (math.cos(math.pi * i / 10) + 1) / 2
        with torch.no_grad():
            for q, k in zip(online.parameters(), target.parameters(), strict=True):
                k.data.mul_(m).add_((1 - m) * q.detach().data)

    return lambda n: step(n, images(n)[0], images(n + 40)[0]), [online, target, predictor]


@program("triplets, the hardest of a batch", calls=6)
def triplets(compile):
    net = conv_net(out=4)
    opt = sgd(net, lr=0.01)

    @compile
    def step(x, y):
        z = net(x)
        far = torch.cdist(z, z)
        same = y[:, None] == y[None, :]
        hardest = (far * same).max(1).values
        nearest = far.masked_fill(same, float("inf")).min(1).values.clamp(max=10)
        loss = F.relu(hardest - nearest + 1.0).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        return loss.detach()

    return lambda n: step(*images(n, rows=4)), [net]


@program("an attack by the sign of the gradient (FGSM), then a step on both", calls=6)
def adversarial(compile):
    net = conv_net()
    opt = sgd(net)

    @compile
    def step(x, y):
        x = x.clone().requires_grad_(True)
        (g,) = torch.autograd.grad(F.cross_entropy(net(x), y), x)
        bad = (x + 0.1 * g.sign()).clamp(-2, 2).detach()
        loss = 0.5 * (F.cross_entropy(net(x.detach()), y) + F.cross_entropy(net(bad), y))
        opt.zero_grad()
        loss.backward()
        opt.step()
        return loss.detach()

    return lambda n: step(*images(n)), [net]


@program("style: Gram matrices of features caught by forward hooks", calls=6)
def style(compile):
    net, caught = conv_net().eval(), {}
    for p in net.parameters():
        p.requires_grad_(False)
    net[0].register_forward_hook(lambda module, args, out: caught.update(features=out))
    picture = images(0)[0].requires_grad_()
    opt = torch.optim.Adam([picture], lr=0.1)

    def gram(x):
        b, c, h, w = x.shape
        f = x.reshape(b, c, h * w)
        return f @ f.transpose(1, 2) / (c * h * w)

    net(images(9)[0])
    wanted = gram(caught["features"]).detach()

    @compile
    def step():
        net(picture)
        loss = F.mse_loss(gram(caught["features"]), wanted)
        opt.zero_grad()
        loss.backward()
        opt.step()
        caught.clear()
        return loss.detach()

    return lambda n: step(), [picture]
