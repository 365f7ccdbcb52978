// Formats amounts of wei. Its own file, so that its test needs no browser.
const format = new Intl.NumberFormat('en', { maximumFractionDigits: 6, roundingMode: 'trunc' });

/** Wei as whole units with at most six decimals. Cut, not rounded: a credit must not look larger than it is. */
export function ether(wei: string): string {
  const sign = wei.startsWith('-') ? '−' : '';
  const amount = format.format(`${wei.replace('-', '')}E-18` as `${number}`);
  return `${sign}${amount === '0' && BigInt(wei) !== 0n ? '<0.000001' : amount}`;
}

const significant = new Intl.NumberFormat('en', { maximumSignificantDigits: 3 });

/** Wei as whole units with three significant digits: the cost of a task can be less than a millionth. */
export function cost(wei: string): string {
  return significant.format(`${wei}E-18` as `${number}`);
}
