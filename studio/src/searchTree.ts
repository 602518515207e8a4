/** Where the nodes of a search tree stand in its picture: columns by depth, children below each other. */

export interface DrawnNode {
  /** Index in the list of nodes. */
  id: number;
  parent: number;
  san: string;
  visits: number;
  value: number;
  prior: number;
  proven: number | null;
}

export interface PlacedNode extends DrawnNode {
  x: number;
  y: number;
  depth: number;
  isOpen: boolean;
  children: number;
  /** Children that are not drawn, if any. */
  hidden: number;
  /** Share of the parent's visits. */
  share: number;
}

export interface TreePicture {
  nodes: PlacedNode[];
  width: number;
  height: number;
}

export const NODE_WIDTH = 112;
export const NODE_HEIGHT = 26;
const COLUMN = 124;
const ROW = 32;
const MARGIN = 10;
const MOST_CHILDREN = 5;
const MOST_ROOT_CHILDREN = 9;

/** Place the nodes below open ones; `always` are nodes that are drawn in any case, with their ancestors. */
export function placeTree(
  nodes: readonly DrawnNode[],
  isOpen: (id: number) => boolean,
  always: ReadonlySet<number> = new Set(),
): TreePicture {
  const children = new Map<number, DrawnNode[]>();
  for (const node of nodes) {
    if (node.parent < 0) continue;
    const list = children.get(node.parent) ?? [];
    list.push(node);
    children.set(node.parent, list);
  }
  for (const list of children.values())
    list.sort((a, b) => pliesToWin(a) - pliesToWin(b) || b.visits - a.visits || b.prior - a.prior);
  const placed: PlacedNode[] = [];
  let row = 0;
  let deepest = 0;

  const place = (node: DrawnNode, depth: number, parentVisits: number): number => {
    const below = children.get(node.id) ?? [];
    const open = isOpen(node.id) || below.some((child) => always.has(child.id));
    const most = depth === 0 ? MOST_ROOT_CHILDREN : MOST_CHILDREN;
    const shown = open ? below.filter((child, index) => index < most || always.has(child.id)) : [];
    const entry: PlacedNode = {
      ...node,
      x: MARGIN + depth * COLUMN,
      y: 0,
      depth,
      isOpen: open,
      children: below.length,
      hidden: open ? below.length - shown.length : 0,
      share: parentVisits > 0 ? node.visits / parentVisits : 1,
    };
    placed.push(entry);
    deepest = Math.max(deepest, depth);
    if (shown.length === 0) {
      entry.y = MARGIN + row++ * ROW;
      return entry.y;
    }
    const total = below.reduce((sum, child) => sum + child.visits, 0);
    const rows = shown.map((child) => place(child, depth + 1, total));
    if (entry.hidden > 0) row += 0.6;
    entry.y = ((rows[0] ?? 0) + (rows[rows.length - 1] ?? 0)) / 2;
    return entry.y;
  };

  const root = nodes.find((node) => node.parent < 0);
  if (root) place(root, 0, 0);
  return {
    nodes: placed,
    width: 2 * MARGIN + deepest * COLUMN + NODE_WIDTH + 20,
    height: 2 * MARGIN + Math.max(1, row) * ROW,
  };
}

/** A proven win stands first, the shortest at the top: it decides its parent, however few visits it had. */
function pliesToWin(node: DrawnNode): number {
  return node.proven !== null && node.proven > 0 ? node.proven : Number.MAX_SAFE_INTEGER;
}
