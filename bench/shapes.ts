/**
 * The text files of bench/shapes: one call a line, `#` begins a comment.
 *
 *   matmul 64x2048 2048x2048
 *   matmul 12x128x64 12x128x64 transposeB
 *   conv2d 1x64x56x56 64x64x3x3 stride=2 pad=1 groups=1 nhwc
 *   relu 16777216 in-place
 *
 * Operands as they are stored. `async` asks for the call that gives a promise, `prepacked` for weights prepared ahead.
 */
import { readFileSync } from 'node:fs';
import { inPackage } from './place.ts';

export const OPERANDS = { matmul: 2, conv2d: 2, relu: 1 } as const;
const FLAGS = ['transposeA', 'transposeB', 'nhwc', 'in-place', 'async', 'prepacked'] as const;
const NUMBERS = ['stride', 'pad', 'groups'] as const;

export type Flag = (typeof FLAGS)[number];

export interface ShapeLine {
  /** The line without its comment. */
  readonly text: string;
  readonly op: keyof typeof OPERANDS;
  readonly operands: readonly (readonly number[])[];
  readonly flags: readonly Flag[];
  readonly numbers: Readonly<Partial<Record<(typeof NUMBERS)[number], number>>>;
}

/** @throws Error naming file and line of the first thing that cannot be read. */
export function parseShapes(text: string, file: string): readonly ShapeLine[] {
  return text.split('\n').flatMap((raw, at) => {
    const line = raw.replace(/#.*/, '').trim().replaceAll(/\s+/g, ' ');
    if (line === '') return [];
    try {
      return [parseLine(line)];
    } catch (error) {
      throw new Error(`${file}:${at + 1}: ${(error as Error).message}`, { cause: error });
    }
  });
}

export function readShapes(name: string): readonly ShapeLine[] {
  const file = `${name}.txt`;
  return parseShapes(readFileSync(inPackage('bench', 'shapes', file), 'utf8'), file);
}

function parseLine(text: string): ShapeLine {
  const [op, ...words] = text.split(' ') as [string, ...string[]];
  if (!isOp(op)) throw new Error(`'${op}' is none of ${Object.keys(OPERANDS).join(', ')}`);
  const operands = words.slice(0, OPERANDS[op]).map(parseShape);
  if (operands.length < OPERANDS[op]) throw new Error(`${op} needs ${OPERANDS[op]} shapes, got ${operands.length}`);
  const flags: Flag[] = [];
  const numbers: Record<string, number> = {};
  for (const word of words.slice(OPERANDS[op])) {
    const [name, value] = word.split('=') as [string, string?];
    if (value === undefined && isOneOf(FLAGS, name)) flags.push(name);
    else if (isOneOf(NUMBERS, name) && /^\d+$/.test(value ?? '')) numbers[name] = Number(value);
    else throw new Error(`'${word}' is none of ${[...FLAGS, ...NUMBERS.map((known) => `${known}=N`)].join(', ')}`);
  }
  return { text, op, operands, flags, numbers };
}

const isOp = (op: string): op is ShapeLine['op'] => Object.hasOwn(OPERANDS, op);
const isOneOf = <T extends string>(known: readonly T[], name: string): name is T => known.includes(name as T);

function parseShape(word: string): readonly number[] {
  if (!/^\d+(x\d+)*$/.test(word)) throw new Error(`'${word}' is no shape such as 64x2048`);
  return word.split('x').map(Number);
}
