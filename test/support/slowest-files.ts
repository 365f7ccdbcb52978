import path from 'node:path';
import type { Reporter, TestModule } from 'vitest/node';

/** Prints the ten test files that took longest. */
export default class SlowestFiles implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const took = modules.map((module) => {
      const { setupDuration, collectDuration, duration } = module.diagnostic();
      return { module, ms: setupDuration + collectDuration + duration };
    });
    const slowest = took.sort((a, b) => b.ms - a.ms).slice(0, 10);
    const lines = slowest.map(({ module, ms }) => {
      const file = path.relative(process.cwd(), module.moduleId);
      return `${(ms / 1000).toFixed(1).padStart(7)} s  ${file} (${module.project.name})`;
    });
    process.stdout.write(`\nSlowest files:\n${lines.join('\n')}\n`);
  }
}
