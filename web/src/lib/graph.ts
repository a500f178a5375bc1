// What depends on what, as a drawing: each task is a circle, those that can start first stand at the left.

import type { BoardTask } from './fold';

type Task = Pick<BoardTask, 'id' | 'dependsOn'>;
export interface GraphNode {
  id: string;
  x: number;
  y: number;
}
export interface Graph {
  width: number;
  height: number;
  nodes: GraphNode[];
  /** From the center of a task to the center of one that depends on it. */
  edges: { from: GraphNode; to: GraphNode; path: string }[];
}

/** The radius of a circle, and the room that each takes. */
export const RADIUS = 13;
const STEP = { x: 58, y: 36 };
/** Circles above each other; more of one layer stand beside them. */
const MOST = 6;

/** How many tasks come before each one, one after the other. A plan has no circles. */
export function layers(tasks: Task[]): Map<string, number> {
  const found = new Map<string, number>();
  const depth = (id: string, seen: string[]): number => {
    const known = found.get(id);
    if (known !== undefined) return known;
    const task = tasks.find((one) => one.id === id);
    if (!task || seen.includes(id)) return -1;
    const own = 1 + Math.max(-1, ...task.dependsOn.map((before) => depth(before, [...seen, id])));
    found.set(id, own);
    return own;
  };
  tasks.forEach(({ id }) => depth(id, []));
  return found;
}

export function graph(tasks: Task[]): Graph {
  const depths = layers(tasks);
  const columns: string[][] = [];
  for (let layer = 0; layer <= Math.max(0, ...depths.values()); layer++) {
    const ids = tasks.filter(({ id }) => depths.get(id) === layer).map(({ id }) => id);
    for (let from = 0; from < ids.length; from += MOST) columns.push(ids.slice(from, from + MOST));
  }
  const rows = Math.max(1, ...columns.map((column) => column.length));
  const node = (id: string, column: number, row: number, of: number) => ({ id, x: STEP.x / 2 + column * STEP.x, y: STEP.y / 2 + (row + (rows - of) / 2) * STEP.y });
  const nodes = columns.flatMap((ids, column) => ids.map((id, row) => node(id, column, row, ids.length)));
  const at = (id: string) => nodes.find((one) => one.id === id);
  const edges = tasks.flatMap(({ id, dependsOn }) =>
    dependsOn.flatMap((before) => {
      const [from, to] = [at(before), at(id)];
      if (!from || !to) return [];
      const [x1, x2] = [from.x + RADIUS, to.x - RADIUS - 4];
      const middle = (x1 + x2) / 2;
      return [{ from, to, path: `M${x1} ${from.y} C${middle} ${from.y} ${middle} ${to.y} ${x2} ${to.y}` }];
    }),
  );
  return { width: columns.length * STEP.x, height: rows * STEP.y, nodes, edges };
}

/** The drawing in words. */
export function described(tasks: Task[]): string {
  const after = tasks.filter(({ dependsOn }) => dependsOn.length).map(({ id, dependsOn }) => `${id} after ${dependsOn.join(', ')}`);
  return `Dependencies: ${after.join('; ')}`;
}
