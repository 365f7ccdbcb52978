// Reads tasks: one by id, the list, public anchors, and what decides a completion.

import type { Hex } from '../../proof/bytes.ts';
import type { Finality } from '../../protocol/resources.ts';
import type { Balance } from '../ports/account.ts';
import type { AttemptState } from '../ports/anchoring.ts';
import type { NewCompletion } from '../ports/completions.ts';
import type {
  AnchorProgress,
  CompletionRecord,
  CompletionState,
  NewTask,
  PublicAnchor,
  ReceiptRecord,
  TaskListRecord,
  TaskRecord,
  TaskStore,
  Viewer,
} from '../ports/tasks.ts';
import { decideCompletion } from '../rules/completions.ts';
import { QUOTE_COLUMNS, type QuoteRow, toQuote } from './anchoring/chain-status.ts';
import { readPath } from './anchoring/paths.ts';
import type { Db, Tx } from './db/database.ts';
import { each } from './db/dialect.ts';
import { type InText, NO_ID } from './db/rows.ts';
import { raw, type Sql, sql, type Value } from './db/sql.ts';
import { ownsRobot } from './robots.ts';
import type { FindTasks } from './stream.ts';

type Status = TaskRecord['status'];

type OrNull<Row> = { [Member in keyof Row]: Row[Member] | null };

type CompletionRow = Omit<CompletionRecord, 'receipt'>;

interface ReceiptRow {
  leafIndex: number;
  path: Buffer;
  attemptState: AttemptState;
  safe: 0 | 1 | boolean;
  chainId: number;
  sender: string;
  root: Hex | null;
  leafCount: number;
  minedTxHash: Hex;
  minedBlockNumber: number;
  minedAt: number;
}

/** A task with its completion and receipt. Their members are null if there is none. */
export type TaskRow = Omit<TaskRecord, 'completion'> & OrNull<CompletionRow> & OrNull<ReceiptRow>;

/**
 * The progress of the task `t`, its completion `c` and its live attempt `a`. A verified task has the state of its
 * attempt, and is `reorged` while no attempt is both mined and settled. The newest transaction is that of the live
 * attempt. Nulls if there is no completion.
 */
const PROGRESS = `CASE
    WHEN c.task_id IS NULL OR t.status = 'claimed' THEN c.state
    WHEN c.state = 'included' AND a.state IN ('included', 'finalized') THEN a.state
    ELSE 'reorged' END AS state,
  CASE WHEN c.state = 'included' AND a.updated_at > c.updated_at THEN a.updated_at
    ELSE c.updated_at END AS "updatedAt",
  c.proof_hash AS "proofHash", c.outcome, c.queued_at AS "queuedAt",
  (SELECT count(*) FROM leaves s WHERE s.task_id = t.id) AS attempts,
  coalesce(a.mined_tx_hash, (SELECT v.tx_hash FROM variants v WHERE v.attempt_id = a.id
                             ORDER BY v.seq DESC LIMIT 1)) AS "txHash"`;

const COLUMNS = `t.id, t.robot_id AS "robotId", t.title, t.description,
  t.occurred_at AS "occurredAt", t.created_at AS "createdAt", t.status,
  t.credit_refused_at AS "creditRefusedAt", ${PROGRESS}`;

/** The columns of a `TaskListRow`. They need `WITH_ATTEMPT`. */
const LIST_COLUMNS = raw(`${COLUMNS}, a.chain_id AS "chainId"`);

/** Joins the completion `c` and the live attempt `a` to the task `t`. */
const WITH_ATTEMPT = raw(`LEFT JOIN completions c ON c.task_id = t.id
  LEFT JOIN leaves l ON l.task_id = t.id AND l.live
  LEFT JOIN attempts a ON a.id = l.attempt_id`);

/** The columns of a `TaskRow`. They need `TASK_JOINS`. */
export const TASK_COLUMNS = raw(`${COLUMNS}, t.wallet, t.expected_result AS "expectedResult",
  c.claim_hash AS "claimHash", c.leaf, c.statement_hash AS "statementHash", r.leaf_index AS "leafIndex", rl.path,
  ra.state AS "attemptState", ra.safe, ra.chain_id AS "chainId", ra.sender, ra.root,
  ra.leaf_count + ra.free_leaf_count AS "leafCount", ra.mined_tx_hash AS "minedTxHash",
  ra.mined_block_number AS "minedBlockNumber", ra.mined_at AS "minedAt"`);

