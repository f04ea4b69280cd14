"""Runs one example with Sphinx-Gallery's own executor, in a process of its own.

``python -m kinetoscope.record.worker JOB.json`` reads a :class:`Job`, runs the script in the job's folder and
writes ``result.json`` there.  A process each keeps examples from sharing Dynamo caches, seeds and GPU memory.
"""

from __future__ import annotations

import json
import re
import sys
import time
import traceback
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from sphinx_gallery.backreferences import _make_ref_regex, identify_names
from sphinx_gallery.gen_gallery import _fill_gallery_conf_defaults
from sphinx_gallery.gen_rst import execute_script
from sphinx_gallery.py_source_parser import split_code_and_text_blocks
from sphinx_gallery.scrapers import ImagePathIterator

from kinetoscope.record.provenance import here
from kinetoscope.record.script import code_blocks


@dataclass(frozen=True, slots=True)
class Job:
    """What a worker is asked to do."""

    script: str
    """the script's file name; it lies in ``folder/work``"""
    folder: str
    """absolute; the worker writes nowhere else"""
    gallery_dir: str
    """where its page will lie, relative to the documentation's source folder"""
    gallery_conf: dict[str, Any]
    """those of conf.py's gallery settings that JSON can hold"""


@dataclass(slots=True)
class Result:
    """What came of it."""

    blocks: list[dict[str, str | int]] = field(default_factory=list)
    """of each code block its first line, and code, before and rst as in
    :class:`kinetoscope.record.store.BlockOutput`"""
    run_time: float = 0.0
    """seconds"""
    code_objects: dict[str, Any] = field(default_factory=dict)
    provenance: dict[str, Any] = field(default_factory=dict)
    error: str = ""
    """traceback or sentence of what went wrong; empty if nothing did"""
    error_line: int = 0
    """1-based line in the script, 0 if not known"""


def run(job: Job) -> Result:
    """Runs the job's script.  Every failure of the script ends up in the result."""
    folder = Path(job.folder)
    source = folder / "work" / job.script
    gallery = folder / "src" / job.gallery_dir
    (gallery / "images").mkdir(parents=True, exist_ok=True)
    target = gallery / job.script
    # The executor writes the md5 of this copy beside it: here, where it can do no harm.
    target.write_bytes(source.read_bytes())

    # JSON has no tuples, and Sphinx-Gallery takes only an empty *tuple* to mean "show no value".
    told = {
        key: tuple(value) if isinstance(value, list) else value for key, value in job.gallery_conf.items()
    }
    conf = _fill_gallery_conf_defaults(told, app=None, check_keys=False)
    conf["src_dir"] = str(folder / "src")
    conf["plot_gallery"] = True
    conf["abort_on_example_error"] = False
    file_conf, parts, node = split_code_and_text_blocks(str(source), return_node=True)
    script_vars: dict[str, Any] = {
        "execute_script": True,
        "image_path_iterator": ImagePathIterator(
            str(gallery / "images" / f"sphx_glr_{source.stem}_{{0:03}}.png")
        ),
        "src_file": str(source),
        "target_file": str(target),
    }
    result = Result()
    begin = time.monotonic()
    try:
        outputs, result.run_time = execute_script(parts, script_vars, conf, file_conf)
    except SystemExit as left:
        result.run_time = time.monotonic() - begin
        result.error_line = _line_in(str(source), left)
        result.error = (
            f"the script called sys.exit({left.code!r}), which ends whatever runs it; "
            "raise an exception instead, or let the script run to its end"
        )
        return result
    if "formatted_exception" in script_vars:
        result.error = script_vars["formatted_exception"]
        lines = re.findall(rf'File "{re.escape(str(source))}", line (\d+)', result.error)
        result.error_line = int(lines[-1]) if lines else 0
        return result

    rst_by_line = {line: rst for (kind, _, line), rst in zip(parts, outputs, strict=True) if kind == "code"}
    result.blocks = [
        {
            "first_line": block.first_line,
            "code": block.code,
            "before": block.before,
            # a half of a surrogate pair can be printed, but not stored
            "rst": rst_by_line[block.first_line].encode("utf-8", "replace").decode("utf-8"),
        }
        for block in code_blocks(parts)
    ]
    names = identify_names(parts, _make_ref_regex(conf["default_role"]), script_vars["example_globals"], node)
    result.code_objects = json.loads(json.dumps(names, sort_keys=True))
    result.provenance = here().to_json()
    return result


def _line_in(path: str, error: BaseException) -> int:
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == path]
    return (lines[-1] or 0) if lines else 0


def main(argv: list[str]) -> int:
    """Does the job in the file ``argv[1]``."""
    job = Job(**json.loads(Path(argv[1]).read_text(encoding="utf-8")))
    # argv would be seen by the example
    sys.argv = [job.script]
    result = run(job)
    # whole or not at all, on a full disk too
    new = Path(job.folder) / "result.json.new"
    new.write_text(json.dumps(asdict(result)), encoding="utf-8")
    new.replace(new.with_suffix(""))
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv))
