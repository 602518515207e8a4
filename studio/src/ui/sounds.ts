/** Short sounds for moves, made by the browser itself; off until they are turned on. */
import { signal } from "@preact/signals";
import { readSetting, writeSetting } from "../store";

export const soundsOn = signal(readSetting("sounds") === "on");

export function toggleSounds(): void {
  soundsOn.value = !soundsOn.value;
  writeSetting("sounds", soundsOn.value ? "on" : "off");
}

let context: AudioContext | null = null;

export function playSound(kind: "move" | "capture" | "explosion" | "end"): void {
  if (!soundsOn.value) return;
  context ??= new AudioContext();
  const [frequency, seconds, type] = (
    {
      move: [420, 0.06, "triangle"],
      capture: [260, 0.09, "triangle"],
      explosion: [70, 0.4, "sawtooth"],
      end: [520, 0.3, "sine"],
    } as const
  )[kind];
  const tone = new OscillatorNode(context, { frequency, type });
  const volume = new GainNode(context, { gain: 0.12 });
  volume.gain.exponentialRampToValueAtTime(0.001, context.currentTime + seconds);
  tone.connect(volume).connect(context.destination);
  tone.start();
  tone.stop(context.currentTime + seconds);
}
