"""The bank validator: every fault that could make a score an artefact is refused, with file, instance and field."""

from pytest_episem.evidence.validate.codes import CODES, Code
from pytest_episem.evidence.validate.report import Count, Counts, Report
from pytest_episem.evidence.validate.reviews import sign_reviews
from pytest_episem.evidence.validate.run import CHECKS, validate_bank

__all__ = ["CHECKS", "CODES", "Code", "Count", "Counts", "Report", "sign_reviews", "validate_bank"]
