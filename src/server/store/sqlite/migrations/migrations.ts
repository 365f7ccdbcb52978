import type { Migration } from '../engine/migrate.ts';
import { spine } from './001-spine.ts';
import { fleets } from './002-fleets.ts';
import { telemetry } from './003-telemetry.ts';
import { account } from './004-account.ts';
import { telemetrySeries } from './005-telemetry-series.ts';
import { erasure } from './006-erasure.ts';
import { cursorKey } from './007-cursor-key.ts';
import { anchorFinality } from './008-anchor-finality.ts';
import { putBack } from './009-put-back.ts';

/** In order; `PRAGMA user_version` is how many of them a database has. Never edit one that was released. */
export const migrations: readonly Migration[] = [
  spine,
  fleets,
  telemetry,
  account,
  telemetrySeries,
  erasure,
  cursorKey,
  anchorFinality,
  putBack,
];
