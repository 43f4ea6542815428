"""The bank validator: every fault that could make a score an artefact is refused, with file, instance and field."""

from pytest_episem.validate.codes import CODES, Code
from pytest_episem.validate.report import Count, Counts, Report
from pytest_episem.validate.reviews import sign_reviews
from pytest_episem.validate.run import CHECKS, validate_bank

__all__ = ["CHECKS", "CODES", "Code", "Count", "Counts", "Report", "sign_reviews", "validate_bank"]
