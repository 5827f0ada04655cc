import { Ajv2020, type ErrorObject, type ValidateFunction } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';
import { DhpError } from '../errors.ts';
import type { Json } from '../types.ts';
import { canonical, sha256 } from './canonical.ts';

const CACHE_LIMIT = 64;
const REPORTED_ERRORS = 20;
const compiled = new Map<string, ValidateFunction>();

/**
 * Compiles a JSON Schema (2020-12, ajv strict, formats registered). Throws `E_SCHEMA` for an invalid one, an unknown
 * keyword or format, and a `$ref` that leaves the document.
 */
export function compileSchema(schema: Json): ValidateFunction {
  const key = sha256(canonical(schema));
  const known = compiled.get(key);
  if (known !== undefined) {
    // Moved to the end: the first key is then the one unused for longest.
    compiled.delete(key);
    compiled.set(key, known);
    return known;
  }
  const validate = compileFresh(schema);
  compiled.set(key, validate);
  if (compiled.size > CACHE_LIMIT) compiled.delete(compiled.keys().next().value as string);
  return validate;
}

/** Null when `result` fits the schema, else the `E_RESULT` to refuse it with. Neither is changed. */
export function resultProblem(schema: Json, result: Json): DhpError | null {
  const validate = compileSchema(schema);
  if (validate(result)) return null;
  const errors = (validate.errors ?? []).slice(0, REPORTED_ERRORS).map(describe);
  return new DhpError('E_RESULT', `the result does not fit its output schema: ${errors.join('; ')}`, { errors });
}

function compileFresh(schema: Json): ValidateFunction {
  if (schema === null || Array.isArray(schema) || !['object', 'boolean'].includes(typeof schema)) {
    throw new DhpError('E_SCHEMA', `an output schema must be object or boolean, got ${canonical(schema).slice(0, 80)}`);
  }
  // One ajv per schema: a shared one would let two schemas with the same $id meet.
  const ajv = new Ajv2020({
    strict: true,
    strictRequired: false,
    allowUnionTypes: true,
    allErrors: true,
    logger: false,
  });
  formats.default(ajv);
  let validate: ValidateFunction;
  try {
    validate = ajv.compile(schema as object);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new DhpError('E_SCHEMA', `the output schema is refused: ${why}`, {}, error);
  }
  // An asynchronous validator answers with a promise, which is never false.
  if ('$async' in validate) throw new DhpError('E_SCHEMA', 'the output schema is refused: $async is not supported');
  return validate;
}

function describe(error: ErrorObject): string {
  return `result${error.instancePath} ${error.message ?? error.keyword}`;
}
