// Lets Node run the TypeScript of the tests: node --import ./test/support/typescript.js FILE.ts
import { register } from 'node:module';

register('./typescript-hooks.js', import.meta.url);
