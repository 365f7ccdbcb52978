// Lists the statements that both databases run: each engine runs no others.

import { accountSql, ledgerSql } from '../account.ts';
import { alertSql } from '../alerts.ts';
import { attemptSql } from '../anchoring/anchor-attempts.ts';
import { chainProofSql } from '../anchoring/chain-proofs.ts';
import { chainStatusSql } from '../anchoring/chain-status.ts';
import { inclusionSql } from '../anchoring/inclusion.ts';
import { settlementSql } from '../anchoring/settlement.ts';
import { waitSql } from '../anchoring/waits.ts';
import { auditSql } from '../audit-log.ts';
import { checkedTimeSql } from '../checked-time.ts';
import { eventPages, eventSql } from '../events.ts';
import { evidenceSql } from '../evidence.ts';
import { anchoringAccountSql, operationsSql } from '../operations.ts';
import { retentionSql } from '../retention.ts';
import { sessionSql, signInSql } from '../sign-in.ts';
import { statsSql } from '../stats.ts';
import { usageSql } from '../storage-usage.ts';
import { taskSql } from '../tasks.ts';
import { telemetrySql } from '../telemetry.ts';
import { outboxSql } from '../webhook-outbox.ts';
import { webhookSql } from '../webhooks.ts';

const nouns = [
  accountSql,
  alertSql,
  anchoringAccountSql,
  attemptSql,
  auditSql,
  chainProofSql,
  chainStatusSql,
  checkedTimeSql,
  ...Object.values(eventPages),
  eventSql,
  evidenceSql,
  inclusionSql,
  ledgerSql,
  operationsSql,
  outboxSql,
  retentionSql,
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
