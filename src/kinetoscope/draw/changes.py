"""How a bar tells what became of its event in the other trace of two: by a sign, an outline, a word.

No colour of its own: a colour says what kind of event it is, in every figure.
"""

from __future__ import annotations

from kinetoscope.draw.column import Column
from kinetoscope.measure.compare import Change, Pair

SIGNS: dict[Change, str] = {"gone": "−", "new": "+", "slower": "▲", "faster": "▼", "kept": "="}
"""What stands before a bar's name, in the legend's order"""

SAID: dict[Change, str] = {
    "gone": "gone",
    "new": "new",
    "slower": "kept its name, slower",
    "faster": "kept its name, faster",
    "kept": "kept",
}
"""What tables, legends and tooltips call it"""

CHANGE_COLUMNS = (
    Column("name", "name"),
    Column("said", "what happened", "text"),
    Column("calls_before", "calls", "count"),
    Column("calls_after", "calls then", "count"),
    Column("before", "time", "time"),
    Column("after", "time then", "time"),
    Column("ratio", "ratio", "ratio"),
)
"""Of a table with a row of :func:`change_row` for each pair"""


def change_row(pair: Pair) -> dict[str, object]:
    """What a table says of a pair; a time that there is not is None."""
    return {
        "name": pair.name,
        "said": SAID[pair.change],
        "calls_before": pair.calls_before,
        "calls_after": pair.calls_after,
        "before": pair.before if pair.change != "new" else None,
        "after": pair.after if pair.change != "gone" else None,
        "ratio": pair.ratio,
    }
