"""An agent that gets its tools from an MCP server: ``agent.py URL PROMPT``; prints its last message."""

import asyncio
import json
import sys

from mcp import Client
from openai import AsyncOpenAI

MODEL = "gpt-5-mini"


async def main(url, prompt):
    model = AsyncOpenAI()
    messages = [{"role": "user", "content": prompt}]
    async with Client(url) as server:
        tools = [
            {"name": t.name, "description": t.description, "parameters": t.input_schema}
            for t in (await server.list_tools()).tools
        ]
        tools = [{"type": "function", "function": tool} for tool in tools]
        for _ in range(20):
            response = await model.chat.completions.create(model=MODEL, messages=messages, tools=tools)
            message = response.choices[0].message
            if not message.tool_calls:
                return message.content
            messages.append(message.model_dump(exclude_none=True))
            wanted = [(call.function.name, json.loads(call.function.arguments)) for call in message.tool_calls]
            results = await asyncio.gather(*(server.call_tool(name, arguments) for name, arguments in wanted))
            for call, result in zip(message.tool_calls, results):
                messages.append({"role": "tool", "tool_call_id": call.id, "content": result.content[0].text})


if __name__ == "__main__":
    print(asyncio.run(main(*sys.argv[1:])))
