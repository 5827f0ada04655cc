import { DhpError } from '../errors.ts';
import type { Budget, Intent, Json } from '../types.ts';
import { completeBudget } from './budget.ts';
import { canonical, sha256 } from './canonical.ts';
import { compileSchema } from './schema.ts';

/** What a caller asks for. An absent budget is the default one; a nonce makes a second handoff of the same work. */
export interface IntentRequest {
  readonly taskKind: string;
  readonly inputs: Json;
  readonly outputSchema: Json;
  readonly budget?: Partial<Budget>;
  readonly nonce?: string;
}

/** An intent with its id and the canonical text the id is the hash of. */
export interface SealedIntent {
  readonly id: string;
  readonly text: string;
  readonly intent: Intent;
}

const INTENT_KEYS = ['v', 'task_kind', 'inputs', 'output_schema', 'budget', 'nonce'];

/** The intent of a request, with its budget made explicit. Throws `E_ARGUMENT`. */
export function makeIntent(request: IntentRequest): Intent {
  const { taskKind, inputs, outputSchema, budget, nonce } = request;
  return {
    v: 1,
    task_kind: taskKind,
    inputs,
    output_schema: outputSchema,
    budget: completeBudget(budget),
    ...(nonce === undefined ? {} : { nonce }),
  };
}

/** The id of an intent: `h1_` and the hex SHA-256 of its canonical JSON. */
export function intentId(intent: Intent): string {
  return intentIdOf(canonical(intent));
}

/**
 * Checks an intent whole and copies it. Throws `E_ARGUMENT` for its shape, `E_CANONICAL` for what cannot be hashed
 * faithfully, `E_SCHEMA` for an output schema that does not compile.
 */
export function sealIntent(intent: Intent): SealedIntent {
  checkShape(intent);
  const text = canonical(intent);
  compileSchema(intent.output_schema);
  return { id: intentIdOf(text), text, intent: JSON.parse(text) as Intent };
}

/** The intent stored as `text` under `id`; `E_ID_MISMATCH` when it is not the one that was dispatched. */
export function readIntent(id: string, text: string): Intent {
  const actual = intentIdOf(text);
  if (actual === id) return JSON.parse(text) as Intent;
  throw new DhpError('E_ID_MISMATCH', `the intent stored under ${id} hashes to ${actual}: it was altered`, {
    id,
    actual,
  });
}

/** The id of an intent's canonical text. */
export function intentIdOf(text: string): string {
  return `h1_${sha256(text)}`;
}

function checkShape(intent: Intent): void {
  if (intent === null || typeof intent !== 'object' || intent.v !== 1) {
    throw new DhpError('E_ARGUMENT', 'an intent is an object with v: 1; makeIntent builds one');
  }
  const unknown = Object.keys(intent).find((key) => !INTENT_KEYS.includes(key));
  if (unknown !== undefined) {
    throw new DhpError('E_ARGUMENT', `an intent has no ${unknown}: it knows ${INTENT_KEYS.join(', ')}`);
  }
  checkName('task_kind', intent.task_kind);
  if (Object.hasOwn(intent, 'nonce')) checkName('nonce', intent.nonce);
  const missing = Object.keys(completeBudget(intent.budget)).find((key) => !Object.hasOwn(intent.budget, key));
  if (missing !== undefined) {
    throw new DhpError(
      'E_ARGUMENT',
      `budget.${missing} is missing: a stored budget is explicit; makeIntent fills it in`,
    );
  }
}

function checkName(name: string, value: unknown): void {
  if (typeof value === 'string' && value !== '') return;
  throw new DhpError('E_ARGUMENT', `${name} must be a non-empty string, got ${JSON.stringify(value) ?? typeof value}`);
}
