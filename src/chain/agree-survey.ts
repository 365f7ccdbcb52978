import type { GasEstimate, Survey } from './survey.ts';

/**
 * One survey of several: state and fees as the URL with the highest head sees them. What would keep us from signing is
 * believed of anyone: the highest counts, and code. What would end a proof only if none denies it.
 */
export function agreeOnSurvey(surveys: readonly Survey[]): Survey | undefined {
  const [newest] = surveys.toSorted((a, b) => Number(b.headNumber - a.headNumber));
  if (newest === undefined) return undefined;
  return {
    ...newest,
    latestNonce: Math.max(...surveys.map(({ latestNonce }) => latestNonce)),
    lowestNonce: Math.min(...surveys.map(({ lowestNonce }) => lowestNonce)),
    pendingNonce: Math.max(...surveys.map(({ pendingNonce }) => pendingNonce)),
    hasCode: surveys.some(({ hasCode }) => hasCode),
    gas: agreedGas(newest, surveys),
  };
}

function agreedGas(newest: Survey, surveys: readonly Survey[]): GasEstimate {
  const estimates = [newest, ...surveys].map(({ gas }) => gas);
  const by = (outcome: GasEstimate['outcome']) => estimates.find((gas) => gas.outcome === outcome);
  return by('estimated') ?? by('underfunded') ?? newest.gas;
}
