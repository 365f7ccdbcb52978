// Lists the statements that both databases run: each engine runs no others.

import { accountSql } from './account.ts';
import { alertSql } from './alerts.ts';
import { attemptSql } from './anchor-attempts.ts';
import { anchoringAccountSql } from './anchoring-accounts.ts';
import { auditSql } from './audit-log.ts';
import { chainProofSql } from './chain-proofs.ts';
import { chainStatusSql } from './chain-status.ts';
import { fleetSql } from './fleets.ts';
import { inclusionSql } from './inclusion.ts';
import { ledgerSql } from './ledger.ts';
import { operationsSql } from './operations.ts';
import { robotSql } from './robots.ts';
import { sessionSql } from './sessions.ts';
import { settlementSql } from './settlement.ts';
import { signInSql } from './sign-in.ts';
import { statsSql } from './stats.ts';
import { taskSql } from './tasks.ts';
import { webhookSql } from './webhooks.ts';

const nouns = [
  accountSql,
  alertSql,
  anchoringAccountSql,
  attemptSql,
  auditSql,
  chainProofSql,
  chainStatusSql,
  fleetSql,
  inclusionSql,
  ledgerSql,
  operationsSql,
  robotSql,
  sessionSql,
  settlementSql,
  signInSql,
  statsSql,
  taskSql,
  webhookSql,
];

export const statements: readonly string[] = nouns.flatMap((texts) => Object.values(texts));
