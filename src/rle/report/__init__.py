"""What people look at: pictures, curves and tables of any folder of runs, on one page."""

from rle.report.build import report

__all__ = ["report"]
