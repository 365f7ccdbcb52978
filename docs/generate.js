// Writes the generated pages docs/http-api.md, cli.md and agent.md, and .env.example.
import { writeFileSync } from 'node:fs';
import { environment } from '../src/agent/config.ts';
import { createProgram } from '../src/agent/main.ts';
import { documentation } from '../src/base/describe-environment.ts';
import { agentPage } from './agent-page.js';
import { apiPage } from './api-page.ts';
import { cliPage } from './cli-page.ts';
import { exampleEnvironment } from './env-example.ts';

writeFileSync(new URL('http-api.md', import.meta.url), apiPage());
writeFileSync(new URL('cli.md', import.meta.url), await cliPage());
writeFileSync(new URL('../.env.example', import.meta.url), exampleEnvironment());
const agent = await createProgram(() => {});
writeFileSync(new URL('agent.md', import.meta.url), agentPage(agent, documentation(environment)));
