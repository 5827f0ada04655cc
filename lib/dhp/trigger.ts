import { DhpError } from './errors.ts';

/**
 * Named points at which a process can be made to die or freeze, compiled into the product so that recovery is proved on
 * the code that ships. Nothing happens unless UHOP_TRIGGER is set:
 *
 *   UHOP_TRIGGER=checkpoint:after-blobs@3=kill[,point[@pass]=action…]
 *
 * `pass` counts from 1 (the default). Actions, taken by the process on itself: `kill` (SIGKILL), `stop` (SIGSTOP),
 * `abort` (SIGABRT, as a native crash), `hang` (blocks the thread for ever).
 * Points of a claim: claim:after, checkpoint:before-blobs, checkpoint:after-blobs, checkpoint:after-commit,
 * complete:before-commit, complete:after-commit.
 */
export function trigger(point: string): void {
  const plan = plans.get(point);
  if (plan === undefined) return;
  plan.passes += 1;
  if (plan.passes === plan.at) plan.act();
}

interface Plan {
  readonly at: number;
  readonly act: () => void;
  passes: number;
}

const actions: Readonly<Record<string, () => void>> = {
  kill: () => process.kill(process.pid, 'SIGKILL'),
  stop: () => process.kill(process.pid, 'SIGSTOP'),
  abort: () => process.abort(),
  hang: () => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0),
};

function parse(text: string): Map<string, Plan> {
  const found = new Map<string, Plan>();
  for (const part of text.split(',').filter((each) => each !== '')) {
    const [, point, pass = '1', action = ''] = /^([\w:-]+?)(?:@([1-9]\d*))?=(\w+)$/.exec(part) ?? [];
    const act = actions[action];
    if (point === undefined || act === undefined) {
      throw new DhpError(
        'E_ARGUMENT',
        `UHOP_TRIGGER holds '${part}'; expected point[@pass]=action with one of ${Object.keys(actions).join(', ')}`,
      );
    }
    found.set(point, { at: Number(pass), act, passes: 0 });
  }
  return found;
}

const plans = parse(process.env['UHOP_TRIGGER'] ?? '');