/** Joins completion, attempt, receipt, its attempt and its leaf to the task `t`. */
export const TASK_JOINS = sql`${WITH_ATTEMPT}
  LEFT JOIN receipts r ON r.task_id = t.id
  LEFT JOIN attempts ra ON ra.id = r.attempt_id
  LEFT JOIN leaves rl ON rl.attempt_id = r.attempt_id AND rl.leaf_index = r.leaf_index`;

/** The task `t` is visible to the viewer: its robot or its account. */
export function isVisible({ robotId, wallet }: Viewer): Sql {
  return robotId === undefined ? sql`t.wallet = ${wallet ?? null}` : sql`t.robot_id = ${robotId}`;
}

async function firstTask(tx: Tx, condition: Sql): Promise<TaskRecord | null> {
  const row = await tx.get<TaskRow>(
    sql`SELECT ${TASK_COLUMNS} FROM tasks t ${TASK_JOINS} WHERE ${condition}`,
  );
  return row === null ? null : toTask(row);
}

/** Finds a task of any account with its completion and receipt. */
export function findTask(tx: Tx, id: string): Promise<TaskRecord | null> {
  return firstTask(tx, sql`t.id = ${id}`);
}

export function taskStore({ one, read }: Db): Omit<TaskStore, 'createTask'> {
  return {
    getTask: (id, viewer) =>
      read((tx) => firstTask(tx, sql`t.id = ${id} AND ${isVisible(viewer)}`)),

    getTasks: (ids, viewer) =>
      read(async (tx) => {
        // A cross join: else SQLite would walk through all tasks of the viewer.
        const rows = await tx.all<TaskRow>(sql`SELECT ${TASK_COLUMNS}
          FROM (${each('uuid', ids)}) AS given CROSS JOIN tasks t ${TASK_JOINS}
          WHERE t.id = given.value AND ${isVisible(viewer)}`);
        return rows.map(toTask);
      }),

    findPublicAnchor: (proofHash, taskId) => read((tx) => findPublicAnchor(tx, proofHash, taskId)),

    hasAnchorTransaction: (txHash) =>
      read(async (tx) => {
        const signed = sql`SELECT tx_hash FROM variants WHERE tx_hash = ${txHash}`;
        return (await tx.get(signed)) !== null;
      }),

    listTasks: ({ wallet, status, robotId }, limit, after) =>
      read(async (tx) => {
        if (robotId !== null && !(await ownsRobot(tx, wallet, robotId))) return null;
        const owner = robotId === null ? sql`wallet = ${wallet}` : sql`robot_id = ${robotId}`;
        const start = after ?? { at: Number.MAX_SAFE_INTEGER, id: NO_ID };
        return (await listNewest(tx, owner, status, start, limit)).map(toListedTask);
      }),

    countWaiting: (wallet, limit) =>
      one<{ proofs: number; since: number | null }>(sql`
        SELECT count(*) AS proofs, min(c.queued_at) AS since FROM (SELECT id FROM tasks
          WHERE wallet = ${wallet} AND status = 'claimed' ${NEWEST_FIRST} LIMIT ${limit}) AS claimed
        JOIN completions c ON c.task_id = claimed.id AND c.state IN ('queued', 'submitted')`),
  };
}

/** Finds the task with the proof hash; without an id, the first one that was anchored, or else queued. */
async function findPublicAnchor(tx: Tx, proofHash: Hex, taskId: string | null) {
  const row = await tx.get<PublicAnchorRow>(sql`SELECT ${TASK_COLUMNS}, robots.name AS "robotName",
      p.occurrences, ra.mined_block_hash AS "blockHash", ra.mined_tx_index AS "txIndex",
      rv.raw_tx AS "rawTx", cp.header IS NOT NULL AS "isProven"
    FROM tasks t ${TASK_JOINS}
    JOIN robots ON robots.id = t.robot_id
    JOIN proof_hashes p ON p.proof_hash = c.proof_hash
    LEFT JOIN chain_proofs cp ON cp.attempt_id = ra.id
    LEFT JOIN variants rv ON rv.tx_hash = ra.mined_tx_hash
    WHERE c.proof_hash = ${proofHash} AND t.id = coalesce(${taskId},
      (SELECT task_id FROM receipts WHERE proof_hash = ${proofHash} ORDER BY seq LIMIT 1),
      (SELECT task_id FROM completions WHERE proof_hash = ${proofHash} ORDER BY reserve_seq LIMIT 1))`);
  return row === null ? null : toPublicAnchor(row);
}

