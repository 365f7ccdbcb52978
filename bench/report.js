import { sized } from './quick.js';

/**
 * Prints figures beside their goals and sets the exit code to 1 when one is missed.
 *
 * @param {(readonly [label: string, figure: number, sign?: '>=' | '<=', goal?: number])[]} lines
 */
export function report(lines) {
  const missed = [];
  for (const [label, figure, sign, goal] of lines) {
    const met = sign === '>=' ? figure >= goal : sign !== '<=' || figure <= goal;
    if (!met) missed.push(label);
    const shown = figure >= 1000 ? figure.toFixed(0) : figure.toPrecision(3);
    const wanted = sign === undefined ? '' : `   ${sign} ${goal}`;
    process.stdout.write(`${label.padEnd(50)}${shown.padStart(9)}${wanted}\n`);
  }
  if (missed.length === 0) return;
  process.stdout.write(`missed: ${missed.join(', ')}; see docs/performance.md\n`);
  process.exitCode = sized(1, 0);
}
