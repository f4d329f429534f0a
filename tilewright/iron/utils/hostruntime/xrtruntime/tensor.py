"""The tensors that programs ask for by XRT's name."""

from tilewright.iron.utils.hostruntime.tensor_class import NpuTensor as XRTTensor

__all__ = ["XRTTensor"]
