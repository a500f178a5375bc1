// A client on the official TypeScript library. It plays scenes with `trimtab acp`, and prints what each one showed as
// JSON. The library checks every message of the agent against the protocol's schema.
//
// node client.mjs BINARY FOLDER PLAY, where PLAY is a file: {forms, servers, scenes}

import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { Readable, Writable } from "node:stream";
import * as acp from "@agentclientprotocol/sdk";

const [binary, folder, file] = process.argv.slice(2);
const play = JSON.parse(readFileSync(file, "utf8"));

const child = spawn(binary, ["acp"], { cwd: folder, stdio: ["pipe", "pipe", "inherit"] });
const stream = acp.ndJsonStream(Writable.toWeb(child.stdin), Readable.toWeb(child.stdout));

/** What the user will answer next: the kind of an option, or the choice of a form. */
let answers = [];
let shown;

const start = (name) => {
  shown = { name, kinds: [], text: "", user: "", permissions: [], forms: [], plans: [], commands: [], calls: {} };
};

const take = (update) => {
  shown.kinds.push(update.sessionUpdate);
  switch (update.sessionUpdate) {
    case "agent_message_chunk":
      shown.text += update.content.text;
      break;
    case "user_message_chunk":
      shown.user += update.content.text;
      break;
    case "plan":
      shown.plans.push(update.entries.map((entry) => `${entry.status} ${entry.content}`));
      break;
    case "available_commands_update":
      shown.commands = update.availableCommands.map((command) => command.name);
      break;
    case "tool_call":
    case "tool_call_update":
      shown.calls[update.toolCallId] = { ...shown.calls[update.toolCallId], ...update };
      break;
  }
};

const app = acp
  .client({ name: "peer" })
  .onRequest("session/request_permission", ({ params }) => {
    shown.permissions.push({ title: params.toolCall.title, kinds: params.options.map((option) => option.kind) });
    const wanted = answers.shift();
    const option = params.options.find((option) => option.kind === wanted);
    return { outcome: option ? { outcome: "selected", optionId: option.optionId } : { outcome: "cancelled" } };
  })
  .onRequest("elicitation/create", ({ params }) => {
    shown.forms.push(params.message);
    const choice = answers.shift();
    return choice ? { action: "accept", content: { choice } } : { action: "cancel" };
  })
  .onNotification("session/update", ({ params }) => take(params.update));

const connection = app.connect(stream);
const agent = connection.agent;
start("start");
const started = await agent.request("initialize", {
  protocolVersion: acp.PROTOCOL_VERSION,
  clientCapabilities: play.forms ? { elicitation: { form: {} } } : {},
});
const place = { cwd: folder, mcpServers: play.servers };
const opened = await agent.request("session/new", place);
const sessionId = opened.sessionId;

const prompt = (scene) =>
  agent.request("session/prompt", { sessionId, prompt: scene.blocks ?? [{ type: "text", text: scene.text }] });

const perform = {
  prompt: async (scene) => (await prompt(scene)).stopReason,
  cancel: async (scene) => {
    const running = prompt(scene);
    await new Promise((resolve) => setTimeout(resolve, 300));
    await agent.notify("session/cancel", { sessionId });
    return (await running).stopReason;
  },
  mode: (scene) => agent.request("session/set_mode", { sessionId, modeId: scene.value }),
  option: async (scene) => {
    const changed = await agent.request("session/set_config_option", {
      sessionId,
      configId: scene.id,
      value: scene.value,
    });
    return changed.configOptions.find((option) => option.id === scene.id).currentValue;
  },
  list: async () => {
    const listed = await agent.request("session/list", { cwd: folder });
    return listed.sessions.map((session) => session.sessionId === sessionId);
  },
  close: () => agent.request("session/close", { sessionId }),
  load: () => agent.request("session/load", { sessionId, ...place }).then(() => "loaded"),
  resume: () => agent.request("session/resume", { sessionId, ...place }).then(() => "resumed"),
};

const scenes = [];
for (const scene of play.scenes) {
  start(scene.name);
  answers = [...(scene.answers ?? [])];
  const result = await perform[scene.do](scene);
  scenes.push({ ...shown, result, unasked: answers });
}
console.log(JSON.stringify({ agent: started.agentInfo.name, scenes }));
connection.close();
child.stdin.end();
child.kill();
