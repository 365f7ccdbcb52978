// The folder of the installed package.
import { fileURLToPath } from 'node:url';

/** The folder of the installed package. Source, compiled and bundled files are all two folders below it. */
export const packageFolder = fileURLToPath(new URL('../../', import.meta.url));
