// Writes the generated pages: docs/http-api.md, cli.md, configuration.md and agent.md.
import { writeFileSync } from 'node:fs';
import { environment } from '../dist/agent/config.js';
import { createProgram } from '../dist/agent/main.js';
import { environmentTable } from '../dist/base/describe-environment.js';
import { apiPage } from '../dist/protocol/openapi/api-page.js';
import { agentPage } from './agent-page.js';
import { cliPage } from './cli-page.ts';
import { configurationPage } from './configuration-page.ts';

writeFileSync(new URL('http-api.md', import.meta.url), apiPage());
writeFileSync(new URL('cli.md', import.meta.url), await cliPage());
writeFileSync(new URL('configuration.md', import.meta.url), configurationPage());
const agent = await createProgram(() => {});
writeFileSync(
  new URL('agent.md', import.meta.url),
  agentPage(agent, environmentTable(environment)),
);
