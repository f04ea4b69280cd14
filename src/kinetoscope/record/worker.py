"""Run one example with Sphinx-Gallery's own executor, in a process of its own.

``python -m kinetoscope.record.worker JOB.json`` reads a :class:`Job`, runs the script in the job's folder and
writes ``result.json`` there. One process for each example keeps examples from sharing Dynamo caches, seeds
and GPU memory.
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
    """the script's file name; the script lies in ``folder/work``"""
    folder: str
    """absolute path; the worker writes nowhere else"""
    gallery_dir: str
    """where the example's page will lie, relative to the documentation's source folder"""
    gallery_conf: dict[str, Any]
    """the gallery's settings, as :func:`kinetoscope.record.run.worker_settings` selects them"""


@dataclass(slots=True)
class Result:
    """What the run of a script produced."""

    blocks: list[dict[str, str | int]] = field(default_factory=list)
    """for each code block its ``first_line``, and ``code``, ``before`` and ``rst`` as in
    :class:`kinetoscope.record.store.BlockOutput`"""
    run_time: float = 0.0
    """seconds"""
    code_objects: dict[str, Any] = field(default_factory=dict)
    """see :class:`kinetoscope.record.store.ExampleRecording`"""
    provenance: dict[str, Any] = field(default_factory=dict)
    """a :class:`kinetoscope.record.Provenance` as JSON"""
    error: str = ""
    """traceback or sentence about what went wrong; empty if nothing did"""
    error_line: int = 0
    """1-based line in the script, 0 if not known"""


def run(job: Job) -> Result:
    """Run the job's script. If the script fails, the result says how and where."""
    folder = Path(job.folder)
    source = folder / "work" / job.script
    gallery = folder / "src" / job.gallery_dir
    (gallery / "images").mkdir(parents=True, exist_ok=True)
    # The executor writes an md5 file beside its target. Beside this copy nobody mistakes it for their own.
    target = gallery / job.script
    target.write_bytes(source.read_bytes())

    # JSON has no tuples, and only an empty *tuple* tells Sphinx-Gallery to show no value.
    settings = {
        key: tuple(value) if isinstance(value, list) else value for key, value in job.gallery_conf.items()
    }
    conf = _fill_gallery_conf_defaults(settings, app=None, check_keys=False)
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
    start = time.monotonic()
    try:
        outputs, result.run_time = execute_script(parts, script_vars, conf, file_conf)
    except SystemExit as exit_request:
        result.run_time = time.monotonic() - start
        result.error_line = _line_in(str(source), exit_request)
        result.error = (
            f"the script called sys.exit({exit_request.code!r}), which ends whatever runs it; "
            "raise an exception instead, or let the script run to its end"
        )
        return result
    if "formatted_exception" in script_vars:
        result.error = script_vars["formatted_exception"]
        lines = re.findall(rf'File "{re.escape(str(source))}", line (\d+)', result.error)
        result.error_line = int(lines[-1]) if lines else 0

    rst_by_line = {line: rst for (kind, _, line), rst in zip(parts, outputs, strict=True) if kind == "code"}
    result.blocks = [
        {
            "first_line": block.first_line,
            "code": block.code,
            "before": block.before,
            # A script can print half of a surrogate pair, but UTF-8 cannot store it.
            "rst": rst_by_line[block.first_line].encode("utf-8", "replace").decode("utf-8"),
        }
        for block in code_blocks(parts)
    ]
    names = identify_names(parts, _make_ref_regex(conf["default_role"]), script_vars["example_globals"], node)
    result.code_objects = json.loads(json.dumps(names, sort_keys=True))
    result.provenance = here().to_json()
    return result


def _line_in(path: str, error: BaseException) -> int:
    """Return the last line of the file ``path`` in an error's traceback, 0 if there is none."""
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == path]
    return (lines[-1] or 0) if lines else 0


def main(argv: list[str]) -> int:
    """Do the job that the file ``argv[1]`` describes."""
    job = Job(**json.loads(Path(argv[1]).read_text(encoding="utf-8")))
    # The example sees the arguments that it would have if somebody ran it by itself.
    sys.argv = [job.script]
    result = run(job)
    # The file is renamed when it is whole, so a full disk leaves none that is cut off.
    new = Path(job.folder) / "result.json.new"
    new.write_text(json.dumps(asdict(result)), encoding="utf-8")
    new.replace(new.with_suffix(""))
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv))
