// Names the topics that requests wait for, of `base/async/triggers.ts`.

/** "A proof may be queued". */
export const QUEUE_TOPIC = 'queue';

/** "The completion of this task may be verified or failed, or the task deleted". */
export function completionTopic(taskId: string): string {
  return `completion:${taskId}`;
}
