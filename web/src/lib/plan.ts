// A plan's steps under a person's hands.

import type { PlanStep } from './wire';

export function moved(steps: PlanStep[], from: number, to: number): PlanStep[] {
  const next = [...steps];
  const [step] = next.splice(from, 1);
  if (step) next.splice(to, 0, step);
  return next;
}

/** Without a step, and without the waits for it. */
export function without(steps: PlanStep[], id: string): PlanStep[] {
  const rest = steps.filter((step) => step.id !== id);
  return rest.map((step) =>
    step.dependsOn?.includes(id) ? { ...step, dependsOn: step.dependsOn.filter((one) => one !== id) } : step,
  );
}
