// What has just appeared takes no answer yet: a key or a click that was meant for what stood there before must not hit it.

/** So long after it appeared, in milliseconds. */
export const QUIET = 500;

export class Armed {
  now = $state(false);

  /** To be called when it appears. */
  start(): () => void {
    this.now = false;
    const timer = setTimeout(() => (this.now = true), QUIET);
    return () => clearTimeout(timer);
  }
}
