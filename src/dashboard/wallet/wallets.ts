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

/** The wallet's current account; undefined until it answers, null if it shares none. */
export function useWalletAccount(wallet: Wallet | undefined): string | null | undefined {
  const [account, setAccount] = useState<string | null>();
  useEffect(() => {
    if (wallet === undefined) return;
    const { provider } = wallet;
    const update = (accounts: readonly string[]) => setAccount(accounts[0] ?? null);
    provider.request({ method: 'eth_accounts' }).then(update, () => {});
    provider.on?.('accountsChanged', update);
    return () => provider.removeListener?.('accountsChanged', update);
  }, [wallet]);
  return account;
}

/** The wallet's current chain as a hex quantity; undefined until it answers. */
export function useWalletChain(wallet: Wallet | undefined): string | undefined {
  const [chain, setChain] = useState<string>();
  useEffect(() => {
    if (wallet === undefined) return;
    const { provider } = wallet;
    provider.request({ method: 'eth_chainId' }).then(setChain, () => {});
    provider.on?.('chainChanged', setChain);
    return () => provider.removeListener?.('chainChanged', setChain);
  }, [wallet]);
  return chain;
}

/** The wallet's icon, if it is a data URL as EIP-6963 requires. */
export function iconOf({ info }: Wallet): string | undefined {
  return /^data:image\//.test(info.icon ?? '') ? info.icon : undefined;
}

/** A refusal by the wallet or its owner, or a failure of the wallet. `message` is for people. */
export class WalletError extends Error {}

/** The error code of EIP-1193 or JSON-RPC, if the wallet gave one. */
export function errorCodeOf(error: unknown): number | undefined {
  const { code } = (error ?? {}) as { code?: unknown };
  return typeof code === 'number' ? code : undefined;
}
