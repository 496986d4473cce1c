// Numbers as the terminal writes them: grouped digits, three significant digits, times in the unit that fits.
// Calculates nothing.

const DASH = "–";

const known = (value) => typeof value === "number" && Number.isFinite(value);

/** A whole number with grouped digits: 12,600. */
export function count(value) {
  return known(value) ? Math.round(value).toString().replace(/\B(?=(\d{3})+$)/g, ",") : DASH;
}

/** Three significant digits, or all of a larger number's. */
export function short(value) {
  if (!known(value)) return DASH;
  if (value === 0) return "0";
  const decimals = value < 0.0995 ? 4 : value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
  return decimals > 0 ? value.toFixed(decimals) : count(value);
}

/** A number per second. */
export function rate(value) {
  return known(value) ? `${short(value)}/s` : DASH;
}

/** A time in ms, in the unit that fits it. */
export function time(ms) {
  if (!known(ms)) return DASH;
  if (ms === 0) return "0 s";
  const nanos = Math.round(ms * 1e6);
  if (nanos < 1e3) return `${nanos} ns`;
  const [value, unit] =
    nanos < 1e6 ? [nanos / 1e3, "us"] : nanos < 1e9 ? [nanos / 1e6, "ms"] : nanos < 120e9 ? [nanos / 1e9, "s"] : [nanos / 6e10, "min"];
  return `${value.toFixed(value < 10 ? 2 : value < 100 ? 1 : 0)} ${unit}`;
}

/** A share from 0 to 1. Only nothing is 0 %, and only all is 100 %. */
export function percent(share) {
  if (!known(share)) return DASH;
  const value = share * 100;
  if (value === 0 || value === 100) return `${value} %`;
  if (value < 0.01) return "< 0.01 %";
  if (value > 99.99) return "> 99.99 %";
  return `${value < 1 || value > 99 ? value.toFixed(2) : value.toFixed(1)} %`;
}

/** A length of time as on a clock: 4.5 s, 2:05, 1:02:05. */
export function clock(seconds) {
  if (!known(seconds)) return DASH;
  if (seconds < 60) return `${(Math.floor(seconds * 10) / 10).toFixed(1)} s`;
  const pad = (part) => Math.floor(part).toString().padStart(2, "0");
  const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60];
  return hours > 0 ? `${hours}:${pad(minutes)}:${pad(seconds % 60)}` : `${minutes}:${pad(seconds % 60)}`;
}

/** A number of bytes. */
export function bytes(value) {
  if (!known(value)) return DASH;
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let unit = 0;
  while (value >= 1024 && unit < units.length - 1) {
    value /= 1024;
    unit += 1;
  }
  return unit === 0 ? `${value} B` : `${value.toPrecision(3)} ${units[unit]}`;
}
