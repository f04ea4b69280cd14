"""The parts of a laid-out timeline.  Lengths are px of the finished picture, times are ns."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from kinetoscope.draw.palette import CHANGE_SIGNS

if TYPE_CHECKING:
    from kinetoscope.measure.compare import Change
    from kinetoscope.trace import Event, LaneId, Step


@dataclass(frozen=True, slots=True)
class Style:
    """The sizes of a picture, in px."""

    font: float = 12
    row: float = 20
    """From the top of a row to the top of the next"""
    gap: float = 2
    """Between two rows"""
    side: float = 2
    """Left and right of the lanes"""
    pad: float = 4
    """Left and right of a label in its bar"""
    heading: float = 18
    """Height of the line with a lane's name; 0 leaves it out"""
    between: float = 8
    """Under each lane"""
    fan: float = 28
    """Between the CPU lanes and the GPU lanes, where the launch arrows spread"""
    axis: float = 24
    """Height of the ticks' labels; 0 leaves them out"""
    least: float = 1.5
    """Width of the narrowest bar"""


WIDE = Style()
NARROW = Style(row=22, pad=3, fan=32)


@dataclass(frozen=True, slots=True)
class Window:
    """The span of the trace that a timeline shows, and the steps it was chosen for."""

    start: int
    """ns"""
    end: int
    """ns; always after ``start``"""
    steps: tuple[Step, ...] = ()
    """The steps asked for; empty where the span does not follow from steps"""
    zoom: Event | None = None
    """The op that was zoomed to"""

    @property
    def dur(self) -> int:
        """ns"""
        return self.end - self.start


@dataclass(slots=True)
class Lane:
    """One lane of the timeline: a CPU thread or a GPU stream."""

    id: LaneId
    label: str
    y: float
    """Top of its first row"""
    height: float
    rows: int
    label_y: float
    """Baseline of its label"""


@dataclass(frozen=True, slots=True)
class Label:
    """The text in a bar or beside it, and the span kept free for it."""

    name: str
    """The event's name as it fits"""
    time: str
    """Its duration, if there is room"""
    start: float
    """x"""
    end: float
    """x"""
    place: str
    """``inside`` the bar; or in the free space to its ``right`` or ``left``"""


@dataclass(slots=True)
class Bar:
    """One event, or several that are less than a pixel apart."""

    event: Event
    kind: str
    """Key of :attr:`kinetoscope.draw.palette.Theme.kinds`"""
    x: float
    y: float
    w: float
    h: float
    row: int
    lane: int
    """Index into :attr:`Layout.lanes`"""
    highlighted: bool = False
    faded: bool = False
    """Whether it belongs to another step than the one shown"""
    label: Label | None = None
    merged: list[Event] = field(default_factory=list)
    """Further events that this bar stands for"""
    changes: tuple[Change, ...] = ()
    """What became of its events in the other trace, where two are compared; each once"""

    @property
    def events(self) -> list[Event]:
        """Every event that this bar stands for."""
        return [self.event, *self.merged]

    @property
    def sign(self) -> str:
        """The sign of its change; empty if it has none or several."""
        return CHANGE_SIGNS[self.changes[0]] if len(self.changes) == 1 else ""


@dataclass(frozen=True, slots=True)
class Arrow:
    """From a launching call down to the GPU activity it started; it spans the launch delay."""

    call: Event
    activity: Event
    x1: float
    y1: float
    turn: float
    """The y at which it leaves the vertical, below every CPU row"""
    level: float
    """The y at which it reaches the vertical of its end, above the lane's label"""
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
    """Empty where there is no room for it"""
    label_x: float
    """The label's middle"""


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
    """Text to show when there is nothing to draw"""
