// The folder of the installed package.
import { fileURLToPath } from 'node:url';

/** Of the installed package, from the source, from what is compiled and from what is bundled: each is two folders below. */
export const packageFolder = fileURLToPath(new URL('../../', import.meta.url));
