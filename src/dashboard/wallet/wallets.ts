// Wallets of this browser (EIP-6963), and the one in use.
import { createStore, type EIP6963ProviderDetail } from 'mipd';
import { useEffect, useState, useSyncExternalStore } from 'react';

export type Wallet = EIP6963ProviderDetail;

const store = createStore();
const USED = 'svc-wallet';

/** Wallets of this browser, as they announce themselves (EIP-6963). */
export function useWallets(): readonly Wallet[] {
  return useSyncExternalStore(store.subscribe, store.getProviders);
}

export function rememberWallet(wallet: Wallet): void {
  localStorage.setItem(USED, wallet.info.rdns);
}

/** The wallet that signed in last in this browser, or the only one. */
export function useUsedWallet(): Wallet | undefined {
  const wallets = useWallets();
  const used = localStorage.getItem(USED);
  return (
    wallets.find(({ info }) => info.rdns === used) ??
    (wallets.length === 1 ? wallets[0] : undefined)
  );
}

/** The wallet's answer to a method, and then what its event says; undefined until it answers. */
export function useWalletAnswer<Answer>(wallet: Wallet | undefined, method: string, event: string) {
  const [answer, setAnswer] = useState<Answer>();
  useEffect(() => {
    // The types of the provider name no events and methods by variable.
    const provider = wallet?.provider as LooseProvider<Answer> | undefined;
    provider?.request({ method }).then(setAnswer, () => {});
    provider?.on?.(event, setAnswer);
    return () => provider?.removeListener?.(event, setAnswer);
  }, [wallet, method, event]);
  return answer;
}

interface LooseProvider<Answer> {
  request(asked: { method: string }): Promise<Answer>;
  on?(event: string, listener: (answer: Answer) => void): void;
  removeListener?(event: string, listener: (answer: Answer) => void): void;
}

/** A refusal by the wallet or its owner, or a failure of the wallet. `message` is for people. */
export class WalletError extends Error {}

/** What went wrong in a wallet. `rejected`: the sentence for a request that the person refused. */
export function walletErrorOf(error: unknown, rejected: string): WalletError {
  if (error instanceof WalletError) return error;
  if (errorCodeOf(error) === 4001) return new WalletError(rejected);
  return new WalletError(
    `The wallet failed: ${error instanceof Error ? error.message : 'unknown'}`,
  );
}

/** The error code of EIP-1193 or JSON-RPC, if the wallet gave one. */
export function errorCodeOf(error: unknown): number | undefined {
  const { code } = (error ?? {}) as { code?: unknown };
  return typeof code === 'number' ? code : undefined;
}
