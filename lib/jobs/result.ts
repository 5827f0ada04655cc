import type { Json } from '../dhp/types.ts';
import { elements } from './box.ts';
import { formatHeader, ITEM_BYTES } from './npy.ts';
import type { TilePlan } from './types.ts';

/** Size of the output file, header included. */
export function outputBytes(plan: TilePlan): number {
  return formatHeader(plan.dtype, plan.outShape).length + elements(plan.outShape) * ITEM_BYTES[plan.dtype];
}

/** The schema a job's result must fit: all that the plan decides is fixed in it. */
export function resultSchema(output: string, plan: TilePlan): Json {
  const properties = {
    output: { const: output },
    sha256: { type: 'string', pattern: '^[0-9a-f]{64}$' },
    bytes: { const: outputBytes(plan) },
    shape: { const: plan.outShape },
    dtype: { const: plan.dtype },
    tiles: { const: plan.tiles },
    numericsChanged: { type: 'boolean' },
    paths: { type: 'array', items: { type: 'string', minLength: 1 }, uniqueItems: true },
  };
  return { type: 'object', properties, required: Object.keys(properties), additionalProperties: false };
}