const NEWEST_FIRST = raw('ORDER BY created_at DESC, id DESC');

/** Reads the newest tasks of each status from its index and merges them. Only a page of tasks is joined further. */
function listNewest(
  tx: Tx,
  owner: Sql,
  status: Status | null,
  { at, id }: { at: number; id: string },
  limit: number,
) {
  // A literal, so that a generic plan can use the status.
  const newest = (one: Status) => sql`SELECT * FROM (SELECT id, created_at FROM tasks
    WHERE ${owner} AND status = ${raw(`'${one}'`)} AND (created_at, id) < (${at}, ${id})
    ${NEWEST_FIRST} LIMIT ${limit}) AS ${raw(one)}`;
  const found = status ? newest(status) : sql`${newest('claimed')} UNION ALL ${newest('verified')}`;
  return tx.all<TaskListRow>(sql`SELECT ${LIST_COLUMNS}
    FROM (${found} ${NEWEST_FIRST} LIMIT ${limit}) AS newest
    JOIN tasks t ON t.id = newest.id ${WITH_ATTEMPT} ORDER BY t.created_at DESC, t.id DESC`);
}

/** Names the accounts of the tasks, and of those in the attempt. */
export function taskOwners({ all }: Db): FindTasks {
  return (attemptId, taskIds, [from, to]) =>
    all(sql`SELECT id, wallet FROM tasks WHERE id IN (
      SELECT task_id FROM leaves WHERE attempt_id = ${attemptId}
        AND leaf_index >= ${from} AND leaf_index < ${to} UNION ALL ${each('uuid', taskIds)})`);
}

/** What the databases know about a completion before it is queued. */
export interface SituationRow extends QuoteRow, InText<Balance> {
  /** Null if the robot has no such task. */
  status: Status | null;
  /** Null before the first completion. */
  state: CompletionState | null;
  cycle: number | null;
  creditRefusedAt: number | null;
  signs: 0 | 1;
}

/** Selects the situation of a completion of the task `taskId` by the robot `r` of the account `a`. */
export function selectSituation(robots: Sql, taskId: Value | Sql): Sql {
  return sql`SELECT a.wallet, a.anchor_quota AS "anchorQuota",
      a.gas_credit_wei AS "gasCreditWei", t.status, t.credit_refused_at AS "creditRefusedAt",
      c.state, c.cycle, r.signs, ${raw(QUOTE_COLUMNS)}
    FROM ${robots}
    LEFT JOIN tasks t ON t.id = ${taskId} AND t.robot_id = r.id
    LEFT JOIN completions c ON c.task_id = t.id
    LEFT JOIN chain_status s ON s.id = 1`;
}

const ROBOT = sql`robots r JOIN accounts a ON a.wallet = r.wallet`;

/** Decides whether a completion may be queued. `wasRefused`: an earlier one was refused for lack of credit. */
export async function decideFor(
  tx: Tx,
  completion: Pick<NewCompletion, 'robotId' | 'keyHash' | 'taskId' | 'statementHash'>,
) {
  const { robotId, keyHash, taskId, statementHash } = completion;
  const row = await tx.get<SituationRow>(
    sql`${selectSituation(ROBOT, taskId)} WHERE r.id = ${robotId} AND r.key_hash = ${keyHash}`,
  );
  return decideIn(row, statementHash);
}

/** `row` is missing if the robot or its key is gone. */
export function decideIn(row: SituationRow | null, statementHash: NewCompletion['statementHash']) {
  const decision = decideCompletion({
    hasKey: row !== null,
    lacksStatement: row?.signs === 1 && statementHash === null,
    task: row?.status ? { status: row.status, state: row.state, row } : null,
    balance: row ? { anchorQuota: row.anchorQuota, gasCreditWei: BigInt(row.gasCreditWei) } : null,
    quote: row ? toQuote(row) : null,
  });
  return { decision, wasRefused: row ? row.creditRefusedAt !== null : false };
}

