import type { Activation, Call, DType, Precision } from '../../backends/contract.ts';
import type { Shape } from './arguments.ts';

/** A valid call, and which of the user's operands comes first, second, … in it. */
export interface Described<C extends Call = Call> {
  readonly call: C;
  readonly order: readonly number[];
}

/** What every op's description may say; the bias is its shape. */
export interface Attributes {
  readonly precision?: Precision | undefined;
  readonly activation?: Activation | undefined;
  readonly bias?: Shape | undefined;
}

/** One op: what its operands and options are called, and what a call of it means, from shapes alone. */
export interface Op {
  readonly name: Call['op'];
  readonly operands: readonly string[];
  /** The options that describe the call, those that only say how to run it left out. */
  readonly attributes: readonly string[];
  describe(shapes: readonly Shape[], dtype: DType, attributes: Attributes): Described;
}
