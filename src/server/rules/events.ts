// When an event counts as having happened.

/** The robot's time, or that of receipt if the robot gave none or one after it. */
export function happenedAt(event: { occurredAt: string | null; createdAt: number }): number {
  const { occurredAt, createdAt } = event;
  return occurredAt === null ? createdAt : Math.min(Date.parse(occurredAt), createdAt);
}
