"""How a bar tells what became of its event in the other trace of two: by a sign, an outline, a word.

No colour of its own: a colour says what kind of event it is, in every figure.
"""

from __future__ import annotations

from kinetoscope.measure.compare import Change

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
