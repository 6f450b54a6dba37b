"""What came of rehearsals: the report, what several sum up to, and the forms it is written in."""

from shipmate.priming.rehearsal.report.rehearsal_report import Comparison, Deviation, Report

__all__ = ["Comparison", "Deviation", "Report"]
