// Evaluates all alert rules at once.
import { createEvaluation } from '../../src/server/core/alert-evaluation.ts';

export function evaluateRules(deps: Parameters<typeof createEvaluation>[0]): Promise<void> {
  return createEvaluation(deps, Number.POSITIVE_INFINITY)();
}
