import { Command } from 'commander';

/** Builds a command; `words` are those behind its name, for commands that have subcommands of their own. */
export type Define = (words: readonly string[]) => Command | Promise<Command>;

/** One subcommand as the help of its parent lists it; its module is imported only when it is asked for. */
export interface Subcommand {
  readonly summary: string;
  load(): Promise<{ readonly define: Define }>;
}

/**
 * Adds every subcommand to `parent`: the one named by the first word of `words` in full, the others as a name and a
 * summary, so that the start-up cost is that of one command however many there are.
 */
export async function addSubcommands(
  parent: Command,
  words: readonly string[],
  table: Readonly<Record<string, Subcommand>>,
): Promise<void> {
  const [wanted, ...rest] = words[0] === 'help' ? words.slice(1) : words;
  for (const [name, { summary, load }] of Object.entries(table)) {
    const command = name === wanted ? await (await load()).define(rest) : new Command(name);
    parent.addCommand(command.name(name).summary(summary));
    inherit(command, parent);
  }
}

/** A command built apart from its parent takes over how that one exits and shows help, and so do those below it. */
function inherit(command: Command, parent: Command): void {
  command.copyInheritedSettings(parent);
  for (const below of command.commands) inherit(below, command);
}
