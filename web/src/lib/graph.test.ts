import { expect, test } from 'vitest';
import { described, graph, layers } from './graph';

const task = (id: string, ...dependsOn: string[]) => ({ id, dependsOn });
const auth = [task('1'), task('2'), task('3'), task('4', '1', '2', '3'), task('5', '4')];

test('tasks stand behind what they depend on', () => {
  expect([...layers(auth).entries()]).toEqual([['1', 0], ['2', 0], ['3', 0], ['4', 1], ['5', 2]]);
  const { nodes, edges } = graph(auth);
  const x = (id: string) => nodes.find((node) => node.id === id)!.x;
  expect(x('1')).toBe(x('3'));
  expect(x('4')).toBeGreaterThan(x('3'));
  expect(x('5')).toBeGreaterThan(x('4'));
  expect(edges.map(({ from, to }) => `${from.id}-${to.id}`)).toEqual(['1-4', '2-4', '3-4', '4-5']);
  expect(described(auth)).toBe('Dependencies: 4 after 1, 2, 3; 5 after 4');
});

test('many tasks stay low, and a plan that refers to nothing or to itself is drawn all the same', () => {
  const many = Array.from({ length: 64 }, (_, at) => task(String(at + 1)));
  expect(graph(many).height).toBeLessThan(300);
  expect(new Set(graph(many).nodes.map(({ x, y }) => `${x} ${y}`)).size).toBe(64);
  expect(graph([task('1', '9'), task('2', '2')]).nodes).toHaveLength(2);
});
