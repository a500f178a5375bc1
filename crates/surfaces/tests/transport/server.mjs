// A provider over TLS, HTTP/2 or compressed, which the hand-written one is not.
// Usage: node server.mjs PLAIN|KEY CERT ENCODING; prints its port, then a line per request.

import fs from 'node:fs';
import http from 'node:http';
import http2 from 'node:http2';
import zlib from 'node:zlib';

const [key, cert, encoding] = process.argv.slice(2);
const event = (type, data) => `event: ${type}\ndata: ${JSON.stringify({ type, ...data })}\n\n`;
const events = [
  event('message_start', { message: { id: 'm', type: 'message', role: 'assistant', content: [], model: 'm', usage: { input_tokens: 3, output_tokens: 1 } } }),
  event('content_block_start', { index: 0, content_block: { type: 'text', text: '' } }),
  event('content_block_delta', { index: 0, delta: { type: 'text_delta', text: 'Hello, ' } }),
  event('content_block_delta', { index: 0, delta: { type: 'text_delta', text: 'wörld 🦀.' } }),
  event('content_block_stop', { index: 0 }),
  event('message_delta', { delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 5 } }),
  event('message_stop', {}),
];

async function answer(request, response) {
  for await (const _ of request) { /* the whole request, first */ }
  console.log(`HTTP/${request.httpVersion} accepts ${request.headers['accept-encoding']}`);
  const headers = { 'content-type': 'text/event-stream' };
  const packers = { gzip: zlib.createGzip, br: zlib.createBrotliCompress };
  const out = packers[encoding] ? packers[encoding]() : null;
  if (out) {
    headers['content-encoding'] = encoding;
    out.pipe(response);
  }
  response.writeHead(200, headers);
  const sink = out ?? response;
  for (const text of events) {
    sink.write(text);
    if (out) await new Promise((done) => out.flush(done));
    await new Promise((done) => setTimeout(done, 10));
  }
  sink.end();
}

const server = key === 'PLAIN'
  ? http.createServer(answer)
  : http2.createSecureServer({ key: fs.readFileSync(key), cert: fs.readFileSync(cert), allowHTTP1: true }, answer);
server.listen(0, '127.0.0.1', () => console.log(server.address().port));
