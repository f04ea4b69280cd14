"""Names of events as text that can stand in a picture: cleaned, and as short as there is room for."""

from __future__ import annotations

import re
from functools import lru_cache

from kinetoscope.trace import Kind

_OPEN, _CLOSE = "<({[", ">)}]"
_ANONYMOUS = re.compile(r"(\(anonymous namespace\)|<unnamed>|`anonymous namespace')(::)?")
# Characters that XML 1.0 cannot hold, not even as a reference; line ends, which would break a table's cell;
# characters that turn the direction of the text after them; and invisible ones.  Joiners stay, because words
# and emoji need them.
_NOT_TEXT = re.compile(
    "[\x00-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff\u2028\u2029"
    "\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff\U000e0000-\U000e007f]"
)


def clean(text: str) -> str:
    """``text`` on one line, with U+FFFD for what XML cannot hold and for what hides or turns text."""
    return _NOT_TEXT.sub("\N{REPLACEMENT CHARACTER}", text)


@lru_cache(maxsize=4096)
def short_name(name: str, kind: Kind | None) -> str:
    """``name`` of an event of ``kind``, cleaned, and if it is a kernel's without what a reader skips.

    Only a kernel's name is C++.  Every other one is text, for instance what an author gave to
    ``record_function``, and stays whole: brackets in it may be all that tells two of them apart.

    Of a demangled kernel's name this drops the return type, namespaces and the argument list, and replaces
    template arguments by ``<…>``, except a lone identifier, which is the only telling part of
    ``cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm>``.

    >>> short_name(
    ...     "void at::native::vectorized_elementwise_kernel<8, at::native::Foo>(int, Foo)", Kind.KERNEL
    ... )
    'vectorized_elementwise_kernel<…>'
    >>> short_name("FSDP::all_gather (layers.0)", Kind.ANNOTATION)
    'FSDP::all_gather (layers.0)'
    """
    name = clean(name)
    if kind is not Kind.KERNEL:
        return name
    name = name.strip()
    if not _looks_demangled(name):
        return name
    return _last_part(_ANONYMOUS.sub("", name.removeprefix("void "))) or name


def _looks_demangled(name: str) -> bool:
    if name.startswith(("Memcpy", "Memset")):
        return False
    if name.startswith("void "):
        return True
    if "::" in name and ("<" in name or "(" in name):
        return ".py(" not in name
    return re.match(r"\w+(<.*|\(.*\))$", name, re.DOTALL) is not None


def _last_part(name: str) -> str:
    """The last name outside brackets, with its template arguments shortened."""
    top: list[str] = []
    inside: list[str] = []
    depth, previous = 0, ""
    for char in name:
        if char in _CLOSE and not (char == ">" and previous == "-"):
            depth = max(0, depth - 1)
            if depth == 0 and char == ">":
                top.append(_template("".join(inside)))
        elif char in _OPEN:
            if depth == 0:
                if char == "(":
                    break  # the argument list: nothing after it names the kernel
                inside = []
            else:
                inside.append(char)
            depth += 1
        elif depth:
            inside.append(char)
        else:
            top.append("\0" if char == " " else char)
        previous = char
    last = "".join(top).strip("\0").rpartition("\0")[2]
    # The shortened template may itself hold "::" only if it was kept, and it is kept only without.
    return last.rpartition("::")[2]


def _template(inside: str) -> str:
    return f"<{inside}>" if re.fullmatch(r"[A-Za-z_]\w{3,}", inside) else "<…>"


_GRAPH_HASH = re.compile(r"\b([0-9a-z]{5})[0-9a-z]{27,}\b")
"""A compiled graph's key: ``f`` and a hash in base 32 (``torch/_inductor/codecache.py``), or one in hex"""


@lru_cache(maxsize=4096)
def forms(name: str, kind: Kind | None) -> tuple[str, ...]:
    """Shorter and shorter ways to write an event's name at a bar, the fullest first.

    >>> forms("void at::native::vectorized_elementwise_kernel<8, at::native::Foo>(int, Foo)", Kind.KERNEL)
    ('vectorized_elementwise_kernel<…>', 'vectorized_elementwise_kernel')
    >>> forms("aten::linear", Kind.OP)
    ('aten::linear', 'linear')
    >>> forms(
    ...     "## Call CompiledFxGraph fadri2gvaccdsuvko2wteeonnvzahljuczzqqcavvykm3cznaibj ##", Kind.ANNOTATION
    ... )
    ('Call CompiledFxGraph fadri…',)
    """
    short = short_name(name, kind)
    if kind is Kind.KERNEL:
        bare = re.sub(r"<[^<>]*>$", "", short)
        return (short, bare) if bare and bare != short else (short,)
    if _GRAPH_HASH.search(short):
        return (_GRAPH_HASH.sub(r"\1…", short).removeprefix("## ").removesuffix(" ##"),)
    namespace = re.fullmatch(r"[a-z_]\w*::(\w+)", short) if kind is Kind.OP else None
    return (short, namespace[1]) if namespace else (short,)
