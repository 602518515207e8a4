/** What to do before a training can be started: a sentence, and a button where the server can do it itself. */
import { useEffect, useState } from "preact/hooks";
import type { InstallProgress } from "../../messages";
import { server, welcome } from "../../store";

export function InstallTraining() {
  const [progress, setProgress] = useState<InstallProgress | null>(null);
  const info = welcome.value;
  useEffect(
    () =>
      server.on("train.install", (event) => {
        setProgress(event);
        if (event.status === "done") server.send("hello", {}); // now training is possible
      }),
    [],
  );
  if (!info || info.can_train) return null;
  const isRunning = progress?.status === "running";
  return (
    <div class="stack" role="status">
      <p class="problem sm">{progress?.status === "failed" ? progress.line : info.training_hint}</p>
      {isRunning && (
        <p class="sm mut num">
          {Math.round(progress.seconds)} s · {progress.line}
        </p>
      )}
      {info.can_install && (
        <button type="button" class="btn" disabled={isRunning} onClick={() => server.send("train.install", {})}>
          {isRunning ? "Installing PyTorch…" : "Install PyTorch"}
        </button>
      )}
    </div>
  );
}
