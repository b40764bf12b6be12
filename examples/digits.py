"""Images of digits, drawn dot by dot: each somewhere in its image, with noise on it."""

import torch

FONT = """
 ###    #    ###   ###     #  #####   ##  #####  ###   ###
#   #  ##   #   # #   #   ##  #      #        # #   # #   #
#  ##   #       #     #  # #  ####  #        #  #   # #   #
# # #   #      #    ##  #  #      # ####    #    ###   ####
##  #   #     #       # #####     # #   #  #    #   #     #
#   #   #    #    #   #    #  #   # #   #  #    #   #    #
 ###   ###  #####  ###     #   ###   ###   #     ###   ##
"""


def font():
    """The ten digits, of 14 by 10 dots each."""
    rows = [line.ljust(59) for line in FONT.strip("\n").split("\n")]
    dots = [[[dot == "#" for dot in row[6 * digit : 6 * digit + 5]] for row in rows] for digit in range(10)]
    return torch.tensor(dots).float().repeat_interleave(2, 1).repeat_interleave(2, 2)


def draw(labels):
    """An image of 1 by 16 by 16 for each label."""
    count, each = len(labels), torch.arange(len(labels))[:, None, None]
    rows = torch.randint(3, (count, 1, 1)) + torch.arange(14)[:, None]
    columns = torch.randint(7, (count, 1, 1)) + torch.arange(10)
    images = 0.2 * torch.rand(count, 16, 16)
    images[each, rows, columns] += 0.8 * font()[labels]
    return images[:, None]


def digits(count):
    """So many images, and which digits they show."""
    labels = torch.randint(10, (count,))
    return draw(labels), labels


def batches(images, labels, size):
    """Batches in random order, without end."""
    while True:
        for places in torch.randperm(len(images)).split(size):
            yield images[places], labels[places]
