// Shows amounts of wei in the chain's currency and in gwei too.
import type { Context } from '../program/context.ts';

/** Formats a decimal number of wei, such as `21000000000 (0.000000021 ETH, 21 gwei)`. */
type FormatAmount = (wei: string) => string;

/** Piped output and JSON keep the plain number, and no request is made. */
export async function amountFormat({ call, output }: Context): Promise<FormatAmount> {
  if (!output.isTerminal || output.asksJson) return (wei) => wei;
  const { symbol } = (await call('getChain')).body.params.nativeCurrency;
  return (wei) => `${wei} (${scaled(wei, 18)} ${symbol}, ${scaled(wei, 9)} gwei)`;
}

/** The number divided by 10 to the power of `decimals`, exactly. */
function scaled(number: string, decimals: number): string {
  const [, sign = '', digits = ''] = /^(-?)(\d+)$/.exec(number) ?? [];
  const padded = digits.padStart(decimals + 1, '0');
  const fraction = padded.slice(-decimals).replace(/0+$/, '');
  return `${sign}${padded.slice(0, -decimals)}${fraction && `.${fraction}`}`;
}
