import type { Anchor, AnchorState } from '../../protocol/resources.ts';
import { Badge, type Tone } from './badge.tsx';

const tones: Record<AnchorState, Tone> = {
  queued: 'plain',
  submitted: 'busy',
  included: 'busy',
  finalized: 'good',
  reorged: 'warn',
  failed: 'bad',
};

/** As people say it. */
export const stateNames: Record<AnchorState, string> = {
  queued: 'queued',
  submitted: 'submitted',
  included: 'included',
  finalized: 'finalized',
  reorged: 'reorganised',
  failed: 'failed',
};

/** How far the anchor of a task has come. */
export function AnchorBadge({ anchor }: { anchor: Pick<Anchor, 'state'> | null }) {
  if (anchor === null) return <Badge tone="plain">no proof yet</Badge>;
  return <Badge tone={tones[anchor.state]}>{stateNames[anchor.state]}</Badge>;
}
