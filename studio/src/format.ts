/** Numbers as people read them. */

export function count(value: number): string {
  return (value + 0).toLocaleString("en-GB").replace("-", "−"); // + 0: no zero has a sign
}

export function percent(share: number): string {
  return `${Math.round(100 * share)} %`;
}

/** A share that may be far below one per cent: `0.04 %`. */
export function finePercent(share: number): string {
  return share > 0 && share < 0.01 ? `${Number((100 * share).toPrecision(1))} %` : percent(share);
}

export function signed(value: number, digits = 2): string {
  const text = Math.abs(value).toFixed(digits);
  return Number(text) === 0 ? text : `${value > 0 ? "+" : "−"}${text}`;
}

/** A clock: `4:12`, and tenths in the last ten seconds. */
export function clockText(milliseconds: number): string {
  const left = Math.max(0, milliseconds);
  if (left < 10_000) return `0:0${(Math.floor(left / 100) / 10).toFixed(1)}`;
  const seconds = Math.ceil(left / 1000);
  const hours = Math.floor(seconds / 3600);
  const minutes = Math.floor((seconds % 3600) / 60);
  const rest = String(seconds % 60).padStart(2, "0");
  return hours ? `${hours}:${String(minutes).padStart(2, "0")}:${rest}` : `${minutes}:${rest}`;
}

export function duration(seconds: number): string {
  const whole = Math.floor(seconds);
  const hours = Math.floor(whole / 3600);
  const minutes = Math.floor((whole % 3600) / 60);
  const rest = String(whole % 60).padStart(2, "0");
  return hours ? `${hours}:${String(minutes).padStart(2, "0")}:${rest}` : `${minutes}:${rest}`;
}

/** Large numbers in three digits: 0.62 M. */
export function short(value: number): string {
  if (value >= 1e6) return `${(value / 1e6).toPrecision(3)} M`;
  if (value >= 1e4) return `${(value / 1e3).toPrecision(3)} k`;
  return value >= 100 || Number.isInteger(value) ? count(Math.round(value)) : value.toPrecision(3);
}

/** A speed: whole numbers from 10 on, one digit after the point below. */
export function rate(value: number): string {
  return value >= 10 ? count(Math.round(value)) : value.toFixed(value >= 1 ? 1 : 2);
}
