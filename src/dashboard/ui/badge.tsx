import type { ReactNode } from 'react';

export type Tone = 'good' | 'busy' | 'warn' | 'bad' | 'plain';

export function Badge({ tone, children }: { tone: Tone; children: ReactNode }) {
  return <span className={`badge badge-${tone}`}>{children}</span>;
}
