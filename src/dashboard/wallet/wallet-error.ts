/** What a wallet or its person did not do. `message` is for people. */
export class WalletError extends Error {}

/** The code of EIP-1193 or JSON-RPC, where the wallet gave one. */
export function errorCodeOf(error: unknown): number | undefined {
  const { code } = (error ?? {}) as { code?: unknown };
  return typeof code === 'number' ? code : undefined;
}
