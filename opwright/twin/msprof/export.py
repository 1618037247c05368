"""A folder of results: PROF_.../mindstudio_profiler_output."""

from __future__ import annotations

import csv
import json
import shutil
import tempfile
from datetime import datetime, timezone
from pathlib import Path

from opwright.twin.msprof.recording import Recording, read
from opwright.twin.msprof.tables import tables
from opwright.twin.msprof.timeline import timeline

__all__ = ["export"]

RESULTS = "mindstudio_profiler_output"


def export(profile: Path) -> Path:
    """Write the results of a recording beside it, in place of earlier ones; return their folder.

    The folder appears with everything in it: torch_npu's analysis watches for the first table and
    reads the timeline as soon as it is there.
    """
    recording = read(profile)
    parts = Path(tempfile.mkdtemp(prefix=".export-", dir=profile))
    try:
        parts.chmod(0o750)
        write(recording, parts)
        results = profile / RESULTS
        if results.exists():
            shutil.rmtree(results)
        return parts.rename(results)
    except BaseException:
        shutil.rmtree(parts)
        raise


def write(recording: Recording, folder: Path) -> None:
    """Write the timeline and the tables."""
    # CANN's time stamp; torch_npu knows the files by it.
    stamp = datetime.now(tz=timezone.utc).strftime("%Y%m%d%H%M%S")
    (folder / f"msprof_{stamp}.json").write_text(json.dumps(timeline(recording)), encoding="utf-8")
    for name, (header, rows) in tables(recording).items():
        with (folder / f"{name}_{stamp}.csv").open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(header)
            writer.writerows(rows)
