/** The board: chessgroundx for pieces, drag and premoves, our own drawings, keyboard and promotion around it. */
import { Chessground } from "chessgroundx";
import type { Api } from "chessgroundx/api";
import { premove } from "chessgroundx/premove";
import type * as cg from "chessgroundx/types";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { around, describeBoard, destinations, movesBetween, parseFen, pieceName } from "../chess";
import type { Color, LegalMove } from "../messages";
import "./board.css";
import { neighbour, type BoardShape } from "./geometry";
import { Explosion, Overlay, Underlay, type Arrow, type Heat } from "./Overlay";
import { Promotion } from "./Promotion";

export interface BoardProps {
  fen: string;
  variant: string;
  files: number;
  ranks: number;
  orientation: Color;
  /** The side whose pieces the user may move, `both` in analysis, null to look on. */
  movable: Color | "both" | null;
  legal: LegalMove[];
  lastMove: string | null;
  check: string | null;
  /** Squares that the last move emptied by an explosion, its centre first. */
  exploded?: string[];
  premoves?: boolean;
  arrows?: Arrow[];
  heat?: Heat | null;
  label: string;
  onMove: (uci: string) => void;
}

const SLIDE_MS = 170;
const BLAST_MS = 620;
const reduced = () => matchMedia("(prefers-reduced-motion: reduce)").matches;

