// Shell completion: the scripts, and candidates from the commands of a commander program.
import { Argument, type Command, type Option } from 'commander';
import { escapeText } from './escape.ts';

/** Each script passes the words before the cursor to `PROGRAM __complete`, and reads a candidate and its meaning per line. */
const scripts = {
  bash: (program: string, name: string) => `_${name}() {
  local candidate meaning
  COMPREPLY=()
  while IFS=$'\\t' read -r candidate meaning; do
    COMPREPLY+=("$(printf '%q' "$candidate")")
  done < <(${program} __complete "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -o default -F _${name} ${program}
`,
  zsh: (program: string, name: string) => `#compdef ${program}
_${name}() {
  local -a candidates
  local candidate meaning
  while IFS=$'\\t' read -r candidate meaning; do
    candidates+=("\${candidate//:/\\\\:}\${meaning:+:$meaning}")
  done < <(${program} __complete "\${(@Q)words[2,CURRENT]}" 2>/dev/null)
  if (( $#candidates )); then _describe ${program} candidates; else _files; fi
}
if [ "$funcstack[1]" = _${name} ]; then _${name}; else compdef _${name} ${program}; fi
`,
  fish: (program: string, name: string) => `function __${name}_complete
  set -l words (commandline -opc)
  set -l candidates (${program} __complete $words[2..] (commandline -ct) 2>/dev/null)
  if set -q candidates[1]
    printf '%s\\n' $candidates
  else
    __fish_complete_path (commandline -ct)
  end
end
complete -c ${program} -f -a '(__${name}_complete)'
`,
};

export const shells = Object.keys(scripts);

/** The script for one of `shells`; null for any other. */
export function completionScript(shell: string, program: string): string | null {
  if (!Object.hasOwn(scripts, shell)) return null;
  return scripts[shell as keyof typeof scripts](program, program.replaceAll('-', '_'));
}

/** Adds the command that prints the script. */
export function addCompletionCommand(program: Command): void {
  const name = program.name();
  program
    .command('completion')
    .description('Print a shell completion script')
    .addArgument(new Argument('<shell>', 'shell').choices(shells))
    .addHelpText('after', `\nExample:\n  source <(${name} completion bash)`)
    .action((shell: string) => {
      process.stdout.write(completionScript(shell, name) ?? '');
    });
}

type Candidate = readonly [value: string, meaning: string];
type Part = Option | Argument;
/** Values of a part of the command line, given the options that were typed before it. */
type ValuesOf = (part: Part, typed: Record<string, unknown>) => Promise<readonly Candidate[]>;

/**
 * Prints the candidates for the last of `words`: one on each line, a tab, and its meaning. Prints nothing if no
 * candidate is known, and never an error, because a person is typing.
 */
export async function printCandidates(
  program: Command,
  words: readonly string[],
  valuesOf: ValuesOf = choicesOf,
): Promise<void> {
  const current = unquote(words.at(-1) ?? '');
  try {
    const found = await candidatesFor(program, words.slice(0, -1).map(unquote), current, valuesOf);
    for (const [value, meaning] of found) {
      // A candidate with control characters would have to be escaped by the shell: leave it out.
      if (!value.startsWith(current) || value !== escapeText(value)) continue;
      process.stdout.write(`${value}\t${escapeText(meaning)}\n`);
    }
  } catch {
    // Without a session or a network there are no candidates.
  }
}

/** Removes the quotes and backslashes that the shell leaves in a typed word. */
function unquote(word: string): string {
  return word.replace(/^["']|["']$/g, '').replace(/\\(.)/g, '$1');
}

async function candidatesFor(
  program: Command,
  before: readonly string[],
  current: string,
  valuesOf: ValuesOf,
): Promise<readonly Candidate[]> {
  let command = program;
  let options = optionsOf(command);
  let pending: Option | undefined;
  let given = 0;
  const typed: Record<string, unknown> = {};
  for (const word of before) {
    const [, flag = word, value] = /^(--[\w-]+)=(.*)$/.exec(word) ?? [];
    const option = options.find(({ short, long }) => [short, long].includes(flag));
    const next = command.commands.find((one) => one.name() === word);
    if (pending !== undefined) {
      typed[pending.attributeName()] = word;
      pending = undefined;
    } else if (option?.required && value === undefined) pending = option;
    else if (option !== undefined) typed[option.attributeName()] = value ?? true;
    else if (next !== undefined) [command, options] = [next, optionsOf(next)];
    else if (!word.startsWith('-')) given += 1;
  }
  if (pending !== undefined) return valuesOf(pending, typed);
  if (current.startsWith('-')) {
    return options.map(({ long, description }) => [long ?? '', description]);
  }
  if (command.commands.length > 0) {
    return command.commands.map((one) => [one.name(), one.summary() || one.description()]);
  }
  const declared = command.registeredArguments;
  const last = declared.at(-1);
  const argument = declared[given] ?? (last?.variadic ? last : undefined);
  return argument === undefined ? [] : valuesOf(argument, typed);
}

/** The options of a command and of the program, as its help lists them. */
function optionsOf(command: Command): Option[] {
  const help = command.createHelp();
  return [...help.visibleOptions(command), ...help.visibleGlobalOptions(command)];
}

/** The values that a part is limited to. */
export async function choicesOf({ argChoices = [] }: Part): Promise<Candidate[]> {
  return argChoices.map((value) => [value, '']);
}
