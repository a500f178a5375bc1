// acpx as a library: its runtime plays scenes with an agent, and this prints what each one showed as JSON.
//
// node acpx.mjs AGENT FOLDER PLAY, where AGENT is a command line and PLAY is a file: {forms, servers, state, scenes}

import { readFileSync } from "node:fs";
import { createAcpRuntime, createAgentRegistry, createRuntimeStore } from "acpx/runtime";

const [command, folder, file] = process.argv.slice(2);
const play = JSON.parse(readFileSync(file, "utf8"));

/** What the user will answer next: the kind of an option, or the choice of a form. */
let answers = [];
let shown;

const start = (name) => {
  shown = { name, kinds: [], text: "", user: "", permissions: [], forms: [], plans: [], commands: [], calls: {} };
};

const take = (event) => {
  if (event.tag) shown.kinds.push(event.tag);
  if (event.type === "text_delta" && event.tag === "agent_message_chunk") shown.text += event.text;
  if (event.entries) shown.plans.push(event.entries.map((entry) => `${entry.status} ${entry.content}`));
  if (event.availableCommands) shown.commands = event.availableCommands.map((command) => command.name);
  if (event.type === "tool_call") shown.calls[event.toolCallId] = { ...shown.calls[event.toolCallId], ...event };
};

const connect = () =>
  createAcpRuntime({
    cwd: folder,
    sessionStore: createRuntimeStore({ stateDir: play.state }),
    agentRegistry: createAgentRegistry({ overrides: { trimtab: command } }),
    mcpServers: play.servers,
    permissionMode: "deny-all",
    elicitationModes: play.forms ? ["form"] : [],
  });

let runtime = connect();
let handle = await runtime.ensureSession({ sessionKey: "first", agent: "trimtab", mode: "persistent", cwd: folder });
const session = handle.backendSessionId;
let turns = 0;

const turn = (scene) => {
  const blocks = scene.blocks ?? [{ type: "text", text: scene.text }];
  const running = runtime.startTurn({
    handle,
    text: blocks.filter((block) => block.type === "text").map((block) => block.text).join(""),
    attachments: blocks
      .filter((block) => block.type === "image")
      .map((block) => ({ mediaType: block.mimeType, data: block.data })),
    mode: "prompt",
    requestId: `turn-${++turns}`,
    onPermissionRequest: async ({ raw }) => {
      shown.permissions.push({ title: raw.toolCall.title, kinds: raw.options.map((option) => option.kind) });
      return { outcome: answers.shift() ?? "cancel" };
    },
    onElicitation: async (request) => {
      shown.forms.push(request.message);
      const choice = answers.shift();
      return choice ? { action: "accept", content: { choice } } : { action: "cancel" };
    },
  });
  const listening = (async () => {
    for await (const event of running.events) take(event);
  })();
  const ended = Promise.all([running.result, listening]).then(([result]) => {
    if (result.status === "failed") throw new Error(result.error.message);
    return result.stopReason;
  });
  return { running, ended };
};

const reconnect = async (input) => {
  await runtime.shutdown();
  runtime = connect();
  handle = await runtime.ensureSession({ agent: "trimtab", mode: "persistent", cwd: folder, ...input });
  return handle.backendSessionId === session ? "same" : "other";
};

const perform = {
  prompt: (scene) => turn(scene).ended,
  cancel: async (scene) => {
    const { running, ended } = turn(scene);
    await running.promptStarted;
    await new Promise((resolve) => setTimeout(resolve, 300));
    await running.cancel();
    return await ended;
  },
  mode: (scene) => runtime.setMode({ handle, mode: scene.value }),
  option: async (scene) => {
    const changed = await runtime.setConfigOption({ handle, key: scene.id, value: scene.value });
    return changed.configOptions.find((option) => option.id === scene.id).currentValue;
  },
  load: () => reconnect({ sessionKey: "first" }).then((which) => (which === "same" ? "loaded" : which)),
  resume: () =>
    reconnect({ sessionKey: "second", resumeSessionId: session }).then((which) =>
      which === "same" ? "resumed" : which,
    ),
};

const scenes = [];
for (const scene of play.scenes.filter((scene) => perform[scene.do])) {
  start(scene.name);
  answers = [...(scene.answers ?? [])];
  const result = await perform[scene.do](scene);
  // What came between two turns is only in the status.
  const { availableCommands } = await runtime.getStatus({ handle });
  shown.commands = (availableCommands ?? []).map((command) => command.name);
  scenes.push({ ...shown, result, unasked: answers });
}
console.log(JSON.stringify({ agent: "trimtab", session, scenes }));
await runtime.shutdown();
