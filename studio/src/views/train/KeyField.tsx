/** A key of a recipe as its declaration says: a choice, a value, or a schedule over the cycles. */
import type { RecipeKeyCard } from "../../messages";
import { formatSchedule, parseSchedule, scheduleProblem, type ScheduleStep } from "../../recipe";
import { IconButton } from "../../ui/controls";

interface Props {
  card: RecipeKeyCard;
  value: string;
  invalid: boolean;
  onChange: (value: string) => void;
}

export function KeyField({ card, value, invalid, onChange }: Props) {
  const id = `key-${card.key}`;
  const choices = card.type === "boolean" ? ["true", "false"] : card.choices;
  const steps = card.scheduled ? parseSchedule(value) : null;
  const changed = value === card.value ? "" : "chg";
  return (
    <div class={`key ${changed} ${steps ? "sched" : ""}`}>
      <label for={id}>{card.name}</label>
      <span class="doc" id={`${id}-doc`}>
        {card.help.split("`").map((text, index) => (index % 2 ? <code key={index}>{text}</code> : text))}
        {card.scheduled && (
          <button
            type="button"
            class="link-text"
            aria-label={`${card.name}: ${steps ? "one value for all cycles" : "a schedule over the cycles"}`}
            onClick={() => onChange(steps ? (steps[0]?.value ?? "") : formatSchedule(begin(value)))}
          >
            {steps ? "one value" : "schedule"}
          </button>
        )}
      </span>
      {steps ? (
        <Schedule id={id} name={card.name} steps={steps} onChange={(next) => onChange(formatSchedule(next))} />
      ) : (
        <span class="ct">
          {choices.length > 0 ? (
            <select
              id={id}
              class="sel"
              aria-describedby={`${id}-doc`}
              value={value}
              onChange={(event) => onChange(event.currentTarget.value)}
            >
              {card.value === "" && <option value="">usual</option>}
              {choices.map((choice) => (
                <option key={choice} value={choice}>
                  {choice}
                </option>
              ))}
            </select>
          ) : (
            <input
              id={id}
              class="inp num"
              title={card.expected}
              aria-describedby={`${id}-doc`}
              aria-invalid={invalid}
              value={value}
              placeholder="usual"
              onInput={(event) => onChange(event.currentTarget.value)}
            />
          )}
        </span>
      )}
    </div>
  );
}

function begin(value: string): ScheduleStep[] {
  return [
    { cycle: "0", value },
    { cycle: "20", value },
  ];
}

interface ScheduleProps {
  id: string;
  name: string;
  steps: ScheduleStep[];
  onChange: (steps: ScheduleStep[]) => void;
}

/** Rows of "from cycle … on: value". */
function Schedule({ id, name, steps, onChange }: ScheduleProps) {
  const problem = scheduleProblem(steps);
  const change = (index: number, part: Partial<ScheduleStep>) =>
    onChange(steps.map((step, each) => (each === index ? { ...step, ...part } : step)));
  const last = steps[steps.length - 1];
  return (
    <div class="steps">
      {steps.map((step, index) => (
        <div key={index} class="step-row">
          <span class="sm mut">from cycle</span>
          <input
            class="inp num"
            inputMode="numeric"
            aria-label={`${name}, step ${index + 1}: from cycle`}
            value={step.cycle}
            disabled={index === 0}
            onInput={(event) => change(index, { cycle: clean(event.currentTarget.value) })}
          />
          <input
            {...(index === 0 ? { id } : {})}
            class="inp num"
            inputMode="decimal"
            aria-label={`${name}, step ${index + 1}: value`}
            value={step.value}
            onInput={(event) => change(index, { value: clean(event.currentTarget.value) })}
          />
          <IconButton
            icon="minus"
            label={`Remove step ${index + 1}`}
            disabled={index === 0}
            onClick={() => onChange(steps.filter((_, each) => each !== index))}
          />
        </div>
      ))}
      <div class="between">
        <button
          type="button"
          class="btn small"
          onClick={() =>
            onChange([...steps, { cycle: String(Number(last?.cycle ?? 0) + 20), value: last?.value ?? "" }])
          }
        >
          Add a step
        </button>
        {problem && (
          <span class="problem sm" role="alert">
            {problem}
          </span>
        )}
      </div>
    </div>
  );
}

/** What is typed into a step cannot end it: brackets and commas are the schedule's own. */
function clean(text: string): string {
  return text.replace(/[[\],]/g, "").trim();
}
