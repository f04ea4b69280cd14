"""Names of GPU kernels taken apart: who made the kernel, what it does, what each token of its name says.

Most of these names are documented nowhere.  A :class:`Part` says whether its meaning is known, and from
where.  What nobody but the maker knows is called unknown, never guessed.
"""

from kinetoscope.kernel_names.decode import decode, is_communication, is_gemm
from kinetoscope.kernel_names.parts import SEPARATORS, KernelName, Part

__all__ = ["SEPARATORS", "KernelName", "Part", "decode", "is_communication", "is_gemm"]
