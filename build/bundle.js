// Bundles the programs. The command rolldown prints each file that it writes; this prints only what is wrong.
import { rolldown } from 'rolldown';
import bundles from './rolldown.config.js';

for (const options of /** @type {import('rolldown').RolldownOptions[]} */ (bundles)) {
  const bundle = await rolldown({ ...options, logLevel: 'warn' });
  for (const output of [options.output ?? []].flat()) await bundle.write(output);
  await bundle.close();
}
