"""The gallery scraper: finds the traces and figures a block wrote and answers with directives.

Named in ``conf.py`` by its dotted string, ``"kinetoscope.book.scraper.scrape"``, which a worker process can
be told; it draws nothing: how a trace looks is decided when the page is laid out.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from kinetoscope.record.run import written

_SEEN = "kinetoscope_seen"
_SHOWN = """
.. timeline:: {name}

.. profiler-table:: {name}
   :by: kernel

.. profiler-table:: {name}
   :by: op
   :rows: 12
"""


def scrape(block: tuple[str, str, int], block_vars: dict[str, Any], gallery_conf: dict[str, Any]) -> str:
    """reST for the traces this block exported under ``traces/``, in the order they were written."""
    seen: dict[str, int] = block_vars.setdefault(_SEEN, {})
    rst = []
    for path in written(Path(block_vars["src_file"]).parent / "traces"):
        stamp = path.stat().st_mtime_ns
        if seen.get(path.name) == stamp:
            continue
        seen[path.name] = stamp
        if path.suffix != ".csv":
            name = path.name.partition(".")[0]
            rst.append(_SHOWN.format(name=name))
        else:
            rst.append(f"\n.. recorded-table:: {path.stem}\n")
    return "\n".join(rst)
