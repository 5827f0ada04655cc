/** From the JSON a person wrote to a `JobSpec`, or to one sentence that says what is wrong with it. */
import { inspect } from 'node:util';
import { Ajv2020, type ErrorObject, type ValidateFunction } from 'ajv/dist/2020.js';
import { JobError } from './errors.ts';
import type { JobOp, JobSpec } from './types.ts';

const path = { type: 'string', minLength: 1, pattern: '^[^\\0]*$' };
const extent = { type: 'integer', minimum: 1 };
const perAxis = { type: ['integer', 'array'], minimum: 1, items: extent, minItems: 2, maxItems: 2 };
const activation = { enum: ['none', 'relu'] };
const flag = { type: 'boolean' };
const cap = { type: ['integer', 'null'], minimum: 1 };

const record = (properties: Record<string, unknown>, required: readonly string[] = []): Record<string, unknown> => ({
  type: 'object',
  properties,
  required,
  additionalProperties: false,
});

const schema = (op: JobOp, inputs: unknown, attrs: unknown, tile: unknown): Record<string, unknown> =>
  record(
    {
      op: { const: op },
      inputs,
      attrs,
      output: path,
      tile,
      verify: { enum: ['none', 'recompute'] },
      numerics: { enum: ['exact', 'tolerant'] },
      budget: record({
        max_attempts: extent,
        max_steps: cap,
        max_cost: { type: ['number', 'null'], exclusiveMinimum: 0 },
        max_wall_ms: cap,
        max_attempts_without_progress: cap,
        max_releases: cap,
      }),
      nonce: { type: 'string', minLength: 1, maxLength: 256 },
    },
    ['op', 'inputs', 'output'],
  );

const ajv = new Ajv2020({ strict: true, allowUnionTypes: true, verbose: true });

const validators: Readonly<Record<JobOp, ValidateFunction<JobSpec>>> = {
  matmul: ajv.compile<JobSpec>(
    schema(
      'matmul',
      record({ a: path, b: path, bias: path }, ['a', 'b']),
      record({ transposeA: flag, transposeB: flag, activation }),
      record({ rows: extent, cols: extent }),
    ),
  ),
  conv2d: ajv.compile<JobSpec>(
    schema(
      'conv2d',
      record({ x: path, w: path, bias: path }, ['x', 'w']),
      record({
        stride: perAxis,
        padding: {
          type: ['integer', 'array', 'string'],
          minimum: 0,
          items: { type: 'integer', minimum: 0 },
          minItems: 2,
          maxItems: 4,
          pattern: '^(valid|same|same-lower)$',
        },
        dilation: perAxis,
        groups: extent,
        layout: { enum: ['nchw', 'nhwc'] },
        activation,
      }),
      record({ images: extent, channels: extent, rows: extent }),
    ),
  ),
  relu: ajv.compile<JobSpec>(schema('relu', record({ x: path }, ['x']), record({}), record({ elements: extent }))),
};

/**
 * Checks a job spec against the schema of its op; unknown keys are refused.
 * Throws `E_SPEC` with the JSON path, what was got and what was expected.
 */
export function parseSpec(json: unknown): JobSpec {
  const spec = (typeof json === 'object' ? json : null) as { op?: unknown; verify?: unknown } | null;
  if (spec === null) throw refuse('', json, 'an object with op, inputs and output');
  const known = typeof spec.op === 'string' && Object.hasOwn(validators, spec.op);
  const validate = known ? validators[spec.op as JobOp] : undefined;
  if (validate === undefined) throw refuse('/op', spec.op, "'matmul', 'conv2d' or 'relu'");
  if (spec.verify === 'freivalds') {
    throw refuse('/verify', spec.verify, "'none' or 'recompute': Freivalds' check is not part of this version");
  }
  if (!validate(json)) throw explain((validate.errors as ErrorObject[])[0] as ErrorObject);
  return json;
}

function explain(error: ErrorObject): JobError {
  const { instancePath, keyword, params, data, parentSchema, message } = error;
  if (keyword === 'required') return refuse(`${instancePath}/${params.missingProperty}`, undefined, 'a value');
  if (keyword === 'additionalProperties') {
    const known = Object.keys((parentSchema as { properties: object }).properties);
    const expected = known.length === 0 ? 'no keys here' : `no keys but ${known.join(', ')}`;
    const key: string = params.additionalProperty;
    return refuse(`${instancePath}/${key}`, (data as Record<string, unknown>)[key], expected);
  }
  if (keyword === 'enum') return refuse(instancePath, data, `one of ${JSON.stringify(params.allowedValues)}`);
  if (keyword === 'type') return refuse(instancePath, data, [params.type].flat().join(' or '));
  return refuse(instancePath, data, `it to ${(message ?? keyword).replace(/^must /, '')}`);
}

function refuse(at: string, got: unknown, expected: string): JobError {
  const shown = got === undefined ? 'nothing' : inspect(got, { depth: 1, breakLength: Infinity }).slice(0, 80);
  const where = at === '' ? 'the job spec' : `${at} of the job spec`;
  return new JobError('E_SPEC', `${where}: got ${shown}, expected ${expected}`, { path: at });
}
