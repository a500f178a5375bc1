"""A client on the official Python library. It plays scenes with `trimtab acp`, and prints what each one showed as JSON.

python client.py BINARY FOLDER PLAY, where PLAY is a file: {forms, servers, scenes}
"""

import asyncio
import json
import sys
from typing import Any

from acp import PROTOCOL_VERSION, Client, RequestError, connect_to_agent
from acp.schema import (
    AcceptElicitationResponse,
    AllowedOutcome,
    CancelElicitationResponse,
    ClientCapabilities,
    DeniedOutcome,
    McpServerStdio,
    PromptRequest,
    RequestPermissionResponse,
)


class Peer(Client):
    def __init__(self) -> None:
        self.answers: list[str] = []
        self.start("start")

    def start(self, name: str) -> None:
        self.shown: dict[str, Any] = {"name": name, "text": "", "user": "", "calls": {}}
        for field in ("kinds", "permissions", "forms", "plans", "commands"):
            self.shown[field] = []

    def answer(self) -> str | None:
        return self.answers.pop(0) if self.answers else None

    async def request_permission(self, options, session_id, tool_call, **kwargs: Any):
        self.shown["permissions"].append({"title": tool_call.title, "kinds": [option.kind for option in options]})
        wanted = self.answer()
        option = next((option for option in options if option.kind == wanted), None)
        if option is None:
            return RequestPermissionResponse(outcome=DeniedOutcome(outcome="cancelled"))
        return RequestPermissionResponse(outcome=AllowedOutcome(outcome="selected", option_id=option.option_id))

    async def create_elicitation(self, message, mode, **kwargs: Any):
        self.shown["forms"].append(message)
        choice = self.answer()
        if choice is None:
            return CancelElicitationResponse(action="cancel")
        return AcceptElicitationResponse(action="accept", content={"choice": choice})

    async def session_update(self, session_id, update, **kwargs: Any) -> None:
        shown, kind = self.shown, update.session_update
        shown["kinds"].append(kind)
        if kind == "agent_message_chunk":
            shown["text"] += update.content.text
        elif kind == "user_message_chunk":
            shown["user"] += update.content.text
        elif kind == "plan":
            shown["plans"].append([f"{entry.status} {entry.content}" for entry in update.entries])
        elif kind == "available_commands_update":
            shown["commands"] = [command.name for command in update.available_commands]
        elif kind in ("tool_call", "tool_call_update"):
            fields = update.model_dump(mode="json", by_alias=True, exclude_none=True)
            shown["calls"].setdefault(update.tool_call_id, {}).update(fields)

    async def ext_method(self, method: str, params: dict) -> dict:
        raise RequestError.method_not_found(method)

    async def ext_notification(self, method: str, params: dict) -> None:
        return None


class Play:
    def __init__(self, agent: Any, folder: str, servers: list[Any], session: str) -> None:
        self.agent, self.folder, self.servers, self.session = agent, folder, servers, session

    async def prompt(self, scene: dict) -> str:
        blocks = scene.get("blocks") or [{"type": "text", "text": scene["text"]}]
        request = PromptRequest.model_validate({"sessionId": self.session, "prompt": blocks})
        return (await self.agent.prompt(session_id=self.session, prompt=request.prompt)).stop_reason

    async def cancel(self, scene: dict) -> str:
        running = asyncio.create_task(self.prompt(scene))
        await asyncio.sleep(0.3)
        await self.agent.cancel(session_id=self.session)
        return await running

    async def mode(self, scene: dict) -> None:
        await self.agent.set_session_mode(session_id=self.session, mode_id=scene["value"])

    async def option(self, scene: dict) -> str:
        changed = await self.agent.set_config_option(
            session_id=self.session, config_id=scene["id"], value=scene["value"]
        )
        return next(option.current_value for option in changed.config_options if option.id == scene["id"])

    async def list(self, scene: dict) -> list[bool]:
        listed = await self.agent.list_sessions(cwd=self.folder)
        return [row.session_id == self.session for row in listed.sessions]

    async def close(self, scene: dict) -> None:
        await self.agent.close_session(session_id=self.session)

    async def load(self, scene: dict) -> str:
        await self.agent.load_session(session_id=self.session, cwd=self.folder, mcp_servers=self.servers)
        return "loaded"

    async def resume(self, scene: dict) -> str:
        await self.agent.resume_session(session_id=self.session, cwd=self.folder, mcp_servers=self.servers)
        return "resumed"


async def main(binary: str, folder: str, file: str) -> None:
    with open(file, encoding="utf-8") as text:
        play = json.load(text)
    process = await asyncio.create_subprocess_exec(
        binary, "acp", cwd=folder, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE
    )
    peer = Peer()
    # Forms are not in the stable part of the protocol yet.
    agent = connect_to_agent(peer, process.stdin, process.stdout, use_unstable_protocol=play["forms"])
    abilities = ClientCapabilities.model_validate({"elicitation": {"form": {}}} if play["forms"] else {})
    started = await agent.initialize(protocol_version=PROTOCOL_VERSION, client_capabilities=abilities)
    servers = [McpServerStdio.model_validate(server) for server in play["servers"]]
    session = (await agent.new_session(cwd=folder, mcp_servers=servers)).session_id
    performing = Play(agent, folder, servers, session)
    scenes = []
    for scene in play["scenes"]:
        peer.start(scene["name"])
        peer.answers = list(scene.get("answers", []))
        result = await getattr(performing, scene["do"])(scene)
        scenes.append({**peer.shown, "result": result, "unasked": peer.answers})
    print(json.dumps({"agent": started.agent_info.name, "scenes": scenes}))
    process.terminate()


asyncio.run(main(*sys.argv[1:]))
