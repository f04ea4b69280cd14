"""How long a reader waits for a page of the built book, on a phone and a slow line: `nox -s pagespeed`.

Serves the built site on this machine, compressed as a host would do it, and lets Lighthouse (from npm) load
each page as if for the first time, on its model of a phone: a line of 1.6 Mbit/s and 150 ms, a processor four
times slower. Prints the median over the runs of each page. The exit status is 1 if a page of the course
weighs more than its budget.

Connections are HTTP/1.1, six at a time; a host with HTTP/2 is no slower. Blocking time (TBT) means something
only on a machine that does nothing else.

    python benchmarks/pagespeed.py docs/_build/html [--runs 3] [--keep FOLDER] [PAGE …]

Node 18.16 or newer with npx, and a Chromium or Chrome: CHROME_PATH or KINETOSCOPE_CHROMIUM names one.
"""

from __future__ import annotations

import argparse
import functools
import gzip
import http.server
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

# The last major release for Node 18 and 20; version 13 needs Node 22.
LIGHTHOUSE = "lighthouse@12.8.2"
CHROME_FLAGS = "--headless=new --no-sandbox --disable-gpu --disable-background-networking"
CHROMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
CATEGORIES = ("performance", "accessibility", "best-practices", "seo")

PAGES = (
    "index",
    "read/linear",
    "read/simple-mlp",
    "gallery/02_linear",
    "gallery/05_regimes",
    "lookup/said-and-measured",
)
# A kB is 1000 bytes as sent: headers and bodies, text compressed.
BUDGET_KB = 200
"""the most that a page of the course may weigh on the first visit"""
AIMS = {"lcp_s": 1.5, "cls": 0.05}
"""what we aim at; a page that misses it is marked, nothing more"""

TEXT = {".html", ".css", ".js", ".svg", ".json", ".txt", ".xml", ".inv", ".md", ".map"}


@dataclass(frozen=True)
class Visit:
    """What Lighthouse measured on one page: one run's figures, or medians."""

    kb: float
    """everything requested, kB"""
    requests: float
    lcp_s: float
    """Largest Contentful Paint, s"""
    cls: float
    """Cumulative Layout Shift, no unit"""
    tbt_ms: float
    """Total Blocking Time, ms"""
    performance: float
    """this and the next three: Lighthouse's scores, 0 to 100"""
    accessibility: float
    best_practices: float
    seo: float

    @classmethod
    def of(cls, report: dict[str, Any]) -> Visit:
        """Read a report of Lighthouse (its JSON, format 12)."""
        audits = report["audits"]
        requests = [
            item for item in audits["network-requests"]["details"]["items"] if item["url"].startswith("http")
        ]
        scores = {name: report["categories"][name]["score"] for name in CATEGORIES}
        if None in scores.values():
            raise ValueError(f"no score: {report.get('runWarnings') or scores}")
        return cls(
            kb=sum(item["transferSize"] for item in requests) / 1000,
            requests=len(requests),
            lcp_s=audits["largest-contentful-paint"]["numericValue"] / 1000,
            cls=audits["cumulative-layout-shift"]["numericValue"],
            tbt_ms=audits["total-blocking-time"]["numericValue"],
            **{name.replace("-", "_"): 100 * score for name, score in scores.items()},
        )

    @classmethod
    def median(cls, visits: list[Visit]) -> Visit:
        """The median of each figure."""
        return cls(
            **{
                field.name: statistics.median(getattr(visit, field.name) for visit in visits)
                for field in fields(cls)
            }
        )


class Compressing(http.server.SimpleHTTPRequestHandler):
    """Serves files as any host does: text is gzipped, connections are kept open."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        """Answer with a file, or with index.html of a folder."""
        path = Path(self.translate_path(self.path))
        if path.is_dir():
            path /= "index.html"
        if not path.is_file():
            self.send_error(404)
            return
        body, packed = content(path)
        self.send_response(200)
        self.send_header("Content-Type", self.guess_type(str(path)))
        if packed:
            self.send_header("Content-Encoding", "gzip")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Cache-Control", "max-age=600")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Log nothing."""


@functools.cache
def content(path: Path) -> tuple[bytes, bool]:
    """A file's bytes as they are sent, and whether they are gzipped."""
    body = path.read_bytes()
    if path.suffix.lower() in TEXT:
        return gzip.compress(body, 6, mtime=0), True
    return body, False


