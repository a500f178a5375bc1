// A client on the official TypeScript library. It plays one conversation with `trimtab acp`, and prints what it saw as
// JSON. The library checks every message of the agent against the protocol's schema.
//
// node client.mjs BINARY FOLDER forms|text

import { spawn } from "node:child_process";
import { Readable, Writable } from "node:stream";
import * as acp from "@agentclientprotocol/sdk";

const [binary, folder, kind] = process.argv.slice(2);
const hasForms = kind === "forms";
const IMAGE =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

const child = spawn(binary, ["acp"], { cwd: folder, stdio: ["pipe", "pipe", "inherit"] });
const stream = acp.ndJsonStream(Writable.toWeb(child.stdin), Readable.toWeb(child.stdout));

/** What the user will answer next. */
const choices = [];
const seen = { updates: [], permissions: [], forms: [] };

const app = acp
  .client({ name: "peer" })
  .onRequest("session/request_permission", ({ params }) => {
    seen.permissions.push({ title: params.toolCall.title, kinds: params.options.map((option) => option.kind) });
    return { outcome: { outcome: "selected", optionId: choices.shift() ?? "wait" } };
  })
  .onRequest("elicitation/create", ({ params }) => {
    seen.forms.push(params.message);
    return { action: "accept", content: { choice: choices.shift() } };
  })
  .onNotification("session/update", ({ params }) => {
    seen.updates.push(params.update);
  });

const connection = app.connect(stream);
const agent = connection.agent;

const capabilities = hasForms ? { elicitation: { form: {} } } : {};
const started = await agent.request("initialize", { protocolVersion: acp.PROTOCOL_VERSION, clientCapabilities: capabilities });
const opened = await agent.request("session/new", { cwd: folder, mcpServers: [] });
const sessionId = opened.sessionId;
const stops = {};
const text = (words) => [{ type: "text", text: words }];
const say = async (name, prompt) => {
  const answer = await agent.request("session/prompt", { sessionId, prompt: typeof prompt === "string" ? text(prompt) : prompt });
  stops[name] = answer.stopReason;
};

await say("content", [
  ...text("say hello to"),
  { type: "image", data: IMAGE, mimeType: "image/png" },
  { type: "resource", resource: { uri: `file://${folder}/notes.md`, text: "embedded words" } },
]);
choices.push("allow");
await say("allowed", "run it");
choices.push("never");
await say("rejected", "remove it");
await say("edited", "edit it");
await say("undone", "/rewind");

if (hasForms) {
  choices.push("o1");
  await say("asked", "ask me");
} else {
  await say("asked", "ask me");
  await say("answered", "1");
}

const slow = agent.request("session/prompt", { sessionId, prompt: text("be slow") });
await new Promise((resolve) => setTimeout(resolve, 300));
await agent.notify("session/cancel", { sessionId });
stops.cancelled = (await slow).stopReason;

await agent.request("session/set_mode", { sessionId, modeId: "chat" });
const model = opened.configOptions.find((option) => option.id === "model");
const changed = await agent.request("session/set_config_option", {
  sessionId,
  configId: "model",
  value: model.options.find((option) => option.value.includes("haiku")).value,
});
await agent.request("session/set_config_option", { sessionId, configId: "mode", value: "auto" });

const listed = await agent.request("session/list", { cwd: folder });
const live = seen.updates.splice(0);
await agent.request("session/close", { sessionId });
await agent.request("session/load", { sessionId, cwd: folder, mcpServers: [] });
const loaded = seen.updates.splice(0);
await agent.request("session/resume", { sessionId, cwd: folder });
const refused = await agent
  .request("session/new", { cwd: folder, mcpServers: [], additionalDirectories: ["/tmp"] })
  .then(() => "accepted", (error) => error.message);

const words = (updates, name) =>
  updates.filter((update) => update.sessionUpdate === name).map((update) => update.content.text).join("");
console.log(
  JSON.stringify({
    agent: started.agentInfo.name,
    stops,
    permissions: seen.permissions,
    forms: seen.forms,
    kinds: [...new Set(live.map((update) => update.sessionUpdate))].sort(),
    text: words(live, "agent_message_chunk"),
    model: changed.configOptions.find((option) => option.id === "model").currentValue,
    sessions: listed.sessions.map((session) => session.sessionId === sessionId),
    loaded: { user: words(loaded, "user_message_chunk"), text: words(loaded, "agent_message_chunk") },
    refused,
  }),
);
connection.close();
child.stdin.end();
child.kill();
