import { styleText } from 'node:util';
import type { Command } from 'commander';

type Format = Parameters<typeof styleText>[0];

/** Where a command's words go: data to stdout, everything for people to stderr, one document or NDJSON under `--json`. */
export interface Output {
  readonly json: boolean;
  readonly verbose: boolean;
  /** The answer, for people, on stdout; silent under `--json`. */
  data(text: string): void;
  /** The answer as one JSON document, or one line of a stream; silent without `--json`. */
  document(value: unknown): void;
  /** A remark on stderr; silent under `--json`. */
  note(text: string): void;
  /** Coloured when stdout is a terminal that wants it. */
  style(format: Format, text: string): string;
}

/** Whether `stream` is a terminal whose user has not declined colours (https://no-color.org). */
export function wantsColour(stream: NodeJS.WriteStream): boolean {
  return stream.isTTY === true && !process.env['NO_COLOR'];
}

/** `text` in colour where `stream` wants it. */
export function paint(stream: NodeJS.WriteStream, format: Format, text: string): string {
  return wantsColour(stream) ? styleText(format, text, { validateStream: false }) : text;
}

/** JSON with the two things our records hold and JSON lacks: bigints as decimal strings, errors as code and message. */
export function toJson(value: unknown): string {
  return JSON.stringify(value, (_key, member: unknown) => {
    if (typeof member === 'bigint') return member.toString();
    if (member instanceof Error) return { name: member.name, message: member.message };
    return member;
  });
}

/** The output of a running command, by its global options. */
export function outputOf(command: Command): Output {
  const { json = false, verbose = false } = command.optsWithGlobals<{ json?: boolean; verbose?: boolean }>();
  return {
    json,
    verbose,
    data: (text) => void (json || process.stdout.write(`${text}\n`)),
    document: (value) => void (json && process.stdout.write(`${toJson(value)}\n`)),
    note: (text) => void (json || process.stderr.write(`${text}\n`)),
    style: (format, text) => (json ? text : paint(process.stdout, format, text)),
  };
}
