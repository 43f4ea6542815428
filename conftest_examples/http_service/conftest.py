"""The agent under test: a service over HTTP, in any language. It gets the conversation and answers with a step."""

import json
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest


def post(url, body):
    request = urllib.request.Request(url, json.dumps(body).encode(), {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=300) as response:
        return json.load(response)


@pytest.fixture(scope="session")
def episem_agent():
    command = [sys.executable, str(Path(__file__).with_name("service.py"))]
    service = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    url = service.stdout.readline().strip()

    def agent(episode):
        steps = []
        while not episode.ended:
            body = {"instruction": episode.instruction, "request": episode.goal, "tools": episode.schemas}
            answer = post(url, {**body, "steps": steps})
            if not answer.get("calls"):
                return answer["text"]
            results = episode.call_all((call["name"], call["arguments"]) for call in answer["calls"])
            steps.append({"calls": answer["calls"], "results": results})

    yield agent
    service.terminate()
