"""The pytest face. This module is loaded in every pytest session, so it imports nothing heavy and does nothing
until a model, an agent or one of our fixtures is asked for; then ``face`` does the work."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from pytest_episem.plugin import hookspecs
from pytest_episem.plugin.fixtures import (
    episem_agent,
    episem_condition,
    episem_flaky,
    episem_oracle,
    episem_rollout,
    episem_run,
    episem_world,
)
from pytest_episem.plugin.options import (
    DIST_GIVEN,
    RUN,
    add_options,
    asked,
    gates_set,
    names_suite,
    refuse_unknown,
    run_name,
)
from pytest_episem.plugin.worker_word import open_channel, told

if TYPE_CHECKING:
    from pytest_episem.plugin.face import Face

__all__ = [
    "episem_agent",
    "episem_condition",
    "episem_flaky",
    "episem_oracle",
    "episem_rollout",
    "episem_run",
    "episem_world",
]

MARKERS = (
    "episem: an item of the EpiSEM suite",
    "episem_domain(name): its domain, e.g. -m \"episem_domain(name='finance')\"",
    "episem_world(name): its world, unsafe or safe",
    "episem_setting(name): its setting, full, se or re",
    "episem_mask(role): the role of the hidden atoms: none, critical or irrelevant",
    "episem_workflow(name): its workflow, in the workflow suite",
)
OWN_MARKERS = (
    "episem_flaky(*faults, call=1, late_after=1, unreached_ok=False): the faults that a test with the fixture of this "
    "name meets, all by default; which call of each tool they strike; after how many more calls a late effect arrives, "
    "None for the end of the test; whether a fault that was never reached is right",
)


def pytest_addhooks(pluginmanager: pytest.PytestPluginManager) -> None:
    pluginmanager.add_hookspecs(hookspecs)


def pytest_addoption(parser: pytest.Parser) -> None:
    add_options(parser)


def pytest_load_initial_conftests(early_config: pytest.Config, args: list[str]) -> None:
    refuse_unknown(args)
    early_config.stash[DIST_GIVEN] = getattr(early_config.known_args_namespace, "dist", "no") != "no"


def pytest_configure(config: pytest.Config) -> None:
    for marker in (*MARKERS, *OWN_MARKERS):
        config.addinivalue_line("markers", marker)
    if gates_set(config, of_chosen=False) and not hasattr(config, "workerinput"):
        from pytest_episem.plugin.gate_notice import NotEvaluated

        config.pluginmanager.register(NotEvaluated(config))
    if asked(config) or any(names_suite(arg, config) for arg in config.args):
        get_face(config)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "episem_condition" in metafunc.fixturenames:
        from pytest_episem.plugin.collect import parametrize

        parametrize(metafunc, get_face(metafunc.config).choices)
    if "episem_flaky" in metafunc.fixturenames:
        from pytest_episem.plugin.flaky import parametrize as parametrize_flaky

        parametrize_flaky(metafunc)
    elif any(mark.name == "episem_flaky" for mark in metafunc.definition.own_markers):
        from pytest_episem.plugin.flaky import refuse_marker

        refuse_marker(metafunc)


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Name the run for a worker that may find tests of ours though no option asked for us, and let it tell of them."""
    node.workerinput.setdefault(RUN, run_name(node.config))
    open_channel(node)


@pytest.hookimpl(optionalhook=True, tryfirst=True)
def pytest_xdist_node_collection_finished(node: Any, ids: list[str]) -> None:
    """Take what a worker collected; it may be tests that use our fixtures though no option asked for us."""
    text = told(node)
    if text is not None:
        from pytest_episem.plugin.node_ids import Collected

        known = node.config.pluginmanager.has_plugin("episem-face")
        face = get_face(node.config)
        if not known:
            face.ending.watch()  # it has missed the beginning of the loop
        face.collected(ids, Collected.from_json(text))


def get_face(config: pytest.Config) -> Face:
    """Return the session's face, registering it at the first call."""
    from pytest_episem.plugin.face import Face

    return Face.of(config)
