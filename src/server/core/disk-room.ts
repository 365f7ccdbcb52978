import type { Deps } from './deps.ts';
import { fault } from './fault.ts';

/**
 * For what may wait: new claims, telemetry and events. Completions go on below the floor, so that work
 * that was done is not lost. Throws `storage_unavailable` while the disk has too little room.
 */
export async function requireDiskRoom({ store }: Pick<Deps, 'store'>): Promise<void> {
  if (await store.hasRoom()) return;
  throw fault(
    'storage_unavailable',
    'The disk has too little room; only completions are taken. Nothing was stored.',
  );
}
