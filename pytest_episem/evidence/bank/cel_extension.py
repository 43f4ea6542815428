"""The CEL library without its command line, whose import would cost every process more than all of ours."""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.machinery import PathFinder
from importlib.util import find_spec, module_from_spec
from types import ModuleType
from typing import TYPE_CHECKING

PACKAGE, EXTENSION = "cel", "cel.cel"


def load_cel() -> ModuleType:
    """Return the library's compiled module, which holds all that its package exports.

    It is entered under its own name, so that whoever imports the package gets the same module: it cannot be loaded
    twice. Where the package is there already, or has no such module, the package itself is returned.
    """
    package = find_spec(PACKAGE) if PACKAGE not in sys.modules else None
    spec = PathFinder.find_spec(EXTENSION, package.submodule_search_locations) if package else None
    if spec is None or spec.loader is None:
        return import_module(PACKAGE)
    if EXTENSION not in sys.modules:
        sys.modules[EXTENSION] = module_from_spec(spec)
        spec.loader.exec_module(sys.modules[EXTENSION])
    return sys.modules[EXTENSION]


if TYPE_CHECKING:
    import cel as cel
else:
    cel = load_cel()
