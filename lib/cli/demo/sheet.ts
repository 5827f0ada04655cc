import { createWriteStream } from 'node:fs';
import { pipeline } from 'node:stream/promises';
import { PNG } from 'pngjs';

type Colour = readonly [red: number, green: number, blue: number];

/** A small grey picture in [0, 1] and the colour its bright parts take. */
export interface Panel {
  readonly pixels: ArrayLike<number>;
  readonly height: number;
  readonly width: number;
  readonly tint: Colour;
}

const BACKGROUND: Colour = [13, 17, 23];
const DARK: Colour = [24, 29, 38];
const GAP = 6;

/**
 * Writes rows of panels as one PNG, each pixel a square of `scale` pixels. All panels share the first one's size,
 * except that smaller ones (the filters of the head row) are enlarged to whole multiples and centred.
 */
export async function writeSheet(
  path: string,
  rows: readonly (readonly Panel[])[],
  scale: number,
): Promise<{ readonly width: number; readonly height: number }> {
  const columns = Math.max(...rows.map((row) => row.length));
  const cellHeight = scale * Math.max(...rows.flat().map((panel) => panel.height));
  const cellWidth = scale * Math.max(...rows.flat().map((panel) => panel.width));
  const width = GAP + columns * (cellWidth + GAP);
  const height = GAP + rows.length * (cellHeight + GAP);
  const png = new PNG({ width, height });
  fill(png, 0, 0, width, height, BACKGROUND);
  rows.forEach((row, y) =>
    row.forEach((panel, x) =>
      drawPanel(png, panel, GAP + x * (cellWidth + GAP), GAP + y * (cellHeight + GAP), cellWidth, cellHeight),
    ),
  );
  await pipeline(png.pack(), createWriteStream(path));
  return { width, height };
}

function drawPanel(png: PNG, panel: Panel, left: number, top: number, cellWidth: number, cellHeight: number): void {
  const side = Math.floor(Math.min(cellWidth / panel.width, cellHeight / panel.height));
  const x0 = left + Math.floor((cellWidth - side * panel.width) / 2);
  const y0 = top + Math.floor((cellHeight - side * panel.height) / 2);
  for (let y = 0; y < panel.height; y += 1) {
    for (let x = 0; x < panel.width; x += 1) {
      const colour = shade(panel.pixels[y * panel.width + x] ?? 0, panel.tint);
      fill(png, x0 + x * side, y0 + y * side, side, side, colour);
    }
  }
}

/** From dark through the tint towards white, clamped to [0, 1]. */
function shade(value: number, tint: Colour): Colour {
  const level = Math.min(1, Math.max(0, value));
  const mix = (dark: number, bright: number): number => Math.round(dark + (bright - dark) * level);
  return [mix(DARK[0], tint[0]), mix(DARK[1], tint[1]), mix(DARK[2], tint[2])];
}

function fill(png: PNG, left: number, top: number, width: number, height: number, [red, green, blue]: Colour): void {
  for (let y = top; y < top + height; y += 1) {
    for (let x = left; x < left + width; x += 1) png.data.set([red, green, blue, 255], (y * png.width + x) * 4);
  }
}
