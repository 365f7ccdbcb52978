// Schema of the stream's messages: what changed in an account.
import { type Static, Type } from 'typebox';
import { Closed, OneOf, Uuid } from './fields.ts';

export const changeKinds = ['robot', 'task', 'anchor', 'event', 'credit', 'alert'] as const;

export const Change = Closed({
  kind: OneOf(changeKinds),
  id: Type.String({
    ...Uuid,
    description:
      'the robot, event or alert; for task and anchor, the task; for credit, the task or the grant',
  }),
});
export type Change = Static<typeof Change>;

/** The data of one message. */
export const ChangeMessage = Closed({
  changes: Type.Union([Type.Array(Change), Type.Null()], {
    description: 'null: anything may have changed, so read everything again',
  }),
});
