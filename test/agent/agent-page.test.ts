import { readFile } from 'node:fs/promises';
import { expect, it } from 'vitest';
import { agentPage } from '../../src/agent/agent-page.ts';

it('docs/agent.md is what the commands say', async () => {
  const page = await readFile(new URL('../../docs/agent.md', import.meta.url), 'utf8');

  expect(page).toBe(agentPage());
});
