"""A digest of code that does not depend on prose, comments and formatting.

``ast.dump`` and ``ast.unparse`` print f-strings and new optional fields differently from one Python to the
next. So this module walks the tree itself, leaves out what is absent, empty or only a matter of spelling,
and hashes the rest. The same code has the same digest on Python 3.10 to 3.14; the tests run this file, which
imports nothing but the standard library, on every Python that is installed.
"""

from __future__ import annotations

import ast
import hashlib

# ``ctx`` follows from where a name stands; ``kind`` and ``type_comment`` are matters of spelling.
_SPELLING = frozenset({"ctx", "kind", "type_comment"})


def code_digest(source: str) -> str:
    """Return a digest of the statements in ``source``: 16 hexadecimal digits, or ``""`` if there are none.

    Source that does not parse is hashed as text, so that an unfinished edit counts as a change.
    """
    try:
        tree = ast.parse(source)
    except SyntaxError:
        return _hash("syntax error\n" + source)
    if not tree.body:
        return ""
    return _hash("\n".join(_spell(statement) for statement in tree.body))


def chain(before: str, digest: str) -> str:
    """Return the digest of everything up to and including a block, which is ``before`` of the next block.

    A block without statements (``digest == ""``) changes nothing.
    """
    return before if not digest else _hash(before + digest)


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _spell(value: object) -> str:
    if isinstance(value, ast.AST):
        fields = dict(ast.iter_fields(value))
        if isinstance(value, ast.JoinedStr):
            # Only some Pythons put empty pieces into an f-string.
            fields["values"] = [piece for piece in value.values if getattr(piece, "value", None) != ""]
        parts = [
            f"{name}={_spell(field)}"
            for name, field in fields.items()
            if name not in _SPELLING and field is not None and field != []
        ]
        return f"{type(value).__name__}({','.join(parts)})"
    if isinstance(value, list):
        return "[" + ",".join(_spell(item) for item in value) + "]"
    return repr(value)
