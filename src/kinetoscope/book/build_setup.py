"""Before anything is laid out: the mode of the build, what it records, and whose recording it shows."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from kinetoscope.book.build_context import BuildContext, context_of, set_context
from kinetoscope.book.config import MODES
from kinetoscope.book.gallery import example_scripts, gallery_dir
from kinetoscope.book.messages import LOGGER, KinetoscopeError, file_location, shown_path, warn
from kinetoscope.measure.errors import TableError
from kinetoscope.record.provenance import Provenance, RecordingError, probe
from kinetoscope.record.run import RecorderConfig, RecordRun, record, why_stale, worker_settings
from kinetoscope.record.script import Script
from kinetoscope.record.store import (
    BENCH,
    BenchRecording,
    MachineRecording,
    read_machine,
    read_machines,
)
from kinetoscope.trace import TraceError

if TYPE_CHECKING:
    from sphinx.application import Sphinx

SITES = ("html", "dirhtml", "singlehtml")
"""The builders of a site.  Only a site is worth a GPU's time"""


def set_up_build(app: Sphinx) -> None:
    """``builder-inited``: records what has to be recorded, and makes the context of the build.

    If there is nothing to lay out, the build ends with one sentence and status 2.  An exception would make
    Sphinx ask for a bug report.
    """
    try:
        _set_up_build(app)
    except (KinetoscopeError, RecordingError) as error:
        LOGGER.error("%s", error, type="kinetoscope")
        raise SystemExit(2) from error


def _set_up_build(app: Sphinx) -> None:
    config = app.config
    mode = config.kinetoscope_mode
    if mode not in MODES:
        raise KinetoscopeError(f"kinetoscope_mode is {mode!r}; it can be {', '.join(MODES)}")
    if app.builder.name not in SITES:
        mode = "replay"
    scripts = example_scripts(app)
    to_run = [script for script in scripts.values() if script.is_run]
    stems = {script.stem for script in to_run}
    root = Path(app.srcdir, config.kinetoscope_recordings)
    run = RecordRun()
    reference = config.kinetoscope_machine
    wanted = [reference]

    machines = {}
    now = _device(mode)
    if now is not None:
        into = root
        if mode == "live":
            into = Path(app.doctreedir) / "kinetoscope-live"
            shutil.rmtree(into, ignore_errors=True)
        own = _own_name(config.kinetoscope_machine_name, now)
        wanted.insert(0, own)
        todo = _to_record(mode, to_run, into / own, now, config.kinetoscope_only, stems)
        run = _record(app, todo, now, into / own, stems)
        machines = read_machines(into, stems)
    machines = {**read_machines(root, stems), **machines}
    if not machines:
        where = shown_path(root, Path(app.confdir))
        raise KinetoscopeError(
            f"there is no recording in {where}, and this machine has no GPU to make one with: restore the "
            f"folder (git checkout -- {where}), or build on a machine with an NVIDIA GPU and torch"
            if now is None
            else f"no example could be recorded on this machine, and there is no recording in {where} to "
            "show instead; see the warnings above"
        )
    if now is None and reference and reference not in machines:
        raise KinetoscopeError(
            f"kinetoscope_machine is {reference!r}, of which there is no recording; "
            f"there are: {', '.join(machines)}"
        )
    default = next((name for name in wanted if name in machines), next(iter(machines)))
    context = BuildContext(
        root=Path(app.confdir),
        machines=machines,
        switch=_switch(app, machines, default) if app.builder.name in SITES else (default,),
        is_reference=now is None or default == reference,
        scripts=scripts,
        failed=frozenset(failure.path for failure in run.failures),
        is_html=app.builder.format == "html",
        picture=_picture(app.builder.supported_image_types),
        bench=BenchRecording(root / BENCH),
    )
    set_context(app.env, context)
    _warn_about_damage(context)
    _warn_about_stale_blocks(context)


def _switch(app: Sphinx, machines: Iterable[str], default: str) -> tuple[str, ...]:
    """The machines a page can show: the default, the one the book is held to, the others in their order."""
    asked = app.config.kinetoscope_switch.strip()
    names = list(machines) if asked == "all" else [name.strip() for name in asked.split(",") if name.strip()]
    unknown = [name for name in names if name not in machines]
    if unknown:
        raise KinetoscopeError(
            f"kinetoscope_switch names {', '.join(unknown)}, of which there is no recording; "
            f"there are: {', '.join(machines)}"
        )
    reference = app.config.kinetoscope_machine
    names.sort(key=lambda name: (name != default, name != reference))
    return tuple(dict.fromkeys([default, *names]))


def _own_name(asked: str, now: Provenance) -> str:
    """The name this machine is recorded under."""
    if asked and not re.fullmatch(r"[a-z0-9][a-z0-9-]*", asked):
        raise KinetoscopeError(
            f"kinetoscope_machine_name is {asked!r}; a machine's name is small letters, digits and hyphens"
        )
    return asked or now.machine.slug


def _picture(types: Iterable[str]) -> str:
    """The best kind of picture file a builder can show."""
    return next((kind for kind in ("pdf", "png") if any(name.endswith(f"/{kind}") for name in types)), "")


