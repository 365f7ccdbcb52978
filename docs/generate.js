// Writes docs/http-api.md from the built protocol, and docs/cli.md from the command table.
import { writeFileSync } from 'node:fs';
import { cliPage } from '../dist/cli/cli-page.cjs';
import { apiPage } from '../dist/protocol/openapi/api-page.js';

writeFileSync(new URL('http-api.md', import.meta.url), apiPage());
writeFileSync(new URL('cli.md', import.meta.url), cliPage());
