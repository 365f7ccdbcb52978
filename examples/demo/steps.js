// Prints the steps of the demo, with a spinner on a terminal.
import chalk from 'chalk';
import ora from 'ora';

/** A terminal of unknown width is none: the spinner would have to clear endless lines. */
const interactive = [process.stdout, process.stderr].every(
  ({ isTTY, columns }) => isTTY && columns > 0,
);

/** @param {string} text */
export function say(text = '') {
  process.stdout.write(`${text}\n`);
}

/** @param {Record<string, unknown>} fields */
export function table(fields) {
  const width = Math.max(...Object.keys(fields).map((name) => name.length));
  for (const [name, value] of Object.entries(fields)) {
    const text = typeof value === 'string' ? value : JSON.stringify(value);
    say(`    ${chalk.dim(name.padEnd(width))}  ${text}`);
  }
}

/**
 * One step of the demo: a spinner on a terminal, one plain line when piped. What `work` answers goes on.
 *
 * @template Result
 * @param {string} title
 * @param {() => Promise<Result>} work
 * @returns {Promise<Result>}
 */
export async function step(title, work) {
  const spinner = interactive ? ora(title).start() : undefined;
  const started = performance.now();
  try {
    const result = await work();
    spinner?.stop();
    const seconds = ((performance.now() - started) / 1000).toFixed(1);
    say(`${chalk.green('✔')} ${title} ${chalk.dim(`${seconds} s`)}`);
    return result;
  } catch (error) {
    spinner?.stop();
    say(`${chalk.red('✘')} ${title}`);
    throw error;
  }
}

/**
 * @param {boolean} held
 * @param {string} otherwise
 */
export function expectThat(held, otherwise) {
  if (!held) throw new Error(otherwise);
}