def _device(mode: str) -> Provenance | None:
    """The machine to record on, or ``None`` if this build only lays out."""
    if mode == "replay":
        return None
    now = probe()
    if mode == "auto":
        return now if now is not None and now.machine.has_gpu else None
    if now is None:
        raise KinetoscopeError(
            f"kinetoscope_mode is {mode!r}, but torch is not installed here: pip install torch"
        )
    if mode == "record" and not now.machine.has_gpu:
        raise KinetoscopeError(
            "kinetoscope_mode is 'record', but torch sees no GPU here; 'live' runs the examples on the CPU "
            "into a throw-away recording"
        )
    return now


def _to_record(
    mode: str, scripts: Iterable[Script], folder: Path, now: Provenance, only: str, stems: set[str]
) -> list[Script]:
    scripts = list(scripts)
    if only:
        wanted = {name.strip().removesuffix(".py") for name in only.split(",") if name.strip()}
        unknown = wanted - stems
        if unknown:
            raise KinetoscopeError(
                f"kinetoscope_only names {', '.join(sorted(unknown))}; "
                f"the examples are: {', '.join(script.stem for script in scripts)}"
            )
        scripts = [script for script in scripts if script.stem in wanted]
    if mode in ("record", "live"):
        return scripts
    try:
        examples = read_machine(folder, stems).examples if folder.is_dir() else {}
    except RecordingError as error:
        LOGGER.info("kinetoscope: %s; recording everything again", error)
        examples = {}
    reasons = {script.stem: why_stale(script, examples.get(script.stem), now) for script in scripts}
    for stem, reason in reasons.items():
        LOGGER.info("kinetoscope: %s: %s", stem, reason or "up to date")
    return [script for script in scripts if reasons[script.stem]]


def _record(app: Sphinx, todo: list[Script], now: Provenance, folder: Path, stems: set[str]) -> RecordRun:
    config = RecorderConfig(
        machine_folder=folder,
        gallery_dir=gallery_dir(app),
        gallery_conf=worker_settings(app.config.sphinx_gallery_conf),
        report=lambda line: LOGGER.info("kinetoscope: %s", line),
    )
    run = record(todo, now, config, all_stems=stems)
    for failure in run.failures:
        warn(
            "example",
            f"{failure.path.name} {failure.message}",
            file_location(failure.path, failure.line, Path(app.confdir)),
        )
    if not todo:
        LOGGER.info("kinetoscope: nothing to record on %s: every example is up to date", now.machine.gpu)
        return run
    seconds = sum(example.run_time for example in run.recorded)
    LOGGER.info(
        "kinetoscope: recorded %d of %d examples on %s in %.0f s%s",
        len(run.recorded),
        len(todo),
        now.machine.gpu,
        seconds,
        "".join(f"; failed: {failure.path.name}" for failure in run.failures),
    )
    return run


def _warn_about_damage(context: BuildContext) -> None:
    """One warning for each file that cannot be read, given on every build."""
    for machine in context.machines.values():
        for name, path in {**context.bench.tables, **machine.names}.items():
            try:
                context.load(name, machine.name)
            except (TraceError, TableError) as error:
                what = str(error).removeprefix(f"{path}: ").rstrip(".")
                restore = f"or restore the recording: git checkout -- {shown_path(path, context.root)}"
                warn("recording", f"{what}; {restore}", file_location(path, 0, context.root))


def _warn_about_stale_blocks(context: BuildContext) -> None:
    """One warning for each example whose page will lack output, given on every build."""
    machine = context.machine()
    for script in context.scripts.values():
        if script.path in context.failed or not script.is_run:
            continue  # It already has a warning, or is to have no output.
        line, why = _first_stale_line(script, machine)
        if line:
            warn("stale", why, file_location(script.path, line, context.root))


def _first_stale_line(script: Script, machine: MachineRecording) -> tuple[int, str]:
    """Return the 1-based line from which on the page lacks output, and why; 0 if the page is complete."""
    name = script.path.name
    if script.broken is not None:
        why = f"{name} is not valid Python ({script.broken.msg}): its page is empty; correct this line"
        return script.broken.lineno or 1, why
    recording = machine.examples.get(script.stem)
    if recording is None:
        why = f"{name} is not recorded on {machine.name}: its page has no output"
        return 1, f"{why}; build on a GPU (nox -s docs) to record it"
    missing = [block for block in script.blocks if block.key not in recording.outputs]
    if not missing:
        return 0, ""
    first, *rest = (f"{block.first_line}–{block.last_line}" for block in missing)
    why = f"code in lines {first} changed since it was recorded"
    if rest:
        why += f", and so may have the output of the code after it (lines {', '.join(rest)})"
    remedy = "record the example again on a GPU (nox -s docs) or undo the change"
    return missing[0].first_line, f"{why}: these outputs are not shown; {remedy}"


def fail_if_not_recorded(app: Sphinx, exception: Exception | None) -> None:
    """``build-finished``: an example that could not be recorded must not look like success, ``-W`` or not."""
    if exception is None and context_of(app.env).failed:
        app.statuscode = 1
