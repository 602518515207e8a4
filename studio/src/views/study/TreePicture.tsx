/** A search tree as a picture: boxes with visits as a filled share, a tick for the prior, value and proof. */
import { useEffect, useMemo, useRef } from "preact/hooks";
import { signed } from "../../format";
import { NODE_HEIGHT, NODE_WIDTH, placeTree, type DrawnNode, type PlacedNode } from "../../searchTree";

interface Props {
  nodes: DrawnNode[];
  isOpen: (id: number) => boolean;
  onToggle: (id: number) => void;
  /** Nodes of the playout that is shown. */
  path?: number[];
  /** The node that it adds, and the nodes that are backed up already. */
  fresh?: number | null;
  zoom: number;
}

const NO_PATH: number[] = [];

export function TreePicture({ nodes, isOpen, onToggle, path = NO_PATH, fresh, zoom }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const onPath = useMemo(() => new Set(path), [path]);
  const picture = placeTree(nodes, isOpen, onPath);
  const byId = new Map(picture.nodes.map((node) => [node.id, node]));
  const end = byId.get(path[path.length - 1] ?? 0);

  // Follow the playout: its end stays in sight.
  useEffect(() => {
    const view = box.current;
    if (!view || !end || path.length === 0) return;
    const [x, y] = [end.x * zoom, end.y * zoom];
    const left =
      x < view.scrollLeft || x + 130 > view.scrollLeft + view.clientWidth
        ? x - view.clientWidth + 150
        : view.scrollLeft;
    const top =
      y < view.scrollTop || y + 40 > view.scrollTop + view.clientHeight ? y - view.clientHeight / 2 : view.scrollTop;
    view.scrollTo({ left: Math.max(0, left), top: Math.max(0, top) });
  }, [end?.x, end?.y, zoom]);

  return (
    <div class="treew" ref={box} role="group" aria-label="Search tree" tabIndex={0}>
      <svg
        width={picture.width * zoom}
        height={picture.height * zoom}
        viewBox={`0 0 ${picture.width} ${picture.height}`}
        aria-label={`Search tree with ${nodes.length} nodes`}
      >
        {picture.nodes.map((node) => {
          const parent = byId.get(node.parent);
          return parent && <Edge key={`e${node.id}`} from={parent} to={node} on={onPath.has(node.id)} />;
        })}
        {picture.nodes.map((node) => (
          <Box key={node.id} node={node} on={onPath.has(node.id)} fresh={fresh === node.id} onToggle={onToggle} />
        ))}
        {picture.nodes.map((node) => (
          <Marks key={`m${node.id}`} node={node} />
        ))}
      </svg>
    </div>
  );
}

function Edge({ from, to, on }: { from: PlacedNode; to: PlacedNode; on: boolean }) {
  const [x1, y1] = [from.x + NODE_WIDTH, from.y + NODE_HEIGHT / 2];
  const [x2, y2] = [to.x, to.y + NODE_HEIGHT / 2];
  const middle = (x1 + x2) / 2;
  return (
    <path
      class={on ? "ed on" : "ed"}
      stroke-width={1 + 5 * to.share}
      d={`M${x1} ${y1}C${middle} ${y1} ${middle} ${y2} ${x2} ${y2}`}
    />
  );
}

function Box({
  node,
  on,
  fresh,
  onToggle,
}: {
  node: PlacedNode;
  on: boolean;
  fresh: boolean;
  onToggle: (id: number) => void;
}) {
  const name = node.san || "root";
  const shown = valueText(node);
  const classes = ["nd", on ? "on" : "", fresh ? "new" : "", node.proven !== null ? "prv" : ""].join(" ");
  const toggle = () => node.children > 0 && onToggle(node.id);
  return (
    <g
      class={classes}
      transform={`translate(${node.x} ${node.y})`}
      role="button"
      tabIndex={0}
      aria-expanded={node.children > 0 ? node.isOpen : undefined}
      aria-label={`${name} ${shown} ${node.visits} visits, prior ${Math.round(100 * node.prior)} %`}
      onClick={toggle}
      onKeyDown={(event) => {
        if (event.key !== "Enter") return;
        toggle();
        event.preventDefault();
      }}
    >
      <rect class="bg" width={NODE_WIDTH} height={NODE_HEIGHT} rx={6} />
      <rect class="fill" width={Math.max(1, NODE_WIDTH * Math.min(1, node.share))} height={NODE_HEIGHT} rx={6} />
      {node.depth > 0 && <line class="pt" x1={NODE_WIDTH * node.prior} x2={NODE_WIDTH * node.prior} y1={0} y2={6} />}
      <text x={7} y={17}>
        {name}
      </text>
      <text class={node.proven === null ? "q" : "q proof"} x={NODE_WIDTH - (node.visits > 999 ? 36 : 28)} y={17}>
        {` ${shown}`}
      </text>
      <text class="n" x={NODE_WIDTH - 5} y={17}>
        {` ${node.visits}`}
      </text>
    </g>
  );
}

/** Signs at a node that more can be seen of it. */
function Marks({ node }: { node: PlacedNode }) {
  return (
    <g transform={`translate(${node.x} ${node.y})`} class="marks" aria-hidden="true">
      {node.children > 0 && !node.isOpen && (
        <>
          <circle class="xp" cx={NODE_WIDTH + 2} cy={NODE_HEIGHT / 2} r={6} />
          <text class="xpt" x={NODE_WIDTH + 2} y={NODE_HEIGHT / 2 + 4}>
            +
          </text>
        </>
      )}
      {node.hidden > 0 && (
        <text class="more" x={4} y={NODE_HEIGHT + 11}>
          {node.hidden} more moves
        </text>
      )}
    </g>
  );
}

/** The value as it fits into a box: `+.52`, or a proof in moves. */
function valueText(node: PlacedNode): string {
  if (node.proven === 0) return "=";
  if (node.proven !== null) return `${node.proven > 0 ? "#" : "−#"}${Math.ceil(Math.abs(node.proven) / 2)}`;
  return node.visits ? signed(node.value).replace("0.", ".") : "new";
}
