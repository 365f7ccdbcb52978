// Routes and schemas of the operator API, which listens on an address of its own.
import { type Static, Type } from 'typebox';
import {
  Address,
  Closed,
  Decimal,
  Nullable,
  OneOf,
  Text,
  Timestamp,
  Uuid,
  VisibleText,
} from './fields.ts';
import { limits } from './limits.ts';
import { PageQuery, page } from './paging.ts';
import { publicChange, publicRead, type Route } from './route.ts';

export const AccountBalance = Closed({
  wallet: Address,
  anchor_quota: Type.Integer({ minimum: 0 }),
  gas_credit_wei: Decimal,
});

export const AccountUsage = Closed({
  ...AccountBalance.properties,
  created_at: Timestamp,
  suspended_at: Nullable(Timestamp),
  suspension_reason: Nullable(Type.String({ description: 'null if none was given' })),
  robots: Type.Integer({ minimum: 0 }),
  stored_bytes: Type.Integer({ description: 'tasks, evidence, samples and events' }),
  queued_proofs: Type.Integer({ minimum: 0 }),
  anchors_30_days: Type.Integer({ minimum: 0, description: 'anchors of the last 30 days' }),
  returned_30_days: Type.Integer({
    minimum: 0,
    description: 'reservations that came back unpaid, because proofs were refused or deleted',
  }),
  uncovered_wei_30_days: Type.String({
    ...Decimal,
    description: 'cost of anchors beyond their reservations, which the operator paid',
  }),
});
export type AccountUsage = Static<typeof AccountUsage>;

export const NewGrant = Closed({
  id: Uuid,
  anchors: Type.Optional(Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER })),
  gas_wei: Type.Optional(Type.String({ ...Decimal, maxLength: 78 })),
  note: VisibleText(limits.descriptionLength),
});

export const Reason = Closed({ reason: Type.Optional(Text(limits.descriptionLength)) });

export const Wallet = Closed({ wallet: Address });

/** Refused calls of one account, or of one address of callers without an account, since `since`. */
export const Refusals = Closed({
  since: Timestamp,
  items: Type.Array(
    Closed({
      caller: Type.String({ description: 'a wallet, or the prefix of an IP address' }),
      refused: Type.Integer({ minimum: 1 }),
    }),
  ),
});
export type Refusals = Static<typeof Refusals>;

const ofWallet = { params: Wallet, fieldErrors: { wallet: 'invalid_address' } } as const;
const changes = { ...publicChange, ...ofWallet } as const;

export const operatorRoutes = {
  listAccounts: {
    ...publicRead,
    path: '/accounts',
    summary: 'List all accounts with credits and usage, in the order of their wallets, in pages',
    query: Closed({ ...PageQuery, cursor: Type.Optional(Address) }),
    responses: { 200: page(AccountUsage) },
    errors: ['invalid_request', 'storage_unavailable'],
  },
  readAccount: {
    ...publicRead,
    path: '/accounts/:wallet',
    summary: 'Read credits and usage of an account',
    ...ofWallet,
    responses: { 200: AccountUsage },
    errors: ['invalid_address', 'not_found', 'storage_unavailable'],
  },
  grantCredits: {
    ...changes,
    path: '/accounts/:wallet/grants',
    summary:
      'Grant credits, and open the account if it is new. A repeated id grants nothing, so retry with the same id',
    body: NewGrant,
    responses: {
      200: Closed({ outcome: OneOf(['granted', 'repeated']), balance: AccountBalance }),
    },
    errors: ['invalid_address', 'id_conflict', 'storage_unavailable'],
  },
  suspendAccount: {
    ...changes,
    path: '/accounts/:wallet/suspend',
    summary:
      'Suspend an account: it can be read, and neither sign in nor write. Repeatable; for a suspended account, a reason replaces the earlier one',
    body: Reason,
    responses: { 200: AccountUsage },
    errors: ['invalid_address', 'not_found', 'storage_unavailable'],
  },
  resumeAccount: {
    ...changes,
    path: '/accounts/:wallet/resume',
    summary: 'Resume a suspended account. Repeatable',
    body: Reason,
    responses: { 200: AccountUsage },
    errors: ['invalid_address', 'not_found', 'storage_unavailable'],
  },
  listRefusals: {
    ...publicRead,
    path: '/refusals',
    summary:
      'List up to 100 accounts and addresses with the most refused calls on this instance, in the last one to two hours',
    responses: { 200: Refusals },
  },
} as const satisfies Record<string, Route>;
