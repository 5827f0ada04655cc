/** What a job is, from the spec a person writes to the result a store keeps. Pure types. */
import type { Activation } from '../../backends/contract.ts';
import type { Budget, Holder, State } from '../dhp/types.ts';

export type JobOp = 'matmul' | 'conv2d' | 'relu';

/** Element types that a `.npy` file can carry into a job. */
export type JobDType = 'f32' | 'f64' | 'f16';

/** The options of the op, spelt as the op's own options are. */
export interface JobAttrs {
  readonly transposeA?: boolean;
  readonly transposeB?: boolean;
  readonly activation?: Activation;
  readonly stride?: number | readonly number[];
  readonly padding?: 'valid' | 'same' | 'same-lower' | number | readonly number[];
  readonly dilation?: number | readonly number[];
  readonly groups?: number;
  readonly layout?: 'nchw' | 'nhwc';
}

/** Extents of one tile of the output; the last tile along an axis may be smaller. */
export interface TileSize {
  /** matmul: rows of the result. conv2d: rows of an output image. */
  readonly rows?: number;
  /** matmul: columns of the result. */
  readonly cols?: number;
  /** conv2d: images and output channels. */
  readonly images?: number;
  readonly channels?: number;
  /** relu: elements. */
  readonly elements?: number;
}

export type Verification = 'none' | 'recompute';

/** `exact`: only the path that began may go on. `tolerant`: another path may, and the result says so. */
export type Numerics = 'exact' | 'tolerant';

/** A job as a person writes it. Paths are relative to the submitter's working directory. */
export interface JobSpec {
  readonly op: JobOp;
  /** `a`, `b` and `bias?`, or `x`, `w` and `bias?`, or `x`: paths of `.npy` files. */
  readonly inputs: Readonly<Record<string, string>>;
  readonly attrs?: JobAttrs;
  readonly output: string;
  readonly tile?: TileSize;
  readonly verify?: Verification;
  readonly numerics?: Numerics;
  readonly budget?: Partial<Budget>;
  readonly nonce?: string;
}

/** An input file, pinned. */
export interface InputFile {
  /** Absolute. */
  readonly path: string;
  readonly sha256: string;
  /** Size of the file, header included. */
  readonly bytes: number;
  readonly dtype: JobDType;
  readonly shape: readonly number[];
}

/** What the handoff's `inputs` hold: everything that decides the output, so that its id pins the data and the plan. */
export interface JobInputs {
  readonly v: 1;
  readonly op: JobOp;
  readonly files: Readonly<Record<string, InputFile>>;
  readonly attrs: JobAttrs;
  /** Absolute. */
  readonly output: string;
  readonly tile: TileSize;
  readonly verify: Verification;
  readonly numerics: Numerics;
}

/** A block of a dense row-major array: `extent[i]` indices from `start[i]` along axis i. */
export interface Box {
  readonly start: readonly number[];
  readonly extent: readonly number[];
}

/** One tile: the block of the output it fills. */
export interface Tile {
  readonly index: number;
  readonly out: Box;
}

/** The fixed cutting of an output into tiles, in row-major order of the grid. */
export interface TilePlan {
  readonly op: JobOp;
  readonly dtype: JobDType;
  /** Shape of the output file. */
  readonly outShape: readonly number[];
  /** The output as the tiles see it: matmul [batch, M, N], conv2d as its layout has it, relu [elements]. */
  readonly view: readonly number[];
  /** Extents of a whole tile, and how many tiles along each axis of the view. */
  readonly block: readonly number[];
  readonly grid: readonly number[];
  readonly tiles: number;
  /** The tile with this index; throws a `RangeError` outside 0 … tiles − 1. */
  tile(index: number): Tile;
}

/** Where the numbers of a tile come from. */
export interface Provenance {
  readonly path: string;
  readonly isa: string | null;
  readonly kernel: string | null;
  readonly device: string | null;
  readonly driver: string | null;
  /** Version of this package. */
  readonly version: string;
  readonly ms: number;
}

/** State of a job's checkpoint: the tile it adds, and how many are done with it. The tile's bytes are its blob `tile-<index>`. */
export interface TileState {
  /** Lowest index that is not done; the number of tiles when all are. */
  readonly next: number;
  readonly done: number;
  readonly tile: { readonly index: number } & Provenance;
}

/** The result that the handoff's output schema checks. */
export interface JobResult {
  readonly output: string;
  readonly sha256: string;
  /** Size of the output file, header included. */
  readonly bytes: number;
  readonly shape: readonly number[];
  readonly dtype: JobDType;
  readonly tiles: number;
  /** True when tiles of different arithmetic (path, instruction set) stand side by side in the output. */
  readonly numericsChanged: boolean;
  /** Ids of the paths that computed tiles, sorted. */
  readonly paths: readonly string[];
}

