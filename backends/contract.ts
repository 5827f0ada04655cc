/**
 * The ground floor: what a valid call, a path and a device are, and the one error class of the compute side.
 * This file imports nothing; every backend and every layer of `lib` stands on it.
 */

/** Element types. f16 and bf16 travel as their bits in a `Uint16Array` and accumulate in f32. */
export type DType = 'f32' | 'f64' | 'f16' | 'bf16';

/** The views an element type is stored in: `Float32Array` (f32), `Float64Array` (f64), `Uint16Array` (f16, bf16). */
export type TensorData = Float32Array | Float64Array | Uint16Array;

/** A dense, row-major tensor. `data` may be a view at any element offset, also of a `SharedArrayBuffer`. */
export interface Tensor {
  readonly data: TensorData;
  readonly shape: readonly number[];
  readonly dtype: DType;
}

/** The answer of an op, with the id of the path that computed it, e.g. `cpu:gemm-avx2`. */
export interface ResultTensor extends Tensor {
  readonly path: string;
}

export type Activation = 'none' | 'relu';

/** `strict`: f32 means f32. `fast` allows reduced-precision multiplication and larger Winograd variants. */
export type Precision = 'strict' | 'fast';

/** Bytes of one element. */
export const BYTES_PER_ELEMENT: Readonly<Record<DType, number>> = { f32: 4, f64: 8, f16: 2, bf16: 2 };

/**
 * out[b] = activation(op(a[b]) · op(x[b]) + bias), every extent an exact non-negative integer.
 * Batch axes are already broadcast: item `i` of `batch` starts at Σ index·stride elements of each operand, stride 0
 * where the operand is repeated.
 */
export interface MatmulCall {
  readonly op: 'matmul';
  readonly dtype: DType;
  readonly precision: Precision;
  /** Rows of the result, columns of the result, and the contracted extent. */
  readonly M: number;
  readonly N: number;
  readonly K: number;
  /** Stored shape of one A is [K, M] when set, else [M, K]; of one B [N, K] when set, else [K, N]. */
  readonly transposeA: boolean;
  readonly transposeB: boolean;
  /** Broadcast leading axes, possibly empty. */
  readonly batch: readonly number[];
  /** Elements between neighbours along each batch axis, for a and b. */
  readonly batchStridesA: readonly number[];
  readonly batchStridesB: readonly number[];
  /** `none`, or `N` values added to every row, or one value added everywhere. */
  readonly bias: 'none' | 'row' | 'scalar';
  readonly activation: Activation;
  readonly outShape: readonly number[];
}

/**
 * 2-D convolution as ONNX `Conv` defines it, with the padding already resolved into four numbers.
 * nchw: x [batch, C, H, W], w [O, C/groups, KH, KW], out [batch, O, OH, OW].
 * nhwc: x [batch, H, W, C], w [KH, KW, C/groups, O], out [batch, OH, OW, O].
 */
export interface Conv2dCall {
  readonly op: 'conv2d';
  readonly dtype: DType;
  readonly precision: Precision;
  readonly layout: 'nchw' | 'nhwc';
  readonly batch: number;
  readonly C: number;
  readonly H: number;
  readonly W: number;
  readonly O: number;
  readonly KH: number;
  readonly KW: number;
  readonly OH: number;
  readonly OW: number;
  readonly strideH: number;
  readonly strideW: number;
  readonly dilationH: number;
  readonly dilationW: number;
  readonly padTop: number;
  readonly padLeft: number;
  readonly padBottom: number;
  readonly padRight: number;
  readonly groups: number;
  /** `O` values when set. */
  readonly bias: boolean;
  readonly activation: Activation;
  readonly outShape: readonly number[];
}

/** out[i] = x[i] > 0 ? x[i] : (x[i] is NaN ? NaN : 0) over `length` elements. */
export interface ReluCall {
  readonly op: 'relu';
  readonly dtype: DType;
  readonly precision: Precision;
  readonly length: number;
  readonly outShape: readonly number[];
}

