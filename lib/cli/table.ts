import { stripVTControlCharacters } from 'node:util';

/** A column heading; numbers read better on the right. */
export interface Column {
  readonly title: string;
  readonly align?: 'left' | 'right';
}

/** Plain aligned columns, two spaces apart, without a trailing blank; colours do not disturb the widths. */
export function table(columns: readonly Column[], rows: readonly (readonly string[])[]): string {
  const widths = columns.map(({ title }, at) => Math.max(title.length, ...rows.map((row) => width(row[at] ?? ''))));
  const line = (cells: readonly string[]): string =>
    cells
      .map((cell, at) => {
        const blank = ' '.repeat((widths[at] ?? 0) - width(cell));
        return columns[at]?.align === 'right' ? blank + cell : cell + blank;
      })
      .join('  ')
      .trimEnd();
  return [line(columns.map(({ title }) => title)), ...rows.map(line)].join('\n');
}

function width(text: string): number {
  return stripVTControlCharacters(text).length;
}
