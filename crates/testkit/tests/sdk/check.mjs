// Asks a server through a provider's own client library and prints what the library understood.
// Usage: node check.mjs DIALECT URL

import Anthropic from '@anthropic-ai/sdk';
import { GoogleGenAI } from '@google/genai';
import { Ollama } from 'ollama';
import OpenAI from 'openai';

const [dialect, url] = process.argv.slice(2);
const messages = [{ role: 'user', content: 'Say hello' }];
const tool = { name: 'read', description: 'Reads a file.', schema: { type: 'object', properties: { path: { type: 'string' } } } };

const ask = {
  async anthropic() {
    const client = new Anthropic({ apiKey: 'key', baseURL: url, maxRetries: 0 });
    const tools = [{ name: tool.name, description: tool.description, input_schema: tool.schema }];
    const stream = client.messages.stream({ model: 'm', max_tokens: 100, messages, tools });
    const message = await stream.finalMessage();
    return {
      text: message.content.filter((block) => block.type === 'text').map((block) => block.text).join(''),
      tools: message.content.filter((block) => block.type === 'tool_use').map(({ name, input }) => ({ name, input })),
      stop: message.stop_reason,
      tokens: [message.usage.input_tokens, message.usage.output_tokens],
    };
  },

  async openai() {
    const client = new OpenAI({ apiKey: 'key', baseURL: `${url}/v1`, maxRetries: 0 });
    const tools = [{ type: 'function', function: { name: tool.name, description: tool.description, parameters: tool.schema } }];
    const stream = client.chat.completions.stream({ model: 'm', messages, tools, stream_options: { include_usage: true } });
    const completion = await stream.finalChatCompletion();
    const choice = completion.choices[0];
    return {
      text: choice.message.content ?? '',
      tools: (choice.message.tool_calls ?? []).map((call) => ({ name: call.function.name, input: JSON.parse(call.function.arguments) })),
      stop: choice.finish_reason,
      tokens: [completion.usage.prompt_tokens, completion.usage.completion_tokens],
    };
  },

  async responses() {
    const client = new OpenAI({ apiKey: 'key', baseURL: `${url}/v1`, maxRetries: 0 });
    const tools = [{ type: 'function', name: tool.name, description: tool.description, parameters: tool.schema, strict: false }];
    const stream = client.responses.stream({ model: 'm', input: messages, tools });
    const response = await stream.finalResponse();
    return {
      text: response.output_text,
      tools: response.output
        .filter((item) => item.type === 'function_call')
        .map((item) => ({ name: item.name, input: JSON.parse(item.arguments) })),
      stop: response.status,
      tokens: [response.usage.input_tokens, response.usage.output_tokens],
    };
  },

  async gemini() {
    const client = new GoogleGenAI({ apiKey: 'key', httpOptions: { baseUrl: url } });
    const declaration = { name: tool.name, description: tool.description, parametersJsonSchema: tool.schema };
    const config = { tools: [{ functionDeclarations: [declaration] }] };
    const heard = { text: '', tools: [], stop: '', tokens: [] };
    for await (const chunk of await client.models.generateContentStream({ model: 'm', contents: 'Say hello', config })) {
      for (const part of chunk.candidates?.[0]?.content?.parts ?? []) {
        heard.text += part.text ?? '';
      }
      for (const call of chunk.functionCalls ?? []) {
        heard.tools.push({ name: call.name, input: call.args });
      }
      heard.stop = chunk.candidates?.[0]?.finishReason ?? heard.stop;
      if (chunk.usageMetadata) {
        heard.tokens = [chunk.usageMetadata.promptTokenCount, chunk.usageMetadata.candidatesTokenCount];
      }
    }
    return heard;
  },

  async ollama() {
    const client = new Ollama({ host: url });
    const tools = [{ type: 'function', function: { name: tool.name, description: tool.description, parameters: tool.schema } }];
    const heard = { text: '', tools: [], stop: '', tokens: [] };
    for await (const part of await client.chat({ model: 'm', messages, tools, stream: true })) {
      heard.text += part.message.content;
      for (const call of part.message.tool_calls ?? []) {
        heard.tools.push({ name: call.function.name, input: call.function.arguments });
      }
      if (part.done) {
        heard.stop = part.done_reason;
        heard.tokens = [part.prompt_eval_count, part.eval_count];
      }
    }
    return heard;
  },
};

console.log(JSON.stringify(await ask[dialect]()));
