// Registers the service worker, which shows a page when the server does not answer.

const SCRIPT = '/sw.js';

interface ScriptPolicies {
  createPolicy(name: string, rules: { createScriptURL: (url: string) => string }): { createScriptURL(url: string): string };
}

export function registerWorker() {
  if (!('serviceWorker' in navigator)) return;
  // The server's policy allows this one script, and only by this name.
  const policies = (globalThis as { trustedTypes?: ScriptPolicies }).trustedTypes;
  const only = (url: string) => {
    if (url !== SCRIPT) throw new TypeError('This is not the service worker.');
    return url;
  };
  const address = policies ? policies.createPolicy('trimtab-worker', { createScriptURL: only }).createScriptURL(SCRIPT) : SCRIPT;
  // Without it, the browser's own page is shown.
  navigator.serviceWorker.register(address).catch(() => undefined);
}
