import { duration, plural } from './format.ts';
import { paint } from './output.ts';

/** How far a job is. */
export interface Progress {
  /** Tiles that are safe, also those of earlier runs. */
  readonly done: number;
  readonly total: number;
  /** What computed the last tile, e.g. `cpu:gemm-avx2`. */
  readonly path?: string | undefined;
}

const CELLS = 20;
const DEFAULT_COLUMNS = 80;
const PLAIN_EVERY_MS = 3000;

/** A bar that redraws itself on a terminal; a plain line every few seconds anywhere else. */
export interface ProgressLine extends Disposable {
  /** A job begins with this many tiles done; its rate counts from here. */
  begin(done: number): void;
  update(progress: Progress): void;
  /** Writes a line of its own, above the bar where there is one. */
  note(text: string): void;
}

/** Draws on `stream` until disposed. */
export function progressLine(stream: NodeJS.WriteStream, now: () => number = () => performance.now()): ProgressLine {
  const bar = stream.isTTY === true && !process.env['CI'];
  let began = { at: now(), done: 0 };
  let drawn = false;
  let lastPlain = now();

  const erase = (): void => {
    if (drawn) stream.write('\r\u001b[K');
    drawn = false;
  };
  return {
    begin(done) {
      began = { at: now(), done };
    },
    update(progress) {
      const rate = (progress.done - began.done) / ((now() - began.at) / 1000);
      const text = figures(progress, rate);
      if (bar) {
        erase();
        const room = (stream.columns || DEFAULT_COLUMNS) - CELLS - 2;
        stream.write(`${drawBar(stream, progress)} ${text.slice(0, Math.max(0, room))}`);
        drawn = true;
      } else if (now() - lastPlain >= PLAIN_EVERY_MS) {
        lastPlain = now();
        stream.write(`${text}\n`);
      }
    },
    note(text) {
      erase();
      stream.write(`${text}\n`);
    },
    [Symbol.dispose]: erase,
  };
}

function figures({ done, total, path }: Progress, rate: number): string {
  const parts = [`${done}/${plural(total, 'tile')}`];
  if (rate > 0 && Number.isFinite(rate)) {
    parts.push(rate >= 1 ? `${rate.toFixed(1)} tiles/s` : `${duration(1 / rate)} a tile`);
    if (done < total) parts.push(`${duration((total - done) / rate)} left`);
  }
  if (path) parts.push(path);
  return parts.join(' · ');
}

function drawBar(stream: NodeJS.WriteStream, { done, total }: Progress): string {
  const full = total === 0 ? CELLS : Math.round((done / total) * CELLS);
  return paint(stream, 'green', '█'.repeat(full)) + paint(stream, 'dim', '░'.repeat(CELLS - full));
}
