import type { JobEvent, JobResult } from '../../jobs/index.ts';
import { bytes, plural } from '../format.ts';
import type { Output } from '../output.ts';
import { progressLine } from '../progress.ts';
import { shortId } from '../store.ts';

/** Shows the events of jobs as they come: a progress bar and remarks for people, or every event as a line of JSON. */
export interface EventView extends Disposable {
  show(event: JobEvent): void;
}

/** A view on stderr (people) or stdout (`--json`). */
export function eventView(output: Output): EventView {
  if (output.json) return { show: (event) => output.document(event), [Symbol.dispose]: () => {} };
  const line = progressLine(process.stderr);
  return {
    show(event) {
      switch (event.type) {
        case 'started':
          line.note(`${shortId(event.id)}: ${plural(event.tiles, 'tile')}${reuse(event.reused)}`);
          line.begin(event.reused);
          break;
        case 'tile-started':
          break;
        case 'tile':
          line.update({ done: event.done, total: event.of, path: event.path });
          break;
        case 'waiting':
          line.note(`the store cannot be worked with now: ${event.error.message} [${event.error.code}]; trying again`);
          break;
        default:
          line.note(sentence(event));
      }
    },
    [Symbol.dispose]: () => line[Symbol.dispose](),
  };
}

/** Whether a run of the job is over with this event. */
export function isEnd({ type }: JobEvent): boolean {
  return ENDS.has(type);
}

const ENDS: ReadonlySet<JobEvent['type']> = new Set(['completed', 'released', 'failed', 'lost', 'parked']);

/** What a completed job left behind, for people. */
export function describeResult(result: JobResult): string {
  const lines = [
    `output  ${result.output}`,
    `shape   ${result.shape.join('×')} ${result.dtype}, ${bytes(result.bytes)}`,
    `sha256  ${result.sha256}`,
    `tiles   ${result.tiles}, computed by ${result.paths.join(', ')}`,
  ];
  if (result.numericsChanged)
    lines.push('note    more than one kind of arithmetic computed it; the last bits may differ from one path alone');
  return lines.join('\n');
}

function reuse(reused: number): string {
  return reused === 0 ? '' : `, ${reused} of them done before and reused`;
}

function sentence(event: Exclude<JobEvent, { type: 'started' | 'tile-started' | 'tile' | 'waiting' }>): string {
  const job = shortId(event.id);
  switch (event.type) {
    case 'tile-damaged':
      return `${job}: stored tile ${event.index} is damaged (${event.code}) and is computed again`;
    case 'tile-mismatch':
      return `${job}: ${event.paths.join(' and ')} disagree on tile ${event.index}`;
    case 'assembling':
      return `${job}: assembling ${event.output}`;
    case 'completed':
      return `${job}: completed`;
    case 'released':
      return `${job}: released (${event.reason}); its tiles are safe and any worker can go on`;
    case 'failed':
      return `${job}: failed: ${event.error.message} [${event.error.code}]`;
    case 'lost':
      return `${job}: no longer ours${event.state ? `, it is ${event.state} now` : ''}`;
    case 'parked':
      return `${job}: parked (${event.reason})${event.error ? `: ${event.error.message} [${event.error.code}]` : ''}`;
  }
}
