// Shell completion: the scripts, and candidates from the commands of a commander program.
import { Argument, type Command, type Option } from 'commander';

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

/** Prints the candidates for the last of `words`: one on each line, and a tab and its meaning if it has one. */
export function printCandidates(program: Command, words: readonly string[]): void {
  const current = words.at(-1) ?? '';
  let command = program;
  let option: Option | undefined;
  for (const word of words.slice(0, -1)) {
    const isValue = option?.required === true;
    option = isValue
      ? undefined
      : command.options.find(({ short, long }) => [short, long].includes(word));
    if (!isValue) command = command.commands.find((one) => one.name() === word) ?? command;
  }
  const candidates = option?.required ? option.argChoices : candidatesOf(command, current);
  for (const line of candidates ?? []) {
    if (line.startsWith(current)) process.stdout.write(`${line}\n`);
  }
}

function candidatesOf(command: Command, current: string): readonly string[] | undefined {
  if (current.startsWith('-')) {
    const options = command.options.map(({ long, description }) => `${long}\t${description}`);
    return [...options, '--help\tprint help'];
  }
  if (command.commands.length === 0) return command.registeredArguments[0]?.argChoices;
  return command.commands.map((one) => `${one.name()}\t${one.description()}`);
}
