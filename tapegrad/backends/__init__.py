"""``torch.backends``: switches of libraries that PyTorch computes with. Programs set them before they begin; XLA has
none of these libraries, so what is set is kept, and changes nothing."""

from tapegrad.backends import cpu, cuda, cudnn, mha, mkl, mkldnn, mps, nnpack, openmp, opt_einsum

__all__ = ["cpu", "cuda", "cudnn", "mha", "mkl", "mkldnn", "mps", "nnpack", "openmp", "opt_einsum"]
fp32_precision = "none"
