/** Nets with their cards, and the ladder of a variant. */
import { Fragment } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { count, percent } from "../format";
import type { LadderRow, NetCard, NetList } from "../messages";
import { formatRoute, replaceRoute, route } from "../router";
import { runNets, runs, sayError, server, variantName, welcome } from "../store";
import { MatchPanel } from "./MatchPanel";
import { MatchTableCard } from "./MatchTable";

export function NetsView() {
  const variant = route.value.rest[0] ?? "gardner";
  const [list, setList] = useState<NetList | null>(null);
  const [pair, setPair] = useState<[string, string] | null>(null);
  const [played, setPlayed] = useState("");
  useEffect(() => setPair(null), [variant]);
  // The table is asked for again whenever a match gets new results.
  useEffect(
    () => server.on("match.view", (view) => setPlayed(`${view.id} ${view.wins + view.draws + view.losses}`)),
    [],
  );
  useEffect(
    () =>
      server.onOpen(() => {
        server.ask("net.list", { variant }, "net.list").then(setList, sayError);
      }),
    [variant, runNets.value],
  );
  const nets = list?.nets ?? [];
  const own = nets.filter((net) => net.variant.replace(/960$/, "") === variant.replace(/960$/, ""));
  return (
    <section class="view" aria-label="Nets and ladder">
      <div class="top">
        <h1>Nets</h1>
        <span class="sub hide-s">what is shipped, what you trained, how strong it is</span>
        <span class="sp" />
        <select
          class="sel"
          aria-label="Variant"
          value={variant}
          onChange={(event) => replaceRoute("nets", [event.currentTarget.value])}
        >
          {welcome.value?.variants.map((each) => (
            <option key={each.id} value={each.id}>
              {each.name}
            </option>
          ))}
        </select>
      </div>
      <div class="nets">
        <div class="net-list">
          {own.map((net) => (
            <Card key={net.id} net={net} />
          ))}
          {list && own.length === 0 && (
            <div class="card netc">
              <p class="mut">There is no net for {variantName(variant)} yet.</p>
              <a class="btn" href={formatRoute("train", ["new"])}>
                Train one
              </a>
            </div>
          )}
        </div>
        <div class="net-side">
          <div class="card">
            <header>
              <h2>The ladder</h2>
              <span class="sp" />
              <span class="sm mut">random = 0; bars are 95 %</span>
            </header>
            {list &&
              (list.ladder.length ? (
                <Ladder rows={list.ladder} />
              ) : (
                <div class="empty">No ladder was measured for {variantName(variant)}.</div>
              ))}
          </div>
          <div id="match">
            <MatchPanel
              key={`${variant} ${pair?.join() ?? ""}`}
              variant={variant}
              {...(pair ? { first: pair[0], second: pair[1] } : {})}
            />
          </div>
          <MatchTableCard
            variant={variant}
            version={played}
            onPair={(first, second) => {
              setPair([first, second]);
              document.getElementById("match")?.scrollIntoView({ block: "nearest" });
            }}
          />
        </div>
      </div>
    </section>
  );
}