/** What happens while a job runs, in order. */
export type JobEvent =
  | { readonly type: 'started'; readonly id: string; readonly tiles: number; readonly reused: number }
  /** A tile is about to be computed; `tile` follows when it is safe. */
  | { readonly type: 'tile-started'; readonly id: string; readonly index: number }
  | {
      readonly type: 'tile';
      readonly id: string;
      readonly index: number;
      /** Tiles in all. */
      readonly of: number;
      /** Tiles done, this one included. */
      readonly done: number;
      readonly ms: number;
      readonly path: string;
      /** Bytes of the tile. */
      readonly bytes: number;
    }
  /** A stored tile is missing or damaged and will be computed again; told once per bad blob. */
  | { readonly type: 'tile-damaged'; readonly id: string; readonly index: number; readonly code: string }
  /** Two computations of one tile disagree beyond the op's tolerance. */
  | { readonly type: 'tile-mismatch'; readonly id: string; readonly index: number; readonly paths: readonly string[] }
  | { readonly type: 'assembling'; readonly id: string; readonly output: string }
  | { readonly type: 'completed'; readonly id: string; readonly result: JobResult }
  /** Another worker may go on at once. */
  | { readonly type: 'released'; readonly id: string; readonly reason: string }
  /** An attempt failed; another may be made. */
  | { readonly type: 'failed'; readonly id: string; readonly error: JobFailure }
  /** Somebody else holds the job, or it was cancelled. */
  | { readonly type: 'lost'; readonly id: string; readonly state: State | null }
  | { readonly type: 'parked'; readonly id: string; readonly reason: string; readonly error: JobFailure | null }
  /** The store is full, or locked for a long time; the worker loop looks at it again after a while. */
  | { readonly type: 'waiting'; readonly error: JobFailure };

/** An error as the store keeps it. */
export interface JobFailure {
  readonly code: string;
  readonly message: string;
}

/** How a run of a job ended. */
export type JobOutcome =
  | { readonly outcome: 'completed'; readonly id: string; readonly result: JobResult }
  | { readonly outcome: 'released'; readonly id: string; readonly reason: string }
  | { readonly outcome: 'failed'; readonly id: string; readonly error: JobFailure }
  | { readonly outcome: 'lost'; readonly id: string; readonly state: State | null }
  | { readonly outcome: 'parked'; readonly id: string; readonly reason: string; readonly error: JobFailure | null };

/** What a store knows about a job. */
export interface JobStatus {
  readonly id: string;
  readonly op: JobOp;
  readonly state: State;
  /** Why it is orphaned, dead or cancelled. */
  readonly reason: string | null;
  readonly output: string;
  readonly tiles: { readonly done: number; readonly total: number };
  /** Tiles per second over the last checkpoints of the present attempt; null before there are two. */
  readonly rate: number | null;
  readonly attempts: number;
  readonly releases: number;
  readonly holder: Holder | null;
  readonly result: JobResult | null;
  readonly error: JobFailure | null;
}

export interface SubmitOptions {
  /** Directory that relative paths of the spec are resolved against; default: the process's. */
  readonly cwd?: string;
  /** What the inputs and output of the tiles in work may take, where the spec gives no tile size; default: 256 MiB, less on small machines. */
  readonly tileMemoryBytes?: number;
  readonly signal?: AbortSignal;
}

export interface SubmittedJob {
  readonly id: string;
  /** False when the very same job was there already. */
  readonly created: boolean;
  readonly plan: TilePlan;
}

export interface RunOptions {
  readonly workerId?: string;
  /** Aborted: finish or abandon the tile within `graceMs`, release, and resolve with `released`. Its reason, when a string, is recorded. */
  readonly signal?: AbortSignal;
  /** Only paths of this backend. */
  readonly backend?: string;
  readonly onEvent?: (event: JobEvent) => void;
  readonly ttlMs?: number;
  readonly heartbeatMs?: number;
  /** No checkpoint for that long releases the job with reason `stalled`. */
  readonly progressTimeoutMs?: number;
  /** How long an abort waits for the tile in flight; default 5 000. */
  readonly graceMs?: number;
}

export interface WorkOptions extends RunOptions {
  /** Ops this worker takes; default: all. */
  readonly kinds?: readonly JobOp[];
  /** Pause between looks at the store; default 1 000. */
  readonly pollMs?: number;
  /** `idle`: return when there is nothing this worker could take now. `signal` (default): go on until `signal` aborts. */
  readonly until?: 'idle' | 'signal';
}

export interface WorkSummary {
  readonly completed: number;
  readonly released: number;
  readonly failed: number;
  readonly parked: number;
  readonly lost: number;
}
