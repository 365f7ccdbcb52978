// Decides which accounts may have sent an anchor: named accounts, or those in the list of a service.
import { SvcError } from '../../base/svc-error.ts';
import type { StatedAnchor } from '../../proof/audit-anchor.ts';
import type { AnchorsList } from '../../protocol/anchoring-accounts.ts';
import type { Context } from '../context.ts';
import { givenUrl, namedProfile } from '../program/profiles.ts';
import { checkList, entryOf, isSignedBy, readList } from '../trust/check-list.ts';
import { damagedLists, openTrustedServices } from '../trust/trusted-services.ts';
import type { AnchorResult, Check } from './anchor.ts';

/** What names the account that must have sent the anchor. */
export interface Identity {
  /** The option, the saved list or the service; null if the account is not named. */
  namedBy: string | null;
  /** Whether only the service itself names the account, without a saved list. */
  isUnsaved?: true;
  /** The check of the sender against a list; null if there is no list, or the sender is not known yet. */
  check: Check | null;
}

type Anchor = StatedAnchor & { sender: string };

const unnamed: Identity = { namedBy: null, check: null };

/**
 * Checks that the sender is one of the named accounts and anchored before its last block. In this order:
 * --anchor-address; the saved lists that the sender signed; what the service states now. For a service given by --url,
 * SVC_URL or --profile only that service counts: its saved list if there is one, otherwise its current list, which must
 * be signed, or what it states if it has no list. A check against the hash of a block opens no connection, so only
 * addresses and saved lists count. While a damaged file of saved lists is there, no service names the sender.
 */
export async function identify(
  context: Context,
  { basis, subject: { stated }, answer, sender }: AnchorResult,
  anchorAddresses: readonly string[],
): Promise<Identity> {
  // The accounts of --anchor-address were compared when the anchor was verified.
  if (anchorAddresses.length > 0) return { namedBy: '--anchor-address', check: null };
  const anchor = sender === null || stated === null ? null : { ...stated, sender };
  const service = await serviceOf(context);
  const all = savedLists(context);
  if (all === null) return unnamed;
  const ofService = all.filter(({ origin }) => origin === service?.url);
  const others = service?.isGiven ? [] : all.filter((list) => !ofService.includes(list));
  const signed: AnchorsList[] = [];
  for (const list of [...ofService, ...others]) {
    const entry = anchor && entryOf(list, anchor.chain_id, anchor.sender);
    if (entry === null) continue;
    // A service can list the account of another one.
    if (isSignedBy(list, entry)) signed.push(list);
    else {
      context.output.note(
        `The saved list of ${list.origin} names the sender without a signature by the sender. This proves nothing.`,
      );
    }
  }
  const lists = signed.length > 0 ? signed : ofService;
  const namedBy = `the saved list of ${lists.map(({ origin }) => origin).join(' and of ')}`;
  const found = lists.map((list) => checkSender(namedBy, list, anchor));
  // A list that retired the account outweighs one that has not.
  const saved = found.find(({ check }) => check?.ok === false) ?? found[0];
  if (saved !== undefined) return saved;
  if (service === null || basis === 'block_hash') return unnamed;
  try {
    const list = await readList(context, service.url);
    if (list.accounts.length > 0) {
      await checkList(list, service.url);
      const current = checkSender(service.url, list, anchor);
      return current.namedBy === null ? unnamed : { ...current, isUnsaved: true };
    }
  } catch (error) {
    const isNeeded = answer === null && service.isGiven;
    if (!(error instanceof SvcError) || error.code === 'list_refused' || isNeeded) throw error;
    if (answer === null) {
      context.output.note(`The service did not name its anchoring accounts: ${error.message}`);
    }
  }
  return answer === null ? unnamed : { namedBy: answer.url, isUnsaved: true, check: null };
}

/** The saved lists. Null while a damaged file of them is there, which is reported. */
export function savedLists(context: Context): AnchorsList[] | null {
  const file = openTrustedServices(context);
  const all = Object.values(file.read().services);
  const damaged = damagedLists(file);
  if (damaged === null) return all;
  context.output.warn(
    `The file of trusted services was damaged, so no service names the sender. Add your services again with svc trust add, then delete ${damaged}. Or name the account with --anchor-address.`,
  );
  return null;
}

/** The service of the command line; null if there is none. `isGiven`: named by an option or a variable. */
export async function serviceOf({ target, options, env }: Context) {
  const isGiven = givenUrl(options, env) !== null || namedProfile(options, env) !== null;
  try {
    return { url: (await target()).url, isGiven };
  } catch (error) {
    if (error instanceof SvcError && error.code === 'no_service') return null;
    throw error;
  }
}

/** Checks the sender against a list. An account that was retired may have sent nothing after its last block. */
function checkSender(namedBy: string, list: AnchorsList, anchor: Anchor | null): Identity {
  if (anchor === null) return { namedBy, check: null };
  const { chain_id, sender, block_number } = anchor;
  const identity = (ok: boolean, detail: string): Identity => ({
    namedBy,
    check: { name: 'sender', ok, detail },
  });
  const entry = entryOf(list, chain_id, sender);
  if (entry === null) {
    const { origin } = list;
    const hint = namedBy === origin ? '' : `. If it is new, run svc trust refresh ${origin}`;
    return identity(false, `${sender} is not in the list of ${origin}${hint}`);
  }
  // The sender is neither named nor refused.
  if (!isSignedBy(list, entry)) return unnamed;
  const { last_block } = entry;
  if (last_block === null) return identity(true, 'The list of the service has the sender');
  return BigInt(block_number ?? Number.MAX_SAFE_INTEGER) <= BigInt(last_block)
    ? identity(true, `The list of the service has the sender, until block ${last_block}`)
    : identity(false, `The sender was retired: its last block is ${last_block}`);
}
