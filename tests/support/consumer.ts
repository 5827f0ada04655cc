/** A strict program of somebody who uses every public function and class. It is type-checked, never run. */
import * as uhop from 'uhop';
import * as dhp from 'uhop/dhp';

const a: uhop.Tensor = uhop.tensor([1, 2, 3, 4], [2, 2]);
const wide = uhop.tensor(new Float64Array(4), [2, 2], 'f64');
const plain: uhop.TensorLike = { data: new Float32Array(4), shape: [1, 1, 2, 2] };
const packed: uhop.PrepackedTensor = uhop.prepack(plain);
const shared = { data: new Float32Array(new SharedArrayBuffer(16)), shape: [2, 2] as const };

export async function ops(signal: AbortSignal): Promise<uhop.ResultTensor[]> {
  const options: uhop.MatmulOptions = { transposeB: true, bias: { data: new Float32Array(2), shape: [2] }, signal };
  const padding: uhop.Padding = 'same-lower';
  return [
    await uhop.matmul(a, shared, { ...options, activation: 'relu', precision: 'strict', borrow: true }),
    uhop.matmulSync(wide, wide, { backend: 'cpu', out: wide }),
    uhop.matmulSync(a, packed),
    await uhop.conv2d(plain, plain, { padding, stride: [1, 1], dilation: 1, groups: 1, layout: 'nchw', signal }),
    uhop.conv2dSync(plain, plain, { padding: [0, 1, 0, 1] }),
    await uhop.relu(a, { out: a, signal }),
    uhop.reluSync(uhop.tensor(uhop.encodeHalf([1, -1], 'bf16'), [2], 'bf16')),
  ];
}

export async function looking(): Promise<string[]> {
  const shapes = [
    [2, 3],
    [3, 4],
  ] as const;
  const { call, byteLength, flops }: uhop.Plan = uhop.plan('matmul', shapes, { dtype: 'f64', bias: [4] });
  const limit: uhop.Tolerance = uhop.tolerance(call);
  const right: boolean = uhop.isWithin(limit, 1, 1, 1);
  const { ranking }: uhop.Explanation = await uhop.explain('relu', [a], { backend: 'naive' });
  const found: readonly uhop.Device[] = await uhop.devices({ refresh: true });
  const numbers: Float32Array = uhop.decodeHalf(Uint16Array.of(1), 'f16');
  const reasons = found.flatMap(({ reason }) => reason?.code ?? []);
  return [...reasons, ...ranking.map(({ path, why }) => path + why), `${byteLength + flops + numbers[0]!} ${right}`];
}

export function failures(error: unknown): uhop.ErrorCode | uhop.JobErrorCode | dhp.DhpErrorCode | undefined {
  if (error instanceof uhop.UhopError || error instanceof uhop.JobError) return error.code;
  if (error instanceof dhp.LeaseLost || error instanceof dhp.DhpError) return error.code;
  return undefined;
}

export async function jobs(signal: AbortSignal): Promise<uhop.JobStatus> {
  await using store: dhp.Store = await dhp.openStore('memory:');
  const spec: uhop.JobSpec = uhop.parseSpec({ op: 'relu', inputs: { x: 'x.npy' }, output: 'y.npy' });
  const { id, plan }: uhop.SubmittedJob = await uhop.submitJob(store, spec, { cwd: '.' });
  const outcome: uhop.JobOutcome = await uhop.runJob(store, id, { signal, onEvent: ({ type }) => void type });
  if (outcome.outcome === 'completed' && outcome.result.tiles === plan.tiles) return uhop.jobStatus(store, id);
  const { inputs } = (await dhp.status(store, id)).intent;
  const again: uhop.TilePlan = uhop.planTiles(inputs as unknown as uhop.JobInputs);
  const summary: uhop.WorkSummary = await uhop.workLoop(store, { signal });
  throw new Error(JSON.stringify({ summary, again }));
}

export async function handoffs(store: dhp.Store): Promise<void> {
  const request: dhp.IntentRequest = { taskKind: 'count', inputs: { n: 1 }, outputSchema: {} };
  const id: string = dhp.intentId(dhp.makeIntent(request));
  const { created } = await dhp.dispatch(store, { ...request, budget: dhp.DEFAULT_BUDGET });
  for (const take of [dhp.claim, dhp.acquire, dhp.recover]) {
    const held: dhp.ClaimContext = await take(store, id, { workerId: 'me' });
    await held.checkpoint({ n: created ? 1 : 2 });
    await held.complete({ done: true });
  }
  const { state, holder }: dhp.Handoff = await dhp.status(store, id);
  const living: dhp.Liveness = dhp.liveness(holder ?? dhp.thisProcess('me'));
  const last = await dhp.lastCheckpoint(store, id);
  if (last) dhp.checkRecord(dhp.sealRecord(last));
  await using supervisor = new dhp.Supervisor(store, { onEvent: (event: dhp.SupervisorEvent) => void event });
  const listed = await dhp.list(store, { state });
  const swept = (await dhp.reapDead(store, id)) ? await dhp.collectBlobs(store) : 0;
  await dhp.requeue(store, id);
  await dhp.cancel(store, id);
  dhp.trigger(dhp.canonical({ listed: listed.length, swept, living }));
  const report: dhp.ConformanceReport = await dhp.runConformance(() => dhp.openStore('memory:'));
  const names = dhp.conformance.map(({ name }) => name);
  if (report.failed > names.length) await supervisor.stop();
}
