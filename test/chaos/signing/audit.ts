// What must hold after robots signed their work: nothing is missing, nothing is anchored twice, each promise is kept.
import { writeFile } from 'node:fs/promises';
import type { Client } from '../../../src/client/client.ts';
import { leafHash } from '../../../src/proof/leaf.ts';
import { hashText } from '../../../src/proof/statements/jws.ts';
import { readPromise } from '../../../src/proof/statements/promise.ts';
import { openKey, readPublicKey } from '../../../src/proof/statements/public-key.ts';
import type { Answer } from '../../../src/protocol/routes.ts';
import {
  leavesIn,
  type MinedTransaction,
  plainHash,
  provenBy,
  scanAnchors,
} from '../../support/chain-scan.ts';
import type { SvcUser } from '../../support/svc.ts';
import { patiently } from '../agent-audit.ts';

export interface SignedWork {
  readonly rpcUrl: string;
  readonly owner: Client;
  readonly user: SvcUser;
  /** Names. */
  readonly robots: readonly string[];
  /** Proof hashes by task, of the completions that agents answered. */
  readonly completions: ReadonlyMap<string, string>;
  readonly promises: readonly string[];
  /** How many free leaves have a place in a transaction, as the database says. */
  readonly placedFreeLeaves: () => Promise<number>;
}

type Bundle = Extract<Answer<'getBundle'>['body'], { format: 'svc-bundle/3' }>;

/** A line for each thing that is wrong. */
export async function auditSignedWork(
  work: SignedWork,
): Promise<{ statements: number; violations: string[] }> {
  const archives: { statements: number; violations: string[] }[] = [];
  for (const name of work.robots) archives.push(await verifyArchives(work.user, name));
  const [bundles, unsigned] = await bundlesOf(work.owner);
  const anchors = await scanAnchors(work.rpcUrl);
  // The agents report what they set aside, and promises that are wrong.
  const { items: reports } = (await work.owner.call('listEvents', { query: { limit: '200' } }))
    .body;
  return {
    statements: archives.reduce((sum, { statements }) => sum + statements, 0),
    violations: [
      ...archives.flatMap(({ violations }) => violations),
      ...unsigned,
      ...reports.map(({ event_type, message }) => `${event_type}: ${message}`),
      ...completionViolations(work, bundles),
      ...[...bundles.values()].flatMap((bundle) => proofViolations(bundle, anchors)),
      ...placeViolations([...bundles.values()], anchors, await work.placedFreeLeaves()),
      ...(await promiseViolations(work, bundles)),
    ],
  };
}

/** Promises that the auditor's command checks. */
const VERDICTS = 20;
const SEQUENCE = /^COMPLETE\nRobot .*\n1 to (\d+) of key .*: none missing, none forked,/;

/** What the owner's commands find, at the service and without it. */
async function verifyArchives(user: SvcUser, name: string) {
  const online = await user.svc(['robots', 'verify', name]);
  const file = user.file(`${name}.jsonl`);
  await writeFile(file, (await user.svc(['robots', 'export', name])).stdout);
  const offline = await user.svc(['verify', file, '--owner', user.wallet]);
  const violations = [online, offline]
    .filter(({ exitCode, stdout }) => exitCode !== 0 || !SEQUENCE.test(stdout))
    .map(({ stdout, stderr }) => `${name}: ${stdout}${stderr}`);
  return { statements: Number(SEQUENCE.exec(online.stdout)?.[1] ?? 0), violations };
}

/** The bundles of all verified tasks; and a line for each one that is unsigned. */
async function bundlesOf(owner: Client): Promise<[Map<string, Bundle>, string[]]> {
  const bundles = new Map<string, Bundle>();
  const unsigned: string[] = [];
  let cursor: string | null = null;
  do {
    const query = { status: 'verified', limit: '200', ...(cursor !== null && { cursor }) } as const;
    const page: Answer<'listTasks'>['body'] = (
      await patiently(() => owner.call('listTasks', { query }))
    ).body;
    for (const { id } of page.items) {
      const { body } = await patiently(() => owner.call('getBundle', { params: { id } }));
      if (body.format === 'svc-bundle/3') bundles.set(id, body);
      else unsigned.push(`task ${id} is unsigned`);
    }
    cursor = page.next_cursor;
  } while (cursor !== null);
  return [bundles, unsigned];
}

