/** A new training run: a recipe, its keys as a form made from their declarations, and the command line of the same. */
import { Fragment } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { count } from "../../format";
import type { RecipeForm } from "../../messages";
import { commandLine, isRunName, settingsOf, splitSetting } from "../../recipe";
import { go } from "../../router";
import { sayError, server, welcome } from "../../store";
import { Segmented } from "../../ui/controls";
import { InstallTraining } from "./InstallTraining";
import { KeyField } from "./KeyField";

/** The server takes no more. */
const MOST_MINUTES = 100_000;
const TIMES: readonly (readonly [string, string])[] = [
  ["2", "2 min"],
  ["10", "10 min"],
  ["60", "1 h"],
  ["", "no end"],
];

interface Props {
  recipe: string;
  /** Changes of that recipe to begin with. */
  settings: string[];
  minutes: string;
  name: string;
}

export function NewRun({ recipe: first, settings: firstSettings, minutes: usual, name: firstName }: Props) {
  const [recipe, setRecipe] = useState(first);
  const [minutes, setMinutes] = useState(usual);
  const [name, setName] = useState(firstName);
  const [form, setForm] = useState<RecipeForm | null>(null);
  const [changes, setChanges] = useState<Record<string, string>>({});
  const [problem, setProblem] = useState<string | null>(null);
  /** Why the training did not start. It may start after any change. */
  const [refusal, setRefusal] = useState<string | null>(null);
  const [busy, setBusy] = useState(false);
  const settings = useMemo(() => settingsOf(form, changes), [form, changes]);
  const info = welcome.value;
  const list = useRef<HTMLDivElement>(null);

  // The recipe that the form begins with is in sight: the list is scrolled, not the page.
  useEffect(() => {
    const chosen = list.current?.querySelector<HTMLElement>("[aria-pressed=true]");
    if (!list.current || !chosen) return;
    const [box, part] = [list.current.getBoundingClientRect(), chosen.getBoundingClientRect()];
    list.current.scrollTop += part.top - box.top - (box.height - part.height) / 2;
  }, [info === null]);

  useEffect(() => {
    setChanges(recipe === first ? Object.fromEntries(firstSettings.map(splitSetting)) : {});
    setForm(null);
    return server.onOpen(() => void server.ask("recipe.ask", { name: recipe }, "recipe.form").then(setForm, sayError));
  }, [recipe]);
  useEffect(() => {
    if (!settings.length) {
      setProblem(null);
      return;
    }
    const timer = setTimeout(() => {
      server.ask("recipe.ask", { name: recipe, settings }, "recipe.form").then(
        () => setProblem(null),
        (error: unknown) => setProblem(error instanceof Error ? error.message : String(error)),
      );
    }, 200);
    return () => clearTimeout(timer);
  }, [settings.join("\n"), recipe]);

  useEffect(() => setRefusal(null), [settings.join("\n"), recipe, name, minutes]);

  const limit = minutes.trim() === "" ? null : Number(minutes);
  const start = () => {
    setBusy(true);
    server.ask("run.start", { recipe, name, settings, minutes: limit }, "run.started").then(
      (started) => go("train", [started.id]),
      (error: unknown) => {
        setBusy(false);
        setRefusal(error instanceof Error ? error.message : String(error));
      },
    );
  };
  const sections = [...new Set(form?.keys.map((key) => key.section) ?? [])].filter((section) => section !== "variant");
  const isValid = limit === null || (limit > 0 && limit <= MOST_MINUTES);
  const hasName = isRunName(name);
  const command = commandLine(recipe, name, isValid ? limit : null, settings);
  return (
    <div class="tr">
      <div class="recipe">
        <div class="rlist" ref={list}>
          {info?.recipes.map(([id, , text]) => (
            <button key={id} type="button" class="rc" aria-pressed={id === recipe} onClick={() => setRecipe(id)}>
              <b>{id}</b>
              <span class="sm mut">{text}</span>
            </button>
          ))}
        </div>
        <div class="card">
          {sections.map((section) => (
            <details key={section} class="grp" open={section === "selfplay"}>
              <summary>
                {section}
                <span class="cnt">{form?.keys.filter((key) => key.section === section).length} keys</span>
              </summary>
              <div class="keys">
                {form?.keys
                  .filter((key) => key.section === section)
                  .map((key) => (
                    <KeyField
                      key={key.key}
                      card={key}
                      value={changes[key.key] ?? key.value}
                      invalid={problem?.includes(key.key) ?? false}
                      onChange={(value) => setChanges({ ...changes, [key.key]: value })}
                    />
                  ))}
              </div>
            </details>
          ))}
          {!form && <div class="empty" aria-busy="true" />}
        </div>
        <div class="card start-card">
          <div class="stack">
            <div class="f">
              <span>For</span>
              <Segmented label="For" options={TIMES} value={minutes.trim()} onChange={setMinutes} />
            </div>
            <label class="f">
              <span>Minutes (empty: until it is complete)</span>
              <input
                class="inp num"
                name="minutes"
                inputMode="decimal"
                value={minutes}
                aria-invalid={!isValid}
                onInput={(event) => setMinutes(event.currentTarget.value)}
              />
              {!isValid && (
                <span class="problem" role="alert">
                  Minutes are a number above 0, up to {count(MOST_MINUTES)}.
                </span>
              )}
            </label>
            <label class="f">
              <span>Name of the run</span>
              <input
                class="inp"
                name="name"
                maxLength={60}
                pattern="[A-Za-z0-9._\-]*"
                placeholder={recipe}
                value={name}
                aria-invalid={!hasName}
                onInput={(event) => setName(event.currentTarget.value.replace(/[^A-Za-z0-9._-]/g, "-"))}
              />
              {!hasName && (
                <span class="problem" role="alert">
                  A name begins with a letter or a digit.
                </span>
              )}
            </label>
            {settings.length > 0 && (
              <div class="f">
                <span>Changed from the recipe</span>
                <Settings settings={settings} />
              </div>
            )}
            <div class="f">
              <span>The same in a terminal</span>
              <code class="cmd">
                {command.split(" --").map((part, index) => (
                  <Fragment key={index}>
                    {index > 0 && " "}
                    <span>{index > 0 ? `--${part}` : part}</span>
                  </Fragment>
                ))}
              </code>
            </div>
            {(problem ?? refusal) && (
              <p class="problem sm" role="alert">
                {problem ?? refusal}
              </p>
            )}
            <InstallTraining />
            <button
              type="button"
              class="btn pri lg"
              disabled={busy || !isValid || !hasName || !form || problem !== null || !info?.can_train}
              onClick={start}
            >
              {busy ? "Starting…" : "Start training"}
            </button>
            <p class="sm mut">It goes on when this page is closed, and can be stopped and resumed at any time.</p>
          </div>
        </div>
      </div>
    </div>
  );
}

/** Changed keys with their values. */
export function Settings({ settings }: { settings: string[] }) {
  return (
    <dl class="settings">
      {settings.map(splitSetting).map(([key, value]) => (
        <Fragment key={key}>
          <dt>{key}</dt>
          <dd>{value}</dd>
        </Fragment>
      ))}
    </dl>
  );
}
