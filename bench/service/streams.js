import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts';
import { createClient } from '../../dist/client/client.js';
import { limits } from '../../dist/protocol/limits.js';

/**
 * Opens so many streams of accounts of their own, in which nothing changes. Resolves once each has its first message,
 * with what closes them.
 *
 * @param {string} url @param {number} count
 */
export async function openStreams(url, count) {
  const over = new AbortController();
  const opening = [];
  for (let left = count; left > 0; left -= limits.streamsPerAccount) {
    const session = await signIn(url);
    const client = createClient({ baseUrl: url, fetch, credential: { session } });
    for (let i = 0; i < Math.min(left, limits.streamsPerAccount); i += 1) {
      const changes = client.changes(over.signal);
      opening.push(
        changes.next().then(() => {
          changes.next().catch(() => {});
        }),
      );
    }
  }
  await Promise.all(opening);
  return () => over.abort();
}

/** @param {string} url */
async function signIn(url) {
  const account = privateKeyToAccount(generatePrivateKey());
  const { address } = account;
  const guest = createClient({ baseUrl: url, fetch });
  const { body } = await guest.call('createChallenge', { body: { address } });
  const signature = await account.signMessage({ message: body.message });
  const { headers } = await guest.call('verifySignature', { body: { address, signature } });
  return /svc_session=([^;]+)/.exec(headers.getSetCookie().join('\n'))?.[1] ?? '';
}
