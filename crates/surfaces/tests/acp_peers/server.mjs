// A small MCP server with one tool, which a client passes to the agent. It writes a line for each call.
//
// node server.mjs FILE

import { appendFileSync } from "node:fs";
import { createInterface } from "node:readline";

const tool = {
  name: "look_up",
  description: "Look up a word in the helper's own list",
  inputSchema: { type: "object", properties: { word: { type: "string" } } },
};

const answers = {
  initialize: ({ protocolVersion }) => ({
    protocolVersion,
    capabilities: { tools: {} },
    serverInfo: { name: "helper", version: "1" },
  }),
  "tools/list": () => ({ tools: [tool] }),
  "tools/call": (params) => {
    appendFileSync(process.argv[2], `${JSON.stringify(params.arguments)}\n`);
    return { content: [{ type: "text", text: "the helper knows it" }] };
  },
};

for await (const line of createInterface({ input: process.stdin })) {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined) continue;
  const answer = answers[method];
  const rest = answer ? { result: answer(params ?? {}) } : { error: { code: -32601, message: "unknown method" } };
  console.log(JSON.stringify({ jsonrpc: "2.0", id, ...rest }));
}
