"""Reads records of `thinpipe run`, `train`, `bench`, `quality` and of jobs (docs/records.md)."""
import json
import os
import statistics
from typing import Any, Dict, List

from thinpipe._library import InputError


class Records(list):
    """The measured points of one file, one dictionary each, as docs/records.md describes them.

    header: the header of the last launch, with version, command, settings and fingerprint.
    """

    def __init__(self, header, points):
        super().__init__(points)
        self.header = header

    def rows(self) -> List[Dict[str, Any]]:
        """Returns a flat dictionary for each point: its id and status, its axes ("compressor", "link",
        "ranks", ...), and the median of each metric in the metric's unit ("step_time" in seconds)."""
        return [_row(point) for point in self]

    def to_pandas(self) -> Any:
        """Returns rows() as a pandas.DataFrame."""
        import pandas
        return pandas.DataFrame(self.rows())


def _row(point):
    return {"id": point.get("id"), "status": point.get("status"), **point.get("axes", {}),
            **{name: _median(metric.get("samples")) for name, metric in point.get("metrics", {}).items()}}


def _median(samples):
    known = [sample for sample in samples or () if sample is not None]  # null: no number
    return statistics.median(known) if known else None


def _name(record, number, names):
    """Returns the name of a point. Points with one id or one "normal_id" have one name."""
    own = record.get("id", number)
    normal = record.get("normal_id", own)
    name = names.get(own, names.get(normal, own))
    names.setdefault(normal, name)
    return names.setdefault(own, name)


def read_records(path: Any) -> Records:
    """Reads records.jsonl, or the folder that contains it. If several points have one id or one
    "normal_id", the last one counts, as in reports. Points of a job are repeats, and all are returned.
    An unfinished last line is skipped. @throws InputError naming file and line."""
    path = os.fspath(path)
    if os.path.isdir(path):
        path = os.path.join(path, "records.jsonl")
    header, points, names, number = None, {}, {}, 0
    try:
        with open(path, encoding="utf-8") as file:
            for number, line in enumerate(file, 1):
                if not line.endswith("\n"):
                    break  # an unfinished last line
                record = json.loads(line)
                if record.get("record") == "header":
                    header = record
                elif record.get("record") == "point":
                    _row(record)  # so that rows() has no damaged point
                    repeats = header is not None and header.get("kind") == "job"
                    points[number if repeats else _name(record, number, names)] = record
    except OSError as error:
        raise InputError(f"{path}: {error}") from None
    except (ValueError, AttributeError, TypeError, RecursionError) as error:
        raise InputError(f"{path}: line {number}: {error}") from None
    if header is None:
        raise InputError(f"{path}: found no header, expected the records of thinpipe run, train, bench, "
                         "quality or of jobs")
    return Records(header, points.values())
