import { cookieOf, newWallet, type TestService } from './service.ts';
import type { Reply } from './wire.ts';

export type WalletCaller = ReturnType<typeof createWalletCaller>;

/** A wallet at the sign-in endpoints, step by step. */
export function createWalletCaller(service: TestService) {
  const account = newWallet();
  return {
    account,
    address: account.address,
    challenge: (address: string = account.address, chainId?: number) =>
      service.call('POST', '/api/auth/challenge', {
        body: { address, ...(chainId !== undefined && { chainId }) },
      }),
    sign: (challenge: Reply) => account.signMessage({ message: challenge.body.message }),
    verify: (signature: string, options: { cookie?: string } = {}) =>
      service.call('POST', '/api/auth/verify', {
        body: { address: account.address, signature },
        ...(options.cookie !== undefined && { cookie: options.cookie }),
      }),
  };
}

/** The cookie that a browser would send back after this challenge. */
export function challengeCookie(challenge: Reply): string {
  return `svc_challenge=${cookieOf(challenge, 'svc_challenge')}`;
}
