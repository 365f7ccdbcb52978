// The topics that requests wait for: a queued proof, or a decided completion.

/** The topic for "a proof may be queued". */
export const QUEUE_TOPIC = 'queue';

/** The topic for "the completion of this task may be verified or failed, or the task deleted". */
export function completionTopic(taskId: string): string {
  return `completion:${taskId}`;
}