interface PublicAnchorRow extends TaskRow {
  robotName: string;
  occurrences: number;
  blockHash: Hex;
  txIndex: number;
  rawTx: Hex;
  isProven: 0 | 1 | boolean;
}

function toPublicAnchor(row: PublicAnchorRow): PublicAnchor {
  const { robotName, occurrences, blockHash, txIndex, rawTx, isProven } = row;
  const proven = isProven ? { blockHash, txIndex, rawTx } : null;
  return { task: toTask(row), robotName, occurrences, proven };
}

export function toTask(row: TaskRow): TaskRecord {
  return {
    id: row.id,
    robotId: row.robotId,
    wallet: row.wallet,
    title: row.title,
    description: row.description,
    expectedResult: row.expectedResult,
    occurredAt: row.occurredAt,
    createdAt: row.createdAt,
    status: row.status,
    creditRefusedAt: row.creditRefusedAt,
    completion: isCompleted(row) ? toCompletion(row) : null,
  };
}

function toCompletion(row: TaskRow & CompletionRow): CompletionRecord {
  return {
    state: row.state,
    proofHash: row.proofHash,
    claimHash: row.claimHash,
    leaf: row.leaf,
    statementHash: row.statementHash,
    outcome: row.outcome,
    attempts: row.attempts,
    txHash: row.txHash,
    queuedAt: row.queuedAt,
    updatedAt: row.updatedAt,
    receipt: isAnchored(row) ? toReceipt(row) : null,
  };
}

function toReceipt(row: ReceiptRow): ReceiptRecord {
  const { root, leafIndex: leaf_index, leafCount: leaf_count } = row;
  return {
    chainId: row.chainId,
    txHash: row.minedTxHash,
    from: row.sender,
    blockNumber: BigInt(row.minedBlockNumber),
    anchoredAt: row.minedAt,
    inclusion: root === null ? null : { root, leaf_index, leaf_count, path: readPath(row.path) },
    finality: finalityOf(row),
  };
}

function isCompleted(row: TaskRow): row is TaskRow & CompletionRow {
  return row.state !== null;
}

function isAnchored<Row extends TaskRow>(row: Row): row is Row & ReceiptRow {
  return row.attemptState !== null;
}

/** The task as its claim stores it. In Node.js 20 this literal takes 0.06 µs, and `{ ...task, wallet }` 2.6 µs. */
export function claimedTask(task: NewTask, wallet: string): TaskRecord {
  return {
    id: task.id,
    robotId: task.robotId,
    wallet,
    title: task.title,
    description: task.description,
    expectedResult: task.expectedResult,
    occurredAt: task.occurredAt,
    createdAt: task.createdAt,
    status: 'claimed',
    creditRefusedAt: null,
    completion: null,
  };
}

const CLAIM = ['robotId', 'title', 'description', 'expectedResult', 'occurredAt'] as const;

/** Compares the documents as text: they are canonical JSON, so equal content is equal text. */
export function isSameClaim(stored: TaskRecord, task: NewTask): boolean {
  return CLAIM.every((field) => stored[field] === task[field]);
}

type TaskListRow = Omit<TaskListRecord, 'progress'> &
  Omit<AnchorProgress, 'state'> & { state: AnchorProgress['state'] | null };

function toListedTask(row: TaskListRow): TaskListRecord {
  const { state, proofHash, outcome, attempts, txHash, queuedAt, updatedAt, chainId, ...task } =
    row;
  const rest = { proofHash, outcome, attempts, txHash, queuedAt, updatedAt, chainId };
  return { ...task, progress: state && { state, ...rest } };
}

/** The attempt of a receipt was mined. In any state but `included` and `finalized` it was reorganized out. */
function finalityOf({ attemptState: state, safe }: ReceiptRow): Finality {
  if (state === 'finalized') return 'finalized';
  if (state !== 'included') return 'reorged';
  return safe ? 'safe' : 'included';
}
