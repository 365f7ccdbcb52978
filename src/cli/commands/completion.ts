// `svc completion`: scripts that make a shell ask `svc __complete`.
import { SvcError } from '../../base/svc-error.ts';
import type { CommandSpec } from '../program/command.ts';
import type { Context } from '../program/context.ts';

export const completionCommand: CommandSpec = {
  path: 'completion',
  summary: 'Print what makes a shell complete commands, robots and fleets',
  arguments: [
    { syntax: '<shell>', summary: 'bash, zsh or fish', completes: ['bash', 'zsh', 'fish'] },
  ],
  examples: [
    'source <(svc completion bash)',
    'svc completion zsh > ~/.zfunc/_svc',
    'svc completion fish > ~/.config/fish/completions/svc.fish',
  ],
  run: completion,
};

/** Each script passes the words before the cursor to `svc __complete`, and reads a candidate and its meaning per line. */
const scripts: Readonly<Record<string, string>> = {
  bash: `_svc() {
  local candidate meaning
  COMPREPLY=()
  while IFS=$'\\t' read -r candidate meaning; do
    COMPREPLY+=("$(printf '%q' "$candidate")")
  done < <(svc __complete "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -o default -F _svc svc
`,
  zsh: `#compdef svc
_svc() {
  local -a candidates
  local candidate meaning
  while IFS=$'\\t' read -r candidate meaning; do
    candidates+=("\${candidate//:/\\\\:}\${meaning:+:$meaning}")
  done < <(svc __complete "\${(@Q)words[2,CURRENT]}" 2>/dev/null)
  if (( $#candidates )); then _describe svc candidates; else _files; fi
}
if [ "$funcstack[1]" = _svc ]; then _svc; else compdef _svc svc; fi
`,
  fish: `function __svc_complete
  set -l words (commandline -opc)
  set -l candidates (svc __complete $words[2..] (commandline -ct) 2>/dev/null)
  if set -q candidates[1]
    printf '%s\\n' $candidates
  else
    __fish_complete_path (commandline -ct)
  end
end
complete -c svc -f -a '(__svc_complete)'
`,
};

async function completion({ output }: Context, { shell }: { shell: string }): Promise<void> {
  const script = Object.hasOwn(scripts, shell) ? scripts[shell] : undefined;
  if (script === undefined) {
    throw new SvcError('usage', `There is completion for ${Object.keys(scripts).join(', ')}.`);
  }
  if (output.asksJson) return output.json({ shell, script });
  output.line(script.trimEnd());
}