function Card({ net }: { net: NetCard }) {
  const run = net.kind === "run" ? (net.id.split("/")[1] ?? "") : "";
  const isTraining = runs.value?.some((each) => each.id === run && each.status === "running") ?? false;
  return (
    <div class="card netc">
      <div class="between">
        <h1>{net.name}</h1>
        {net.problem ? (
          <span class="pill bad">cannot be read</span>
        ) : (
          <span class={net.kind === "shipped" ? "pill acc" : isTraining ? "pill run" : "pill"}>
            {net.kind === "shipped" ? "shipped" : isTraining ? "training" : "from a run"}
          </span>
        )}
      </div>
      <dl>
        {net.facts.map(([name, text]) => (
          <Fragment key={name}>
            <dt>{name}</dt>
            <dd>{text}</dd>
          </Fragment>
        ))}
        {net.scores.map((score) => (
          <Fragment key={score.against}>
            <dt>{score.against}</dt>
            <dd class="num">
              {percent(score.score)} [{percent(score.low)}, {percent(score.high)}] of {count(score.games)} games
            </dd>
          </Fragment>
        ))}
      </dl>
      {net.problem && <p class="problem sm">{net.problem}</p>}
      <div class="trow">
        {!net.problem && (
          <>
            <a class="btn" href={formatRoute("play", [], { variant: net.variant, player: net.id })}>
              Play
            </a>
            <a class="btn" href={formatRoute("study", [], { variant: net.variant, player: net.id })}>
              Study
            </a>
          </>
        )}
        {run && (
          <a class="btn" href={formatRoute("train", [run])}>
            Watch
          </a>
        )}
      </div>
    </div>
  );
}

const ROW = 22;
/** Width of the names and of the numbers beside the bars; where there is little room they are closer. */
const ROOM = { wide: [230, 100], narrow: [172, 84] } as const;
const NARROW = 640;
/** Below this width the picture shrinks with its letters. */
const LEAST_WIDTH = 430;

function Ladder({ rows }: { rows: LadderRow[] }) {
  const box = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(900);
  useEffect(() => {
    const observer = new ResizeObserver(([entry]) => {
      if (entry) setWidth(Math.max(LEAST_WIDTH, Math.round(entry.contentRect.width)));
    });
    if (box.current) observer.observe(box.current);
    return () => observer.disconnect();
  }, []);
  const [nameWidth, valueWidth] = width < NARROW ? ROOM.narrow : ROOM.wide;
  const low = Math.min(0, ...rows.map((row) => row.elo - row.error));
  const high = Math.max(100, ...rows.map((row) => row.elo + row.error));
  const x = (elo: number) => nameWidth + ((elo - low) / (high - low)) * (width - nameWidth - valueWidth);
  const step = high - low > 2500 ? 1000 : 500;
  const ticks: number[] = [];
  for (let elo = Math.ceil(low / step) * step; elo <= high; elo += step) ticks.push(elo);
  const height = rows.length * ROW + 30;
  return (
    <div class="ladder" ref={box}>
      <svg
        viewBox={`0 0 ${width} ${height}`}
        role="img"
        aria-label={rows.map((row) => `${row.name} ${Math.round(row.elo)}`).join(", ")}
      >
        {ticks.map((elo) => (
          <g key={elo}>
            <line class="gl" x1={x(elo)} x2={x(elo)} y1={4} y2={height - 24} />
            <text class="ax" x={x(elo)} y={height - 8} text-anchor="middle">
              {count(elo)}
            </text>
          </g>
        ))}
        {rows.map((row, index) => {
          const y = 16 + index * ROW;
          return (
            <g key={row.name} class={row.is_net ? "own" : ""}>
              {row.is_net && <rect class="band" x={0} y={y - 12} width={width} height={24} rx={5} />}
              <text class="name" x={4} y={y + 4}>
                {row.name}
              </text>
              <path
                class="bar"
                d={`M${x(row.elo - row.error)} ${y}H${x(row.elo + row.error)}M${x(row.elo - row.error)} ${y - 4}v8M${x(row.elo + row.error)} ${y - 4}v8`}
              />
              {row.is_net ? (
                <path class="point" d={`M${x(row.elo)} ${y - 5.5}l5.5 5.5l-5.5 5.5l-5.5 -5.5Z`} />
              ) : (
                <circle class="point" cx={x(row.elo)} cy={y} r={3.6} />
              )}
              <text class="name num" x={width - 4} y={y + 4} text-anchor="end">
                {count(Math.round(row.elo))}
                {row.error > 0 ? ` ± ${count(Math.round(row.error))}` : ""}
              </text>
            </g>
          );
        })}
      </svg>
    </div>
  );
}
