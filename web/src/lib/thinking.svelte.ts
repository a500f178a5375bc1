// Whether what models think is unfolded: opening one opens all, and the browser remembers it.

import { keep, kept } from './storage';

class Thinking {
  private shown = $state(kept('thinking') === 'shown');

  get open(): boolean {
    return this.shown;
  }

  set open(on: boolean) {
    this.shown = on;
    keep('thinking', on ? 'shown' : null);
  }
}

export const thinks = new Thinking();
