/** The shell around all views: the rail, notices, the list of keys. */
import { lazy, Suspense } from "preact/compat";
import { useEffect, useState } from "preact/hooks";
import { go, route } from "./router";
import { connectionState, isTraining, renewPlayers, runNets, toast, toggleTheme } from "./store";
import { Dialog } from "./ui/controls";
import { Icon, type IconName } from "./ui/Icon";
import { KEY_HELP, useKeys } from "./ui/keys";
import { Tour } from "./ui/Tour";
import { HomeView } from "./views/Home";
import { PlayView } from "./views/Play";

// Views that the first screen does not need are loaded when they are opened.
const StudyView = lazy(() => import("./views/Study").then((module) => ({ default: module.StudyView })));
const TrainView = lazy(() => import("./views/Train").then((module) => ({ default: module.TrainView })));
const NetsView = lazy(() => import("./views/Nets").then((module) => ({ default: module.NetsView })));

const TABS: readonly (readonly [string, string, IconName])[] = [
  ["play", "Play", "play"],
  ["study", "Study", "study"],
  ["train", "Train", "train"],
  ["nets", "Nets", "nets"],
];

export function App() {
  const { view, rest } = route.value;
  const [keysShown, showKeys] = useState(false);
  useKeys({
    "1": () => go("play"),
    "2": () => go("study"),
    "3": () => go("train"),
    "4": () => go("nets"),
    "Shift L": toggleTheme,
    "?": () => showKeys(true),
  });
  // A new net of a run can be chosen at once. Watching a training chooses none: many spectators must not cost it time.
  const isWatching = view === "train" && rest[1] !== "match";
  useEffect(() => {
    if (!isWatching) renewPlayers();
  }, [isWatching, runNets.value]);
  useEffect(() => {
    const name = TABS.find(([id]) => id === view)?.[1];
    document.title = name ? `${name} · Selfmate studio` : "Selfmate studio";
  }, [view]);
  return (
    <>
      <a class="skip" href="#main" onClick={skipToMain}>
        To the content
      </a>
      <div id="app">
        <nav class="rail" aria-label="Views">
          <button type="button" class="logo" aria-label="Selfmate, first screen" onClick={() => go("home")}>
            <img src="/favicon.svg" alt="" width={34} height={34} />
          </button>
          {TABS.map(([id, text, icon]) => (
            <button
              key={id}
              type="button"
              class="tab"
              aria-current={view === id ? "page" : undefined}
              onClick={() => go(id)}
            >
              <Icon name={icon} />
              {text}
              {id === "train" && isTraining.value && (
                <>
                  <span class="dot" />
                  <span class="sr">, a run is training</span>
                </>
              )}
            </button>
          ))}
          <span class="sp" />
          <button type="button" class="tab keysb" onClick={() => showKeys(true)}>
            <Icon name="key" />
            Keys
          </button>
          <button type="button" class="tab thm" onClick={toggleTheme}>
            <Icon name="sun" />
            Theme
          </button>
        </nav>
        <main id="main" tabIndex={-1}>
          <Suspense fallback={<div class="view" aria-busy="true" />}>
            <View name={view} />
          </Suspense>
        </main>
      </div>
      {connectionState.value === "lost" && (
        <div class="banner err lost" role="alert">
          The connection to the studio is lost; it is tried again. A move that you make is kept.
        </div>
      )}
      <Tour />
      <Toast />
      {keysShown && (
        <Dialog title="Keyboard" onClose={() => showKeys(false)}>
          <dl class="key-list">
            {KEY_HELP.map(([keys, text]) => (
              <div key={keys}>
                <dt>
                  <kbd>{keys}</kbd>
                </dt>
                <dd>{text}</dd>
              </div>
            ))}
          </dl>
        </Dialog>
      )}
    </>
  );
}

function skipToMain(event: Event): void {
  event.preventDefault();
  document.getElementById("main")?.focus();
}

function View({ name }: { name: string }) {
  switch (name) {
    case "play":
      return <PlayView />;
    case "study":
      return <StudyView />;
    case "train":
      return <TrainView />;
    case "nets":
      return <NetsView />;
    default:
      return <HomeView />;
  }
}

function Toast() {
  const [shown, setShown] = useState(false);
  const current = toast.value;
  useEffect(() => {
    if (!current) return;
    setShown(true);
    const timer = setTimeout(() => setShown(false), Math.max(2400, 60 * current.text.length));
    return () => clearTimeout(timer);
  }, [current]);
  return (
    <div class={shown ? "toast on" : "toast"} role="status">
      {current?.text}
    </div>
  );
}
