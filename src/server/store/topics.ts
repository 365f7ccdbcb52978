/* What `WakeUps` tells of. */

/** A proof may be queued. */
export const QUEUE_TOPIC = 'queue';

/** A completion may be over, or its task gone. */
export function completionTopic(taskId: string): string {
  return `completion:${taskId}`;
}
