// Where the person is: the part of the address after `#`.

export type Panel = 'chat' | 'changes' | 'trace';
export type Place =
  | { view: 'home' }
  | { view: 'session'; id: string; panel: Panel }
  | { view: 'tasks' | 'memory' | 'usage' | 'audit' | 'settings' };

export function read(hash: string): Place {
  const parts = hash.replace(/^#\/?/, '').split('/').filter(Boolean).map(decodeURIComponent);
  if (parts[0] === 's' && parts[1]) {
    const panel = parts[2] === 'changes' || parts[2] === 'trace' ? parts[2] : 'chat';
    return { view: 'session', id: parts[1], panel };
  }
  const first = parts[0];
  if (first === 'tasks' || first === 'memory' || first === 'usage' || first === 'audit' || first === 'settings') return { view: first };
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
