/** Seconds as a person reads them: `850 ns`, `12.3 µs`, `4.56 ms`, `7.8 s`, `3 min 05 s`, `2 h 10 min`. */
export function duration(seconds: number): string {
  if (!Number.isFinite(seconds)) return '—';
  if (seconds === 0) return '0 s';
  if (seconds < 1e-6) return `${Math.round(seconds * 1e9)} ns`;
  if (seconds < 1e-3) return `${three(seconds * 1e6)} µs`;
  if (seconds < 1) return `${three(seconds * 1e3)} ms`;
  if (seconds < 99.5) return `${three(seconds)} s`;
  const whole = Math.round(seconds);
  if (whole < 3600) return `${Math.floor(whole / 60)} min ${String(whole % 60).padStart(2, '0')} s`;
  return `${Math.floor(whole / 3600)} h ${String(Math.floor((whole % 3600) / 60)).padStart(2, '0')} min`;
}

/** Bytes in binary units: `512 B`, `1.5 MiB`. */
export function bytes(count: number): string {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  let unit = 0;
  let value = count;
  while (value >= 1024 && unit < units.length - 1) {
    value /= 1024;
    unit += 1;
  }
  return `${unit === 0 ? value : three(value)} ${units[unit]}`;
}

/** `1 tile`, `3 tiles`. */
export function plural(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}

function three(value: number): string {
  return value.toPrecision(3).includes('e') ? String(Math.round(value)) : String(Number(value.toPrecision(3)));
}
