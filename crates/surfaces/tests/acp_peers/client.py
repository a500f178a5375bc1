"""A client on the official Python library. It plays one conversation with `trimtab acp`, and prints what it saw as JSON.

python client.py BINARY FOLDER
"""

import asyncio
import json
import sys
from typing import Any

from acp import PROTOCOL_VERSION, Client, RequestError, connect_to_agent, text_block
from acp.schema import AllowedOutcome, ClientCapabilities, RequestPermissionResponse


class Peer(Client):
    def __init__(self) -> None:
        self.updates: list[Any] = []
        self.permissions: list[str] = []
        self.choices: list[str] = []

    async def request_permission(self, options, session_id, tool_call, **kwargs: Any):
        self.permissions.append(tool_call.title)
        choice = self.choices.pop(0)
        return RequestPermissionResponse(outcome=AllowedOutcome(outcome="selected", option_id=choice))

    async def session_update(self, session_id, update, **kwargs: Any) -> None:
        self.updates.append(update)

    async def ext_method(self, method: str, params: dict) -> dict:
        raise RequestError.method_not_found(method)

    async def ext_notification(self, method: str, params: dict) -> None:
        return None

    def text(self, kind: str) -> str:
        chunks = [update for update in self.updates if update.session_update == kind]
        return "".join(chunk.content.text for chunk in chunks)


async def main(binary: str, folder: str) -> None:
    process = await asyncio.create_subprocess_exec(
        binary, "acp", cwd=folder, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE
    )
    peer = Peer()
    agent = connect_to_agent(peer, process.stdin, process.stdout)
    started = await agent.initialize(protocol_version=PROTOCOL_VERSION, client_capabilities=ClientCapabilities())
    session = (await agent.new_session(cwd=folder, mcp_servers=[])).session_id
    stops = {}

    async def say(name: str, words: str) -> None:
        answer = await agent.prompt(session_id=session, prompt=[text_block(words)])
        stops[name] = answer.stop_reason

    await say("hello", "say hello")
    peer.choices.append("allow")
    await say("allowed", "run it")
    peer.choices.append("never")
    await say("rejected", "remove it")
    await say("edited", "edit it")
    await say("undone", "/rewind")
    await say("asked", "ask me")
    await say("answered", "1")
    slow = asyncio.create_task(agent.prompt(session_id=session, prompt=[text_block("be slow")]))
    await asyncio.sleep(0.3)
    await agent.cancel(session_id=session)
    stops["cancelled"] = (await slow).stop_reason
    await agent.set_session_mode(session_id=session, mode_id="plan")
    listed = await agent.list_sessions(cwd=folder)
    text = peer.text("agent_message_chunk")
    kinds = sorted({update.session_update for update in peer.updates})
    peer.updates.clear()
    await agent.close_session(session_id=session)
    await agent.load_session(session_id=session, cwd=folder, mcp_servers=[])
    result = {
        "agent": started.agent_info.name,
        "stops": stops,
        "permissions": peer.permissions,
        "kinds": kinds,
        "text": text,
        "sessions": [row.session_id == session for row in listed.sessions],
        "loaded": {"user": peer.text("user_message_chunk"), "text": peer.text("agent_message_chunk")},
    }
    print(json.dumps(result))
    process.terminate()


asyncio.run(main(sys.argv[1], sys.argv[2]))
