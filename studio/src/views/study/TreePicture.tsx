/** A search tree as a picture: boxes with visits as a filled share, a tick for the prior, value and proof. */
import type { RefObject } from "preact";
import { useEffect, useMemo, useRef } from "preact/hooks";
import { proofText } from "../../analysis";
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
  onZoom: (zoom: number) => void;
  /** Whether the end of the path, or of the most visited line, is kept in sight. */
  follow: boolean;
}

const NO_PATH: number[] = [];

export function TreePicture({ nodes, isOpen, onToggle, path = NO_PATH, fresh, zoom, onZoom, follow }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const onPath = useMemo(() => new Set(path), [path]);
  const picture = placeTree(nodes, isOpen, onPath);
  const byId = new Map(picture.nodes.map((node) => [node.id, node]));
  const end = path.length ? byId.get(path[path.length - 1] ?? 0) : mostVisitedEnd(picture.nodes);
  usePanAndZoom(box, zoom, onZoom);

  // Follow: the end stays in sight.
  useEffect(() => {
    const view = box.current;
    if (!view || !end || !follow) return;
    const [x, y] = [end.x * zoom, end.y * zoom];
    const left =
      x < view.scrollLeft || x + 130 > view.scrollLeft + view.clientWidth
        ? x - view.clientWidth + 150
        : view.scrollLeft;
    const top =
      y < view.scrollTop || y + 40 > view.scrollTop + view.clientHeight ? y - view.clientHeight / 2 : view.scrollTop;
    view.scrollTo({ left: Math.max(0, left), top: Math.max(0, top) });
  }, [end?.x, end?.y, zoom, follow]);

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

/** The last drawn node of the line in which every move has the most visits. */
function mostVisitedEnd(nodes: readonly PlacedNode[]): PlacedNode | undefined {
  let end = nodes.find((node) => node.parent < 0);
  for (let next = end; next;) {
    end = next;
    const parent = next.id;
    next = nodes
      .filter((node) => node.parent === parent)
      .reduce<PlacedNode | undefined>((best, node) => (best && best.visits >= node.visits ? best : node), undefined);
  }
  return end;
}

/** Drag the picture to pan; Ctrl and the wheel, or a pinch, zoom at the pointer. */
function usePanAndZoom(box: RefObject<HTMLDivElement | null>, zoom: number, onZoom: (zoom: number) => void): void {
  const latest = useRef({ zoom, onZoom });
  latest.current = { zoom, onZoom };
  useEffect(() => {
    const view = box.current;
    if (!view) return;
    let from: { x: number; y: number; left: number; top: number } | null = null;
    const down = (event: PointerEvent) => {
      if (event.pointerType !== "mouse" || event.button !== 0 || (event.target as Element).closest(".nd")) return;
      from = { x: event.clientX, y: event.clientY, left: view.scrollLeft, top: view.scrollTop };
      view.setPointerCapture(event.pointerId);
      view.classList.add("panning");
    };
    const move = (event: PointerEvent) => {
      if (from) view.scrollTo(from.left + from.x - event.clientX, from.top + from.y - event.clientY);
    };
    const up = () => {
      from = null;
      view.classList.remove("panning");
    };
    const wheel = (event: WheelEvent) => {
      if (!event.ctrlKey) return;
      event.preventDefault();
      const before = latest.current.zoom;
      const after = clampZoom(before * Math.exp(-event.deltaY / 400));
      const bounds = view.getBoundingClientRect();
      const [x, y] = [event.clientX - bounds.left, event.clientY - bounds.top];
      const [left, top] = [view.scrollLeft + x, view.scrollTop + y];
      latest.current.onZoom(after);
      requestAnimationFrame(() => view.scrollTo((left * after) / before - x, (top * after) / before - y));
    };
    view.addEventListener("pointerdown", down);
    view.addEventListener("pointermove", move);
    view.addEventListener("pointerup", up);
    view.addEventListener("pointercancel", up);
    view.addEventListener("wheel", wheel, { passive: false });
    return () => {
      view.removeEventListener("pointerdown", down);
      view.removeEventListener("pointermove", move);
      view.removeEventListener("pointerup", up);
      view.removeEventListener("pointercancel", up);
      view.removeEventListener("wheel", wheel);
    };
  }, []);
}

export function clampZoom(zoom: number): number {
  return Math.min(2.5, Math.max(0.4, zoom));
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
      tabindex={0}
      aria-expanded={node.children > 0 ? node.isOpen : undefined}
      aria-label={`${name} ${node.proven === null ? shown : `${proofText(node.proven)},`} ${node.visits} visits, prior ${Math.round(100 * node.prior)} %`}
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
          {node.hidden} more {node.hidden === 1 ? "move" : "moves"}
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
