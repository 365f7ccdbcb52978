import { Counts } from './counts.ts';
import { faultPoints } from './fault-points.ts';
import { performRun, type RunPlan, type RunReport } from './server-run.ts';

export interface Campaign extends Omit<RunPlan, 'run'> {
  /** The first run; a violation repeats with its own number and one run. */
  readonly from: number;
  readonly runs: number;
  readonly onRun?: (report: RunReport) => void;
}

export interface CampaignReport {
  readonly runs: number;
  readonly seconds: number;
  readonly proofs: number;
  /** Every fault point, and `instant`, with how often a server was killed there. */
  readonly kills: Counts;
  readonly faults: Counts;
  readonly answers: Counts;
  readonly broken: readonly Pick<RunReport, 'run' | 'violations' | 'folder'>[];
}

/** One run after another; what one of them breaks does not end the others. */
export async function runCampaign({
  from,
  runs,
  onRun,
  ...plan
}: Campaign): Promise<CampaignReport> {
  const startedAt = performance.now();
  const kills = new Counts([...faultPoints.keys()].map((point) => [point, 0]));
  const [faults, answers] = [new Counts(), new Counts()];
  const broken: RunReport[] = [];
  let proofs = 0;
  for (let run = from; run < from + runs; run += 1) {
    const report = await performRun({ ...plan, run });
    kills.addAll(report.kills);
    faults.addAll(report.faults);
    answers.addAll(report.answers);
    proofs += report.proofs;
    if (report.violations.length > 0) broken.push(report);
    onRun?.(report);
  }
  const seconds = (performance.now() - startedAt) / 1000;
  return { runs, seconds, proofs, kills, faults, answers, broken };
}

export function unvisited({ kills }: CampaignReport): string[] {
  return [...kills].filter(([, times]) => times === 0).map(([point]) => point);
}
