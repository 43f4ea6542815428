"""A small agent service: POST the conversation so far, get ``{"calls": [...]}`` or ``{"text": "..."}``."""

import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from openai import OpenAI

MODEL = "gpt-5-mini"
client = OpenAI()


def next_step(body):
    messages = [{"role": "system", "content": body["instruction"]}, {"role": "user", "content": body["request"]}]
    for number, step in enumerate(body["steps"]):
        ids = [f"call_{number}_{place}" for place in range(len(step["calls"]))]
        calls = [{"name": c["name"], "arguments": json.dumps(c["arguments"])} for c in step["calls"]]
        entries = [{"id": i, "type": "function", "function": call} for i, call in zip(ids, calls)]
        messages.append({"role": "assistant", "tool_calls": entries})
        for i, result in zip(ids, step["results"]):
            messages.append({"role": "tool", "tool_call_id": i, "content": json.dumps(result)})
    tools = [{"type": "function", "function": tool} for tool in body["tools"]]
    message = client.chat.completions.create(model=MODEL, messages=messages, tools=tools).choices[0].message
    calls = [(call.function.name, json.loads(call.function.arguments)) for call in message.tool_calls or []]
    return {"text": message.content, "calls": [{"name": name, "arguments": a} for name, a in calls]}


class Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        answer = next_step(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        self.send_response(200)
        self.end_headers()
        self.wfile.write(json.dumps(answer).encode())


if __name__ == "__main__":
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    print(f"http://127.0.0.1:{server.server_port}", flush=True)
    server.serve_forever()
