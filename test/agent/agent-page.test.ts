import { readFile } from 'node:fs/promises';
import { expect, it } from 'vitest';
import { agentPage } from '../../docs/agent-page.js';
import { environment } from '../../src/agent/config.ts';
import { createProgram } from '../../src/agent/main.ts';
import { documentation } from '../../src/base/describe-environment.ts';

it('docs/agent.md matches the help of the commands', async () => {
  const page = await readFile(new URL('../../docs/agent.md', import.meta.url), 'utf8');

  const program = await createProgram(() => {});
  expect(page).toBe(agentPage(program, documentation(environment)));
});
