// The names of files as a tree.

export interface TreeNode {
  name: string;
  /** Relative to the folder; a folder ends with a slash. */
  path: string;
  folder: boolean;
  children: TreeNode[];
}

const order = new Intl.Collator('en', { numeric: true });

/** Folders first, then by name. */
export function treeOf(paths: readonly string[]): TreeNode[] {
  const root: TreeNode = { name: '', path: '', folder: true, children: [] };
  const folders = new Map<string, TreeNode>([['', root]]);
  const folderAt = (path: string): TreeNode => {
    const known = folders.get(path);
    if (known) return known;
    const parts = path.replace(/\/$/, '').split('/');
    const made: TreeNode = { name: parts.at(-1) ?? '', path, folder: true, children: [] };
    folders.set(path, made);
    folderAt(parts.length > 1 ? `${parts.slice(0, -1).join('/')}/` : '').children.push(made);
    return made;
  };
  for (const path of paths) {
    if (path.endsWith('/')) {
      folderAt(path);
      continue;
    }
    const at = path.lastIndexOf('/') + 1;
    folderAt(path.slice(0, at)).children.push({ name: path.slice(at), path, folder: false, children: [] });
  }
  for (const { children } of folders.values()) children.sort((a, b) => Number(b.folder) - Number(a.folder) || order.compare(a.name, b.name));
  return root.children;
}

/** The lines that are shown: what is in the open folders, with how deep it stands. */
export function lines(nodes: TreeNode[], open: ReadonlySet<string>, depth = 1): { node: TreeNode; depth: number }[] {
  return nodes.flatMap((node) => [{ node, depth }, ...(node.folder && open.has(node.path) ? lines(node.children, open, depth + 1) : [])]);
}
