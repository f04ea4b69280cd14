"""What the viewer of timelines is put together from."""

from __future__ import annotations

import gzip

from kinetoscope.draw import viewer

SOURCE = """// What it is for.
(() => {
  "use strict";
  /**
   * Two lines
   * of it.
   */
  const address = "https://ui.perfetto.dev/"; // not https://other/
  const star = 2
    * 3; /* stays */
})();
"""


def test_every_script_and_style_is_in_it_once() -> None:
    there = {path.name for path in viewer.STATIC.iterdir()}
    assert sorted(viewer.SCRIPTS + viewer.STYLES) == sorted(there)


def test_comments_are_left_out_and_nothing_else() -> None:
    kept = [
        "(() => {",
        '"use strict";',
        'const address = "https://ui.perfetto.dev/";',
        "const star = 2",
        "* 3; /* stays */",
        "})();",
    ]
    assert viewer.without_comments(SOURCE).splitlines() == kept
    assert "\n//" not in viewer.viewer_script()
    assert "kinetoscope" in viewer.viewer_script()


def test_it_is_small() -> None:
    both = (viewer.viewer_script() + viewer.viewer_style()).encode()
    assert len(gzip.compress(both, 9)) <= 32_000
