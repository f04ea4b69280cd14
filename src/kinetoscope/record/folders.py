r"""Folders in a text, in every form in which a profiler or a program writes them.

Of an absolute path only the last component stays, as folders tell of users, groups and projects.  Paths of
the system (``/usr/lib/x.so``, ``C:\Windows\x.dll``) and web addresses stay.  A path counts as absolute if it
begins with ``/``, a drive, ``\\SERVER\`` or ``file:``.  What follows a component called *home* or *Users* is
somebody's name, wherever that stands; it may have spaces.  Separators may be of both kinds, doubled (JSON in
JSON) or percent-encoded.
"""

from __future__ import annotations

import re

_SEP = r"(?:[\\/]|%2F|%5C)+"
_PART = r"[\w.@+~-]+"
# With a space or a bracket, a part is one only if a backslash follows: sentences hold slashes, too.
_WINDOWS_PART = r'[^\\/:*?"<>|;=\s](?:[^\\/:*?"<>|;=\r\n\t]*[^\\/:*?"<>|;=\s])?(?=\\)'
_LETTER = r"""(?:[^\s\\/:*?"'<>|()\[\]{},;=%]|'(?=\w)|%(?!2F|5C)[0-9A-F]{2})"""
_USER = rf'(?:{_LETTER}++(?:[ ]{_LETTER}+)*(?={_SEP}|["\'])|{_LETTER}++(?:[ ](?-i:[A-Z]){_LETTER}*+(?!=))*)'
_HOMES = r"(?:home\d*|homes|users?|documents[ ]and[ ]settings)"
_SURE_HOMES = r"(?-i:home|Users|Documents[ ]and[ ]Settings)"
_NO_HOME = rf"(?!{_HOMES}{_SEP}{_LETTER})"

_PATH = re.compile(
    rf"""
    (?P<web> https?://\S+ )
    | (?:
        (?P<windows>
            (?: \\{{2,}}[?.]\\+(?:UNC\\+)? )? (?:file:[\\/]*)? (?<!\w)[A-Z](?::|%3A){_SEP}
            | \\{{2,}}[?.]\\+UNC\\+ | (?P<share>(?<!\\)\\{{2,}}(?=[\w.$-]+\\+[^\\]+\\))
            | (?<![\w:\\/])//(?=[\w.$-]+/{_HOMES}/)
        )
        | (?P<posix> file:/+(?:localhost/+)? | (?<![\w.:/<>~-])/ | (?<=[\w.]:)/(?!/)
            | (?:(?<=\A-[A-Z])|(?<=\s-[A-Z]))/ )
        | (?P<within> {_SEP}(?={_SURE_HOMES}{_SEP}) | \\+(?=users\\)
            | (?<![\w.@+~:-])(?={_SURE_HOMES}{_SEP}{_LETTER}+{_SEP}) )
      )
      (?P<parts>
        (?:
          (?:
            (?P<home>{_HOMES}{_SEP}{_USER})
            | {_NO_HOME} (?: (?(windows){_WINDOWS_PART}|(?!)) | {_PART} )
          ) {_SEP}
        )*
        (?: (?P<ends>{_HOMES}{_SEP}{_USER}) | {_NO_HOME} {_PART} )?
      )
    | (?<![\w/\\.~)\]%-])~[a-z_][\w.-]*(?={_SEP})
    | (?:\A|(?<==))~(?-i:[a-z_])[\w.-]*\Z
    | (?<=torchinductor_)[^\W_][\w.-]*(?={_SEP})
    """,
    re.VERBOSE | re.IGNORECASE,
)
# In a text that is nothing else, the name that ends it may have spaces.
_WHOLE_HOME = re.compile(
    rf"""(\w+=)?(?:[^\s="']*[\\/])?{_SURE_HOMES}[\\/]+[^\s\\/"':,;=]+(?:[ ][^\s\\/"':,;=]+){{0,2}}"""
)
_SEPARATOR = re.compile(_SEP, re.IGNORECASE)
_OF_THE_SYSTEM = re.compile(
    r"(?:usr|lib(?:32|64)?|s?bin|etc|proc|sys|windows|program files(?: \(x86\))?)(?=[\\/]|\Z)", re.IGNORECASE
)

_SERVER_SHARE_USER = 3
r"""Parts of ``\\\\server\\share\\ada``: a share is often of homes, whatever it is called."""

_SAID = r"(?:USER|LOGNAME|USERNAME|SUDO_USER|HOSTNAME|COMPUTERNAME|USERDOMAIN)"
# A variable of an environment: USER=ada, "USER": "ada"
_VARIABLE = re.compile(
    rf"""(\b{_SAID}(?:=["']?|["']:\s*["']|\\+":\s*\\+"))"""
    r"""([^\s;,"'\\\0]+(?:[ ][A-Z][a-z]\w*(?!\w*=))*)"""
)


def without_folders(text: str) -> str:
    """``text`` without the folders of absolute paths, and without the names of those who own one."""
    if "=" in text or ":" in text:
        text = _VARIABLE.sub(r"\1host", text)
    if not any(char in text for char in "/\\~%"):
        return text
    if (whole := _WHOLE_HOME.fullmatch(text)) and "://" not in text.replace("file://", ""):
        return f"{whole[1] or ''}~"
    return _PATH.sub(_last_part, text)


def _last_part(match: re.Match[str]) -> str:
    if match["web"]:
        return match[0]
    parts = match["parts"]
    if parts is None:  # ~ada, or torchinductor_ada
        return "~" if match[0].startswith("~") else "host"
    kept = [part for part in _SEPARATOR.split(parts) if part]
    following = "/" if len(kept) > 1 and _SEPARATOR.fullmatch(parts[-1:]) else ""
    name = match["ends"] or match["home"]
    if name:
        names_owner = kept[-1] == _SEPARATOR.split(name)[-1]
        last = f"~{following}" if names_owner else kept[-1] + following
        # Whatever stands before a path that does not begin here would run into it.
        return f"/{last}" if match["within"] and match.start() else last
    if match["share"] and len(kept) == _SERVER_SHARE_USER and "." not in kept[-1]:
        return "~"
    if kept == ["root"] and match["posix"]:
        return "~"
    if len(kept) < 2 or _OF_THE_SYSTEM.match(parts):
        return match[0]
    return kept[-1] + following
