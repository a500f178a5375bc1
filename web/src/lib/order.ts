// Answers that overtake each other.

/**
 * Each call begins a question, and gives what its answer is asked when it has come: whether it is news. It is not where
 * one that was asked for later came before it: a list would show what was looked for a moment ago.
 */
export function inOrder(): () => () => boolean {
  let asked = 0;
  let come = 0;
  return () => {
    const mine = ++asked;
    return () => {
      if (mine < come) return false;
      come = mine;
      return true;
    };
  };
}