@contextmanager
def served(site: Path) -> Iterator[str]:
    """The site's address on this machine."""
    handler = functools.partial(Compressing, directory=str(site))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}/"
        server.shutdown()
        thread.join()


def visit(npx: str, chrome: str, address: str, report: Path) -> Visit:
    """Let Lighthouse load one page once, in a fresh browser."""
    done = subprocess.run(
        [
            *(npx, "--yes", LIGHTHOUSE, address, "--quiet", "--output=json", f"--output-path={report}"),
            *(f"--only-categories={','.join(CATEGORIES)}", f"--chrome-flags={CHROME_FLAGS}"),
            "--no-enable-error-reporting",
        ],
        env={**os.environ, "CHROME_PATH": chrome},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    if done.returncode:
        sys.exit(f"{LIGHTHOUSE} failed on {address}:\n{(done.stderr or done.stdout)[-2000:]}")
    return Visit.of(json.loads(report.read_text(encoding="utf-8")))


def row(page: str, seen: Visit) -> tuple[str, ...]:
    """A line of the table; ``!`` is over the budget, ``*`` short of an aim."""
    return (
        page,
        f"{seen.kb:.0f}{'!' if over_budget(page, seen) else ''}",
        f"{seen.requests:.0f}",
        f"{seen.lcp_s:.2f}{'*' if seen.lcp_s > AIMS['lcp_s'] else ''}",
        f"{seen.cls:.3f}{'*' if seen.cls > AIMS['cls'] else ''}",
        f"{seen.tbt_ms:.0f}",
        *(f"{getattr(seen, name.replace('-', '_')):.0f}" for name in CATEGORIES),
    )


def over_budget(page: str, seen: Visit) -> bool:
    """Tell whether a page of the course weighs more than it may."""
    return page.startswith("read/") and seen.kb > BUDGET_KB


def table(rows: list[tuple[str, ...]]) -> str:
    """Rows (the first has the headings) as aligned columns."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if number == 0 else cell.rjust(width)
            for number, (cell, width) in enumerate(zip(line, widths, strict=True))
        )
        for line in rows
    )


def main() -> int:
    """Visit the pages and print the table; returns 1 if a page is over its budget."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("site", type=Path, help="the built book, a folder with index.html")
    parser.add_argument("pages", nargs="*", default=PAGES, metavar="PAGE", help="such as read/linear")
    parser.add_argument("--runs", type=int, default=3, help="runs of each page; medians are printed")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="keep Lighthouse's reports (JSON) there")
    given = parser.parse_args()
    if given.runs < 1:
        parser.error("--runs: at least 1")
    for page in ("index", *given.pages):
        if not (given.site / f"{page}.html").is_file():
            parser.error(f"{given.site}: no {page}.html there; build the book first (nox -s docs)")
    npx = shutil.which("npx")
    if npx is None:
        parser.error("no npx: install Node.js 18.16 or newer with npm")
    named = os.environ.get("CHROME_PATH") or os.environ.get("KINETOSCOPE_CHROMIUM")
    chrome = next(filter(None, map(shutil.which, [named] if named else CHROMES)), None)
    if chrome is None:
        parser.error("no Chromium or Chrome: install one, or name it in CHROME_PATH")

    lines: list[tuple[str, ...]] = [("page", "kB", "requests", "LCP s", "CLS", "TBT ms", *CATEGORIES)]
    heavy = []
    with served(given.site.resolve()) as base, tempfile.TemporaryDirectory() as scratch:
        folder = given.keep or Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        for page in given.pages:
            reports = [folder / f"{page.replace('/', '-')}-{run}.json" for run in range(1, given.runs + 1)]
            seen = Visit.median([visit(npx, chrome, f"{base}{page}.html", report) for report in reports])
            lines.append(row(page, seen))
            print(f"visited {page}", file=sys.stderr, flush=True)
            if over_budget(page, seen):
                heavy.append(f"{page} weighs {seen.kb:.0f} kB; a page of the course may weigh {BUDGET_KB} kB")
    print(table(lines))
    print(
        f"medians of {given.runs} runs; * misses an aim: LCP {AIMS['lcp_s']} s, CLS {AIMS['cls']}; "
        f"! over the budget of a page of the course: {BUDGET_KB} kB"
    )
    for fault in heavy:
        print(fault, file=sys.stderr)
    return 1 if heavy else 0


if __name__ == "__main__":
    sys.exit(main())
