"""A variational autoencoder of digits."""

import torch
import torch.nn.functional as F
from digits import batches, digits
from torch import nn
from torch.distributions import Normal, kl_divergence
from training import options, train

given = options(steps=200)
torch.manual_seed(0)

LATENT, HIDDEN, PIXELS = 8, 128, 256
encoder = nn.Sequential(nn.Flatten(), nn.Linear(PIXELS, HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, 2 * LATENT))
decoder = nn.Sequential(nn.Linear(LATENT, HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, PIXELS))
optimizer = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()], lr=1e-3)


@given.compiled
def step(images, labels):
    optimizer.zero_grad()
    mean, log_scale = encoder(images).chunk(2, dim=1)
    posterior = Normal(mean, log_scale.exp())
    logits = decoder(posterior.rsample())
    reconstruction = F.binary_cross_entropy_with_logits(logits, images.flatten(1), reduction="sum")
    divergence = kl_divergence(posterior, Normal(torch.zeros_like(mean), torch.ones_like(mean))).sum()
    loss = (reconstruction + divergence) / len(images)
    loss.backward()
    optimizer.step()
    return loss


def picture(image):
    """An image of 16 by 16 in text."""
    return "\n".join("".join(" .:*#"[min(int(5 * dot), 4)] for dot in row) for row in image.tolist())


train(step, batches(*digits(1024), size=64), given)
with torch.no_grad():
    print(picture(decoder(torch.randn(LATENT)).sigmoid().view(16, 16)))
