// Decides who may have sent an anchor: named accounts, a saved service, or a service's own statement.
import { SvcError } from '../../base/svc-error.ts';
import type { StatedAnchor } from '../../proof/audit-anchor.ts';
import type { AnchorsList } from '../../protocol/anchoring-accounts.ts';
import type { Context } from '../context.ts';
import { givenUrl, namedProfile } from '../program/profiles.ts';
import { checkList, entryOf, isSignedBy, readList } from '../trust/check-list.ts';
import { damagedLists, openTrustedServices } from '../trust/trusted-services.ts';
import type { Check, Finding } from './finding.ts';

/** What is known about an anchor besides its finding. */
interface Named {
  /** The values of --anchor-address. */
  addresses: readonly string[];
  /** What the document or the service states; null while nothing is anchored. */
  stated: StatedAnchor | null;
  /** The origin of the service that was asked about the hash or document; null if none was. */
  asked: string | null;
  /** Whether no connection may be opened: then only addresses and saved services count. */
  offline: boolean;
}

type Anchor = StatedAnchor & { sender: string };

interface Identified {
  by: string | null;
  isStated?: true;
  /** Null if the sender is not known yet, or was checked already. */
  check: Check | null;
}

/**
 * Adds who named the sender, and the check that the sender is one of the named accounts and anchored before its last
 * block. In this order: --anchor-address; the saved lists that the sender signed; what the service states now. For a
 * service given by --url, SVC_URL or --profile only that service counts: its saved list if there is one, otherwise its
 * current list, which must be signed, or what it states if it has no list. While a damaged file of saved lists is there,
 * no service names the sender.
 */
export async function withIdentity(
  context: Context,
  finding: Finding,
  named: Named,
): Promise<Finding> {
  const { by, isStated = false, check } = await identify(context, finding.sender, named);
  const identified = { ...finding, identity: { by, isStated, addresses: named.addresses } };
  if (by === null && finding.outcome === 'verified') return { ...identified, outcome: 'unnamed' };
  const hasFailed = finding.checks.some(({ name, ok }) => name === 'sender' && !ok);
  if (check === null || hasFailed) return identified;
  const checks = [...finding.checks.filter(({ name }) => name !== 'sender'), check];
  return { ...identified, checks, outcome: check.ok ? finding.outcome : 'not_verified' };
}

async function identify(
  context: Context,
  sender: string | null,
  { addresses, stated, asked, offline }: Named,
): Promise<Identified> {
  // The accounts of --anchor-address were compared when the anchor was read.
  if (addresses.length > 0) return { by: '--anchor-address', check: null };
  const anchor = sender === null || stated === null ? null : { ...stated, sender };
  const service = await serviceOf(context);
  const file = openTrustedServices(context);
  const saved = savedLists(file.read().services, service);
  const damaged = damagedLists(file);
  if (damaged !== null) {
    context.output.warn(
      `The file of trusted services was damaged, so no service names the sender. Add your services again with svc trust add, then delete ${damaged}. Or name the account with --anchor-address.`,
    );
    return { by: null, check: null };
  }
  const { naming, claiming } = listsOf(saved, anchor);
  for (const { url } of claiming) {
    context.output.note(
      `The saved list of ${url} names the sender without a signature by the sender. This proves nothing.`,
    );
  }
  const chosen = naming.length > 0 ? naming : saved.filter(({ url }) => url === service?.url);
  const by = `the saved list of ${chosen.map(({ url }) => url).join(' and of ')}`;
  const verdicts = chosen.map(({ list }) => judge(by, list, anchor));
  // A list that retired the account outweighs one that has not.
  const verdict = verdicts.find(({ check }) => check?.ok === false) ?? verdicts[0];
  if (verdict !== undefined) return verdict;
  if (service === null || offline) return { by: null, check: null };
  try {
    const list = await readList(context, service.url);
    if (list.accounts.length > 0) {
      await checkList(list, service.url);
      const verdict = judge(service.url, list, anchor);
      return verdict.by === null ? verdict : { ...verdict, isStated: true };
    }
  } catch (error) {
    const isRefused = error instanceof SvcError && error.code === 'list_refused';
    const isNeeded = asked === null && service.isGiven;
    if (!(error instanceof SvcError) || isRefused || isNeeded) throw error;
    if (asked === null) {
      context.output.note(`The service did not name its anchoring accounts: ${error.message}`);
    }
  }
  return asked === null ? { by: null, check: null } : { by: asked, isStated: true, check: null };
}

/** The service of the command line; null if there is none. `isGiven`: named by an option or a variable. */
async function serviceOf({ target, options, env }: Context) {
  const isGiven = givenUrl(options, env) !== null || namedProfile(options, env) !== null;
  try {
    return { url: (await target()).url, isGiven };
  } catch (error) {
    if (error instanceof SvcError && error.code === 'no_service') return null;
    throw error;
  }
}

/** The saved lists that count, that of the service first. */
function savedLists(
  services: Readonly<Record<string, AnchorsList>>,
  service: Awaited<ReturnType<typeof serviceOf>>,
) {
  const all = Object.entries(services).map(([url, list]) => ({ url, list }));
  const own = all.filter(({ url }) => url === service?.url);
  return service?.isGiven ? own : [...own, ...all.filter((one) => !own.includes(one))];
}

/**
 * The lists that have the sender: those in which it signed that it belongs to them, and those that only claim it. A
 * service can list the account of another one.
 */
function listsOf(saved: ReturnType<typeof savedLists>, anchor: Anchor | null) {
  const [naming, claiming]: [typeof saved, typeof saved] = [[], []];
  for (const one of anchor === null ? [] : saved) {
    const entry = anchor && entryOf(one.list, anchor.chain_id, anchor.sender);
    if (entry !== null) (isSignedBy(one.list, entry) ? naming : claiming).push(one);
  }
  return { naming, claiming };
}

/** Checks the sender against a list. An account that was retired may have sent nothing after its last block. */
function judge(by: string, list: AnchorsList, anchor: Anchor | null): Identified {
  if (anchor === null) return { by, check: null };
  const { chain_id, sender, block_number } = anchor;
  const check = (ok: boolean, detail: string): Identified => ({
    by,
    check: { name: 'sender', ok, detail },
  });
  const entry = entryOf(list, chain_id, sender);
  if (entry === null) {
    const hint = by === list.origin ? '' : `. If it is new, run svc trust refresh ${list.origin}`;
    return check(false, `${sender} is not in the list of ${list.origin}${hint}`);
  }
  // The sender is neither named nor refused.
  if (!isSignedBy(list, entry)) return { by: null, check: null };
  const { last_block } = entry;
  if (last_block === null) return check(true, 'The list of the service has the sender');
  return BigInt(block_number ?? Number.MAX_SAFE_INTEGER) <= BigInt(last_block)
    ? check(true, `The list of the service has the sender, until block ${last_block}`)
    : check(false, `The sender was retired: its last block is ${last_block}`);
}
