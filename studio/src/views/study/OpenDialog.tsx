/** Open a PGN (pasted, chosen or dropped), or an example. */
import { useState } from "preact/hooks";
import { sayError } from "../../store";
import { Dialog } from "../../ui/controls";
import { EXAMPLE_PGN } from "./example";

const MOST_CHARACTERS = 1_000_000;

interface Props {
  onClose: () => void;
  onPgn: (text: string) => Promise<void>;
}

export function OpenDialog({ onClose, onPgn }: Props) {
  const [text, setText] = useState("");
  const [problem, setProblem] = useState<string | null>(null);

  async function load(pgn: string): Promise<void> {
    if (pgn.length > MOST_CHARACTERS) {
      setProblem("This text is longer than a million characters: cut one game out of it.");
      return;
    }
    try {
      await onPgn(pgn);
      onClose();
    } catch (error) {
      setProblem(error instanceof Error ? error.message : String(error));
    }
  }

  function read(file: File | undefined): void {
    if (file) file.text().then((content) => void load(content), sayError);
  }

  return (
    <Dialog title="Open a game" onClose={onClose} wide>
      <form
        class="stack"
        onDragOver={(event) => event.preventDefault()}
        onDrop={(event) => {
          event.preventDefault();
          read(event.dataTransfer?.files[0]);
        }}
        onSubmit={(event) => {
          event.preventDefault();
          void load(text);
        }}
      >
        <label class="f">
          <span>PGN: paste it here, or drop a file</span>
          <textarea
            class="inp mono"
            name="pgn"
            rows={9}
            autofocus
            maxLength={MOST_CHARACTERS + 1} // a text field with much more stands still for seconds
            value={text}
            onInput={(event) => setText(event.currentTarget.value)}
          />
        </label>
        {problem && (
          <p class="problem" role="alert">
            {problem}
          </p>
        )}
        <div class="between wrap">
          <button type="submit" class="btn pri" disabled={!text.trim()}>
            Open
          </button>
          <label class="btn">
            Choose a file
            <input
              class="sr"
              type="file"
              accept=".pgn,text/plain"
              onChange={(event) => read(event.currentTarget.files?.[0])}
            />
          </label>
          <span class="sp" />
          <button type="button" class="btn ghost" onClick={() => void load(EXAMPLE_PGN)}>
            Open an example
          </button>
        </div>
      </form>
    </Dialog>
  );
}
