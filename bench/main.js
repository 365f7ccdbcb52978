/**
 * Runs benchmarks one after the other, each in a process of its own; all of them unless some are named.
 *
 *   npm run bench
 *   npm run bench -- requests ingest
 *   npm run bench -- anchor --seconds 20      what follows the names is passed on
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpus } from 'node:os';
import { fileURLToPath } from 'node:url';

const all = [
  'cli',
  'files',
  'requests',
  'streams',
  'ingest',
  'verify',
  'archive',
  'signing',
  'anchor',
  'dashboard',
  'console',
  'postgres',
  'telemetry-size',
  'size',
  'agent',
  'memory',
  'alerts',
];

const given = process.argv.slice(2);
const firstOption = given.findIndex((argument) => argument.startsWith('-'));
const named = firstOption === -1 ? given : given.slice(0, firstOption);
const options = given.slice(named.length);
const unknown = named.filter((name) => !all.includes(name));
if (unknown.length > 0) {
  process.stderr.write(`No benchmark is named ${unknown.join(', ')}: ${all.join(', ')}\n`);
  process.exit(2);
}

const processors = cpus();
process.stdout.write(
  `Node.js ${process.version}, ${processors.length} x ${processors[0]?.model.trim()}\n`,
);
const missed = [];
for (const name of named.length > 0 ? named : all) {
  process.stdout.write(`\n${name}\n`);
  const script = fileURLToPath(new URL(`${name}.js`, import.meta.url));
  const child = spawn(process.execPath, [...process.execArgv, script, ...options], {
    stdio: 'inherit',
  });
  const [code] = await once(child, 'exit');
  if (code !== 0) missed.push(name);
}
if (missed.length > 0) {
  process.stdout.write(`\nA goal was missed, or the run failed: ${missed.join(', ')}\n`);
  process.exitCode = 1;
}
