"""What samples of datasets say: told by workers, whichever library's dataset has them. It imports neither of both."""

import random

import numpy as np


class Drawn:
    """Samples that say by whom they were read, and what was drawn: index, worker, numbers of three kinds."""

    def __len__(self):
        return 10

    def __getitem__(self, index):
        info = self.torch.utils.data.get_worker_info()
        assert info.dataset is self and info.num_workers == 2
        return index, info.id, info.seed, self.torch.rand(2), random.random(), np.random.rand()


class Stream:
    """As many samples as each worker has: three and five."""

    def __iter__(self):
        worker = self.torch.utils.data.get_worker_info()
        first = 0 if worker is None else 10 * worker.id
        return iter(range(first, first + 3 + first // 5))

    def __len__(self):
        return 3
