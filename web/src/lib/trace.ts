// A session's calls as spans of time.

import type { Event, Usage } from './wire';
import { modelName } from './format';
import { title } from './tools';

export interface Span {
  kind: 'model' | 'tool';
  name: string;
  start: number;
  end: number;
  failed: boolean;
  usage?: Usage;
  detail?: string;
  ref?: string;
}

export function spans(events: Event[]): Span[] {
  const all: Span[] = [];
  const open = new Map<string, Span>();
  let last: Span | undefined;
  for (const event of events) {
    const time = Date.parse(event.time);
    const begin = (call: string, span: Span) => {
      all.push(span);
      open.set(call, span);
    };
    const end = (call: string | undefined) => {
      const span = call === undefined ? undefined : open.get(call);
      if (span) span.end = time;
      return span;
    };
    switch (event.type) {
      case 'model.called': {
        const purpose = event.purpose ? ` (${event.purpose})` : '';
        const again = event.attempt > 1 ? `, try ${event.attempt}` : '';
        begin(event.call, { kind: 'model', name: `${modelName(event.model)}${purpose}${again}`, start: time, end: time, failed: false });
        break;
      }
      case 'model.failed': {
        const span = end(event.call);
        if (span) Object.assign(span, { failed: true, detail: event.error.message });
        break;
      }
      case 'reply.saved': {
        last = end(event.call);
        const { raw } = event as unknown as { raw?: string };
        if (last && raw) last.ref = raw;
        break;
      }
      case 'usage':
        if (last) last.usage = event;
        break;
      case 'tool.started':
        begin(event.call, { kind: 'tool', name: title(event.title ?? event.name, event.input), start: time, end: time, failed: false, detail: JSON.stringify(event.input, null, 2) });
        break;
      case 'tool.finished': {
        const span = end(event.call);
        if (span) Object.assign(span, { failed: event.status === 'error', detail: `${span.detail ?? ''}\n\n${event.preview}`.trim(), ref: event.ref });
        break;
      }
    }
  }
  return all;
}
