import { createHash, randomBytes } from 'node:crypto';
import { newId } from '../../base/new-id.ts';
import { limits } from '../../protocol/limits.ts';
import { formatTimestamp } from '../../protocol/timestamp.ts';
import type { Deps } from './deps.ts';
import { fault } from './fault.ts';
import type { SessionRecord } from './ports.ts';
import { hashToken } from './token.ts';

/**
 * A code that opens a session of the same account for whoever knows the verifier of the challenge: 256
 * random bits, once, within 60 s, while the session that asks lives. Throws `invalid_session`, and
 * `wallet_session_required` for a session that such a code opened.
 */
export async function authorizeCli(
  { store, clock }: Deps,
  session: SessionRecord,
  challenge: string,
): Promise<{ code: string; expires_at: string }> {
  const code = randomBytes(32).toString('base64url');
  const createdAt = clock.now();
  const expiresAt = createdAt + limits.cliCodeLifetimeMs;
  const outcome = await store.saveCliCode({
    codeHash: hashToken(code),
    challenge,
    sessionId: session.id,
    createdAt,
    expiresAt,
  });
  if (outcome === 'session_gone') throw fault('invalid_session', 'The session has ended.');
  if (outcome === 'not_by_wallet') {
    throw fault(
      'wallet_session_required',
      'A code opened this session; only one that a wallet signed for can make another code.',
    );
  }
  return { code, expires_at: formatTimestamp(expiresAt) };
}

/** Opens the command line's own session. The code is spent, right or wrong. Throws `invalid_code`. */
export async function redeemCliCode(
  { store, clock }: Deps,
  { code, verifier }: { code: string; verifier: string },
): Promise<{ token: string; wallet: string; expires_at: string }> {
  const token = randomBytes(32).toString('hex');
  const now = clock.now();
  const expiresAt = now + limits.sessionLifetimeMs;
  const redeemed = await store.redeemCliCode({
    codeHash: hashToken(code),
    challenge: createHash('sha256').update(verifier).digest('base64url'),
    session: { id: newId(), tokenHash: hashToken(token), createdAt: now, expiresAt },
    now,
  });
  if (redeemed === null) {
    throw fault(
      'invalid_code',
      'The code is unknown, spent or expired, or the verifier is not its own; sign in again.',
    );
  }
  return { token, wallet: redeemed.wallet, expires_at: formatTimestamp(expiresAt) };
}
