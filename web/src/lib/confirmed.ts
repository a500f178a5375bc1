// Changes that make Trimtab less strict need a code from the terminal where the server runs.

import { Failure } from './api';

/** Asks the person for the code; null if they do not want to go on. `why` is what stands in the way. */
export type AskForCode = (why: string) => Promise<string | null>;

/** Does something, with a code if the server asks for one. False: the person gave none. */
export async function confirmed(act: (code?: string) => Promise<unknown>, ask: AskForCode): Promise<boolean> {
  let code: string | undefined;
  for (;;) {
    try {
      await act(code);
      return true;
    } catch (error) {
      const isOpen = error instanceof Failure && (error.code === 'confirm' || error.code === 'wrong_code');
      if (!isOpen) throw error;
      const given = await ask(error.message);
      if (given === null) return false;
      code = given;
    }
  }
}
