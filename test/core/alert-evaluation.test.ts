import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { startEvaluation } from '../../src/server/core/alert-evaluation.ts';
import { openTemporarySqlite } from '../contract/temporary-sqlite.ts';
import { World } from '../contract/world.ts';
import { waitFor } from '../support/wait-for.ts';

let world: World;
let errors: unknown[];
beforeEach(async () => {
  world = await World.open(openTemporarySqlite);
  errors = [];
});
afterEach(async () => {
  await world.close();
  expect(errors).toEqual([]);
});

const start = () => {
  const { store, clock } = world;
  return startEvaluation({ store, clock, turnMs: 1, onError: (error) => errors.push(error) });
};

it('opens the alerts of rules that hold', async () => {
  const wallet = await world.account();
  await world.store.saveAlertRule(wallet, { kind: 'credit_low', threshold: 1_000_000 });

  const evaluation = start();
  const open = () => world.store.listOpenAlerts('credit_low', [wallet]);
  await waitFor('the alert', async () => (await open()).length === 1);
  await evaluation.stop();
});

it('evaluates nothing while another instance leads', async () => {
  const lead = vi.spyOn(world.store, 'lead').mockResolvedValue(false);
  const noted = vi.spyOn(world.store, 'noteEvaluation');

  const evaluation = start();
  await waitFor('three turns', () => lead.mock.calls.length >= 3);
  expect(noted).not.toHaveBeenCalled();
  lead.mockResolvedValue(true);
  await waitFor('an evaluation', () => noted.mock.calls.length > 0);
  await evaluation.stop();
});

it('keeps the lead while an evaluation takes long, and begins no other', async () => {
  let end = () => {};
  const late = new Promise<number>((resolve) => {
    end = () => resolve(world.now);
  });
  const noted = vi.spyOn(world.store, 'noteEvaluation').mockReturnValue(late);
  const lead = vi.spyOn(world.store, 'lead');

  const evaluation = start();
  await waitFor('three turns', () => lead.mock.calls.length >= 3);
  expect(noted).toHaveBeenCalledTimes(1);
  const stopped = evaluation.stop();
  end();
  await stopped;
});
