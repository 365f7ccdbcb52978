// Formats amounts of wei. Its own file, so that its test needs no browser.
const DECIMALS = 18n;
const SHOWN = 6n;

/** Wei as whole units with at most six decimals. Cut, not rounded: a credit must not look larger than it is. */
export function ether(wei: string): string {
  const amount = BigInt(wei);
  const positive = amount < 0n ? -amount : amount;
  const parts = positive / 10n ** (DECIMALS - SHOWN);
  const whole = (parts / 10n ** SHOWN).toLocaleString('en');
  const decimals = (parts % 10n ** SHOWN)
    .toString()
    .padStart(Number(SHOWN), '0')
    .replace(/0+$/, '');
  const sign = amount < 0n ? '−' : '';
  if (parts === 0n && positive > 0n) return `${sign}<0.000001`;
  return `${sign}${whole}${decimals && `.${decimals}`}`;
}
