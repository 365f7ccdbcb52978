import { Badge, type Tone } from './badge.tsx';

/** The states that the interface specification names; any other is shown as it is. */
const tones: Record<string, Tone> = {
  idle: 'plain',
  busy: 'busy',
  error: 'bad',
  charging: 'good',
  offline: 'warn',
};

export function StateBadge({ state }: { state: string }) {
  return <Badge tone={tones[state] ?? 'plain'}>{state}</Badge>;
}

/** A colour of the style sheet for a state in a chart. */
export function stateColor(state: string): string {
  const tone = tones[state] ?? 'plain';
  return tone === 'plain' ? 'plain-bar' : `${tone}-bar`;
}
