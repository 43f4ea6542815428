"""Reading one file of a bank against its format."""

from __future__ import annotations

from pathlib import Path

from pydantic import ValidationError

from pytest_episem.banks.problem import BankError, Problem
from pytest_episem.banks.schema_fault import M, Shape, ShapeFault, shape_faults
from pytest_episem.banks.yaml_file import BankSyntaxError, read_yaml


def read_shaped(file: Path, shape: Shape[M]) -> M:
    """Read and check one file of a bank against a format.

    Raises:
        BankError: one problem for each wrong field.
    """
    try:
        content = read_yaml(file)
    except BankSyntaxError as error:
        raise BankError([Problem("schema", error.place, "", "", error.fault)]) from None
    if not isinstance(content, dict):
        raise BankError([Problem("schema", str(file), "", "", f"must hold a mapping with {shape.holds}")])
    try:
        return shape.model.model_validate(content)
    except ValidationError as error:
        faults = shape_faults(shape, content, error)
        raise BankError([_problem(file, fault, shape.part) for fault in faults]) from None


def _problem(file: Path, fault: ShapeFault, part: str) -> Problem:
    inside = len(fault.place) > 1 and fault.place[0] == part
    instance, place = (fault.place[1], fault.place[2:]) if inside else ("", fault.place)
    return Problem("schema", str(file), instance, ".".join(place), fault.message)
