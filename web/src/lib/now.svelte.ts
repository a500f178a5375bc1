// The time, for ages that are shown while somebody looks at them.

const EVERY = 10_000;

class Now {
  #ms = $state(Date.now());

  constructor() {
    const look = () => {
      if (!document.hidden) this.#ms = Date.now();
    };
    setInterval(look, EVERY);
    document.addEventListener('visibilitychange', look);
  }

  get ms() {
    return this.#ms;
  }
}

export const now = new Now();
