// Shows amounts of wei in the chain's currency and in gwei too.
import type { Context } from '../context.ts';

/** Formats a decimal number of wei, such as `21000000000 (0.000000021 ETH, 21 gwei)`. */
type FormatAmount = (wei: string) => string;

/** Piped output and JSON keep the plain number, and no request is made. */
export async function amountFormat({ call, output }: Context): Promise<FormatAmount> {
  if (!output.isTerminal || output.asksJson) return (wei) => wei;
  const { symbol } = (await call('getChain')).body.params.nativeCurrency;
  const { formatEther, formatGwei } = await import('ox/Value');
  const shown = (wei: bigint) => `${formatEther(wei)} ${symbol}, ${formatGwei(wei)} gwei`;
  return (wei) => `${wei} (${shown(BigInt(wei))})`;
}

/** An amount of wei in the chain's currency. */
export async function inCurrency(wei: string, symbol: string): Promise<string> {
  return `${(await import('ox/Value')).formatEther(BigInt(wei))} ${symbol}`;
}
