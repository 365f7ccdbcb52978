// Reads a service's list of anchoring accounts, and checks its signatures and its changes.
import { Value } from 'typebox/value';
import { orNull } from '../../base/or-null.ts';
import { SvcError } from '../../base/svc-error.ts';
import type { Hex } from '../../proof/bytes.ts';
import { DocumentError } from '../../proof/document-error.ts';
import { readPublicKey, thumbprintOf } from '../../proof/statements/public-key.ts';
import {
  AnchorsList,
  accountText,
  type ListedAccount,
  listText,
} from '../../protocol/anchoring-accounts.ts';
import type { Context } from '../context.ts';

/** Reads the list that the service states now, without a check. Throws `unexpected_answer`, `service_unreachable`. */
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
  if (origin !== url) refuse(url, `is for ${origin}`, 'Give the public URL of the service.');
  const distinct = new Set(accounts.map((one) => `${one.chain_id} ${one.address.toLowerCase()}`));
  if (distinct.size < accounts.length) refuse(url, 'has an account twice');
  const { signerOf } = await import('../../chain/signatures.ts');
  const isBy = async (text: string, address: string, signature: string) =>
    isSame((await signerOf(text, signature as Hex)) ?? '', address);
  for (const entry of accounts) {
    const { address, signature, promise_key } = entry;
    if (promise_key !== undefined && !hasItsKid(promise_key)) {
      refuse(url, `has a promise key of ${address} that is malformed or has another kid`);
    }
    if (signature === null || (await isBy(accountText(origin, entry), address, signature)))
      continue;
    refuse(url, `has an entry that the key of ${address} did not sign`);
  }
  for (const { address, signature } of signatures) {
    if (isInUse(list, address) && (await isBy(listText(list), address, signature))) continue;
    refuse(url, `has a wrong signature by ${address}`);
  }
  if (signatures.length === 0) {
    refuse(url, 'has no signature', 'Retry when the service anchors: then it signs its list.');
  }
}

/**
 * Checks a newer list against the saved one: nothing may be taken back, and an account that was in use must have signed.
 * Throws `list_refused`.
 */
export function checkChange(saved: AnchorsList, fresh: AnchorsList): void {
  const { origin, sequence } = saved;
  if (fresh.sequence < sequence)
    refuse(origin, `has sequence ${fresh.sequence}, below ${sequence}`);
  if (fresh.sequence === sequence && listText(fresh) !== listText(saved)) {
    refuse(origin, 'changed without a new sequence');
  }
  for (const one of saved.accounts) {
    const { chain_id, address, first_block, last_block, signature, promise_key } = one;
    const now = entryOf(fresh, chain_id, address);
    if (now === null) refuse(origin, `no longer has the account ${address}`);
    if (now.first_block !== first_block) refuse(origin, `has another first block of ${address}`);
    if (signature !== null && now.signature === null) {
      refuse(origin, `no longer has the signature of ${address}`);
    }
    if (promise_key !== undefined && now.promise_key?.kid !== promise_key.kid) {
      refuse(origin, `changes or removes the promise key of ${address}`);
    }
    if (last_block === null) continue;
    const isRaised = now.last_block === null || BigInt(now.last_block) > BigInt(last_block);
    if (isRaised) refuse(origin, `raises the last block of ${address}`);
  }
  if (fresh.signatures.some(({ address }) => isInUse(saved, address))) return;
  refuse(
    origin,
    'has no signature by an account of the saved one',
    `Ask the operator for the addresses over another channel. If they match, run svc trust remove ${origin} and svc trust add ${origin}.`,
  );
}

/** Whether a newer list has an account that the saved one has not, and that did not sign. */
export function addsUnsigned(saved: AnchorsList, fresh: AnchorsList): boolean {
  return fresh.accounts.some(
    (one) => entryOf(saved, one.chain_id, one.address) === null && !isSignedBy(fresh, one),
  );
}

/** The entry of an account on a chain; null if the list has none. */
export function entryOf({ accounts }: AnchorsList, chainId: number, address: string) {
  const isIt = (one: ListedAccount) => one.chain_id === chainId && isSame(one.address, address);
  return accounts.find(isIt) ?? null;
}

/**
 * Whether the account signed, for the origin of this list, that it belongs to it: its entry, or the whole list. Without
 * that, the origin may state any account.
 */
export function isSignedBy(list: AnchorsList, { address, signature }: ListedAccount): boolean {
  return signature !== null || list.signatures.some((one) => isSame(one.address, address));
}

/** A signature of a list names no chain: an account that was retired on one of its chains signs nothing. */
function isInUse({ accounts }: AnchorsList, address: string): boolean {
  const entries = accounts.filter((one) => isSame(one.address, address));
  return entries.length > 0 && entries.every(({ last_block }) => last_block === null);
}

/** Only the kid is in the text that the accounts sign. */
function hasItsKid({ kid, public_key }: NonNullable<ListedAccount['promise_key']>): boolean {
  return orNull(() => thumbprintOf(readPublicKey(public_key)), [DocumentError]) === kid;
}

function isSame(one: string, other: string): boolean {
  return one.toLowerCase() === other.toLowerCase();
}

const REPORT = 'Ask the operator of the service.';

function refuse(url: string, reason: string, hint = REPORT): never {
  throw new SvcError('list_refused', `The list of ${url} ${reason}.`, { hint });
}