export function Board(props: BoardProps) {
  const mount = useRef<HTMLDivElement>(null);
  const ground = useRef<Api | null>(null);
  const latest = useRef(props);
  const [choice, setChoice] = useState<LegalMove[] | null>(null);
  const [cursor, setCursor] = useState<string | null>(null);
  const [spoken, setSpoken] = useState("");
  const [hovered, setHovered] = useState<string | null>(null);
  const [blast, setBlast] = useState<{ square: string; number: number } | null>(null);
  latest.current = props;

  const shape: BoardShape = useMemo(
    () => ({ files: props.files, ranks: props.ranks, orientation: props.orientation }),
    [props.files, props.ranks, props.orientation],
  );

  // -- chessgroundx is made once for each size of the board -----------------------------------------------------------
  useLayoutEffect(() => {
    if (!mount.current) return;
    const dimensions = { width: props.files, height: props.ranks };
    const api = Chessground(mount.current, {
      dimensions,
      coordinates: false,
      animation: { enabled: !reduced(), duration: 180 },
      kingRoles: ["k-piece"],
      movable: {
        free: false,
        showDests: true,
        rookCastle: true,
        events: { after: (from, to, metadata) => userMove(from, to, metadata.premove) },
      },
      premovable: {
        enabled: false,
        premoveFunc: premove(premoveVariant(props.variant), props.variant.endsWith("960"), dimensions),
      },
      selectable: { enabled: true },
      draggable: { enabled: true, showGhost: true },
      drawable: { enabled: true, visible: true },
      events: { select: () => setChoice(null) },
    });
    ground.current = api;
    return () => {
      api.destroy();
      ground.current = null;
    };
  }, [props.files, props.ranks, props.variant]);

  function userMove(from: string, to: string, isPremove: boolean): void {
    const moves = movesBetween(latest.current.legal, from, to);
    const only = moves.length === 1 ? moves[0] : isPremove ? moves.find((move) => move.uci.endsWith("q")) : undefined;
    if (only) latest.current.onMove(only.uci);
    else if (moves.length > 1) setChoice(moves);
    else restore();
  }

  function restore(): void {
    ground.current?.set({ fen: piecesOf(latest.current.fen), lastMove: lastSquares(latest.current.lastMove) });
  }

  // -- the position ---------------------------------------------------------------------------------------------------
  const shownFen = useRef("");
  useEffect(() => {
    const api = ground.current;
    if (!api) return;
    setChoice(null);
    const { turn } = parseFen(props.fen);
    const apply = () => {
      api.set({
        fen: piecesOf(props.fen),
        orientation: props.orientation,
        turnColor: turn,
        check: props.check ? keys([props.check]) : false,
        lastMove: lastSquares(props.lastMove),
        viewOnly: props.movable === null,
        movable: {
          ...(props.movable ? { color: props.movable } : {}),
          dests: destinations(props.legal) as cg.Dests,
        },
        premovable: { enabled: props.premoves ?? false },
      });
      // A premove is played when it has become the user's turn; it is dropped if it is not legal then.
      if (props.legal.length && turn === props.movable) api.playPremove();
      if (!props.legal.length && !props.premoves) api.cancelPremove();
    };
    const isNew = shownFen.current !== props.fen;
    shownFen.current = props.fen;
    const [centre] = props.exploded ?? [];
    const uci = props.lastMove ?? "";
    if (!isNew || !centre || reduced()) {
      apply();
      return;
    }
    // A capture that explodes slides to its square first; what is gone vanishes with the flash.
    const from = uci.slice(0, 2) as cg.Key;
    const slides = api.state.boardState.pieces.has(from);
    if (slides) api.move(from, uci.slice(2, 4) as cg.Key);
    const timer = setTimeout(
      () => {
        apply();
        setBlast((before) => ({ square: centre, number: (before?.number ?? 0) + 1 }));
      },
      slides ? SLIDE_MS : 0,
    );
    return () => clearTimeout(timer);
  }, [
    props.fen,
    props.orientation,
    props.movable,
    props.legal,
    props.lastMove,
    props.check,
    props.premoves,
    props.files,
    props.variant,
  ]);

  useEffect(() => {
    if (!blast) return;
    const timer = setTimeout(() => setBlast(null), BLAST_MS);
    return () => clearTimeout(timer);
  }, [blast]);

  // -- keyboard -------------------------------------------------------------------------------------------------------
  const pieces = useMemo(() => parseFen(props.fen).pieces, [props.fen]);

  function onKeyDown(event: KeyboardEvent): void {
    const steps: Record<string, [number, number]> = {
      ArrowLeft: [-1, 0],
      ArrowRight: [1, 0],
      ArrowUp: [0, -1],
      ArrowDown: [0, 1],
    };
    const step = steps[event.key];
    if (step) {
      const begin = cursor ?? (props.orientation === "white" ? "a1" : neighbour("a1", -99, 99, shape));
      const next = cursor ? neighbour(begin, step[0], step[1], shape) : begin;
      setCursor(next);
      const piece = pieces.get(next);
      setSpoken(`${next}, ${piece ? pieceName(piece) : "empty"}`);
    } else if (event.key === "Enter" && cursor) {
      const before = ground.current?.state.selectable.selected;
      ground.current?.selectSquare(cursor as cg.Key);
      const after = ground.current?.state.selectable.selected;
      if (after && after !== before) setSpoken(`${cursor} chosen, ${targetsText(props.legal, cursor)}`);
    } else if (event.key === "Escape" && (cursor ?? choice)) {
      ground.current?.unselect();
      ground.current?.cancelPremove();
      if (choice) restore();
      setChoice(null);
      setCursor(null);
    } else return;
    event.preventDefault();
    event.stopPropagation();
  }

  // -- where a capture would explode ----------------------------------------------------------------------------------
  const blastSquares = useMemo(() => {
    if (!props.variant.startsWith("atomic")) return null;
    const target = hovered ?? cursor;
    const selected = ground.current?.state.selectable.selected;
    if (!target || typeof selected !== "string") return null;
    const captures = movesBetween(props.legal, selected, target).some((move) => move.capture);
    return captures ? around(target, props.files, props.ranks) : null;
  }, [hovered, cursor, props.legal, props.variant, props.files, props.ranks]);

  useEffect(() => {
    const target = hovered ?? cursor;
    const vanishes = (square: string) => square === target || pieces.get(square)?.toLowerCase() !== "p";
    const doomed = new Set(blastSquares?.filter(vanishes) ?? []);
    for (const element of mount.current?.querySelectorAll<HTMLElement>("piece") ?? []) {
      const key = (element as HTMLElement & { cgKey?: string }).cgKey;
      element.classList.toggle("doomed", key !== undefined && doomed.has(key));
    }
  }, [blastSquares, pieces]);

  function onPointerMove(event: PointerEvent): void {
    if (!props.variant.startsWith("atomic")) return;
    setHovered(ground.current?.getKeyAtDomPos([event.clientX, event.clientY]) ?? null);
  }

  return (
    <div
      class="board"
      style={{ "--files": props.files, "--ranks": props.ranks }}
      tabIndex={0}
      role="application"
      aria-roledescription="chess board"
      aria-label={`${props.label}. Arrow keys move the cursor, Enter chooses, Escape lets go. ${describeBoard(props.fen)}`}
      onKeyDown={onKeyDown}
      onPointerMove={onPointerMove}
      onPointerLeave={() => setHovered(null)}
      onBlur={() => setCursor(null)}
      data-fen={props.fen}
    >
      <Underlay shape={shape} heat={props.heat ?? null} scorch={props.exploded?.[0] ?? null} />
      <div class="ground" key={`${props.files}x${props.ranks}-${props.variant}`} ref={mount} />
      <Overlay
        shape={shape}
        arrows={props.arrows ?? []}
        heat={props.heat ?? null}
        cursor={cursor}
        blast={blastSquares}
        coordinates
      />
      {blast && <Explosion key={blast.number} square={blast.square} shape={shape} />}
      {choice && (
        <Promotion
          moves={choice}
          shape={shape}
          onChoose={(move) => {
            setChoice(null);
            props.onMove(move.uci);
          }}
          onCancel={() => {
            setChoice(null);
            restore();
          }}
        />
      )}
      <span class="sr" aria-live="polite">
        {spoken}
      </span>
    </div>
  );
}

function premoveVariant(variant: string): Parameters<typeof premove>[0] {
  return variant === "gardner" ? "gardner" : "chess";
}

function lastSquares(uci: string | null): cg.Key[] {
  return uci ? keys([uci.slice(0, 2), uci.slice(2, 4)]) : [];
}

/** The pieces of a FEN: chessgroundx reads the other fields in ways of other variants. */
function piecesOf(fen: string): string {
  return fen.split(" ")[0] ?? "";
}

/** Names of squares as chessgroundx types them. */
function keys(squares: string[]): cg.Key[] {
  return squares as cg.Key[];
}

function targetsText(legal: LegalMove[], from: string): string {
  const targets = destinations(legal).get(from) ?? [];
  return targets.length ? `may move to ${targets.join(", ")}` : "cannot move";
}
