// `svc completion`: scripts that make a shell ask `svc __complete`.
import { completionScript, shells } from '../../base/completion.ts';
import type { CommandSpec } from '../program/command.ts';

export const completionCommand: CommandSpec = {
  path: 'completion',
  summary: 'Print a shell completion script',
  details:
    'The script completes commands, options, the names of robots, fleets and tokens, and the ids of the newest 200 tasks.',
  arguments: [{ syntax: '<shell>', summary: 'your shell', choices: shells }],
  examples: [
    'source <(svc completion bash)',
    'svc completion zsh > ~/.zfunc/_svc',
    'svc completion fish > ~/.config/fish/completions/svc.fish',
  ],
  async run({ output }, { shell }: { shell: string }) {
    const script = completionScript(shell, 'svc') ?? '';
    if (output.asksJson) return output.json({ shell, script });
    output.line(script.trimEnd());
  },
};
