// What the browser keeps for itself: drafts and looks. Losing it loses nothing of a session.

export function kept(name: string): string | null {
  try {
    return localStorage.getItem(`trimtab.${name}`);
  } catch {
    return null;
  }
}

export function keep(name: string, value: string | null) {
  try {
    if (value === null || value === '') localStorage.removeItem(`trimtab.${name}`);
    else localStorage.setItem(`trimtab.${name}`, value);
  } catch {
    // A browser that keeps nothing still works.
  }
}
