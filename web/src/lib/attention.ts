// How the page gets the person's attention when a session waits: the title, the icon of the tab, and a notification of
// the system, if the person has switched that on.

import { keep, kept } from './storage';

/** The title of the window. */
export function windowTitle(name: string, waiting: number): string {
  return `${waiting > 0 ? `(${waiting}) ` : ''}${name ? `${name} · ` : ''}Trimtab`;
}

/** The sessions that wait now and did not before. */
export const newlyWaiting = <T extends { id: string }>(before: ReadonlySet<string>, now: T[]): T[] => now.filter((one) => !before.has(one.id));

export function markIcon(waiting: boolean) {
  const icon = document.querySelector<HTMLLinkElement>('link[rel=icon]');
  const href = waiting ? '/icon-waiting.svg' : '/icon.svg';
  if (icon && icon.getAttribute('href') !== href) icon.setAttribute('href', href);
}

/** Browsers have notifications only for pages of this machine or with TLS. */
export const canNotify = (): boolean => 'Notification' in globalThis && isSecureContext;

export const notifies = (): boolean => canNotify() && kept('notify') === 'yes' && Notification.permission === 'granted';

/** Switches notifications on or off. Gives a sentence if the browser refuses. */
export async function setNotify(on: boolean): Promise<string> {
  if (on && (await Notification.requestPermission()) !== 'granted') {
    return 'The browser blocks notifications from this page. Allow them in your browser settings.';
  }
  keep('notify', on ? 'yes' : null);
  return '';
}

/** Tells the person, unless they are looking at the page. */
export function notify(id: string, title: string, open: () => void) {
  if (!notifies() || document.visibilityState === 'visible') return;
  const shown = new Notification('Trimtab is waiting for you', { body: title, tag: id });
  shown.onclick = () => {
    window.focus();
    open();
    shown.close();
  };
}
