// Writes docs/http-api.md from the built protocol, docs/cli.md and docs/agent.md from the commands.
import { writeFileSync } from 'node:fs';
import { agentPage } from '../dist/agent/agent-page.js';
import { cliPage } from '../dist/cli/cli-page.cjs';
import { apiPage } from '../dist/protocol/openapi/api-page.js';

writeFileSync(new URL('http-api.md', import.meta.url), apiPage());
writeFileSync(new URL('cli.md', import.meta.url), cliPage());
writeFileSync(new URL('agent.md', import.meta.url), agentPage());
