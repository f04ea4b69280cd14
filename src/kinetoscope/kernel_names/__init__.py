"""Names of GPU kernels taken apart: who made the kernel, what it does, what each token of its name says.

Most of these names are documented nowhere.  A :class:`Part` says whether its meaning is known and from
where; what is not known is said to be unknown, never guessed.
"""

from kinetoscope.kernel_names.decode import decode, is_gemm, share_decoded
from kinetoscope.kernel_names.parts import SEPARATORS, KernelName, Part
from kinetoscope.kernel_names.words import LAYOUT_LETTERS

__all__ = [
    "LAYOUT_LETTERS",
    "SEPARATORS",
    "KernelName",
    "Part",
    "decode",
    "is_gemm",
    "share_decoded",
]
