// The kinds of alerts as people read them.
import type { AlertKind } from '../../../protocol/alerts.ts';

interface Kind {
  title: string;
  /** The condition, around the threshold. */
  condition: readonly [before: string, after: string];
  /** Threshold of a new rule. */
  usual: number;
}

/** In the order in which they are shown. */
export const kinds: Readonly<Record<AlertKind, Kind>> = {
  robot_offline: { title: 'Robot offline', condition: ['not seen for', 'minutes'], usual: 15 },
  battery_low: { title: 'Battery low', condition: ['below', 'percent'], usual: 20 },
  robot_state: { title: 'Robot in a bad state', condition: ['for', 'minutes in'], usual: 1 },
  error_event: { title: 'Error reported', condition: ['in the last', 'minutes'], usual: 15 },
  anchor_failed: { title: 'Anchor failed', condition: ['in the last', 'minutes'], usual: 60 },
  anchor_stuck: {
    title: 'Anchor stuck',
    condition: ['without a block for', 'minutes'],
    usual: 10,
  },
  credit_low: { title: 'Credits low', condition: ['for fewer than', 'anchors'], usual: 100 },
  webhook_disabled: { title: 'Webhook disabled', condition: ['after failures', ''], usual: 1 },
};