/** A validated call without its data: enough to rank paths, plan tiles and estimate cost without allocating. */
export type Call = MatmulCall | Conv2dCall | ReluCall;

/** An input that never changes. Backends keep what they make of it in `forms`, under keys of their own. */
export interface Weight {
  readonly data: TensorData;
  readonly forms: Map<string, unknown>;
}

/** The data of a call. Lengths fit the call exactly; `out` is fully overwritten and does not overlap an input unless the op is relu in place. */
export interface Operands {
  /** a and b, or x and w, or x. */
  readonly inputs: readonly TensorData[];
  readonly bias?: TensorData | undefined;
  readonly out: TensorData;
  /** The second input, where it is known never to change. */
  readonly weight?: Weight | undefined;
}

/** One way to execute a given call. Ids read `backend[:device]:kernel`. */
export interface Path {
  readonly id: string;
  readonly backend: string;
  /** Seconds this call is expected to take, transfers included. */
  readonly seconds: number;
  readonly source: 'estimate' | 'measured';
  /** True when `run` computes before it returns, so that inputs need no snapshot. */
  readonly inline: boolean;
  /** What identifies the arithmetic, stored with every result that outlives the call: the instruction set, and the kernel,
   * whose name is its specification, e.g. `f32_gemm__avx512_8x48`. */
  readonly isa?: string | undefined;
  readonly kernel?: string | undefined;
}

export type ReasonCode =
  | 'library-missing'
  | 'no-device'
  | 'driver-too-old'
  | 'arch-mismatch'
  | 'permission'
  | 'crashed'
  | 'timeout'
  | 'disabled';

/** Why a device is not usable: a stable code, one sentence, and what to do. */
export interface Reason {
  readonly code: ReasonCode;
  readonly message: string;
  readonly hint: string;
}

/** Three facts, never one boolean: compiled in; driver and device found; a kernel ran just now and was right. */
export interface Device {
  readonly id: string;
  readonly backend: string;
  readonly name: string;
  readonly built: boolean;
  readonly present: boolean;
  readonly usable: boolean;
  readonly software?: boolean;
  readonly features: readonly string[];
  readonly memoryBytes: number;
  readonly threads?: number;
  readonly versions: Readonly<Record<string, string>>;
  /** Always there when `usable` is false. */
  readonly reason?: Reason;
}

export interface RunContext {
  /** Looked at between tiles; the run rejects with `E_ABORTED`, carrying the signal's reason as cause. */
  readonly signal?: AbortSignal | undefined;
}

/** A place where calls can run. `run` owns the operands until it settles. */
export interface Backend {
  readonly id: string;
  /** Writes nothing, kills nothing, and is asked once per process unless `refresh` is set. */
  probe(refresh?: boolean): Promise<readonly Device[]>;
  /** The paths on offer for this very call, empty when there is none; never throws. */
  paths(call: Call): readonly Path[];
  run(path: Path, call: Call, operands: Operands, context: RunContext): Promise<void>;
}

/** A backend that can also answer inside the call, which is what the `…Sync` ops use. */
export interface SyncBackend extends Backend {
  probeSync(refresh?: boolean): readonly Device[];
  runSync(path: Path, call: Call, operands: Operands): void;
}

export type ErrorCode =
  | 'E_ARGUMENT'
  | 'E_SHAPE'
  | 'E_DTYPE'
  | 'E_DETACHED'
  | 'E_LIMIT'
  | 'E_BACKEND_UNAVAILABLE'
  | 'E_DEVICE_LOST'
  | 'E_OUT_OF_MEMORY'
  | 'E_ABORTED';

/** Every error of the compute side. `code` is stable; the message names the argument, what was got and what was expected. */
export class UhopError extends Error {
  readonly code: ErrorCode;
  readonly details: Readonly<Record<string, unknown>>;

  constructor(code: ErrorCode, message: string, details: Record<string, unknown> = {}, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = 'UhopError';
    this.code = code;
    this.details = details;
  }
}
