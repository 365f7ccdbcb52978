// Writes the generated pages docs/http-api.md and cli.md, and .env.example.
import { writeFileSync } from 'node:fs';
import { apiPage } from './api-page.ts';
import { cliPage } from './cli-page.ts';
import { exampleEnvironment } from './env-example.ts';

writeFileSync(new URL('http-api.md', import.meta.url), apiPage());
writeFileSync(new URL('cli.md', import.meta.url), await cliPage());
writeFileSync(new URL('../.env.example', import.meta.url), exampleEnvironment());
