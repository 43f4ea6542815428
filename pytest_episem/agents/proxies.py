"""Local addresses are reached without a proxy: the episode's own MCP server, a model on this machine."""

from __future__ import annotations

from collections.abc import MutableMapping

LOCAL = ("localhost", "127.0.0.1", "::1")


def bypass_locally(environment: MutableMapping[str, str]) -> None:
    """Add the local addresses to ``NO_PROXY`` where the environment names a proxy; what stands there stays."""
    if not any(name.lower() in ("http_proxy", "https_proxy", "all_proxy") for name in environment):
        return
    named = (environment.get(name, "").split(",") for name in ("no_proxy", "NO_PROXY"))
    hosts = dict.fromkeys(host.strip() for part in named for host in part if host.strip())
    if "*" not in hosts:
        environment["NO_PROXY"] = environment["no_proxy"] = ",".join(hosts | dict.fromkeys(LOCAL))
