// Writes docs/http-api.md from the built protocol.
import { writeFileSync } from 'node:fs';
import { apiPage } from '../dist/protocol/openapi/api-page.js';

writeFileSync(new URL('http-api.md', import.meta.url), apiPage());
