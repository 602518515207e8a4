/** What the nets of a run find without a search, cycle by cycle, in positions that never change. */
import { useEffect, useState } from "preact/hooks";
import { percent } from "../../format";
import type { ChartSeries, RunCard, RunProbes } from "../../messages";
import { sayError, server } from "../../store";
import { Chart } from "../../ui/Chart";

const NONE: ChartSeries[] = [];
const tenths = (share: number) => `${(100 * share).toFixed(1)} %`;

export function Probes({ run }: { run: RunCard }) {
  const [probes, setProbes] = useState<RunProbes | null>(null);
  useEffect(() => {
    let wanted = true;
    const ask = () => {
      server.ask("run.probes", { id: run.id }, "run.probes").then((found) => {
        if (!wanted) return;
        setProbes(found);
        if (found.left > 0) ask();
      }, sayError);
    };
    const end = server.onOpen(ask);
    return () => {
      wanted = false;
      end();
    };
  }, [run.id, run.cycle]);
  return (
    <>
      <p class="mut probe-note">
        Forty wins in one and in two moves from random games, and the start position: the net looks at each once,
        without a search. It finds a win if its first choice leads to it. Bands are 95&nbsp;%.
        {probes && probes.left > 0 && ` ${probes.left} checkpoints are still to be measured.`}
      </p>
      <div class="charts">
        <Chart title="Wins found" series={probes?.charts["wins"] ?? NONE} format={percent} range={[0, 1]} />
        <Chart
          title="First moves"
          note="the newest net’s favourites"
          series={probes?.charts["openings"] ?? NONE}
          format={tenths}
        />
      </div>
    </>
  );
}
