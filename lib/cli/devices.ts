import { Command } from 'commander';
import { type Device, devices } from '../index.ts';
import { bytes } from './format.ts';
import { type Output, outputOf } from './output.ts';
import { table } from './table.ts';

const EXAMPLES = `
  built    compiled in, or its package installed
  present  driver and device found
  usable   a kernel ran on it just now and gave the right answer

Examples:
  uhop devices
  uhop devices --json | jq -r '.[] | select(.usable) | .id'
  UHOP_DISABLE=cpu uhop devices`;

/** `uhop devices` */
export function define(): Command {
  return new Command('devices')
    .description('Every backend in three words, with the reason for each no.')
    .addHelpText('after', EXAMPLES)
    .action(list);
}

async function list(_options: unknown, command: Command): Promise<void> {
  const output = outputOf(command);
  const found = await devices();
  output.document(found);
  output.data(deviceTable(found, output));
  for (const { id, reason } of found) {
    if (!reason) continue;
    output.data(`\n${output.style('bold', id)}: ${reason.message} ${output.style('dim', `[${reason.code}]`)}`);
    output.data(`  ${reason.hint}`);
  }
}

function deviceTable(found: readonly Device[], output: Output): string {
  const word = (yes: boolean): string => output.style(yes ? 'green' : 'red', yes ? 'yes' : 'no');
  return table(
    [
      { title: 'DEVICE' },
      { title: 'BUILT' },
      { title: 'PRESENT' },
      { title: 'USABLE' },
      { title: 'THREADS', align: 'right' },
      { title: 'MEMORY', align: 'right' },
      { title: 'NAME' },
    ],
    found.map((device) => [
      device.id,
      word(device.built),
      word(device.present),
      word(device.usable),
      device.threads === undefined ? '' : String(device.threads),
      device.memoryBytes > 0 ? bytes(device.memoryBytes) : '',
      [device.name, ...device.features, ...(device.software ? ['software'] : [])].join(' '),
    ]),
  );
}
