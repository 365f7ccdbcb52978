// Checks the shape of answers, so that a wrong address is reported as one and not as `undefined` in a table.
import { SvcError } from '../../base/svc-error.ts';
import { answerMismatch } from '../../client/answers.ts';
import type { Client } from '../../client/client.ts';
import type { Route } from '../../protocol/route.ts';
import { routes } from '../../protocol/routes.ts';

/**
 * Wraps a client so that it checks answers: required members, JSON types and patterns of texts. Members and list
 * values that a later service adds are accepted. Rejects with `unexpected_answer`.
 */
export function withCheckedAnswers(client: Client, baseUrl: string): Client {
  return {
    ...client,
    async call(name, ...input) {
      const answer = await client.call(name, ...input);
      const mismatch = answerMismatch(name, { status: Number(answer.status), body: answer.body });
      if (mismatch === null) return answer;
      const { method, path }: Route = routes[name];
      const message = `Unexpected answer from ${baseUrl} to ${method} ${path}: ${mismatch}.`;
      throw new SvcError('unexpected_answer', message, {
        hint: 'Check the address with svc config list and the versions with svc doctor.',
      });
    },
  };
}
