import type { Call } from '../../backends/contract.ts';
import { sameType } from '../ops/bind.ts';
import { opNamed } from '../ops/index.ts';
import { JobError } from './errors.ts';
import type { InputFile, JobInputs, JobOp } from './types.ts';

/** A job as one call of its op, and which file is which input of it. */
export interface JobCall {
  readonly call: Call;
  /** File names (`a`, `b`, `x`, `w`) in the order of the call's inputs. */
  readonly names: readonly string[];
}

type Typed = Pick<InputFile, 'dtype' | 'shape'>;

/** What a job computes, from the shapes of its files alone; errors are those of the op. */
export function describeJob(op: JobOp, files: Readonly<Record<string, Typed>>, attrs: JobInputs['attrs']): JobCall {
  const meaning = opNamed(op);
  const inputs = meaning.operands.map((name) => fileNamed(files, name));
  const { dtype } = inputs[0] as Typed;
  for (const [name, file] of Object.entries(files)) sameType(meaning, dtype, file.dtype, name);
  const shapes = inputs.map(({ shape }) => shape);
  const { call, order } = meaning.describe(shapes, dtype, { ...attrs, bias: files.bias?.shape });
  return { call, names: order.map((index) => meaning.operands[index] as string) };
}

function fileNamed(files: Readonly<Record<string, Typed>>, name: string): Typed {
  const file = files[name];
  if (file === undefined) throw new JobError('E_SPEC', `/inputs/${name} of the job: got nothing, expected a file`);
  return file;
}
