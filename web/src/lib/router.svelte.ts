// Where the person is: the part of the address after `#`.

export const PANELS = ['chat', 'changes', 'files', 'trace'] as const;
export type Panel = (typeof PANELS)[number];
export type Place =
  | { view: 'home' }
  | { view: 'session'; id: string; panel: Panel }
  | { view: 'tasks' | 'memory' | 'usage' | 'audit' | 'extensions' | 'settings' };

export function read(hash: string): Place {
  const parts = hash.replace(/^#\/?/, '').split('/').filter(Boolean).map(decodeURIComponent);
  if (parts[0] === 's' && parts[1]) {
    const panel = PANELS.find((one) => one === parts[2]) ?? 'chat';
    return { view: 'session', id: parts[1], panel };
  }
  const first = parts[0];
  if (first === 'tasks' || first === 'memory' || first === 'usage' || first === 'audit' || first === 'extensions' || first === 'settings') return { view: first };
  return { view: 'home' };
}

export function write(place: Place): string {
  if (place.view === 'home') return '#/';
  if (place.view !== 'session') return `#/${place.view}`;
  return `#/s/${encodeURIComponent(place.id)}${place.panel === 'chat' ? '' : `/${place.panel}`}`;
}

class Here {
  now = $state.raw<Place>(read(location.hash));

  constructor() {
    addEventListener('hashchange', () => (this.now = read(location.hash)));
  }

  go(place: Place) {
    location.hash = write(place);
  }
}

export const here = new Here();
