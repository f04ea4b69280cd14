"""What a laid-out timeline is made of.  Lengths are px of the finished picture, times ns."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from kinetoscope.draw.changes import SIGNS

if TYPE_CHECKING:
    from kinetoscope.draw.window import Window
    from kinetoscope.measure.compare import Change
    from kinetoscope.trace.events import Event, LaneId


@dataclass(frozen=True, slots=True)
class Style:
    """The sizes of a picture, in px."""

    font: float = 12
    row: float = 20
    """from one row's top to the next one's"""
    gap: float = 2
    """between two rows"""
    side: float = 2
    """left and right of the lanes"""
    pad: float = 4
    """left and right of a label in its bar"""
    heading: float = 18
    """for the line with a lane's name; 0 leaves it out"""
    between: float = 8
    """under each lane"""
    fan: float = 28
    """between the CPU lanes and the GPU lanes, where the launch arrows spread"""
    axis: float = 24
    """for the ticks' labels; 0 leaves them out"""
    least: float = 1.5
    """the narrowest a bar is drawn"""


WIDE = Style()
NARROW = Style(row=22, pad=3, fan=32)


@dataclass(slots=True)
class Lane:
    """One lane of the timeline: a CPU thread or a GPU stream."""

    id: LaneId
    label: str
    y: float
    """top of its first row"""
    height: float
    rows: int
    label_y: float
    """baseline of its label"""


@dataclass(frozen=True, slots=True)
class Label:
    """What is written in a bar or beside it, and the span kept free for it."""

    name: str
    """the event's name as it fits"""
    time: str
    """its duration, if there is room"""
    start: float
    """x"""
    end: float
    """x"""
    place: str
    """``inside`` the bar; or in the free space to its ``right`` or ``left``"""


@dataclass(slots=True)
class Bar:
    """One event; or several of a kind that together are less than a pixel apart."""

    event: Event
    kind: str
    """key of :attr:`kinetoscope.draw.palette.Theme.kinds`"""
    x: float
    y: float
    w: float
    h: float
    row: int
    lane: int
    """index into :attr:`Layout.lanes`"""
    highlighted: bool = False
    faded: bool = False
    """whether it belongs to another step than the one shown"""
    label: Label | None = None
    merged: list[Event] = field(default_factory=list)
    """further events this bar stands for"""
    changes: tuple[Change, ...] = ()
    """what became of its events in the other trace, where two are compared; each once"""

    @property
    def sign(self) -> str:
        """What its change is written as; empty where it has none, or several."""
        return SIGNS[self.changes[0]] if len(self.changes) == 1 else ""


@dataclass(frozen=True, slots=True)
class Arrow:
    """From a launching call down to the GPU activity it started; it spans the launch delay."""

    call: Event
    activity: Event
    x1: float
    y1: float
    turn: float
    """y at which it leaves the vertical, below every CPU row"""
    level: float
    """y at which it is on the vertical of its end, above the lane's label"""
    x2: float
    y2: float
    faded: bool


@dataclass(frozen=True, slots=True)
class Band:
    """The shading behind one step's CPU range."""

    number: int
    x: float
    w: float


@dataclass(frozen=True, slots=True)
class Tick:
    """A mark on the time axis."""

    x: float
    label: str
    """empty where there is no room for it"""
    label_x: float
    """the label's middle"""


@dataclass(slots=True)
class Layout:
    """A finished timeline, ready to be drawn."""

    width: float
    height: float
    window: Window
    style: Style
    lanes: list[Lane] = field(default_factory=list)
    bars: list[Bar] = field(default_factory=list)
    arrows: list[Arrow] = field(default_factory=list)
    bands: list[Band] = field(default_factory=list)
    ticks: list[Tick] = field(default_factory=list)
    note: str = ""
    """what to write when there is nothing to draw"""

    @property
    def kinds(self) -> list[str]:
        """The kinds of bars present."""
        return sorted({bar.kind for bar in self.bars})
