"""A sink of a user's: some of the metrics as a table, one row per iteration."""

import csv
from pathlib import Path


class CsvSink:
    """Writes step and coverage to `metrics.csv` in the run directory."""

    def __init__(self, run, config) -> None:
        self._path: Path = run.path / "metrics.csv"

    def on_start(self, run, trainer) -> None:
        # A run that goes on keeps the rows up to its checkpoint.
        lines = self._path.read_text().splitlines() if self._path.exists() else []
        self._file = self._path.open("w", newline="")
        self._table = csv.writer(self._file)
        header = ["step", "coverage"]
        self._table.writerows(
            [header, *(row for row in csv.reader(lines[1:]) if int(row[0]) <= trainer.step)]
        )

    def on_iteration(self, trainer, metrics, episodes) -> None:
        self._table.writerow([metrics["step"], metrics.get("coverage")])

    def on_end(self, run, trainer) -> None:
        self._file.close()
