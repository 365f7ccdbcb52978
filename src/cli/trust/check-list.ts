// Reads a service's list of anchoring accounts, and checks its signatures and its changes.
import { Value } from 'typebox/value';
import { SvcError } from '../../base/svc-error.ts';
import type { Hex } from '../../proof/bytes.ts';
import {
  AnchorsList,
  accountText,
  type ListedAccount,
  listText,
} from '../../protocol/anchoring-accounts.ts';
import type { Context } from '../program/context.ts';

/** Reads the list that the service states now. Throws `unexpected_answer`, `service_unreachable`. */
export async function readList({ client }: Context, url: string): Promise<AnchorsList> {
  const { body } = await client(url).call('getAnchoringAccounts');
  // Leaves out members that a later version adds.
  const list = Value.Clean(AnchorsList, body);
  if (Value.Check(AnchorsList, list)) return list;
  throw new SvcError('unexpected_answer', `Unexpected list of anchoring accounts from ${url}.`, {
    hint: 'Compare the versions with svc doctor.',
  });
}

/**
 * Checks every signature. At least one account in use must have signed the list: one of its own for a first list.
 * Throws `list_refused`.
 */
export async function checkList(list: AnchorsList, url: string): Promise<void> {
  const { origin, accounts, signatures } = list;
  if (origin !== url) {
    throw refused(`The list of ${url} is for ${origin}.`, 'Give the public URL of the service.');
  }
  const { recoverWallet } = await import('../../chain/signatures.ts');
  const isBy = async (text: string, address: string, signature: string) =>
    sameAddress((await recoverWallet(text, signature as Hex)) ?? '', address);
  if (new Set(accounts.map(keyOf)).size < accounts.length) {
    throw refused(`The list of ${url} has an account twice.`, REPORT);
  }
  for (const entry of accounts) {
    const { address, signature } = entry;
    if (signature === null || (await isBy(accountText(origin, entry), address, signature)))
      continue;
    throw refused(`The key of ${address} did not sign its entry in the list of ${url}.`, REPORT);
  }
  const text = listText(list);
  for (const { address, signature } of signatures) {
    if (isInUse(list, address) && (await isBy(text, address, signature))) continue;
    throw refused(`The list of ${url} has a wrong signature by ${address}.`, REPORT);
  }
  if (signatures.length === 0) {
    throw refused(
      `No account signed the list of ${url}.`,
      'Retry in a minute: a service that anchors signs each new list.',
    );
  }
}

/**
 * Checks a newer list against the saved one: nothing may be taken back, and an account that was in use must have signed.
 * Throws `list_refused`.
 */
export function checkChange(saved: AnchorsList, fresh: AnchorsList): void {
  const { origin } = saved;
  if (fresh.sequence < saved.sequence) {
    throw refused(
      `The list of ${origin} has sequence ${fresh.sequence}, the saved one ${saved.sequence}.`,
      REPORT,
    );
  }
  if (fresh.sequence === saved.sequence && listText(fresh) !== listText(saved)) {
    throw refused(`The list of ${origin} changed without a new sequence.`, REPORT);
  }
  for (const before of saved.accounts) {
    const problem = takenBack(before, fresh);
    if (problem !== null) throw refused(`The list of ${origin} ${problem}.`, REPORT);
  }
  if (fresh.signatures.some(({ address }) => isInUse(saved, address))) return;
  throw refused(
    `No account of the saved list signed the new list of ${origin}.`,
    `Ask the operator for the addresses over another channel. If they match, run svc trust remove ${origin} and svc trust add ${origin}.`,
  );
}

/** The entry of an account on a chain; null if the list has none. */
export function entryOf(
  { accounts }: AnchorsList,
  chainId: number,
  address: string,
): ListedAccount | null {
  const found = accounts.find(
    (one) => one.chain_id === chainId && sameAddress(one.address, address),
  );
  return found ?? null;
}

/** What the new list takes back of an entry, to complete a sentence; null if nothing. */
function takenBack(before: ListedAccount, fresh: AnchorsList): string | null {
  const { address, chain_id, first_block, last_block } = before;
  const now = entryOf(fresh, chain_id, address);
  if (now === null) return `no longer has the account ${address}`;
  if (now.first_block !== first_block) return `has another first block of ${address}`;
  if (last_block === null) return null;
  const isRaised = now.last_block === null || BigInt(now.last_block) > BigInt(last_block);
  return isRaised ? `raises the last block of ${address}` : null;
}

function isInUse({ accounts }: AnchorsList, address: string): boolean {
  return accounts.some((one) => one.last_block === null && sameAddress(one.address, address));
}

function sameAddress(one: string, other: string): boolean {
  return one.toLowerCase() === other.toLowerCase();
}

function keyOf({ chain_id, address }: ListedAccount): string {
  return `${chain_id} ${address.toLowerCase()}`;
}

const REPORT = 'Nothing was saved. Ask the operator of the service.';

function refused(message: string, hint: string): SvcError {
  return new SvcError('list_refused', message, { hint });
}
