// Writes docs/http-api.md from the built protocol, docs/cli.md and docs/agent.md from the commands.
import { writeFileSync } from 'node:fs';
import { environment } from '../dist/agent/config.js';
import { createProgram } from '../dist/agent/main.js';
import { environmentTable } from '../dist/base/describe-environment.js';
import { apiPage } from '../dist/protocol/openapi/api-page.js';
import { agentPage } from './agent-page.js';
import { cliPage } from './cli-page.ts';

writeFileSync(new URL('http-api.md', import.meta.url), apiPage());
writeFileSync(new URL('cli.md', import.meta.url), await cliPage());
const agent = await createProgram(() => {});
writeFileSync(
  new URL('agent.md', import.meta.url),
  agentPage(agent, environmentTable(environment)),
);
