// Lists the statements that both databases run: each engine runs no others.

import { accountSql } from './account.ts';
import { alertSql } from './alerts.ts';
import { attemptSql } from './anchor-attempts.ts';
import { anchoringAccountSql } from './anchoring-accounts.ts';
import { auditSql } from './audit-log.ts';
import { chainProofSql } from './chain-proofs.ts';
import { chainStatusSql } from './chain-status.ts';
import { eventSql } from './events.ts';
import { evidenceSql } from './evidence.ts';
import { fleetSql } from './fleets.ts';
import { inclusionSql } from './inclusion.ts';
import { leaseSql } from './leases.ts';
import { ledgerSql } from './ledger.ts';
import { operationsSql } from './operations.ts';
import { retentionSql } from './retention.ts';
import { robotDeletionSql } from './robot-deletion.ts';
import { robotSql } from './robots.ts';
import { sessionSql } from './sessions.ts';
import { settlementSql } from './settlement.ts';
import { signInSql } from './sign-in.ts';
import { statsSql } from './stats.ts';
import { usageSql } from './storage-usage.ts';
import { taskSql } from './tasks.ts';
import { telemetrySql } from './telemetry.ts';
import { waitSql } from './waits.ts';
import { webhookSql } from './webhooks.ts';

const nouns = [
  accountSql,
  alertSql,
  anchoringAccountSql,
  attemptSql,
  auditSql,
  chainProofSql,
  chainStatusSql,
  eventSql,
  evidenceSql,
  fleetSql,
  inclusionSql,
  leaseSql,
  ledgerSql,
  operationsSql,
  retentionSql,
  robotDeletionSql,
  robotSql,
  sessionSql,
  settlementSql,
  signInSql,
  statsSql,
  taskSql,
  telemetrySql,
  usageSql,
  waitSql,
  webhookSql,
];

export const statements: readonly string[] = nouns.flatMap((texts) => Object.values(texts));
