/** For a text box that a person has opened: it has the keyboard at once, wherever that was before. */
export function focused(node: HTMLElement) {
  node.focus();
}