function completionViolations({ completions }: SignedWork, bundles: ReadonlyMap<string, Bundle>) {
  const lost = [...completions].filter(([id, hash]) => bundles.get(id)?.proof_hash !== hash);
  return [
    ...lost.map(([id]) => `the completion of ${id} was answered and is not verified`),
    ...(completions.size === 0 ? ['no completion was answered'] : []),
  ];
}

/** Each result is at its place in a mined payload, with the hash of its statement. */
function proofViolations(bundle: Bundle, anchors: readonly MinedTransaction[]): string[] {
  const { proof_hash, inclusion, anchor, proof, claim, task } = bundle;
  const { tx_hash, block_number, anchored_at } = anchor;
  const { task_id, robot_id, claim_hash, statement_hash } = leafOf(bundle);
  const receipt = {
    ...{ task_id, robot_id, claim_hash, statement_hash },
    ...{ proof_hash, tx_hash, block_number, anchored_at, inclusion },
  };
  const isProven = provenBy(anchors, receipt, { proof, claim });
  return isProven ? [] : [`the chain does not prove task ${task.id}`];
}

function leafOf({ proof_hash, task, claim, signing }: Bundle) {
  return {
    proof_hash,
    task_id: task.id,
    robot_id: task.robot_id,
    claim_hash: plainHash(claim),
    statement_hash: hashText(signing.result.statement),
  };
}

/** No two leaves are at one place, and the chain has no more places than leaves: then each leaf is there once. */
function placeViolations(
  bundles: readonly Bundle[],
  anchors: readonly MinedTransaction[],
  placedFreeLeaves: number,
): string[] {
  const places = bundles.map(placeOf);
  const free = new Map<string, string>();
  for (const { signing } of bundles) {
    const { key, claim } = signing;
    if (key.anchor !== null) free.set(key.text, placeOf(key.anchor));
    if (claim !== null && claim.anchor !== null) free.set(claim.statement, placeOf(claim.anchor));
  }
  const known = [...places, ...free.values()];
  const onChain = leavesIn(anchors);
  return [
    ...(new Set(known).size === known.length ? [] : ['two leaves are at the same place']),
    ...(onChain === bundles.length + placedFreeLeaves
      ? []
      : [`${onChain} places for ${bundles.length} results and ${placedFreeLeaves} free leaves`]),
  ];
}

type Placed = Pick<Bundle, 'inclusion' | 'anchor'>;

function placeOf({ inclusion, anchor }: Placed): string {
  return `${anchor.tx_hash}/${inclusion?.leaf_index ?? 0}`;
}

/** Each promise is by the key of the list, and each promised leaf that of its task, in a block that is not too late. */
async function promiseViolations(
  work: SignedWork,
  bundles: ReadonlyMap<string, Bundle>,
): Promise<string[]> {
  const { owner, promises } = work;
  // The service may have ended the idle connection meanwhile.
  const readList = () => owner.call('getAnchoringAccounts');
  const { accounts } = (await readList().catch(readList)).body;
  const { kid, public_key } = accounts[0]?.promise_key ?? {};
  if (public_key === undefined || promises.length === 0) return ['no anchor was promised'];
  const check = await openKey(readPublicKey(public_key));
  const found: string[] = [];
  for (const text of promises) {
    const { promise, header, signed, signature } = readPromise(text);
    const isSigned = header.kid === kid && (await check(signed, signature));
    if (!isSigned) found.push(`the service did not sign ${text}`);
    for (const { task_id, created_at, leaf } of promise.leaves) {
      const bundle = bundles.get(task_id);
      const isKept =
        bundle !== undefined &&
        leafHash(leafOf(bundle)) === leaf &&
        bundle.claim.created_at === created_at &&
        bundle.anchor.anchored_at <= promise.anchored_by;
      if (!isKept) found.push(`the promise about task ${task_id} is broken`);
    }
  }
  return [...found, ...(await verdictViolations(work))];
}

/** What the auditor's command finds for some of the promises. */
async function verdictViolations({ user, promises, rpcUrl }: SignedWork): Promise<string[]> {
  const found: string[] = [];
  for (const promise of promises.slice(0, VERDICTS)) {
    const file = user.file('promise.json');
    await writeFile(file, JSON.stringify({ promise }));
    const { exitCode, stdout, stderr } = await user.svc(['verify', file, '--rpc-url', rpcUrl]);
    if (exitCode !== 0) found.push(`svc verify of a promise: ${stdout}${stderr}`);
  }
  return found;
}
