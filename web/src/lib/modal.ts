/**
 * Opens a dialog for as long as it is there. What had the focus before has it again afterwards: a dialog that is
 * closed gives it back by itself, one that merely disappears would leave a person at the keyboard nowhere.
 */
export function modal(box: HTMLDialogElement): () => void {
  const before = document.activeElement;
  box.showModal();
  return () => {
    box.close();
    if (document.activeElement === document.body && before instanceof HTMLElement) before.focus();
  };
}
