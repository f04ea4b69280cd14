"""A timeline as an SVG file of its own: what the page's style sheet would say is in it, colours written out.

Programs that know no CSS variables (Inkscape, librsvg, LaTeX's converters) show it as a browser does; a
browser also follows the reader's dark theme, unless the picture was asked for dark.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kinetoscope.draw.palette import DARK, LIGHT
from kinetoscope.draw.svg import svg

if TYPE_CHECKING:
    from kinetoscope.draw.geometry import Layout
    from kinetoscope.draw.palette import Theme

_FIXED = """\
.ks-svg{font-family:system-ui,"Segoe UI",Roboto,"Helvetica Neue",Arial,"DejaVu Sans",sans-serif}
.ks-svg{font-kerning:none}
.ks-svg .ks-note,.ks-svg .ks-tick{text-anchor:middle}
.ks-svg .ks-lane,.ks-svg .ks-beside{paint-order:stroke;stroke-width:4px;stroke-linejoin:round}
.ks-bar .ks-left,.ks-bar .ks-time{text-anchor:end}
.ks-grid,.ks-launch path{fill:none}
.ks-bar rect{stroke-width:.75}
.ks-svg .ks-faded{opacity:.32}
.ks-svg .ks-is-gone rect{stroke-dasharray:3 2}
"""


def standalone_svg(layout: Layout, *, title: str, description: str, dark: bool = False) -> str:
    """The whole text of an SVG file, ``layout.width`` by ``layout.height`` px."""
    drawing = svg(layout, ident="timeline", title=title, description=description)
    opening, _, rest = drawing.partition(">")
    size = f' width="{layout.width:g}" height="{layout.height:g}"'
    colours = _colours(DARK if dark else LIGHT)
    if not dark:
        colours += f"@media (prefers-color-scheme:dark){{\n{_colours(DARK)}}}\n"
    ground = '<rect class="ks-surface" width="100%" height="100%"/>'
    # After title and desc, which must come first to be read.
    head, desc, body = rest.partition("</desc>")
    return f"{opening}{size}>{head}{desc}\n<style>{_FIXED}{colours}</style>\n{ground}{body}\n"


def _colours(theme: Theme) -> str:
    plain = theme.plain
    rules = [
        f".ks-surface{{fill:{plain['surface']}}}",
        f".ks-svg text{{fill:{plain['text']}}}",
        f".ks-svg .ks-note,.ks-svg .ks-tick,.ks-svg .ks-lane{{fill:{plain['muted']}}}",
        f".ks-svg .ks-lane,.ks-svg .ks-beside{{stroke:{plain['band']}}}",
        f".ks-band{{fill:{plain['band']}}}",
        f".ks-idle{{fill:{plain['idle']}}}",
        f".ks-grid{{stroke:{plain['grid']}}}",
        f".ks-launch path{{stroke:{plain['arrow']};stroke-width:1.1}}",
        f".ks-launch .ks-head{{fill:{plain['arrow']};stroke:none}}",
    ]
    for name, colour in theme.kinds.items():
        rules += [
            f".ks-{name} rect{{fill:{colour.fill};stroke:{colour.edge}}}",
            f".ks-svg .ks-{name} text{{fill:{colour.ink}}}",
        ]
    rules += [
        f".ks-svg .ks-bar .ks-beside{{fill:{plain['text']};stroke:{plain['band']}}}",
        f".ks-svg .ks-on-gpu .ks-beside{{stroke:{plain['idle']}}}",
        f".ks-svg .ks-bar .ks-beside tspan{{fill:{plain['muted']}}}",
        f".ks-bar.ks-marked rect{{stroke:{plain['highlight']};stroke-width:2.5}}",
        f".ks-svg .ks-is-gone rect,.ks-svg .ks-is-new rect{{stroke:{plain['text']};stroke-width:1.75}}",
    ]
    return "\n".join(rules) + "\n"
