// Schemas of the account, its ledger and its sessions.
import { type Static, Type } from 'typebox';
import { Address, Closed, Decimal, Nullable, OneOf, Timestamp, Uuid } from './fields.ts';

/** The usage of a limit. */
const Used = Closed({ used: Type.Integer({ minimum: 0 }), max: Type.Integer({ minimum: 0 }) });

/** The signed-in account, for the dashboard and the CLI. */
export const Account = Closed({
  wallet: Address,
  gate: Closed({
    required: Type.Boolean({ description: 'whether the operator requires a token at all' }),
    holds: Type.Boolean(),
  }),
  credits: Closed({
    anchor_quota: Type.Integer({ minimum: 0 }),
    gas_credit_wei: Decimal,
    anchors_affordable: Nullable(
      Type.Integer({
        minimum: 0,
        description: 'completions that the credits cover at current fees; null if unknown',
      }),
    ),
    low: Type.Boolean({ description: 'true if the credits cover fewer than 10 anchors' }),
    refused: Closed({
      tasks: Type.Integer({
        minimum: 0,
        description:
          'claimed tasks with a completion that was refused for lack of credit, at most 1000',
      }),
      since: Nullable(Timestamp),
    }),
    credit_url: Nullable(Type.String({ description: 'where to get credits (SVC_CREDIT_URL)' })),
  }),
  limits: Closed({ robots: Used, fleets: Used }),
});

/** One change of the account's balance. The balance is the sum of all changes. */
export const LedgerEntry = Closed({
  id: Uuid,
  kind: OneOf(['grant', 'revoke', 'reserve', 'settle', 'release']),
  anchors: Type.Integer({ description: 'change; negative if it was charged or revoked' }),
  gas_wei: Type.String({
    pattern: '^(0|-?[1-9]\\d*)$',
    description: 'change in wei, a signed decimal integer',
  }),
  cost_wei: Nullable(
    Type.String({
      ...Decimal,
      description:
        'of `reserve`: what the anchor cost in the end, 0 if nothing was anchored. Null while that is open, and for other kinds',
    }),
  ),
  task_id: Nullable(Uuid),
  note: Nullable(Type.String({ description: 'note of a grant or revocation' })),
  created_at: Timestamp,
});

export const Session = Closed({
  id: Uuid,
  signed_in_with: OneOf(['wallet', 'cli_code']),
  created_at: Timestamp,
  expires_at: Timestamp,
  current: Type.Boolean({ description: 'true for the session of this request' }),
});

/** One line of an export. */
export const ExportLine = Closed({
  kind: Type.String({ description: 'what the record is', examples: ['robot'] }),
  record: Type.Unknown({ description: 'as its own endpoint returns it', examples: [{ id: '…' }] }),
});

export type LedgerEntry = Static<typeof LedgerEntry>;
