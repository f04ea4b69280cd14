"""Names of events as text that can stand in a picture: cleaned, and as short as there is room for."""

from __future__ import annotations

import re
from functools import lru_cache

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
def short_name(name: str) -> str:
    """``name``, cleaned, without what a reader skips.  Only demangled C++ names have such parts.

    Drops the return type, namespaces and the argument list, and replaces template arguments by
    ``<…>``, except a lone identifier, which is the only telling part of
    ``cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm>``.

    >>> short_name("void at::native::vectorized_elementwise_kernel<8, at::native::Foo>(int, Foo)")
    'vectorized_elementwise_kernel<…>'
    >>> short_name("aten::linear")
    'aten::linear'
    """
    name = clean(name).strip()
    if name.startswith("## ") and name.endswith(" ##"):
        return name[3:-3].strip()
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


def forms(name: str) -> list[str]:
    """Shorter and shorter ways to write ``name``, beginning with its short name.

    >>> forms("void at::native::vectorized_elementwise_kernel<8, at::native::Foo>(int, Foo)")
    ['vectorized_elementwise_kernel<…>', 'vectorized_elementwise_kernel']
    >>> forms("aten::linear")
    ['aten::linear', 'linear']
    """
    short = short_name(name)
    bare = re.sub(r"<[^<>]*>$", "", short)
    shorter = [bare] if bare and bare != short else []
    namespace = re.fullmatch(r"[a-z_]\w*::(\w+)", short)
    return [short, *shorter, *([namespace[1]] if namespace else [])]
